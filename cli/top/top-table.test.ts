import { expect, it } from '@jest/globals';
import type { CostRow, CostsResponse } from '#api';
import { topLines } from './top-table.ts';

const output = { color: false, live: false, out: () => undefined, err: () => undefined, progress: () => undefined };

function row(name: string, more: Partial<CostRow> = {}): CostRow {
  return { name, cpuMs: 0, passes: 0, renders: 0, apiRequests: 0, watchEvents: 0, bytes: 0, ...more };
}

function costs(items: readonly CostRow[], more: Partial<CostsResponse> = {}): CostsResponse {
  return {
    apiVersion: 'driftless.io/v1',
    kind: 'Costs',
    time: '2026-11-25T12:00:00Z',
    replica: 'driftless-0',
    incomplete: [],
    subject: 'apps',
    windowMs: 3_600_000,
    items,
    ...more,
  };
}

it('shows the costs as a table, with the time that was measured', () => {
  const items = [
    row('argocd/shop', { cpuMs: 65_000, passes: 12, renders: 2, apiRequests: 30, watchEvents: 900, bytes: 3_500_000 }),
    row('argocd/blog', { cpuMs: 40, bytes: 12 }),
  ];
  expect(topLines(costs(items), output, 20)).toEqual([
    'costs of apps over the last 1h',
    'APPLICATION   CPU    PASSES   RENDERS   API REQUESTS   WATCH EVENTS   BYTES',
    'argocd/shop   1m5s   12       2         30             900            3.3 MiB',
    'argocd/blog   40ms   0        0         0              0              12 B',
  ]);
});

it('names how many rows are left out, and replicas that did not answer', () => {
  const items = Array.from({ length: 5 }, (_, i) => row(`kind-${i}`));
  const lines = topLines(
    costs(items, { subject: 'kinds', incomplete: [{ replica: 'driftless-1', reason: 'no answer within 2 s' }] }),
    output,
    2,
  );
  expect(lines).toHaveLength(6);
  expect(lines.slice(-2)).toEqual(['… and 3 more: --limit 5 shows all', 'without driftless-1: no answer within 2 s']);
});

it('shows that nothing was measured yet', () => {
  expect(topLines(costs([]), output, 20)).toEqual(['costs of apps over the last 1h', 'nothing has cost anything yet']);
});

it('keeps hostile names on one line of bounded length', () => {
  const [, , line = ''] = topLines(costs([row(`\u001b[2J\n${'x'.repeat(5000)}`)]), output, 20);
  expect(line.length).toBeLessThan(200);
  expect(line).not.toContain('\u001b');
});

it('proposes rules for argocd-cm that can be copied, with what they would have saved', () => {
  const rule = {
    server: 'https://one',
    group: 'apps',
    kind: 'Deployment',
    objects: 2,
    changes: 3600,
    saved: 3500,
    setting: 'resource.customizations.ignoreResourceUpdates.apps_Deployment',
    jsonPointers: ['/status/observed'],
    jqPathExpressions: ['.status.conditions[]?."last\u001b-seen"'],
    notProposed: ['/spec/replicas'],
  };
  const none = { ...rule, saved: 0, jsonPointers: [], jqPathExpressions: [], notProposed: [] };
  const lines = topLines(costs([], { subject: 'kinds', rules: [rule, none, none, none] }), output, 20);
  expect(lines.slice(2)).toEqual([
    '',
    '3600 changes of 2 Deployment that change too often on https://one: this rule in argocd-cm would have saved 3500',
    '  resource.customizations.ignoreResourceUpdates.apps_Deployment: |',
    '    jsonPointers:',
    '    - "/status/observed"',
    '    jqPathExpressions:',
    '    - ".status.conditions[]?.\\"last-seen\\""',
    '  also changes, and needs comparisons: /spec/replicas',
    '',
    '3600 changes of 2 Deployment that change too often on https://one: no rule is proposed',
    '',
    '3600 changes of 2 Deployment that change too often on https://one: no rule is proposed',
  ]);
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checksTable, customChecks, healthOf } from './index.ts';
import { defaultSettings } from '#model';
import type { HealthStatusCode, KubeObject } from '#model';

type Parts = Readonly<Record<string, unknown>>;
const healthCodes: readonly HealthStatusCode[] = [
  'Healthy',
  'Suspended',
  'Progressing',
  'Missing',
  'Degraded',
  'Unknown',
];
const healthOfKind = (key: string, parts: Parts) => {
  const [group, kind] = key.split('/');
  const object = {
    apiVersion: `${group ?? ''}/v1`,
    kind,
    ...parts,
    metadata: { name: 'n', ...(parts['metadata'] as object) },
  };
  return healthOf(object as unknown as KubeObject, defaultSettings);
};
const withConditions = (...conditions: readonly (readonly [type: string, status: string])[]): Parts => ({
  status: { conditions: conditions.map(([type, status]) => ({ type, status })) },
});

/** Objects of our own, with the status and the message that Argo CD 3.6.1 gives each. */
type KindCase = readonly [object: KubeObject, status: string, message: string];
const casesOfKind = new Map<string, KindCase[]>();
for (const line of readFileSync('health/testing/custom-kinds.jsonl', 'utf8').split('\n')) {
  if (line === '') continue;
  const one = JSON.parse(line) as KindCase;
  const key = `${one[0].apiVersion.split('/')[0] ?? ''}/${one[0].kind}`;
  casesOfKind.set(key, [...(casesOfKind.get(key) ?? []), one]);
}

describe('health checks of custom kinds', () => {
  it.each([...casesOfKind].map(([key, cases]) => ({ key, cases })))(
    '$key: has the status and the message of Argo CD for each outcome of its check',
    ({ cases }) => {
      for (const [object, status, message] of cases)
        expect({ object, health: healthOf(object, defaultSettings) }).toEqual({
          object,
          health: message === '' ? { status } : { status, message },
        });
    },
  );

  it('has such cases for every kind in health/testing/custom-kinds.jsonl', () => {
    const missing = customChecks
      .flatMap((check) => check.kinds)
      .map((key) => key.replace('*.', 'foo.').replace('/*', '/Thing'))
      .filter((key) => !casesOfKind.has(key) && !key.startsWith('microgateway.'))
      .map((key) => {
        const [group = '', kind] = key.split('/');
        const object = { apiVersion: `${group}/v1`, kind, metadata: {}, status: {} };
        return `add a line for each outcome to health/testing/custom-kinds.jsonl: ${JSON.stringify([object, 'STATUS', 'MESSAGE'])}`;
      });
    expect(missing).toEqual([]);
  });

  it('lists each kind once, and gives one of the health statuses for any JSON in its status', () => {
    const keys = customChecks.flatMap((check) => check.kinds);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    const kinds = keys.map((key) => key.replace('*.', 'x.').replace('/*', '/Any'));
    const condition = fc.record({
      type: fc.constantFrom('Ready', 'Synced', 'Available', 'Accepted', 'Progressing', 'x'),
      status: fc.constantFrom('True', 'False', 'Unknown', true, null, 3),
      message: fc.jsonValue({ maxDepth: 1 }),
      observedGeneration: fc.constantFrom(0, 1, 'x'),
    });
    const status = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record({ conditions: fc.array(condition), phase: fc.string() }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), status, fc.jsonValue({ maxDepth: 3 }), (key, value, spec) => {
        expect(healthCodes).toContain(healthOfKind(key, { status: value, spec })?.status);
      }),
      { numRuns: 3000 },
    );
  });

  it('are documented in docs/health.md: node scripts/generate/health-docs.mjs writes it', () => {
    const page = readFileSync('docs/health.md', 'utf8').split('\n');
    const rows = checksTable(customChecks).split('\n');
    expect({ missing: rows.filter((row) => !page.includes(row)) }).toEqual({ missing: [] });
  });
});

describe('kstatus, requested by annotation for a kind without a check', () => {
  const metadata = { annotations: { 'driftless.io/health': 'kstatus' }, generation: 2 };
  it.each<readonly [Parts, string]>([
    [{ status: { observedGeneration: 1 } }, 'Progressing'],
    [withConditions(['Stalled', 'True']), 'Degraded'],
    [withConditions(['Reconciling', 'True'], ['Ready', 'True']), 'Progressing'],
    [withConditions(['Ready', 'False']), 'Progressing'],
    [withConditions(['Available', 'True']), 'Healthy'],
    [{}, 'Healthy'],
  ])('%j is %s', (parts, status) => {
    expect(healthOfKind('example.com/Thing', { metadata, ...parts })?.status).toBe(status);
    expect(healthOfKind('example.com/Thing', parts)).toBeNull();
  });
});

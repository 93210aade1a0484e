import { describe, expect, it } from '@jest/globals';
import { explainApplication } from '#api';
import type { Application, ApplicationOperation } from '#api';
import { explanationLines } from './explanation.ts';
import { answerWith, before, runningSync } from '../../api/testing/index.ts';

const output = { color: false, live: false, out: () => undefined, err: () => undefined, progress: () => undefined };

function screen(changes: Partial<Application> = {}): string[] {
  return explanationLines(explainApplication(answerWith(changes)), output);
}

const web = { group: 'apps', kind: 'Deployment', namespace: 'web', name: 'web' };
const running: ApplicationOperation = { ...runningSync, syncPhase: 'Sync', wave: 2 };

const terminate = 'driftless terminate guestbook';

it('shows owner, destination and last pass of an Application that is fine', () => {
  expect(screen()).toEqual([
    'Application argocd/guestbook: Synced · Healthy · operation Succeeded',
    'HEALTHY: compared 3s ago by driftless-1',
    'Owner        driftless-1 (shard 1), since 11:40:00 UTC (20m), the number of replicas changed from 2 to 3',
    'Destination  prod · https://dest, namespace web, project default',
    'Last pass    3s ago, took 12ms after 2ms in the queue, known revisions',
    '             because a live object changed: Deployment web/web',
    '             stages: sources 3ms, comparison 5ms',
  ]);
});

describe('shows why an Application is not healthy:', () => {
  it('drift fought by another writer', () => {
    const lines = screen({
      sync: 'OutOfSync',
      resources: { synced: 2, outOfSync: 1, unknown: 0 },
      differencesTotal: 1,
      differences: [
        {
          ...web,
          version: 'v1',
          state: 'modified',
          fields: [
            {
              path: '/spec/replicas',
              desired: '3',
              live: '5',
              isMasked: false,
              changedBy: {
                manager: 'hpa',
                operation: 'Update',
                subresource: 'scale',
                time: before(120),
                isOurs: false,
              },
            },
          ],
          faults: [],
          ignored: [{ origin: 'application', rule: '/spec/paused', type: 'jsonPointer' }],
          contestedBy: 'hpa',
        },
      ],
      automatedSync: {
        decision: 'wait',
        reason: 'self-heal waits for its backoff',
        until: before(-30),
        checks: [{ name: 'backoff', passes: false, message: 'attempt 3' }],
      },
    });
    expect(lines[1]).toBe('WAITING: self-heal waits for its backoff, until 12:00:30 UTC (in 30s)');
    expect(lines.slice(7)).toEqual([
      'Differs      1 of 3 resources',
      '             Deployment web/web differs',
      '               /spec/replicas: 5 instead of 3, changed by hpa (Update scale) 2m ago',
      '               hpa undoes each repair',
      '               ignored: /spec/paused (by the Application)',
      'Automation   automated sync did not start: self-heal waits for its backoff, until 12:00:30 UTC (in 30s)',
      '               backoff: attempt 3',
    ]);
  });

  it('a wave that waits for health', () => {
    const blockedBy = {
      type: 'health',
      message: 'is Progressing',
      object: web,
      since: before(30),
      until: before(-60),
    } as const;
    const lines = screen({ operation: 'Running', lastOperation: { ...running, blockedBy } });
    const blocked = 'Deployment web/web: is Progressing, since 11:59:30 UTC (30s), until 12:01:00 UTC (in 1m)';
    expect(lines.slice(1, 3)).toEqual([
      `WAITING: ${blocked}`,
      `What to do   kubectl -n web describe deployment web; ${terminate} ends the sync`,
    ]);
    expect(lines.slice(8)).toEqual([
      'Operation    sync by automated sync: Running, for 40s, phase Sync, wave 2',
      `             waits for ${blocked}`,
    ]);
  });

  it.each<[string, Partial<Application>, string]>([
    [
      'automated sync is off',
      { sync: 'OutOfSync', isAutomated: false },
      'WAITING: a sync by a user: automated sync is switched off',
    ],
    [
      'a failing repository',
      {
        degraded: [
          { type: 'repository', subject: 'https://git/a', message: 'access denied', advice: 'check its Secret' },
        ],
      },
      'BROKEN: https://git/a: access denied',
    ],
    [
      'a condition',
      { sync: 'Unknown', conditions: [{ type: 'ComparisonError', message: 'no such path' }] },
      'BROKEN: ComparisonError: no such path',
    ],
    ['it could not be compared', { sync: 'Unknown' }, 'BROKEN: it could not be compared'],
    [
      'a failed operation',
      {
        operation: 'Failed',
        lastOperation: { ...running, phase: 'Failed', message: 'one failed', finishedAt: before(1) },
      },
      'BROKEN: the last sync ended with Failed: one failed, since 11:59:59 UTC (1s)',
    ],
    [
      'a degraded resource',
      {
        health: 'Degraded',
        healthDetails: {
          status: 'Degraded',
          message: '',
          decidedBy: { ...web, status: 'Degraded', message: 'no pods' },
        },
      },
      'BROKEN: Deployment web/web is Degraded: no pods',
    ],
    [
      'a full queue',
      { waiting: { what: 'a free processor', since: before(9) } },
      'WAITING: a free processor, since 11:59:51 UTC (9s)',
    ],
    [
      'an Application that was never synced',
      { sync: 'OutOfSync', health: 'Missing', automatedSync: { decision: 'wait', reason: 'its backoff', checks: [] } },
      'WAITING: its backoff',
    ],
    [
      'a resource that a synced Application lacks',
      { health: 'Missing', healthDetails: { status: 'Missing', message: '' } },
      'BROKEN: Missing',
    ],
    ['the first comparison', { sync: '', health: '' }, 'WAITING: its first comparison'],
    ['its deletion', { isDeleting: true }, 'WAITING: its deletion'],
    [
      'rollout',
      { health: 'Progressing', healthDetails: { status: 'Progressing', message: 'waiting' } },
      'WAITING: Progressing: waiting',
    ],
  ])('%s', (_what, changes, expected) => {
    expect(screen(changes)[1]).toBe(expected);
  });
});

it('shows the first resources of many, and how many are left out', () => {
  const differences = Array.from({ length: 8 }, (_, i) => ({
    ...web,
    name: `web-${i}`,
    version: 'v1',
    state: 'missing' as const,
    fields: [],
    faults: [],
    ignored: [],
  }));
  const lines = screen({ sync: 'OutOfSync', differences, differencesTotal: 40 });
  expect(lines.filter((line) => line.includes('is missing'))).toHaveLength(5);
  expect(lines).toContain('             … and 35 more: -o json has all');
});

it('explains an answer of a newer release, whose members and states it does not know', () => {
  const newer = {
    sync: 'OutOfSync',
    resources: { synced: 0, outOfSync: 1, unknown: 0, forgotten: 2 },
    differencesTotal: 1,
    differences: [{ ...web, version: 'v1', state: 'renamed', fields: [], faults: [], ignored: [], note: {} }],
    automatedSync: { decision: 'ponder', reason: 'it thinks', checks: [{ name: 'x', passes: false, message: 'y' }] },
    lastOperation: {
      ...running,
      type: 'rollback',
      blockedBy: { type: 'moon', message: 'full moon', since: before(9) },
    },
    degraded: [{ type: 'weather', subject: 'rain', message: 'it rains', advice: 'wait' }],
    forecast: ['rain'],
  } as unknown as Partial<Application>;
  const lines = screen(newer);
  expect(lines[1]).toMatch(/^(?:WAITING|BROKEN): /);
  for (const text of ['full moon', 'it rains', 'Deployment web/web is renamed'])
    expect(lines.some((line) => line.includes(text))).toBe(true);
  expect(lines.join('\n')).not.toMatch(/undefined|\[object/);
});

it('keeps hostile texts on one line, without control characters and of bounded length', () => {
  const hostile = `\u001b[2Jfake\nOwner        nobody\u202e${'x'.repeat(100_000)}`;
  const lines = screen({ name: hostile, conditions: [{ type: hostile, message: hostile }] });
  expect(lines.filter((line) => line.startsWith('Owner '))).toHaveLength(1);
  for (const line of lines) {
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(line.length).toBeLessThan(450);
  }
});

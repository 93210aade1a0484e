import { describe, expect, it } from '@jest/globals';
import type { AuditEvent } from './audit.ts';
import { formerOwnersWrite, replicaWrites } from './ownership-witness.ts';
import type { OwnerPeriod, ReplicaWrite } from './ownership-witness.ts';

const write = (replica: string, atMs: number): ReplicaWrite => ({ replica, atMs, request: `patch at ${atMs}` });
const period = (owner: string, fromMs: number): OwnerPeriod => ({ owner, fromMs });

describe('the witness of ownership', () => {
  it.each([
    ['no write', [], [period('a', 0)]],
    ['one owner', [write('a', 10), write('a', 20)], [period('a', 0)]],
    [
      'the former owner until the new one writes',
      [write('a', 60_000), write('b', 70_000)],
      [period('a', 0), period('b', 50_000)],
    ],
    [
      'an owner again',
      [write('a', 1), write('b', 20_000), write('a', 40_000)],
      [period('a', 0), period('b', 10_000), period('a', 30_000)],
    ],
    [
      'an owner that wrote nothing',
      [write('a', 1), write('c', 40_000)],
      [period('a', 0), period('b', 10_000), period('c', 30_000)],
    ],
    ['a table that is read a little later', [write('a', 1)], [period('a', 500)]],
  ])('accepts %s', (_what, writes, periods) => {
    expect(formerOwnersWrite(writes, periods)).toBeUndefined();
  });

  it.each([
    [
      'a former owner after the new one',
      [write('a', 1), write('b', 20_000), write('a', 20_055)],
      [period('a', 0), period('b', 10_000)],
      20_055,
    ],
    [
      'a former owner that owns again only later',
      [write('b', 20_000), write('a', 25_000)],
      [period('a', 0), period('b', 10_000), period('a', 40_000)],
      25_000,
    ],
    ['a replica that never owned', [write('a', 1), write('c', 2)], [period('a', 0), period('b', 10_000)], 2],
  ])('reports %s', (_what, writes, periods, atMs) => {
    expect(formerOwnersWrite(writes, periods)?.atMs).toBe(atMs);
  });

  it('knows a replica by its user agent, and leaves out requests of others', () => {
    const event = (userAgent: string): AuditEvent => ({
      auditID: '1',
      stage: 'ResponseComplete',
      verb: 'patch',
      requestURI: '/api/v1/namespaces/x/configmaps/a',
      user: { username: 'admin' },
      userAgent,
      requestReceivedTimestamp: '2026-01-01T00:00:00.250000Z',
    });
    const found = replicaWrites([
      event('argocd-application-controller/0.1.0 (driftless driftless-1)'),
      event('kubectl/v1.33'),
    ]);
    expect(found).toEqual([
      {
        replica: 'driftless-1',
        atMs: Date.parse('2026-01-01T00:00:00.250Z'),
        request: 'patch /api/v1/namespaces/x/configmaps/a',
      },
    ]);
  });
});

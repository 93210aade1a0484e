import { describe, expect, it } from '@jest/globals';
import type { ClusterInfo } from '#live';
import { clusterReport } from './cluster-reports.ts';
import type { ClusterFacts } from './cluster-reports.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const synced: ClusterInfo = {
  server: 'https://dest',
  state: 'synced',
  serverVersion: 'v1.36.3',
  resourcesCount: 12,
  apisCount: 3,
  eventsCount: 0,
  lastSyncAt: Date.UTC(2026, 0, 2),
  kinds: [],
};
const facts: ClusterFacts = { info: synced, apiVersions: ['v1', 'v1/Pod'], applications: 2, now };
const attemptedAt = '2026-01-02T03:04:05Z';

describe('clusterReport', () => {
  it('has every field of a watched cluster', () => {
    expect(clusterReport(facts)).toEqual({
      connectionState: { status: 'Successful', message: '', attemptedAt },
      serverVersion: 'v1.36.3',
      cacheInfo: { resourcesCount: 12, apisCount: 3, lastCacheSyncTime: '2026-01-02T00:00:00Z' },
      applicationsCount: 2,
      apiVersions: ['v1', 'v1/Pod'],
    });
  });

  it.each<[string, Partial<ClusterFacts>, string, string]>([
    [
      'has no applications',
      { info: undefined, applications: 0 },
      'Unknown',
      'Cluster has no applications and is not being monitored.',
    ],
    ['is not watched yet', { info: undefined }, 'Unknown', ''],
    ['is being read', { info: { ...synced, state: 'connecting' } }, 'Unknown', ''],
    ['does not answer', { info: { ...synced, state: 'failed', message: 'refused' } }, 'Failed', 'refused'],
    ['stopped answering', { info: { ...synced, message: 'refused' } }, 'Failed', 'refused'],
  ])('reports a cluster that %s', (_name, given, status, message) => {
    const report = clusterReport({ ...facts, apiVersions: [], ...given });
    expect(report.connectionState).toEqual({ status, message, attemptedAt });
    expect([report.cacheInfo, 'apiVersions' in report]).toEqual([{}, false]);
  });
});

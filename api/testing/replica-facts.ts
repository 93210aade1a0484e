import { systemClock } from '#base';
import type { ControllerReport } from '#controller';
import { asApplication } from '#model';
import type { KubeObject } from '#model';
import type { ReplicaFacts } from '../facts.ts';

type OwnershipFacts = ReturnType<ReplicaFacts['ownership']['facts']>;

/** The ownership of a replica in charge of shard 0, which has every cluster. */
export function ownershipOf(more: () => Partial<OwnershipFacts> = () => ({})): ReplicaFacts['ownership'] {
  return {
    identity: () => ({ shard: 0, replicas: 1 }),
    ownsCluster: () => true,
    conditions: () => [],
    placeOf: () => ({ slot: 0, part: 0, parts: 1 }),
    facts: () => ({
      epoch: 7,
      epochSince: 0,
      algorithm: 'legacy',
      shards: 1,
      handOvers: [],
      holders: new Map(),
      entries: new Map(),
      unowned: new Map(),
      ...more(),
    }),
  };
}

/** The facts of a replica `replica-0` that watches no cluster of its own. */
export function factsOf(
  { report }: { readonly report: ControllerReport },
  clock: ReplicaFacts['clock'] = systemClock,
  more: Partial<ReplicaFacts> = {},
): ReplicaFacts {
  return {
    name: 'replica-0',
    version: '1',
    namespace: 'argocd',
    clock,
    controller: report,
    ownership: ownershipOf(),
    clusters: () => [],
    watched: () => [],
    repositories: () => [],
    process: () => ({ startedAt: 0, ready: true, heapBytes: 1, heapLimitBytes: 2, rssBytes: 3, cpuMs: 4 }),
    ...more,
  };
}

/** A controller that knows Applications, and has done nothing yet. */
export function idleController(apps: () => ReadonlyMap<string, KubeObject>): { readonly report: ControllerReport } {
  const known: Partial<ControllerReport> = {
    applications: () => [...apps().values()],
    application: (key) => {
      const app = apps().get(key);
      return app === undefined ? undefined : asApplication(app);
    },
    clusterOf: () => undefined,
    isMine: () => false,
    resyncMs: 0,
    state: () => ({
      since: '2026-01-01T00:00:00.000Z',
      reason: 'this replica became the owner',
      healthDetails: { status: '', message: '' },
      automatedSync: { decision: 'none', reason: '', checks: [] },
    }),
    activity: () => ({ passes: [], syncs: [], faults: [] }),
    pools: () => [],
  };
  return { report: known as ControllerReport };
}

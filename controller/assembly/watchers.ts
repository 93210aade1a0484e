import { isReconcileSkipped } from '#model';
import type { Cluster } from '#model';
import { ClusterReachWatch } from '../clusters/cluster-reach.ts';
import type { ClusterReachDeps } from '../clusters/cluster-reach.ts';
import { UnownedWarnings } from '../triggers/unowned.ts';
import { WaitWatch } from '../triggers/wait-watch.ts';
import type { WaitWatchDeps } from '../triggers/wait-watch.ts';
import { isWatched } from './parts.ts';
import type { WiredParts } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

/** The watch of this replica; none without `connect` and `unreachedMs`. */
export function makeClusterReach(
  {
    ownership,
    settings,
    hub,
    connect,
    clock,
  }: Pick<ControllerDeps, 'ownership' | 'settings' | 'hub' | 'connect' | 'clock'>,
  { unreachedMs }: Pick<ControllerConfig, 'unreachedMs'>,
): ClusterReachWatch | undefined {
  if (connect === undefined || unreachedMs === undefined) return undefined;
  const probe: ClusterReachDeps['probe'] = async ({ connection }, signal) => {
    const client = connect(connection);
    await client.version({ signal }).finally(() => client.close());
  };
  const clusters = (): readonly Cluster[] => settings.clusters();
  const probeHub: ClusterReachDeps['probeHub'] = (signal) => hub.version({ signal });
  const shared = { ownership, clusters, probe, probeHub, clock };
  return new ClusterReachWatch({ ...shared, hubServer: hub.server, leaseMs: unreachedMs });
}

/** Watches for clusters without an owner, and for work of Applications that makes no progress. */
export function makeWaitWatchers(
  deps: ControllerDeps,
  config: ControllerConfig,
  {
    apps,
    guard,
    mine,
    memories,
    store,
  }: Pick<WaitWatchDeps, 'mine' | 'memories' | 'store'> & Pick<WiredParts, 'apps' | 'guard'>,
): readonly [UnownedWarnings, WaitWatch] {
  const unowned = new UnownedWarnings({
    ...deps,
    apps,
    clusterOf: (app) => guard.clusterOf(app),
    isWanted: (app) => isWatched(config, app.metadata.namespace ?? '') && !isReconcileSkipped(app.metadata.annotations),
  });
  return [unowned, new WaitWatch({ ...deps, mine, memories, store, unownedMs: () => unowned.unownedMs() })];
}

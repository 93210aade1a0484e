import type { Cluster } from '#model';
import { ClusterReachWatch } from '../clusters/cluster-reach.ts';
import type { ClusterReachDeps } from '../clusters/cluster-reach.ts';
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

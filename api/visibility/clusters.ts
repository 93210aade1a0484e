import type { Application as KubeApplication } from '#model';
import type { ApplicationSummary } from '../application-types.ts';
import { plainUrl } from '../pages/format.ts';
import type { Degradation, ReplicaInfo } from '../types.ts';
import type { PageAccess } from './page-access.ts';

/** The cluster of an Application as its spec spells it. */
export type SpelledCluster = Pick<ApplicationSummary, 'server' | 'clusterName'>;

/** Only the Secret has the URL of a cluster given by name, or the name of one given by URL. */
export function spelledCluster({ spec }: KubeApplication): SpelledCluster {
  const { server = '', name = '' } = spec.destination;
  return { server: plainUrl(server).slice(0, maxLength), clusterName: name.slice(0, maxLength) };
}

const maxLength = 512;

/** Faults of its cluster, without their texts. */
export function withoutHiddenFaults(
  degraded: readonly Degradation[],
  { server, clusterName }: SpelledCluster,
): readonly Degradation[] {
  return degraded.map((fault) => {
    if (fault.type === 'cluster')
      return { ...fault, subject: server === '' ? clusterName : server, message: 'the cluster does not work' };
    return fault.type === 'kind' ? { ...fault, message: 'its live state is not current' } : fault;
  });
}

/** Replicas without the clusters and repositories that the viewer may not list. */
export async function withoutHiddenDetails(
  items: readonly ReplicaInfo[],
  access: PageAccess,
): Promise<readonly ReplicaInfo[]> {
  const [clusters, repositories] = [await access.missing('clusters'), await access.missing('repositories')];
  if (clusters === undefined && repositories === undefined) return items;
  return items.map((item) => {
    if (clusters !== undefined) access.hidden.add(clusters, item.clusters.length);
    const degraded = item.degraded.filter(({ type }) => {
      // Conditions of the ownership name clusters, too.
      const missing = type === 'repository' || type === 'source' ? repositories : clusters;
      if (missing !== undefined) access.hidden.add(missing);
      return missing === undefined;
    });
    return { ...item, clusters: clusters === undefined ? item.clusters : [], degraded };
  });
}

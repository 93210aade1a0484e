import { defined } from '#base';
import type { ClusterReport } from '#live';
import { groupKindName } from '#model';
import type { ApplicationSummary } from '../application-types.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { Degradation } from '../types.ts';
import { optionalTime, wireTime } from './format.ts';

/** All parts of this replica that do not work in full. */
export function replicaDegradations(facts: ReplicaFacts): readonly Degradation[] {
  return [
    ...facts.ownership.conditions().map(({ type, message, since }): Degradation => ({
      type: 'ownership',
      subject: type,
      message,
      since: wireTime(since),
      advice: 'Compare the replicas of the workload, ARGOCD_CONTROLLER_REPLICAS and the pins of clusters',
    })),
    ...facts.watched().flatMap(clusterDegradations),
    ...facts.repositories().flatMap(({ url }) => repositoryDegradations(facts, url)),
  ];
}

/** The degraded parts that one Application depends on. */
export function applicationDegradations(facts: ReplicaFacts, app: ApplicationSummary): readonly Degradation[] {
  const report = facts.watched().find(({ info }) => info.server === app.server);
  return [
    ...(report === undefined ? [] : clusterDegradations(report)),
    ...app.repositories.flatMap((url) => repositoryDegradations(facts, url)),
  ];
}

function clusterDegradations({ info, kinds }: ClusterReport): readonly Degradation[] {
  const cluster: Degradation = {
    type: 'cluster',
    subject: info.server,
    message: info.message ?? `the cluster is ${info.state}`,
    advice: 'Check the address and the credentials in its cluster Secret, and the network to it',
  };
  const stale = kinds.filter(
    ({ state, message, isPolledByNature }) =>
      isPolledByNature !== true && (state !== 'synced' || message !== undefined),
  );
  return [
    ...(info.message !== undefined || info.state === 'failed' ? [cluster] : []),
    ...stale.map((kind): Degradation => ({
      type: 'kind',
      subject: groupKindName(kind),
      message: `${kind.message ?? `its live state is ${kind.state}`}${readText(kind)}`,
      ...defined({ since: optionalTime(kind.since) }),
      advice: adviceForKind(kind.state),
    })),
  ];
}

/** How old the live state of a kind is that is not watched. */
function readText({ state, lastHeardAt }: ClusterReport['kinds'][number]): string {
  return state === 'synced' || lastHeardAt === undefined ? '' : ` (last read at ${wireTime(lastHeardAt)})`;
}

function adviceForKind(state: string): string {
  if (state === 'polled') return 'Request a refresh to read the objects of an Application now';
  if (state === 'forbidden' || state === 'left-out')
    return 'Grant list and watch on the kind, or exclude it by resource.exclusions';
  if (state === 'listing') return 'Wait for its first list; a big kind takes a while';
  return 'Read the kind with kubectl get: often a conversion webhook or an aggregated API server is down';
}

function repositoryDegradations({ repositories }: ReplicaFacts, wanted: string): readonly Degradation[] {
  const report = repositories().find(({ url }) => url === wanted);
  if (report === undefined || (report.failuresInRow === 0 && report.paused.length === 0)) return [];
  const { url, failuresInRow, failingSince, lastFetch, paused } = report;
  const failing: Degradation = {
    type: 'repository',
    subject: url,
    message: `${failuresInRow === 1 ? 'one failure' : `${failuresInRow} failures in a row`}: ${lastFetch.message ?? ''}`,
    ...defined({ since: optionalTime(failingSince) }),
    advice: 'Check its URL, its credentials and the network; argocd repo get shows what Argo CD sees',
  };
  return [
    ...(failuresInRow > 0 ? [failing] : []),
    ...paused.map(({ path, revision, message, since, until }): Degradation => ({
      type: 'source',
      subject: `${url} ${path} ${revision}`,
      message: `paused, because it failed several times in a row: ${message}`,
      since: wireTime(since),
      ...defined({ until: optionalTime(until) }),
      advice: 'Correct the source and push, or request a hard refresh: both end the pause',
    })),
  ];
}

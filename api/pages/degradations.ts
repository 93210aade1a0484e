import { defined, recordedText } from '#base';
import { shownRepositoryUrl } from '#desired';
import type { PausedSourceReport } from '#desired';
import type { ClusterReport } from '#live';
import { groupKindName, sourcesOf } from '#model';
import type { Application as KubeApplication, GroupKind } from '#model';
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
    ...settingsDegradations(facts),
    ...facts.watched().flatMap((report) => clusterDegradations(report)),
    ...facts.repositories().flatMap(({ url }) => repositoryDegradations(facts, url)),
  ];
}

function settingsDegradations({ settingsProblems }: ReplicaFacts): readonly Degradation[] {
  return (settingsProblems?.() ?? []).map(({ object, message }) => ({
    type: 'settings',
    subject: object,
    message,
    advice: 'Correct or restore it: docs/troubleshooting.md, "argocd-cm is missing or unreadable"',
  }));
}

/**
 * The degraded parts that one Application depends on: of its cluster the kinds that it holds, of
 * its repositories the sources that it has.
 */
export function applicationDegradations(
  facts: ReplicaFacts,
  { server, repositories }: ApplicationSummary,
  app: KubeApplication,
): readonly Degradation[] {
  const report = facts.watched().find(({ info }) => info.server === server);
  const held = new Set(
    (app.status?.resources ?? []).map(({ group = '', kind = '' }) => groupKindName({ group, kind })),
  );
  return [
    ...(report === undefined ? [] : clusterDegradations(report, (kind) => held.has(groupKindName(kind)))),
    ...repositories.flatMap((url) => repositoryDegradations(facts, url, (paused) => isSourceOf(app, url, paused))),
  ];
}

/** Whether an Application renders the path or chart of a paused source, at that revision. */
function isSourceOf({ spec, status }: KubeApplication, url: string, paused: PausedSourceReport): boolean {
  const { revision = '', revisions = [revision] } = status?.sync ?? {};
  return sourcesOf(spec).some(({ repoURL, path, chart, targetRevision = '' }) => {
    if (shownRepositoryUrl(repoURL) !== url || recordedText(path ?? chart ?? '') !== paused.path) return false;
    return [recordedText(targetRevision), ...revisions].includes(paused.revision);
  });
}

function clusterDegradations(
  { info, kinds }: ClusterReport,
  isWanted: (kind: GroupKind) => boolean = () => true,
): readonly Degradation[] {
  const cluster: Degradation = {
    type: 'cluster',
    subject: info.server,
    message: info.message ?? `the cluster is ${info.state}`,
    advice: 'Check the address and the credentials in its cluster Secret, and the network to it',
  };
  const stale = kinds.filter(
    (kind) =>
      kind.isPolledByNature !== true && (kind.state !== 'synced' || kind.message !== undefined) && isWanted(kind),
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

function repositoryDegradations(
  { repositories }: ReplicaFacts,
  wanted: string,
  isWanted: (paused: PausedSourceReport) => boolean = () => true,
): readonly Degradation[] {
  const report = repositories().find(({ url }) => url === wanted);
  if (report === undefined || (report.failuresInRow === 0 && report.paused.length === 0)) return [];
  const { url, failuresInRow, failingSince, lastFetch } = report;
  const paused = report.paused.filter(isWanted);
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

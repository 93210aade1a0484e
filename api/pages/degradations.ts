import { defined, recordedText } from '#base';
import { shownRepositoryUrl } from '#desired';
import type { ClusterReport } from '#live';
import { groupKindName, sourcesOf } from '#model';
import type { Application as KubeApplication } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import type { Degradation } from '../types.ts';
import { optionalTime, wireTime } from './format.ts';

/** A part of a replica that does not work, and which Applications use it. */
export interface PartFault {
  readonly fault: Degradation;
  /** Undefined: it concerns the replica, and no single Application. */
  readonly use:
    | { readonly server: string; readonly kind?: string }
    | { readonly url: string; readonly source?: { readonly path: string; readonly revision: string } }
    | undefined;
}

/** All parts of this replica that do not work in full. */
export function partFaults(facts: ReplicaFacts): readonly PartFault[] {
  const { ownership, settingsProblems } = facts;
  const conditions = ownership.conditions().map(({ type, message, since }): Degradation => ({
    type: 'ownership',
    subject: type,
    message,
    since: wireTime(since),
    advice: `Look up ${type} in docs/troubleshooting.md, "A cluster is not reconciled"`,
  }));
  const settings = (settingsProblems?.() ?? []).map(({ object, message }): Degradation => ({
    type: 'settings',
    subject: object,
    message,
    advice: 'Correct or restore it: docs/troubleshooting.md, "argocd-cm is missing or unreadable"',
  }));
  return [
    ...[...conditions, ...settings].map((fault): PartFault => ({ fault, use: undefined })),
    ...facts.watched().flatMap(clusterFaults),
    ...facts.repositories().flatMap(repositoryFaults),
  ];
}

/** The parts of an Application that decide which faults concern it. */
interface UsedParts {
  readonly server: string;
  /** As they are shown. */
  readonly repositories: readonly string[];
}

/**
 * The faults that concern one Application: of its cluster the kinds that it holds, of its
 * repositories the sources that it has.
 */
export function usedFaults(
  faults: readonly PartFault[],
  { server, repositories }: UsedParts,
  app: KubeApplication,
): readonly Degradation[] {
  let held: ReadonlySet<string> | undefined;
  const holds = (name: string): boolean => {
    held ??= new Set((app.status?.resources ?? []).map(({ group = '', kind = '' }) => groupKindName({ group, kind })));
    return held.has(name);
  };
  return faults.flatMap(({ use, fault }): readonly Degradation[] => {
    if (use === undefined) return [];
    if ('server' in use) return use.server === server && (use.kind === undefined || holds(use.kind)) ? [fault] : [];
    const { url, source } = use;
    return repositories.includes(url) && (source === undefined || isSourceOf(app, url, source)) ? [fault] : [];
  });
}

/** Whether an Application renders a path or chart at that revision. */
function isSourceOf(
  { spec, status }: KubeApplication,
  url: string,
  paused: { readonly path: string; readonly revision: string },
): boolean {
  const { revision = '', revisions = [revision] } = status?.sync ?? {};
  return sourcesOf(spec).some(({ repoURL, path, chart, targetRevision = '' }) => {
    if (shownRepositoryUrl(repoURL) !== url || recordedText(path ?? chart ?? '') !== paused.path) return false;
    return [recordedText(targetRevision), ...revisions].includes(paused.revision);
  });
}

function clusterFaults({ info, kinds }: ClusterReport): readonly PartFault[] {
  const { server } = info;
  const cluster: Degradation = {
    type: 'cluster',
    subject: server,
    message: info.message ?? `the cluster is ${info.state}`,
    advice: 'Check the address and the credentials in its cluster Secret, and the network to it',
  };
  const stale = kinds.filter(
    (kind) => kind.isPolledByNature !== true && (kind.state !== 'synced' || kind.message !== undefined),
  );
  return [
    ...(info.message !== undefined || info.state === 'failed' ? [{ fault: cluster, use: { server } }] : []),
    ...stale.map((kind): PartFault => {
      const name = groupKindName(kind);
      const fault: Degradation = {
        type: 'kind',
        subject: name,
        message: `${kind.message ?? `its live state is ${kind.state}`}${readText(kind)}`,
        ...defined({ since: optionalTime(kind.since) }),
        ...defined({ effect: effectOf(kind.state) }),
        advice: adviceForKind(kind.state),
      };
      return { fault, use: { server, kind: name } };
    }),
  ];
}

/** How old the live state of a kind is that is not watched. */
function readText({ state, lastHeardAt }: ClusterReport['kinds'][number]): string {
  return state === 'synced' || lastHeardAt === undefined ? '' : ` (last read at ${wireTime(lastHeardAt)})`;
}

/** The objects of a kind that is polled or left out are read, only later or one by one. */
function effectOf(state: string): Degradation['effect'] {
  if (state === 'listing') return 'waiting';
  return state === 'polled' || state === 'left-out' ? 'none' : undefined;
}

function adviceForKind(state: string): string {
  if (state === 'polled') return 'Request a refresh to read the objects of an Application now';
  if (state === 'forbidden' || state === 'left-out')
    return 'Grant list and watch on the kind, or exclude it by resource.exclusions';
  if (state === 'listing') return 'Wait for its first list; a big kind takes a while';
  return 'Read the kind with kubectl get: often a conversion webhook or an aggregated API server is down';
}

function repositoryFaults({
  url,
  failuresInRow,
  failingSince,
  lastFetch,
  paused,
}: ReturnType<ReplicaFacts['repositories']>[number]): readonly PartFault[] {
  const failing: Degradation = {
    type: 'repository',
    subject: url,
    message: `${failuresInRow === 1 ? 'one failure' : `${failuresInRow} failures in a row`}: ${lastFetch.message ?? ''}`,
    ...defined({ since: optionalTime(failingSince) }),
    advice: 'Check the URL, the network, and the credentials in the repository Secret of this URL',
  };
  return [
    ...(failuresInRow > 0 ? [{ fault: failing, use: { url } }] : []),
    ...paused.map(({ path, revision, message, since, until }): PartFault => {
      const fault: Degradation = {
        type: 'source',
        subject: `${url} ${path} ${revision}`,
        message: `paused, because it failed several times in a row: ${message}`,
        since: wireTime(since),
        ...defined({ until: optionalTime(until) }),
        advice: 'Correct the source and push, or request a hard refresh: both end the pause',
      };
      return { fault, use: { url, source: { path, revision } } };
    }),
  ];
}

import type { Clock, RollingSums } from '#base';
import type { Informer } from '#kube';
import type { ContainerChoice } from '#live';
import { asApplication } from '#model';
import type { AppKey, Application, Cluster, KubeObject, ResourceRef } from '#model';
import type { ProcessorsProgress, QueueContents, QueuedItem } from '#queues';
import { describeStall } from '#queues';
import type { RefreshCause } from '../application/freshness.ts';
import type { ActivityLog, FaultRecord, PassRecord, SyncRecord } from './activity.ts';
import { reportApplication, reportState } from './application-report.ts';
import type { ApplicationReport, ApplicationState, FullQueue } from './application-facts.ts';
import type { ApplicationReportDeps } from './application-report.ts';
import type { CostBook } from './costs.ts';
import { findInTree, isPod, reportEvents, reportLog, reportObject } from './object-report.ts';
import type { ObjectInTree, ReportedEvents, ReportedLog, ReportedObject } from './object-report.ts';
import { reportTree } from './tree-report.ts';
import type { ReportedTree, TreeReportDeps, TreeScope } from './tree-report.ts';
import type { Recordings } from '../recorder/recordings.ts';
import { isoTime } from './iso-time.ts';

type ReportedPayload = { readonly reason?: string; readonly cause?: RefreshCause } | undefined;

/** A queue and its pool. */
export interface ReportedPool {
  readonly name: string;
  readonly delayed: () => number;
  readonly progress: () => ProcessorsProgress;
  readonly contents: () => QueueContents<string, ReportedPayload>;
  /** The key, if it is due and waits for a worker. */
  readonly waiting: (key: string) => QueuedItem<string, ReportedPayload> | undefined;
  /** Items taken over the last hour, by `<priority> <cause>`. */
  readonly rates: RollingSums<'taken'>;
}

export interface ActivityOfHour {
  readonly passes: readonly PassRecord[];
  readonly syncs: readonly SyncRecord[];
  readonly faults: readonly FaultRecord[];
}

/** State of a controller for display: read when it is asked for, and stored once. */
export interface ControllerReport {
  /** All Applications in watched namespaces, of any owner. The same values until changed. */
  readonly applications: () => readonly KubeObject[];
  readonly application: (key: AppKey) => Application | undefined;
  /** Whether Applications may be in a namespace. */
  readonly isWatched: (namespace: string) => boolean;
  readonly clusterOf: (app: Application) => Cluster | undefined;
  readonly isMine: (app: Application) => boolean;
  /** An Application is compared at least this often; 0: only when something changes. */
  readonly resyncMs: number;
  /** Applications that this replica owns. */
  readonly owned: () => ReadonlySet<AppKey>;
  /** Only its owner knows it in full. */
  readonly state: (key: AppKey, app: Application) => ApplicationState;
  /** With all that has to be looked up; undefined: it does not exist, or is not watched. */
  readonly details: (key: AppKey, signal: AbortSignal) => Promise<ApplicationReport | undefined>;
  /** Its objects and theirs; undefined: it does not exist, or is not watched. */
  readonly tree: (key: AppKey, signal: AbortSignal) => Promise<ReportedTree | undefined>;
  /** One object of the tree; undefined: the tree does not have it, or there is none. */
  readonly object: (key: AppKey, ref: ResourceRef, signal: AbortSignal) => Promise<ReportedObject | undefined>;
  /** The events about one object of the tree. */
  readonly events: (key: AppKey, ref: ResourceRef, signal: AbortSignal) => Promise<ReportedEvents | undefined>;
  /** The log of one Pod of the tree; undefined: the tree does not have it, or it is none. */
  readonly log: (
    key: AppKey,
    wanted: { readonly ref: ResourceRef; readonly choice: ContainerChoice },
    signal: AbortSignal,
  ) => Promise<ReportedLog | undefined>;
  readonly pools: () => readonly ReportedPool[];
  /** The newest first, at most an hour old. */
  readonly activity: () => ActivityOfHour;
  readonly costs: CostBook;
  /** Recordings of passes; only the owner of an Application has any. */
  readonly recordings: Pick<Recordings, 'read'>;
}

const hourMs = 3_600_000;

export interface ControllerReportDeps extends Omit<ApplicationReportDeps, 'fullQueue'> {
  readonly clock: Clock;
  readonly resyncMs: number;
  readonly apps: Informer;
  readonly isWatched: (namespace: string) => boolean;
  readonly resolve: (app: Application) => Cluster | undefined;
  readonly isMine: (app: Application) => boolean;
  readonly owned: () => ReadonlySet<AppKey>;
  readonly pools: readonly ReportedPool[];
  readonly activity: ActivityLog;
  readonly costs: CostBook;
  readonly rootsOf: (key: AppKey) => TreeReportDeps['roots'];
  readonly treeScope: (app: Application) => TreeScope | undefined;
  readonly recordings: Recordings;
}

export function createControllerReport(deps: ControllerReportDeps): ControllerReport {
  const { apps, clock, isWatched, activity } = deps;
  const find = (key: AppKey): Application | undefined => {
    const object = apps.get(key);
    return object === undefined || !isWatched(object.metadata.namespace ?? '') ? undefined : asApplication(object);
  };
  const inTree = async <T>(
    key: AppKey,
    report: (app: Application, tree: TreeReportDeps) => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    const app = find(key);
    if (app === undefined) return undefined;
    const [roots, rows, scope] = [deps.rootsOf(key), deps.rowsOf(key), deps.treeScope(app)];
    return report(app, { roots, rows, cluster: deps.clusterOf(app), clock, scope });
  };
  const objectIn = <T>(
    key: AppKey,
    ref: ResourceRef,
    signal: AbortSignal,
    report: (found: ObjectInTree) => Promise<T>,
  ): Promise<T | undefined> =>
    inTree(key, (app, tree) => findInTree(app, ref, tree, signal).then((found) => found && report(found)));
  const reportDeps = { ...deps, fullQueue: (wanted: AppKey) => fullQueue(wanted, deps) };
  const recent = <T extends { readonly at: number }>(items: Iterable<T>): readonly T[] => {
    const oldest = clock.now() - hourMs;
    return [...items].filter(({ at }) => at >= oldest);
  };
  return {
    applications: () => apps.list().filter(({ metadata }) => isWatched(metadata.namespace ?? '')),
    application: find,
    isWatched,
    clusterOf: (app) => deps.resolve(app),
    isMine: (app) => deps.isMine(app),
    owned: () => deps.owned(),
    resyncMs: deps.resyncMs,
    state: (key, app) => reportState(key, app, reportDeps),
    details: async (key, signal) => {
      const app = find(key);
      return app === undefined ? undefined : reportApplication(key, app, reportDeps, signal);
    },
    tree: (key, signal) => inTree(key, (app, tree) => reportTree(app, tree, signal)),
    object: (key, ref, signal) =>
      objectIn(key, ref, signal, (found) =>
        reportObject(found, { rows: deps.rowsOf(key), settings: deps.settings() }, signal),
      ),
    events: (key, ref, signal) => objectIn(key, ref, signal, (found) => reportEvents(found, signal)),
    log: async (key, { ref, choice }, signal) =>
      isPod(ref) ? objectIn(key, ref, signal, (found) => reportLog(found, choice, signal)) : undefined,
    pools: () => deps.pools,
    activity: () => ({
      passes: recent(activity.passes.newestFirst()),
      syncs: recent(activity.syncs.newestFirst()),
      faults: recent(activity.faults.newestFirst()),
    }),
    costs: deps.costs,
    recordings: deps.recordings,
  };
}

/** Why a pool makes no progress. */
export function stallOf({ progress }: ReportedPool): string | undefined {
  return describeStall(progress(), stalledMs);
}

/** No progress for this long while work waits. */
const stalledMs = 600_000;

/** A shorter wait for a worker is no news. */
const longQueueWaitMs = 2000;

/** The queue in which a key has waited long for a worker. */
function fullQueue(
  key: AppKey,
  { pools, clock }: Pick<ControllerReportDeps, 'pools' | 'clock'>,
): { readonly since: number; readonly queue: FullQueue } | undefined {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const wall = (at: number): number => now - (monotonic - at);
  for (const pool of pools) {
    const item = pool.waiting(key);
    if (item === undefined || monotonic - item.since < longQueueWaitMs) continue;
    const { workers, waiting } = pool.progress();
    const longest = pool.contents().inProgress.toSorted((a, b) => a.since - b.since)[0];
    const named =
      longest === undefined ? {} : { longest: { key: longest.key, since: isoTime(wall(longest.since)) ?? '' } };
    return { since: wall(item.since), queue: { name: pool.name, workers, depth: waiting, ...named } };
  }
  return undefined;
}

import { asCount, defined, recordedText } from '#base';
import type { Clock } from '#base';
import type { ResourceComparison } from '#compare';
import { applyingRules } from '#diff';
import type { WrittenRule } from '#diff';
import type { LiveCluster, LiveRow } from '#live';
import { appKeyOf, keyOfRef, keyOfStatus, parseResourceKey } from '#model';
import type { AppKey, Application, KubeObject, ResourceKey, ResourceRef, ResourceStatus, Settings } from '#model';
import type { SyncHold } from '../admission/projects.ts';
import { autosyncChecks } from '../application/autosync-checks.ts';
import { contestRivals } from '../comparison/contest.ts';
import type { AppMemory } from '../comparison/memory.ts';
import { parseTime } from '../shared/kube-time.ts';
import type { PassRecord } from './activity.ts';
import type {
  ApplicationHealth,
  ApplicationReport,
  ApplicationState,
  AutomatedSync,
  FullQueue,
  ObjectHealth,
  Pass,
  ResourceCounts,
  Waiting,
} from './application-facts.ts';
import { isoTime, isoTimeOf } from './iso-time.ts';
import { reportOperation } from './operation-report.ts';
import { reportSources } from './source-report.ts';
import type { CommitLookup } from './source-report.ts';
import { waitOf } from './waits.ts';
import type { Wait } from './waits.ts';
import { describeDifference, isDifferent } from './resource-differences.ts';
import { liveAges } from './live-age.ts';

export interface ApplicationReportDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** When the process began to own anything. */
  readonly startedAt: number;
  readonly settings: () => Settings;
  readonly memoryOf: (key: AppKey) => AppMemory | undefined;
  readonly rowsOf: (key: AppKey) => readonly ResourceComparison[];
  readonly clusterOf: (app: Application) => LiveCluster | undefined;
  /** The sync windows that hold the running operation, or automated syncs if none runs. */
  readonly syncHold: (app: Application) => SyncHold | undefined;
  /** The queue in which it has waited for a worker, if all are busy. */
  readonly fullQueue: (key: AppKey) => { readonly since: number; readonly queue: FullQueue } | undefined;
  /** Whether the project lets an Application have an object; the tree shows no other. */
  readonly permits: (app: Application, ref: ResourceRef) => boolean;
  readonly syncTimeoutMs: number;
  /** The commit of a source; undefined if it is unknown, or the project forbids the repository. */
  readonly commitOf: CommitLookup;
}

/** No object is tracked by it: only the targets are read. */
const noInstance = '';
const maxDifferences = 100;
/** Differences that have their whole manifest. */
const maxManifests = 20;
const maxIgnored = 50;

/** Describes one Application. Nothing is prepared between the calls. */
export async function reportApplication(
  key: AppKey,
  app: Application,
  deps: ApplicationReportDeps,
  signal: AbortSignal,
): Promise<ApplicationReport> {
  const state = reportState(key, app, deps);
  const { lastOperation, healthDetails: health } = state;
  const memory = deps.memoryOf(key);
  const rows = deps.rowsOf(key);
  const settings = deps.settings();
  const different = rows.filter(isDifferent);
  const shown = different.slice(0, maxDifferences);
  const live = await liveObjects(deps.clusterOf(app), shown, signal);
  const ageOf = liveAges(deps.clusterOf(app));
  const rivals = contestRivals(memory?.contests ?? new Map());
  const [sources, blockedBy, decidedBy] = await Promise.all([
    reportSources(app, deps.commitOf, signal),
    withCulprit(lastOperation?.blockedBy, lastOperation?.blockedBy?.object, { app, deps }, signal),
    withCulprit(health.decidedBy, health.decidedBy, { app, deps }, signal),
  ]);
  return {
    ...state,
    ...defined({
      lastOperation: lastOperation === undefined ? undefined : { ...lastOperation, ...defined({ blockedBy }) },
      lastPass: memory?.lastPass && reportedPass(memory.lastPass, deps.clock.now()),
    }),
    resources: countResources(rows.length === 0 ? (app.status?.resources ?? []) : rows.map(({ status }) => status)),
    differences: shown.map((row, i) => {
      const hasManifest = i < maxManifests;
      const difference = describeDifference(row, { app, settings, live, rivals, permits: deps.permits, hasManifest });
      return { ...difference, ...defined({ liveAge: ageOf(difference) }) };
    }),
    differencesTotal: different.length,
    ignored: ignoredResources(app, rows, settings),
    healthDetails: { ...health, ...defined({ decidedBy }) },
    sources,
  };
}

/** The part of a report that is in memory: cheap enough for each Application of a list. */
export function reportState(key: AppKey, app: Application, deps: ApplicationReportDeps): ApplicationState {
  const memory = deps.memoryOf(key);
  // Only a running operation and a sync that waits ask for the windows.
  let found: { readonly hold: SyncHold | undefined } | undefined;
  const holdOf = (): SyncHold | undefined => (found ??= { hold: deps.syncHold(app) }).hold;
  const isUnderWay = app.operation !== undefined || app.status?.operationState?.finishedAt === undefined;
  const hold = isUnderWay ? holdOf() : undefined;
  const wait = waitOf(app, memory, deps.clock.now());
  let listed: ReadonlyMap<string, ResourceStatus> | undefined;
  const statusOf = (ref: ResourceRef): ResourceStatus | undefined => {
    listed ??= new Map((app.status?.resources ?? []).map((resource) => [keyOfStatus(resource), resource]));
    return listed.get(keyOfStatus(ref));
  };
  const waveOf = (ref: ResourceRef): number | undefined => {
    const row = statusOf(ref);
    return row === undefined ? undefined : asCount(row.syncWave, 0);
  };
  const lastOperation = reportOperation(app, {
    wait,
    window: hold === undefined ? undefined : { message: holdMessage(hold), until: hold.until },
    syncTimeoutMs: deps.syncTimeoutMs,
    isClusterScoped: (ref) => statusOf({ ...ref, namespace: '' }) !== undefined,
    waveOf,
  });
  return {
    ...remembered(app, { memory, wait }, deps),
    ...defined({ lastOperation }),
    healthDetails: healthOf(app, deps.rowsOf(key)),
    automatedSync: autosyncOf(memory, holdOf),
  };
}

function remembered(
  app: Application,
  { memory, wait }: { readonly memory: AppMemory | undefined; readonly wait: Wait | undefined },
  { startedAt, fullQueue, clock }: ApplicationReportDeps,
): Omit<ApplicationState, 'lastOperation' | 'healthDetails' | 'automatedSync'> {
  const { owned, comparedAt, seenAt } = memory ?? {};
  // A user requests by changing the Application, so the request is as old as its last change.
  const askedAt = seenAt === undefined ? changedAt(app) : clock.now() - (clock.monotonic() - seenAt);
  return {
    since: isoTime(owned?.at ?? startedAt) ?? '',
    reason: owned?.reason ?? 'this replica became the owner',
    ...defined({
      waiting: queuedWait(fullQueue(appKeyOf(app))) ?? waitingOf(wait, askedAt ?? startedAt),
      comparedAt: comparedAt === undefined ? undefined : isoTime(comparedAt),
    }),
  };
}

/** When a client last changed it, by the hub; a replica that does not own it remembers nothing. */
function changedAt({ metadata }: Application): number | undefined {
  const times = (metadata.managedFields ?? []).map(({ time }) =>
    typeof time === 'string' ? (parseTime(time) ?? 0) : 0,
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The live objects of rows that differ, with their managedFields. Unreadable ones are left out. */
async function liveObjects(
  cluster: LiveCluster | undefined,
  rows: readonly ResourceComparison[],
  signal: AbortSignal,
): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
  const targets = rows.flatMap(({ diff }) => diff.normalizedLive ?? []);
  if (cluster === undefined || targets.length === 0) return new Map();
  try {
    return (await cluster.managed({ app: noInstance, targets }, signal)).objects;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error) return new Map();
    throw error;
  }
}

export function reportedPass(record: PassRecord, now: number): Pass {
  const { at, level, isHard, queuedMs, priority, stages, result, message } = record;
  return {
    at: isoTime(at) ?? '',
    durationMs: Math.round(result === 'running' ? now - at : record.durationMs),
    queuedMs: Math.round(queuedMs),
    priority,
    level,
    isHard,
    cause: {
      type: record.cause,
      message: record.reason,
      objects: record.objects.map(parseResourceKey),
      objectsTotal: record.objectsTotal,
    },
    stages: Object.fromEntries(Object.entries(stages).map(([stage, ms]) => [stage, Math.round(ms * 10) / 10])),
    result,
    ...defined({ message }),
  };
}

function queuedWait(found: ReturnType<ApplicationReportDeps['fullQueue']>): Waiting | undefined {
  if (found === undefined) return undefined;
  const { queue, since } = found;
  const what = `a free worker of ${queue.name} (${queue.depth} due, workers busy: all ${queue.workers})`;
  return { what, since: isoTime(since) ?? '', queue };
}

function waitingOf(wait: Wait | undefined, askedAt: number): Waiting | undefined {
  if (wait === undefined) return undefined;
  const { what, since = askedAt, until } = wait;
  return { what, since: isoTime(since) ?? '', ...defined({ until: until === undefined ? undefined : isoTime(until) }) };
}

function countResources(resources: readonly Pick<ResourceStatus, 'status'>[]): ResourceCounts {
  const counts = { synced: 0, outOfSync: 0, unknown: 0 };
  for (const { status } of resources) {
    if (status === 'Synced') counts.synced += 1;
    else if (status === 'OutOfSync') counts.outOfSync += 1;
    else if (status === 'Unknown') counts.unknown += 1;
  }
  return counts;
}

function ignoredResources(
  app: Application,
  rows: readonly ResourceComparison[],
  settings: Settings,
): ApplicationReport['ignored'] {
  const list = app.spec.ignoreDifferences ?? [];
  const found: (ResourceRef & { readonly rules: readonly WrittenRule[] })[] = [];
  for (const { key, diff } of rows) {
    const ref = parseResourceKey(key);
    const rules = applyingRules(ref, list, settings, diff.predictedLive);
    if (rules.length > 0) found.push({ ...ref, rules });
    if (found.length >= maxIgnored) break;
  }
  return found;
}

function healthOf(app: Application, rows: readonly ResourceComparison[]): ApplicationHealth {
  const { status = '', message = '', lastTransitionTime } = app.status?.health ?? {};
  const decisive = rows.find(({ health, hook, own }) => !hook && own && health !== null && health.status === status);
  return {
    status,
    message,
    ...defined({ since: isoTimeOf(lastTransitionTime) }),
    ...(decisive?.health == null || status === 'Healthy'
      ? {}
      : { decidedBy: { ...parseResourceKey(decisive.key), status, message: decisive.health.message ?? '' } }),
  };
}

function autosyncOf(memory: AppMemory | undefined, holdOf: () => SyncHold | undefined): AutomatedSync {
  const seen = memory?.autosync;
  if (seen === undefined)
    return { decision: 'none', reason: 'not decided since this replica became the owner', checks: [] };
  const { decision, at } = seen;
  const checks = autosyncChecks(seen);
  const [window] = checks;
  if (decision === undefined) {
    const hold = holdOf();
    const reason = hold === undefined ? (window?.message ?? '') : holdMessage(hold);
    const until = hold?.until === undefined ? undefined : isoTime(hold.until);
    return { decision: 'skip', reason, checks, ...defined({ at: isoTime(at), until }) };
  }
  const reason = decision.do === 'refuse' ? decision.message : decision.reason;
  const until = decision.do === 'wait' ? isoTime(at + decision.ms) : undefined;
  return { decision: decision.do, reason, checks, ...defined({ at: isoTime(at), until }) };
}

function holdMessage({ project, windows, error, permitsManual }: SyncHold): string {
  if (error !== undefined) return `project ${project} has an invalid sync window, which forbids all syncs: ${error}`;
  const them = windows.length === 1 ? 'a sync window' : 'sync windows';
  const manual = permitsManual ? 'a sync by a user is permitted' : 'also for syncs by users';
  return `${them} of project ${project}: ${windows.join(', ')} (${manual})`;
}

/** Adds the object below the given one that is to blame for its health. */
async function withCulprit<T extends object>(
  subject: T | undefined,
  ref: ResourceRef | undefined,
  { app, deps }: { readonly app: Application; readonly deps: ApplicationReportDeps },
  signal: AbortSignal,
): Promise<(T & { readonly culprit?: NonNullable<ObjectHealth['culprit']> }) | undefined> {
  const cluster = deps.clusterOf(app);
  if (subject === undefined || ref === undefined || cluster === undefined) return subject;
  const root = keyOfRef(ref);
  const rows = await cluster.tree({ roots: [root], excluded: [] }, signal);
  const below = rows.filter((row) => row.key !== root && deps.permits(app, row));
  const ill = (status: string): LiveRow | undefined =>
    below.findLast((row) => row.health?.status === status && troubleOf(row) !== '');
  const found = ill('Degraded') ?? ill('Progressing');
  if (found === undefined) return subject;
  const { group, kind, namespace, name, health } = found;
  const message = recordedText(troubleOf(found));
  return { ...subject, culprit: { group, kind, namespace, name, status: health?.status ?? '', message } };
}

/** The message of its health, or why its containers do not run: a Job's Pod has no message. */
function troubleOf({ health, info = [] }: LiveRow): string {
  const reason = info.find(({ name }) => name === 'Status Reason')?.value ?? '';
  return health?.message !== undefined && health.message !== '' ? health.message : reason;
}

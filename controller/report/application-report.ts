import { defined } from '#base';
import type { Clock } from '#base';
import type { ResourceComparison } from '#compare';
import { applyingRules } from '#diff';
import type { WrittenRule } from '#diff';
import type { LiveCluster } from '#live';
import { keyOfStatus, parseResourceKey } from '#model';
import type { AppKey, Application, KubeObject, ResourceKey, ResourceRef, ResourceStatus, Settings } from '#model';
import { autosyncChecks } from '../application/autosync-checks.ts';
import type { AutosyncCheck } from '../application/autosync-checks.ts';
import { contestRivals } from '../comparison/contest.ts';
import type { AppMemory } from '../comparison/memory.ts';
import type { PassRecord } from './activity.ts';
import { isoTime, isoTimeOf } from './iso-time.ts';
import { reportOperation } from './operation-report.ts';
import type { OperationReport } from './operation-report.ts';
import { describeDifference, isDifferent } from './resource-differences.ts';
import type { ResourceDifference } from './resource-differences.ts';

export interface ReportedPass {
  readonly at: string;
  readonly durationMs: number;
  readonly queuedMs: number;
  readonly priority: PassRecord['priority'];
  readonly level: PassRecord['level'];
  readonly isHard: boolean;
  readonly cause: {
    readonly type: PassRecord['cause'];
    readonly message: string;
    readonly objects: readonly ResourceRef[];
    readonly objectsTotal: number;
  };
  readonly stages: PassRecord['stages'];
  readonly result: PassRecord['result'];
  readonly message?: string;
}

export interface ReportedAutosync {
  readonly decision: 'start' | 'wait' | 'skip' | 'refuse' | 'none';
  readonly reason: string;
  readonly at?: string;
  readonly until?: string;
  readonly checks: readonly AutosyncCheck[];
}

/** Facts that only the owner of an Application has, for display. Values are masked. */
export interface ApplicationReport {
  readonly since: string;
  readonly reason: string;
  readonly lastPass?: ReportedPass;
  readonly waiting?: { readonly what: string; readonly since: string; readonly until?: string };
  readonly resources: { readonly synced: number; readonly outOfSync: number; readonly unknown: number };
  readonly differences: readonly ResourceDifference[];
  readonly differencesTotal: number;
  readonly ignored: readonly (ResourceRef & { readonly rules: readonly WrittenRule[] })[];
  readonly healthDetails: {
    readonly status: string;
    readonly message: string;
    readonly since?: string;
    readonly decidedBy?: ResourceRef & { readonly status: string; readonly message: string };
  };
  readonly lastOperation?: OperationReport;
  readonly automatedSync: ReportedAutosync;
}

export interface ApplicationReportDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** When the process began to own anything. */
  readonly startedAt: number;
  readonly settings: () => Settings;
  readonly memoryOf: (key: AppKey) => AppMemory | undefined;
  readonly rowsOf: (key: AppKey) => readonly ResourceComparison[];
  readonly clusterOf: (app: Application) => LiveCluster | undefined;
  /** The message of a sync window that blocks the running operation. */
  readonly windowMessage: (app: Application) => string | undefined;
}

/** No object is tracked by it: only the targets are read. */
const noInstance = '';
const maxDifferences = 100;
const maxIgnored = 50;

/** Describes one Application. Nothing is prepared between the calls. */
export async function reportApplication(
  key: AppKey,
  app: Application,
  deps: ApplicationReportDeps,
  signal: AbortSignal,
): Promise<ApplicationReport> {
  const memory = deps.memoryOf(key);
  const rows = deps.rowsOf(key);
  const settings = deps.settings();
  const different = rows.filter(isDifferent);
  const shown = different.slice(0, maxDifferences);
  const live = await liveObjects(deps.clusterOf(app), shown, signal);
  const rivals = contestRivals(memory?.contests ?? new Map());
  const waves = new Map((app.status?.resources ?? []).map((row) => [keyOfStatus(row), row.syncWave ?? 0]));
  const lastOperation = reportOperation(app, {
    memory,
    windowMessage: deps.windowMessage(app),
    waveOf: ({ group, kind, namespace, name }) => waves.get(keyOfStatus({ group, kind, namespace, name })),
  });
  return {
    ...remembered(memory, deps),
    ...defined({ lastOperation }),
    resources: countResources(rows.length === 0 ? (app.status?.resources ?? []) : rows.map(({ status }) => status)),
    differences: shown.map((row) => describeDifference(row, { app, settings, live, rivals })),
    differencesTotal: different.length,
    ignored: ignoredResources(app, rows, settings),
    healthDetails: healthOf(app, rows),
    automatedSync: autosyncOf(memory),
  };
}

function remembered(
  memory: AppMemory | undefined,
  { startedAt, clock }: ApplicationReportDeps,
): Pick<ApplicationReport, 'since' | 'reason' | 'lastPass' | 'waiting'> {
  const { owned, lastPass } = memory ?? {};
  return {
    since: isoTime(owned?.at ?? startedAt) ?? '',
    reason: owned?.reason ?? 'this replica became the owner',
    ...defined({
      lastPass: lastPass === undefined ? undefined : reportedPass(lastPass, clock.now()),
      waiting: waitingOf(memory),
    }),
  };
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

export function reportedPass(record: PassRecord, now: number): ReportedPass {
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

function waitingOf(memory: AppMemory | undefined): ApplicationReport['waiting'] {
  const deletion = memory?.deletionBlockedBy;
  const waiting = deletion === undefined ? memory?.waiting : { ...deletion, until: 0 };
  if (waiting === undefined) return undefined;
  const until = waiting.until > 0 ? isoTime(waiting.until) : undefined;
  return { what: waiting.what, since: isoTime(waiting.since) ?? '', ...defined({ until }) };
}

function countResources(resources: readonly Pick<ResourceStatus, 'status'>[]): ApplicationReport['resources'] {
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

function healthOf(app: Application, rows: readonly ResourceComparison[]): ApplicationReport['healthDetails'] {
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

function autosyncOf(memory: AppMemory | undefined): ReportedAutosync {
  const seen = memory?.autosync;
  if (seen === undefined)
    return { decision: 'none', reason: 'not decided since this replica became the owner', checks: [] };
  const { decision, at } = seen;
  const checks = autosyncChecks(seen);
  const [window] = checks;
  if (decision === undefined)
    return { decision: 'skip', reason: window?.message ?? '', checks, ...defined({ at: isoTime(at) }) };
  const reason = decision.do === 'refuse' ? decision.message : decision.reason;
  const until = decision.do === 'wait' ? isoTime(at + decision.ms) : undefined;
  return { decision: decision.do, reason, checks, ...defined({ at: isoTime(at), until }) };
}

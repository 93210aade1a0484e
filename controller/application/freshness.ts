import { defined } from '#base';
import { equalLoosely, equalSourceLists, equalSources, managedNamespaceMetadataChanged } from '#compare';
import { hasMultipleSources, malformedStatusOf, sourceOf } from '#model';
import type { Application, ResourceKey } from '#model';
import { isHydrationWarningOutdated } from './hydration.ts';
import { parseTime } from '../shared/kube-time.ts';
import { syncEndedAt } from './operation-state.ts';
import { refreshAnnotation } from './refresh-annotation.ts';
import type { RefreshAnnotation } from './refresh-annotation.ts';

/**
 * How deep a refresh goes (Argo CD: CompareWith): 0 rebuilds only the resource tree; 1 compares
 * with the last compared revision; 2 compares with the source, cached revisions allowed; 3 resolves
 * the revision in the repository again.
 */
export type CompareLevel = 0 | 1 | 2 | 3;
export const compareLevel = { nothing: 0, recent: 1, latest: 2, forceResolve: 3 } as const;

/** Causes of a refresh, for display. */
export type RefreshCause =
  'object' | 'user' | 'timer' | 'application' | 'ownership' | 'project' | 'settings' | 'operation' | 'retry' | 'other';

/** A queued refresh request. Without a level, the rules below decide whether a refresh is due. */
export interface RefreshRequest {
  readonly level?: CompareLevel;
  /** Shown in logs, `explain` and the dashboard. */
  readonly reason: string;
  /** Default: other. */
  readonly cause?: RefreshCause;
  /** The changed resources, if the request has a level. Undefined: compare all again. */
  readonly resources?: ReadonlySet<ResourceKey>;
}

/** Above this number all resources count as changed: merging must stay cheap for every event. */
export const maxNamedResources = 256;

/** Merges two requests for one key: the deeper level and its reason, the resources of both. */
export function mergeRequests(a: RefreshRequest, b: RefreshRequest): RefreshRequest {
  const deeper = (b.level ?? -1) > (a.level ?? -1) ? b : a;
  const { level, reason, cause } = deeper;
  if (level === undefined) return deeper;
  const resources = unionOfResources(resourcesOf(a), resourcesOf(b));
  if (resources === deeper.resources) return deeper;
  return { level, reason, ...defined({ cause, resources }) };
}

const noResources: ReadonlySet<ResourceKey> = new Set();

/**
 * A request without a level names no resources: whether a refresh is due follows from the
 * Application.
 */
function resourcesOf(request: RefreshRequest): ReadonlySet<ResourceKey> | undefined {
  return request.level === undefined ? noResources : request.resources;
}

/** Undefined: all resources. */
function unionOfResources(
  a: ReadonlySet<ResourceKey> | undefined,
  b: ReadonlySet<ResourceKey> | undefined,
): ReadonlySet<ResourceKey> | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (b.size === 0) return a;
  if (a.size === 0) return b;
  const union = new Set([...a, ...b]);
  return union.size > maxNamedResources ? undefined : union;
}

/** A refresh to perform. */
export interface DueRefresh {
  readonly level: CompareLevel;
  /** Render the manifests again even if this commit was rendered before. */
  readonly hard: boolean;
  readonly reason: string;
  readonly cause: RefreshCause;
  /** The resources changed since the last comparison; undefined: compare all again. */
  readonly resources?: ReadonlySet<ResourceKey>;
  /** The refresh request in the annotations, if that is the reason. */
  readonly requested?: RefreshAnnotation;
}

export interface FreshnessFacts {
  readonly now: number;
  /**
   * When this process last compared at level 2 or deeper; may be newer than `status.reconciledAt`.
   */
  readonly comparedAt: number | undefined;
  /** Hydration is on: no warning is needed. */
  readonly hydrates?: boolean | undefined;
  /** A comparison at level 3 did not reach its repository: use no revisions from before it. */
  readonly owesResolution?: boolean | undefined;
  /** 0: never. */
  readonly softMs: number;
  /** 0: never. */
  readonly hardMs: number;
}

/**
 * Whether an Application must be refreshed now, how deeply, and why. Rules in Argo CD's order
 * (controller: needRefreshAppStatus); the first match gives the reason. One pass also answers
 * `request`, at the deeper of both levels; Argo CD leaves the request to another pass. A rule
 * concerns all resources, a request only those that it names.
 */
export function refreshDue(
  app: Application,
  request: RefreshRequest | undefined,
  facts: FreshnessFacts,
): DueRefresh | undefined {
  const due = matchRule(app, facts) ?? dueByRequest(request);
  if (due === undefined) return undefined;
  const level = Math.max(due.level, request?.level ?? 0) as CompareLevel;
  const isOwed = facts.owesResolution === true && level > compareLevel.nothing;
  return { ...due, level: isOwed ? compareLevel.forceResolve : level };
}

function dueByRequest(request: RefreshRequest | undefined): DueRefresh | undefined {
  if (request?.level === undefined) return undefined;
  const { level, reason, cause = 'other', resources } = request;
  return { level, hard: false, reason, cause, ...defined({ resources }) };
}

function matchRule(app: Application, facts: FreshnessFacts): DueRefresh | undefined {
  const requested = refreshAnnotation(app);
  if (requested !== undefined) {
    const { type } = requested;
    return {
      level: compareLevel.forceResolve,
      hard: type === 'hard',
      reason: `${type} refresh requested`,
      cause: 'user',
      requested,
    };
  }
  const source = sourceChange(app);
  if (source !== undefined)
    return { level: compareLevel.forceResolve, hard: false, reason: source, cause: 'application' };
  const [malformed] = malformedStatusOf(app);
  if (malformed !== undefined)
    return {
      level: compareLevel.recent,
      hard: false,
      reason: `its stored status cannot be read: ${malformed}`,
      cause: 'application',
    };
  const hard = isExpired(app, facts, facts.hardMs);
  if (hard || isExpired(app, facts, facts.softMs) || lastComparedAt(app, facts) === undefined)
    return { level: compareLevel.latest, hard, reason: expiredReason(app, facts, hard), cause: 'timer' };
  if (isComparisonOwed(app, facts.now))
    return { level: compareLevel.latest, hard: false, reason: 'an operation completed', cause: 'operation' };
  const change = specChange(app);
  if (change !== undefined) return { level: compareLevel.latest, hard: false, reason: change, cause: 'application' };
  if (!isHydrationWarningOutdated(app, facts.hydrates === true)) return undefined;
  return { level: compareLevel.recent, hard: false, reason: 'the request for hydration changed', cause: 'application' };
}

function sourceChange(app: Application): string | undefined {
  const compared = app.status?.sync?.comparedTo;
  if (hasMultipleSources(app.spec))
    return equalSourceLists(app.spec.sources, compared?.sources)
      ? undefined
      : 'at least one of the spec.sources differs';
  return equalSources(sourceOf(app.spec), compared?.source) ? undefined : 'spec.source differs';
}

/**
 * No comparison has followed the last sync. Any pass is then made a full one: a shallow pass would
 * need another pass, and another write.
 */
function isComparisonOwed({ status }: Application, now: number): boolean {
  const [compared, ended] = [parseTime(status?.reconciledAt), syncEndedAt(status?.operationState)];
  return compared !== undefined && ended !== undefined && compared < ended && ended <= now;
}

function specChange(app: Application): string | undefined {
  const compared = app.status?.sync?.comparedTo;
  if (!equalLoosely(app.spec.destination, compared?.destination)) return 'spec.destination differs';
  if (managedNamespaceMetadataChanged(app)) return 'spec.syncPolicy.managedNamespaceMetadata differs';
  if (!equalLoosely(app.spec.ignoreDifferences, compared?.ignoreDifferences)) return 'spec.ignoreDifferences differs';
  return undefined;
}

/** Clocks of replicas differ by less; a comparison later than this was made before a set-back. */
const maxClockLeadMs = 60_000;

/**
 * When the Application was last compared, by its status or this process's memory. A time in the
 * future counts as none: the clock was set back, and waiting for that time would stop resyncs.
 */
export function lastComparedAt(
  app: Application,
  { comparedAt, now }: Pick<FreshnessFacts, 'comparedAt' | 'now'>,
): number | undefined {
  const times = [parseTime(app.status?.reconciledAt), comparedAt].filter(
    (time) => time !== undefined && time <= now + maxClockLeadMs,
  );
  return times.length === 0 ? undefined : Math.max(...(times as number[]));
}

function isExpired(app: Application, facts: FreshnessFacts, limitMs: number): boolean {
  const last = lastComparedAt(app, facts);
  return limitMs > 0 && (last === undefined || last + limitMs < facts.now);
}

function expiredReason(app: Application, facts: FreshnessFacts, hard: boolean): string {
  const last = lastComparedAt(app, facts);
  if (last === undefined && app.status?.reconciledAt !== undefined)
    return 'comparison expired: the last one is in the future, so the clock was set back';
  if (last === undefined) return 'comparison expired: the application was never compared';
  const limitMs = hard ? facts.hardMs : facts.softMs;
  return `comparison expired: last compared ${Math.round((facts.now - last) / 1000)} s ago, limit ${limitMs / 1000} s`;
}

/**
 * Milliseconds until a fresh Application's next timed refresh; undefined without a resync period.
 */
export function msUntilExpiry(app: Application, facts: FreshnessFacts): number | undefined {
  const periodMs = resyncPeriodMs(facts);
  if (periodMs === undefined) return undefined;
  const last = lastComparedAt(app, facts) ?? facts.now;
  return Math.max(0, last + periodMs + 1 - facts.now);
}

type ResyncPeriods = Pick<FreshnessFacts, 'softMs' | 'hardMs'>;

function resyncPeriodMs({ softMs, hardMs }: ResyncPeriods): number | undefined {
  const limits = [softMs, hardMs].filter((ms) => ms > 0);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

const minResyncDelayMs = 1000;
const maxResyncSlotMs = 5000;

/**
 * Delays a resync to the next slot of time: resyncs that run together wake the process once, and
 * each takes half the CPU of one alone. A slot is at most 5 s, and a 24th of the period.
 * @param dueInMs until the resync may run
 * @param now by the monotonic clock
 */
export function resyncDelayMs(dueInMs: number, now: number, periods: ResyncPeriods): number {
  const earliest = now + Math.max(minResyncDelayMs, dueInMs);
  const slotMs = Math.min(maxResyncSlotMs, (resyncPeriodMs(periods) ?? 0) / 24);
  return (slotMs < 1 ? earliest : Math.ceil(earliest / slotMs) * slotMs) - now;
}

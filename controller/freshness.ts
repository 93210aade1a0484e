import { equalLoosely, equalSourceLists, equalSources, managedNamespaceMetadataChanged } from '#compare';
import { hasMultipleSources, sourceOf, annotationOf, annotations, asObject } from '#model';
import type { Application, ResourceKey } from '#model';
import { hydrationUntold } from './hydration.ts';
import { parseTime } from './kube-time.ts';
import { endOfSync } from './operation-state.ts';

/**
 * How deep a refresh goes (Argo CD: CompareWith).
 * 0 rebuilds the resource tree only; 1 compares with the revision that was compared last; 2 with what the source says, cached
 * revisions allowed; 3 asks the repository where the revision points now.
 */
export type CompareLevel = 0 | 1 | 2 | 3;
export const compareLevel = { nothing: 0, recent: 1, latest: 2, forceResolve: 3 } as const;

/** What waits in the refresh queue for a key. Without a level: look whether something is due, by the rules below. */
export interface RefreshRequest {
  readonly level?: CompareLevel;
  /** Said by logs, `explain` and the dashboard. */
  readonly reason: string;
  /** The resources that changed, where the request has a level. Undefined: all are to be looked at again. */
  readonly resources?: ReadonlySet<ResourceKey>;
}

/** More resources than these are as good as all: what is merged at each event must stay small. */
export const maxResources = 256;

/** Two requests for one key: the deeper one counts, and its reason; for the resources of both. */
export function mergeRequests(a: RefreshRequest, b: RefreshRequest): RefreshRequest {
  const deeper = (b.level ?? -1) > (a.level ?? -1) ? b : a;
  const { level, reason } = deeper;
  if (level === undefined) return deeper;
  const resources = unionOf(resourcesOf(a), resourcesOf(b));
  if (resources === deeper.resources) return deeper;
  return { level, reason, ...(resources === undefined ? {} : { resources }) };
}

const none: ReadonlySet<ResourceKey> = new Set();

/** A request without a level looks at no resource: whether something is due follows from the application alone. */
function resourcesOf(request: RefreshRequest): ReadonlySet<ResourceKey> | undefined {
  return request.level === undefined ? none : request.resources;
}

/** Undefined: all. */
function unionOf(
  a: ReadonlySet<ResourceKey> | undefined,
  b: ReadonlySet<ResourceKey> | undefined,
): ReadonlySet<ResourceKey> | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (b.size === 0) return a;
  if (a.size === 0) return b;
  const union = new Set([...a, ...b]);
  return union.size > maxResources ? undefined : union;
}

/** A refresh that is due. */
export interface Refresh {
  readonly level: CompareLevel;
  /** Render manifests again even if this commit was rendered before. */
  readonly hard: boolean;
  readonly reason: string;
  /** The resources that changed since the last comparison; undefined: all are compared anew. */
  readonly resources?: ReadonlySet<ResourceKey>;
}

export interface FreshnessFacts {
  readonly now: number;
  /** When this process last finished a comparison at level 2 or deeper; newer than `status.reconciledAt` on a quiet application. */
  readonly comparedAt: number | undefined;
  /** 0: never. */
  readonly softMs: number;
  /** 0: never. */
  readonly hardMs: number;
}

/**
 * Whether an Application must be refreshed now, how deeply, and why. Rules in Argo CD's order (controller: needRefreshAppStatus); the
 * first that matches names the reason. The level is at least that of `request`, which is thereby used up: one pass answers both
 * (Argo CD leaves the request for another pass). What a rule finds concerns all resources; a request alone those that it names.
 */
export function refreshDue(
  app: Application,
  request: RefreshRequest | undefined,
  facts: FreshnessFacts,
): Refresh | undefined {
  const due = ruleFor(app, facts);
  if (due !== undefined) return { ...due, level: Math.max(due.level, request?.level ?? 0) as CompareLevel };
  if (request?.level === undefined) return undefined;
  const { level, reason, resources } = request;
  return { level, hard: false, reason, ...(resources === undefined ? {} : { resources }) };
}

function ruleFor(app: Application, facts: FreshnessFacts): Refresh | undefined {
  const asked = refreshAnnotation(app);
  if (asked !== undefined)
    return {
      level: compareLevel.forceResolve,
      hard: asked.type === 'hard',
      reason: `${asked.type} refresh requested`,
    };
  const source = sourceChange(app);
  if (source !== undefined) return { level: compareLevel.forceResolve, hard: false, reason: source };
  const hard = isExpired(app, facts, facts.hardMs);
  if (hard || isExpired(app, facts, facts.softMs) || lastCompared(app, facts) === undefined)
    return { level: compareLevel.latest, hard, reason: expiredReason(app, facts, hard) };
  if (isOwed(app, facts.now)) return { level: compareLevel.latest, hard: false, reason: 'an operation completed' };
  const change = specChange(app);
  if (change !== undefined) return { level: compareLevel.latest, hard: false, reason: change };
  if (!hydrationUntold(app)) return undefined;
  return { level: compareLevel.recent, hard: false, reason: 'hydration was asked for, or is not any more' };
}

function sourceChange(app: Application): string | undefined {
  const compared = app.status?.sync?.comparedTo;
  if (hasMultipleSources(app.spec))
    return equalSourceLists(app.spec.sources, compared?.sources)
      ? undefined
      : 'at least one of the spec.sources differs';
  return equalSources(sourceOf(app.spec), compared?.source) ? undefined : 'spec.source differs';
}

/** No comparison has followed the last sync. Any pass that comes is that one: a shallow one would have to be followed by it, and by its write. */
function isOwed({ status }: Application, now: number): boolean {
  const [compared, ended] = [parseTime(status?.reconciledAt), endOfSync(status?.operationState)];
  return compared !== undefined && ended !== undefined && compared < ended && ended <= now;
}

function specChange(app: Application): string | undefined {
  const compared = app.status?.sync?.comparedTo;
  if (!equalLoosely(app.spec.destination, compared?.destination)) return 'spec.destination differs';
  if (managedNamespaceMetadataChanged(app)) return 'spec.syncPolicy.managedNamespaceMetadata differs';
  if (!equalLoosely(app.spec.ignoreDifferences, compared?.ignoreDifferences)) return 'spec.ignoreDifferences differs';
  return undefined;
}

/** When the application was last compared, by its status or by this process's memory. */
export function lastCompared(app: Application, facts: Pick<FreshnessFacts, 'comparedAt'>): number | undefined {
  const stored = parseTime(app.status?.reconciledAt);
  if (stored === undefined) return facts.comparedAt;
  return Math.max(stored, facts.comparedAt ?? 0);
}

function isExpired(app: Application, facts: FreshnessFacts, limitMs: number): boolean {
  const last = lastCompared(app, facts);
  return limitMs > 0 && (last === undefined || last + limitMs < facts.now);
}

function expiredReason(app: Application, facts: FreshnessFacts, hard: boolean): string {
  const last = lastCompared(app, facts);
  if (last === undefined) return 'comparison expired: the application was never compared';
  const limitMs = hard ? facts.hardMs : facts.softMs;
  return `comparison expired: last compared ${Math.round((facts.now - last) / 1000)} s ago, limit ${limitMs / 1000} s`;
}

/** Milliseconds until the next timed refresh of an application that is fresh now; undefined when none is configured. */
export function msUntilExpiry(app: Application, facts: FreshnessFacts): number | undefined {
  const limits = [facts.softMs, facts.hardMs].filter((ms) => ms > 0);
  if (limits.length === 0) return undefined;
  const last = lastCompared(app, facts) ?? facts.now;
  return Math.max(0, last + Math.min(...limits) + 1 - facts.now);
}

/** A person's (or webhook's) request, as it stands in the annotations. */
export interface AskedRefresh {
  readonly type: 'normal' | 'hard';
  /** The exact value, for the test that precedes its removal. */
  readonly value: string;
  readonly timestamp: string | undefined;
  /** {@link inProgressMark} was put there by a pass that has read the request. */
  readonly marked: boolean;
}

/**
 * Put behind the value of a refresh annotation that has no timestamp while its refresh runs. Without it a second, equal request that is
 * written meanwhile would change nothing in the API server, and be lost.
 */
export const inProgressMark = '-in-progress';

/** The request in the annotations; any value but `hard` counts as normal. */
export function refreshAnnotation(app: Application): AskedRefresh | undefined {
  const value = annotationOf(asObject(app), annotations.refresh);
  if (value === undefined) return undefined;
  const marked = value.endsWith(inProgressMark);
  const type = (marked ? value.slice(0, -inProgressMark.length) : value) === 'hard' ? 'hard' : 'normal';
  return { type, value, timestamp: annotationOf(asObject(app), annotations.refreshTimestamp), marked };
}

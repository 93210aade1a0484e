import type { ReflectorState } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { kindText } from '../discovery/discovery.ts';
import type { KindReport } from '../types.ts';

/** Activity of a watch, for display. Times are wall milliseconds. */
export interface HeardEvents {
  readonly events: number;
  readonly lastEventAt?: number;
  readonly lastHeardAt?: number;
  readonly lagMs?: number;
}

export interface KindHistory {
  readonly state?: ReflectorState['state'];
  readonly since?: number;
  readonly lastError?: { readonly at: number; readonly message: string };
}

export interface KindActivity extends HeardEvents {
  readonly since: number | undefined;
  readonly lastError: KindHistory['lastError'];
}

export function nextHistory(before: KindHistory, next: ReflectorState, now: number): KindHistory {
  const changed = next.state !== before.state;
  const error = 'message' in next ? { at: now, message: next.message } : before.lastError;
  const kept = before.since === undefined ? {} : { since: before.since };
  return {
    state: next.state,
    ...(changed ? { since: now } : kept),
    ...(error === undefined ? {} : { lastError: error }),
  };
}

/** A deleted object has the times of its last write, which say nothing about the deletion. */
export function afterEvent(before: HeardEvents, object: KubeObject | undefined, now: number): HeardEvents {
  const lagMs = (object === undefined ? undefined : lagOf(object, now)) ?? before.lagMs;
  return {
    events: before.events + 1,
    lastEventAt: now,
    lastHeardAt: now,
    ...(lagMs === undefined ? {} : { lagMs }),
  };
}

/** From the newest time in managedFields, which counts seconds; other clocks may be ahead. */
function lagOf({ metadata }: KubeObject, now: number): number | undefined {
  let newest = '';
  for (const entry of metadata.managedFields ?? []) {
    const time = entry['time'];
    if (typeof time === 'string' && time > newest) newest = time;
  }
  const at = Date.parse(newest);
  return Number.isNaN(at) ? undefined : Math.max(0, now - at);
}

type ReportedActivity = Pick<KindReport, 'since' | 'events' | 'lastEventAt' | 'lastHeardAt' | 'lagMs' | 'lastError'>;

export const noActivity: ReportedActivity = {
  since: undefined,
  events: 0,
  lastEventAt: undefined,
  lastHeardAt: undefined,
  lagMs: undefined,
  lastError: undefined,
};

/** A watch of one kind, in all namespaces or in one. */
export interface WatchedActivity {
  readonly resource: ApiResource;
  activity(): KindActivity;
}

/** One entry per kind; of several namespaces the latest times. */
export function activityByKind(watches: readonly WatchedActivity[]): ReadonlyMap<string, ReportedActivity> {
  const found = new Map<string, ReportedActivity>();
  for (const watch of watches) {
    const kind = kindText(watch.resource);
    const [own, other] = [watch.activity(), found.get(kind) ?? noActivity];
    found.set(kind, {
      since: later(own.since, other.since),
      events: own.events + other.events,
      lastEventAt: later(own.lastEventAt, other.lastEventAt),
      lastHeardAt: later(own.lastHeardAt, other.lastHeardAt),
      lagMs: own.lagMs ?? other.lagMs,
      lastError: (own.lastError?.at ?? 0) >= (other.lastError?.at ?? 0) ? own.lastError : other.lastError,
    });
  }
  return found;
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

import { equalLoosely } from '#compare';
import type { HydratedApplication } from './hydrator-spec.ts';
import { ageMs, hydrationStatusOf } from './hydration-status.ts';
import { hydrateAnnotation } from './hydrate-annotation.ts';

/** The decision about the hydration of one Application. */
export type HydrationDecision =
  | { readonly do: 'hydrate'; readonly reason: string }
  /** `inProgress`: its end answers the request in the annotation. */
  | { readonly do: 'skip'; readonly reason: string; readonly inProgress: boolean }
  /** Compare the dry revision with the last one. */
  | { readonly do: 'compare'; readonly last: string };

/**
 * A failed hydration is not repeated earlier, unless a user asks or the dry revision is newer than
 * the one that failed, if that is known.
 */
const failureCooldownMs = 120_000;

/**
 * Decides whether an Application must be hydrated (Argo CD: appNeedsHydration). The first rule that
 * applies wins. `isRunning`: this process has a hydration of the group; otherwise one in progress
 * was interrupted, since no other process may hydrate the group.
 */
export function decideHydration(
  { app, spec }: HydratedApplication,
  { now, isRunning }: { readonly now: number; readonly isRunning: boolean },
): HydrationDecision {
  const { currentOperation: current, lastComparedDryRevision: last = '' } = hydrationStatusOf(app);
  const asked = hydrateAnnotation(app);
  if (current === undefined) return { do: 'hydrate', reason: 'no previous hydrate operation' };
  if (current.phase === 'Hydrating') {
    if (!isRunning) return { do: 'hydrate', reason: 'hydration operation was interrupted' };
    return { do: 'skip', reason: 'hydration operation already in progress', inProgress: true };
  }
  if (asked?.type === 'hard') return { do: 'hydrate', reason: 'hard hydrate requested' };
  if (!equalLoosely(spec, current.sourceHydrator)) return { do: 'hydrate', reason: 'spec.sourceHydrator differs' };
  if (current.phase === 'Failed') {
    if (asked !== undefined) return { do: 'hydrate', reason: 'retrying previous failed hydration' };
    if (!isCoolingDown(current.finishedAt, now))
      return { do: 'hydrate', reason: 'previous hydrate operation failed more than 2 minutes ago' };
    // Without the revision that failed, each look would repeat the failure.
    if (last === '' || current.drySHA === undefined)
      return { do: 'skip', reason: 'previous hydrate operation failed', inProgress: false };
  }
  if (last === '') return { do: 'hydrate', reason: 'new revision may have changes' };
  return { do: 'compare', last };
}

function isCoolingDown(finishedAt: string | undefined, now: number): boolean {
  const age = ageMs(finishedAt, now);
  return age === undefined || age <= failureCooldownMs;
}

/** When to look at an Application again; undefined: only after an event. */
export function nextLookMs(
  { app }: HydratedApplication,
  { now, resyncMs }: { readonly now: number; readonly resyncMs: number },
): number | undefined {
  const { currentOperation: current } = hydrationStatusOf(app);
  const resync = resyncMs > 0 ? resyncMs : undefined;
  if (current?.phase !== 'Failed') return resync;
  const left = failureCooldownMs + 1000 - (ageMs(current.finishedAt, now) ?? 0);
  return Math.max(1000, Math.min(left, resync ?? left));
}

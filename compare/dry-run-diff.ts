import { DriftlessError } from '#base';
import {
  applyMethodOf,
  diffDryRun,
  diffObjects,
  displacedItemsPatch,
  hasOtherVersions,
  hiddenFields,
  isMigrated,
} from '#diff';
import type { ApplyMethod, DiffResult, DiffRules, WebhookMutations } from '#diff';
import type { KubeObject } from '#model';
import type { DryRunOutcome } from './types.ts';

/** How one object differs. */
export interface ComputedDiff {
  readonly diff: DiffResult;
  /** Why the server could not predict the change: then nothing is known. */
  readonly refused: string | undefined;
  /** Why the server refuses the change itself: the object differs, and a sync may recreate it. */
  readonly refusedChange?: string;
}

export function isRefused({ refused, refusedChange }: ComputedDiff): boolean {
  return refused !== undefined || refusedChange !== undefined;
}

/** A live object with its target, and the outcome of the dry run; undefined: none was sent. */
interface DryRunTrial {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly outcome: DryRunOutcome | undefined;
}

/**
 * The server-side diff of one object: by the outcome of its dry run, and locally where a dry run
 * cannot predict what the sync does.
 */
export function diffByOutcome(trial: DryRunTrial, rules: DiffRules, mutations: WebhookMutations): ComputedDiff {
  const { target, live, outcome = notAskedOutcome } = trial;
  if (isPreparedByWrites(target, live, rules)) return { diff: diffObjects(target, live, rules), refused: undefined };
  if ('refused' in outcome) return diffWhenRefused(target, live, outcome, rules);
  try {
    return { diff: diffDryRun({ target, live, predicted: outcome.predicted }, rules, mutations), refused: undefined };
  } catch (error) {
    if (!(error instanceof DriftlessError)) throw error;
    if (isStoredAnyway(error, applyMethodOf(target, live, rules)))
      return { diff: diffObjects(target, live, rules), refused: undefined };
    return { diff: equalDiff(live), refused: refusalMessage(target, error.message) };
  }
}

function diffWhenRefused(
  target: KubeObject,
  live: KubeObject,
  { refused, final = false }: { readonly refused: string; readonly final?: boolean },
  rules: DiffRules,
): ComputedDiff {
  if (final)
    return {
      diff: { ...diffObjects(target, live, rules), modified: true },
      refused: undefined,
      refusedChange: refused,
    };
  if (isRefusedForVersions(target, live, rules)) return { diff: diffObjects(target, live, rules), refused: undefined };
  return { diff: equalDiff(live), refused: refusalMessage(target, refused) };
}

/** The result for an object that does not differ. */
export function equalDiff(live: KubeObject | null): DiffResult {
  return { modified: false, normalizedLive: live, predictedLive: live, paths: [], faults: [], undecided: false };
}

/** The server may refuse every apply while it has managed fields of a version that is gone. */
function isRefusedForVersions(target: KubeObject, live: KubeObject, rules: DiffRules): boolean {
  return applyMethodOf(target, live, rules) === 'server' && hasOtherVersions(live);
}

/**
 * Before its server-side apply, the sync sends other writes, which a dry run cannot follow. Its
 * response does not show what only another API version has.
 */
export function isPreparedByWrites(target: KubeObject, live: KubeObject, rules: DiffRules): boolean {
  const method = applyMethodOf(target, live, rules);
  if (hiddenFields(target, live, { ...rules, method }, rules).length > 0) return true;
  if (method !== 'server') return false;
  return isMigrated(target, live, rules) || displacedItemsPatch(target, live, rules) !== undefined;
}

/** The server could not compute ownership, as an item of a list has no key, but stores it. */
function isStoredAnyway({ code }: DriftlessError, method: ApplyMethod): boolean {
  return code === 'DIFF_NO_MANAGED_FIELDS' && method !== 'server';
}

const notAskedOutcome: DryRunOutcome = { refused: 'the API server was not asked' };

function refusalMessage(target: KubeObject, why: string): string {
  const which = `${target.kind}/${target.metadata.name ?? ''}`;
  return `failed to calculate diff: error calculating server side diff: serverSideDiff error: error running server side apply in dryrun mode for resource ${which}: ${why}`;
}

import { foldRows } from './fold.ts';
import type { ComparedRow } from './fold.ts';
import { pairUp } from './pairing.ts';
import { dryRunPairs, compareResource } from './row.ts';
import type { RowRules } from './row.ts';
import type { CompareFacts, Comparison, DryRunPair } from './types.ts';

/**
 * Steps of all jq programs in one comparison, a second or two: enough for 10,000 objects with ten
 * rules.
 */
export const maxJqSteps = 20_000_000;

/**
 * Compares the desired with the live state, every resource anew: pairs them up, compares each pair,
 * and folds the rows. Equal facts give equal comparisons. Source: Argo CD controller/state.go
 * CompareAppState, steps 8 to 13.
 *
 * Differences: resources are in rendering order before they are sorted; a kind whose watch failed
 * makes only its own missing resources Unknown, and an unreadable object is Unknown itself, never
 * the whole Application.
 */
export function compareState(facts: CompareFacts): Comparison {
  const { frame, resources } = pairUp(facts);
  const rules = rulesOf(facts);
  const rows = resources.map((resource): ComparedRow => ({ facts: resource, row: compareResource(resource, rules) }));
  return foldRows(facts, frame, rows).comparison;
}

/** The pairs to send to the API server for a server-side diff, before the facts are complete. */
export function toDryRun(facts: CompareFacts): readonly DryRunPair[] {
  const rules = rulesOf(facts);
  return rules.failed ? [] : dryRunPairs(pairUp(facts).resources, rules);
}

/** Input that all rows of a comparison share. */
export function rulesOf(facts: CompareFacts, work = { left: facts.jqSteps ?? maxJqSteps }): RowRules {
  const { app, key, instance, settings, persistResourceHealth, rendered, live, schemas, serverSideDiff, jq } = facts;
  const failed = rendered.failed || live.failed;
  return {
    app,
    key,
    instance,
    settings,
    persistResourceHealth,
    failed,
    schemas,
    serverSideDiff,
    jq,
    work,
  };
}

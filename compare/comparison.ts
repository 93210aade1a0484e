import { fold } from './fold.ts';
import type { ComparedRow } from './fold.ts';
import { pairUp } from './pairing.ts';
import { dryRunPairs, makeRow } from './row.ts';
import type { RowRules } from './row.ts';
import type { CompareFacts, Comparison, DryRunPair } from './types.ts';

/** Steps of all jq programs in one comparison, a second or two: with ten rules, enough for ten thousand objects. */
export const jqSteps = 20_000_000;

/**
 * Compares what should be with what is, every resource anew: pairs them up, makes a row of each, and folds the rows. Equal facts give equal
 * comparisons. Source: Argo CD controller/state.go CompareAppState, steps 8 to 13.
 *
 * Differences: resources are in rendering order before they are sorted; a kind that could not be watched makes its own missing resources
 * Unknown, and objects that could not be read are Unknown themselves, never the whole application.
 */
export function compareState(facts: CompareFacts): Comparison {
  const { frame, resources } = pairUp(facts);
  const rules = rulesOf(facts);
  const rows = resources.map((resource): ComparedRow => ({ facts: resource, row: makeRow(resource, rules) }));
  return fold(facts, frame, rows).comparison;
}

/** What a server-side diff asks the API server before the facts are complete. */
export function toDryRun(facts: CompareFacts): readonly DryRunPair[] {
  return rulesOf(facts).failed ? [] : dryRunPairs(pairUp(facts).resources);
}

/** What all rows of a comparison have in common. */
export function rulesOf(facts: CompareFacts, work = { left: facts.jqSteps ?? jqSteps }): RowRules {
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

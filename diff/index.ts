/**
 * diff: how live differs from target. Normalisation, ignore rules, three-way prediction, Secret masking. Pure: values in, values out.
 *
 * Doors:
 *   diffObjects(target | null, live | null, rules) -> DiffResult      one pair
 *   maskSecrets(target | null, live | null, annotations) -> masked pair (both sides, equal values get equal masks)
 *   fingerprint(object, rules) -> hash after ignoreResourceUpdates, to drop updates that change nothing
 */
export type { DiffResult, DiffRules } from './types.ts';

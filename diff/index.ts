/**
 * diff: how live differs from target. Normalization, ignore rules, three-way prediction, Secret masking. Pure: values in, values out.
 *
 * Interface:
 *   diffObjects(target | null, live | null, rules) -> DiffResult      one pair
 *   maskSecrets(target | null, live | null, annotations) -> masked pair (both sides, equal values get equal masks)
 *   respectIgnored(target, live, rules, method) -> what to send so that everything ignored stays as it is
 *   fingerprint(object, settings) -> hash after ignoreResourceUpdates, to drop updates that change nothing
 *   milliQuantity(text) -> thousandths of the unit of a Kubernetes quantity
 *   predictApply(target, live) · clientSideApplyPatch(target, live)   what kubectl's client-side apply would do, and send
 */
export { clientSideApplyPatch, predictApply } from './client-side-apply.ts';
export type { ApplyPatch } from './client-side-apply.ts';
export { diffObjects, fingerprint } from './diff.ts';
export { maskSecrets } from './mask.ts';
export type { ObjectPair } from './mask.ts';
export { milliQuantity } from './quantity.ts';
export { respectIgnored } from './respect.ts';
export type { ApplyMethod } from './respect-merge.ts';
export type { DiffResult, DiffRules, JqWork, RuleFault } from './types.ts';

/**
 * diff: how live differs from target. Normalization, ignore rules, three-way prediction, Secret masking. Pure: values in, values out.
 *
 * Interface:
 *   diffObjects(target | null, live | null, rules) -> DiffResult      one pair
 *   diffDryRun({ target, live, predicted }, rules, mutations)       the same by what the API server answered to a dry-run apply
 *   maskSecrets(target | null, live | null, annotations) -> masked pair (both sides, equal values get equal masks)
 *   respectIgnored(target, live, rules, method) -> what to send so that everything ignored stays as it is
 *   fingerprint(object, settings) -> hash after ignoreResourceUpdates, to drop updates that change nothing
 *   faultsOfUpdates(settings)       what keeps rules of ignoreResourceUpdates from working
 *   unhiddenUpdates(settings)       rules that would hide changes of objects, and do not because only jq can run them
 *   readOpenApi(document) -> schemas of a group version       what an API server publishes, for `DiffRules.schemas`
 *   JqAnswers       the questions that a comparison leaves open for jq, and their answers
 *   milliQuantity(text) -> thousandths of the unit of a Kubernetes quantity
 *   adoptFields(live, from, manager) -> JSON patch       makes fields of client-side apply those of server-side apply
 *   predictApply(target, live) · clientSideApplyPatch(target, live)   what kubectl's client-side apply would do, and send
 */
export { adoptFields, clientSideManagers } from './adopt.ts';
export { clientSideApplyPatch, predictApply, withLastApplied } from './client-side-apply.ts';
export type { ApplyPatch } from './client-side-apply.ts';
export { diffObjects, fingerprint, readsOwnership } from './diff.ts';
export { faultsOfUpdates, unhiddenUpdates } from './rules.ts';
export { JqAnswers } from './jq-answers.ts';
export type { JqAnswer, JqQuestion } from './jq-answers.ts';
export { kindKey, readOpenApi } from './open-api.ts';
export type { GroupVersionSchemas, KindSchema } from './open-api.ts';
export { maskSecrets } from './mask.ts';
export type { ObjectPair } from './mask.ts';
export { milliQuantity } from './quantity.ts';
export { diffDryRun, dryRunTarget } from './server-side.ts';
export type { DryRunFacts, Mutations } from './server-side.ts';
export { respectIgnored } from './respect.ts';
export type { ApplyMethod } from './respect-merge.ts';
export type { DiffResult, DiffRules, JqWork, RuleFault } from './types.ts';

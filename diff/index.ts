/**
 * diff: how a live object differs from its target. Normalization, ignore rules, three-way and
 * server-side prediction, Secret masking. Pure: values in, values out.
 *
 *   diffObjects(target | null, live | null, rules)   compares one pair -> DiffResult
 *   diffDryRun(facts, rules, mutations)      compares with the response to a dry-run apply
 *   maskSecrets(target | null, live | null, annotations)   masks both sides consistently
 *   respectIgnored(target, live, rules, method)   the object to send so that ignored fields stay
 *   fingerprint(object, settings)            hash that ignored updates leave unchanged
 *   applyingRules(ref, list, settings)       the ignore rules of one object, as written
 *   isKnownType(name)                        whether knownTypeFields may name this type
 *   withinBudget(rules)                      ignore rules of an Application that are in force
 *   updateContent(object, settings)          what that hash is of
 *   updateRuleFaults(settings)               faults of ignoreResourceUpdates rules
 *   updateRulesOnlyForJq(settings)           rules that hide no update because only jq can run them
 *   readOpenApi(document)                    published schemas of a group version
 *   JqAnswers                                open questions to real jq, and their answers
 *   milliQuantity(text)                      thousandths of a Kubernetes quantity
 *   adoptFields(live, managers)              migrates client-side apply fields to server-side apply
 *   clientSideApplyPatch, predictApply       the patch of kubectl's client-side apply, its result
 *   serverSideTarget, dryRunRequest          what a server-side apply, or its dry run, sends
 *
 * The parts, from below (.dependency-cruiser.mjs has the rules): shared (values, paths) · schema
 * (built-in types) · normalize (canonical values, defaults) · patch (client-side apply) ·
 * field-ownership (server-side apply) · jq (ignore expressions) · applied (what Git drops) ·
 * ignore (rules) · respect (RespectIgnoreDifferences) · comparison.
 */
export {
  adoptFields,
  clientSideManagers,
  isMigrated,
  lacksManagedFields,
  managersToAdopt,
  mayReshape,
  shownShape,
} from './applied/adopt.ts';
export type { MigrationFacts } from './applied/adopt.ts';
export { hiddenFields, recordAtVersion } from './applied/hidden-fields.ts';
export { hasOtherVersions, retiredVersions } from './applied/retired-versions.ts';
export { serverSideTarget } from './applied/server-side-target.ts';
export { foldStringData } from './normalize/secret.ts';
export { withUniqueItems } from './normalize/unique-items.ts';
export { displacedItemsPatch } from './applied/client-side-apply.ts';
export { applyMethodOf } from './comparison/apply-method.ts';
export type { ApplyMethod } from './comparison/apply-method.ts';
export { dryRunRequest } from './comparison/dry-run-request.ts';
export { clientSideApplyPatch } from './applied/client-side-apply.ts';
export { lacksAppliedRecord, lastAppliedFault } from './applied/read-last-applied.ts';
export { withLastApplied } from './patch/last-applied.ts';
export { isCustomResource, readsOwnership, readsOwnRecord } from './comparison/apply-method.ts';
export { diffObjects } from './comparison/diff.ts';
export { fingerprint, updateContent } from './comparison/prepare.ts';
export type { DiffResult } from './comparison/result.ts';
export { applyingRules } from './ignore/applying-rules.ts';
export type { WrittenRule } from './ignore/applying-rules.ts';
export { isKnownType } from './ignore/known-types.ts';
export { withinBudget } from './ignore/rule-budget.ts';
export { ignoreRuleFaults, updateRuleFaults, updateRulesOnlyForJq } from './ignore/rules.ts';
export { JqAnswers } from './jq/answers.ts';
export type { JqAnswer, JqQuestion } from './jq/answers.ts';
export { kindKey, readOpenApi } from './field-ownership/open-api.ts';
export type { GroupVersionSchemas, KindSchema } from './field-ownership/open-api.ts';
export { maskSecrets } from './comparison/mask.ts';
export type { ObjectPair } from './comparison/mask.ts';
export { milliQuantity } from './normalize/quantity.ts';
export { diffDryRun, dryRunTarget } from './comparison/dry-run.ts';
export type { WebhookMutations } from './comparison/dry-run.ts';
export { respectIgnored } from './respect/respect.ts';
export type { DiffRules, RuleFault } from './ignore/diff-rules.ts';
export type { JqWork } from './jq/work.ts';

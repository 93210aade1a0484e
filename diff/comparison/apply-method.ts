import { annotations, csvAnnotation } from '#model';
import type { KubeObject, Settings } from '#model';
import type { MergeMethod } from '../applied/applied-before.ts';
import { fieldsOwned } from '../field-ownership/managed-fields.ts';
import { hiddenUpdates, isOwnApply, saysWhatWasApplied } from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { ignoredInDiff } from '../ignore/ignored.ts';
import { lastAppliedText } from '../patch/last-applied.ts';
import { schemaOf } from '../schema/schema.ts';
import { asJson } from '../shared/values.ts';

/** How a sync sends an object. */
export type ApplyMethod = MergeMethod | 'server';

/**
 * Whether the object is sent by server-side apply. The manifest's sync option overrides the
 * Application's.
 */
function appliesServerSide(
  target: KubeObject,
  { serverSideApply = false }: Pick<DiffRules, 'serverSideApply'>,
): boolean {
  const options = csvAnnotation(target, annotations.syncOptions);
  if (options.includes('ServerSideApply=false')) return false;
  return serverSideApply || options.includes('ServerSideApply=true');
}

/**
 * How a sync sends the object: `Replace` wins over server-side apply, and counts on the live object
 * too (Argo CD: gitops-engine/pkg/sync).
 */
export function applyMethodOf(
  target: KubeObject,
  live: KubeObject | null,
  rules: Pick<DiffRules, 'serverSideApply' | 'replace'>,
): ApplyMethod {
  if (isReplaced(target, live, rules)) return 'replace';
  return appliesServerSide(target, rules) ? 'server' : 'client';
}

function isReplaced(
  target: KubeObject,
  live: KubeObject | null,
  { replace = false }: Pick<DiffRules, 'replace'>,
): boolean {
  const isOption = (object: KubeObject): boolean =>
    csvAnnotation(object, annotations.syncOptions).includes('Replace=true');
  return replace || isOption(target) || (live !== null && isOption(live));
}

/**
 * Whether the comparison needs the schemas that the API server publishes: for objects sent by
 * server-side apply or replaced, and for custom resources with an ignore rule that trusts managers.
 */
export function readsOwnership(target: KubeObject, rules: DiffRules): boolean {
  if (isReplaced(target, null, rules) || appliesServerSide(target, rules)) return true;
  if (schemaOf(target) !== undefined || !trustsManagers(rules)) return false;
  return ignoredInDiff(target, rules).managers.size > 0;
}

/**
 * Whether a comparison of a custom resource that is applied client-side finds what the target
 * dropped only with the published schema, which has the defaults: our entries say what we applied.
 */
export function readsOwnRecord(target: KubeObject, live: KubeObject, own: OwnManager = {}): boolean {
  if (!isCustomResource(target)) return false;
  if (hiddenUpdates(asJson(live), own).length > 0) return true;
  const isOurs = lastAppliedText(live) === undefined ? saysWhatWasApplied : isOwnApply;
  return fieldsOwned(asJson(live), (entry) => isOurs(entry, own)).length > 0;
}

/** Whether only the API server knows the schema of the object. */
export function isCustomResource(object: KubeObject): boolean {
  return schemaOf(object) === undefined;
}

function trustsManagers({ settings, ignoreDifferences }: DiffRules): boolean {
  return namesManagers(ignoreDifferences) || namesManagersInSettings(settings);
}

const managersInSettings = new WeakMap<Settings, boolean>();

function namesManagersInSettings(settings: Settings): boolean {
  const known = managersInSettings.get(settings);
  if (known !== undefined) return known;
  const named = Object.values(settings.overrides).some(
    ({ ignoreDifferences }) => (ignoreDifferences?.managedFieldsManagers ?? []).length > 0,
  );
  managersInSettings.set(settings, named);
  return named;
}

const managersInList = new WeakMap<DiffRules['ignoreDifferences'], boolean>();

/** Cached, because the list may be long and is checked for each object of an Application. */
function namesManagers(list: DiffRules['ignoreDifferences']): boolean {
  const known = managersInList.get(list);
  if (known !== undefined) return known;
  const named = list.some(({ managedFieldsManagers = [] }) => managedFieldsManagers.length > 0);
  managersInList.set(list, named);
  return named;
}

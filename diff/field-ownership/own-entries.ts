import { isObject, ownMember } from '#base';
import type { JsonObject } from '#base';
import { fieldManager } from '#model';
import type { KubeObject } from '#model';
import { asKube, textOf } from '../shared/values.ts';
import { fieldsOwned } from './managed-fields.ts';

/**
 * Managers whose entries are ours. Argo CD sends Replace and creations without a manager, so the
 * API server derives the name from its user agent, as it does for ours.
 */
const ownManagers: ReadonlySet<string> = new Set([fieldManager, 'argocd-application-controller', 'driftless']);

/** The fields that we applied server-side, one set for each of our entries. */
export function appliedFields(live: JsonObject): readonly JsonObject[] {
  return storedFields(live, fieldsOwned(live, isOwnApply));
}

/**
 * The fields that we or `kubectl apply` created, replaced or patched, with the defaults that the
 * server added. An update that changes no field gets no owner: what kubectl applied and we replaced
 * stays kubectl's, although its last-applied annotation is gone.
 */
export function updatedFields(live: JsonObject): readonly JsonObject[] {
  return storedFields(live, fieldsOwned(live, isUpdate));
}

function storedFields(live: JsonObject, sets: readonly JsonObject[]): readonly JsonObject[] {
  return isSecret(asKube(live)) ? sets.map(asStoredFields) : sets;
}

export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return apiVersion === 'v1' && kind === 'Secret';
}

/** The keys of `stringData` that we applied to a Secret are stored, and removed, as `data`. */
export function asStoredFields(fields: JsonObject): JsonObject {
  const { 'f:stringData': written, ...rest } = fields;
  if (!isObject(written)) return fields;
  const data = rest['f:data'];
  return { ...rest, 'f:data': { ...(isObject(data) ? data : {}), ...written } };
}

/** The fields of all managers but us and `kubectl apply`, and of subresources. */
export function foreignFields(live: JsonObject): readonly JsonObject[] {
  return fieldsOwned(live, (entry) => !isOwnApply(entry) && !isUpdate(entry) && !isOfNobody(entry));
}

/** The API server's entry for what an object without managed fields had before its first apply. */
export function isOfNobody(entry: JsonObject): boolean {
  return ownMember(entry, 'manager') === 'before-first-apply';
}

/** Whether the managed fields tell what we or `kubectl apply` applied, created or patched. */
export function hasOwnEntry(live: JsonObject): boolean {
  return fieldsOwned(live, saysWhatWasApplied).length > 0;
}

/** Whether what the entry owns counts as applied before, for an object without last-applied. */
export function saysWhatWasApplied(entry: JsonObject): boolean {
  return isOwnApply(entry) || isUpdate(entry);
}

function isUpdate(entry: JsonObject): boolean {
  return isOwnUpdate(entry) || isKubectlApply(entry);
}

/** `kubectl apply` sets what is in last-applied. */
export function isKubectlApply(entry: JsonObject): boolean {
  return isMainEntry(entry, 'Update') && ownMember(entry, 'manager') === 'kubectl-client-side-apply';
}

/** Whether the entry is ours: of any operation, and of subresources too. */
export function isOwnEntry(entry: JsonObject): boolean {
  return ownManagers.has(textOf(ownMember(entry, 'manager')));
}

export function isOwnUpdate(entry: JsonObject): boolean {
  return isMainEntry(entry, 'Update') && ownManagers.has(textOf(ownMember(entry, 'manager')));
}

export function isOwnApply(entry: JsonObject): boolean {
  return isMainEntry(entry, 'Apply') && ownMember(entry, 'manager') === fieldManager;
}

/** Whether the entry is of the main resource, not of a subresource. */
export function isMainEntry(entry: JsonObject, operation: 'Apply' | 'Update'): boolean {
  return ownMember(entry, 'operation') === operation && textOf(ownMember(entry, 'subresource')) === '';
}

import { isObject, ownMember, valueAt } from '#base';
import type { JsonObject } from '#base';
import { annotations, clientSideManager, fieldManager as controllerManager } from '#model';
import type { KubeObject } from '#model';
import { asKube, textOf } from '../shared/values.ts';
import { fieldsOwned } from './managed-fields.ts';

/** Whose entries in the managed fields are ours. */
export interface OwnManager {
  /** The name under which we apply; that of the controller if absent. */
  readonly fieldManager?: string | undefined;
}

/**
 * Managers whose entries are the controller's. Argo CD sends Replace and creations without a
 * manager, so the API server derives the name from its user agent, as it does for ours.
 */
const controllerManagers: ReadonlySet<string> = new Set([
  controllerManager,
  'argocd-application-controller',
  'driftless',
]);

/** Whether we write under this name. Those of the controller are foreign to another manager. */
export function isOwnManager(name: string, { fieldManager = controllerManager }: OwnManager): boolean {
  return name === fieldManager || (fieldManager === controllerManager && controllerManagers.has(name));
}

/** Whether the controller writes under this name, and we do not. */
export function isOtherController(name: string, own: OwnManager): boolean {
  return controllerManagers.has(name) && !isOwnManager(name, own);
}

/** The fields that we applied server-side, one set for each of our entries. */
export function appliedFields(live: JsonObject, own: OwnManager): readonly JsonObject[] {
  return storedFields(
    live,
    fieldsOwned(live, (entry) => isOwnApply(entry, own)),
  );
}

/**
 * The fields that we or `kubectl apply` created, replaced or patched, with the defaults that the
 * server added. An update that changes no field gets no owner: what kubectl applied and we replaced
 * stays kubectl's, although its last-applied annotation is gone.
 */
export function updatedFields(live: JsonObject, own: OwnManager): readonly JsonObject[] {
  return storedFields(
    live,
    fieldsOwned(live, (entry) => isUpdate(entry, own)),
  );
}

/**
 * The fields of our updates, if the last-applied annotation is another writer's, and may not name
 * them.
 */
export function hiddenUpdates(live: JsonObject, own: OwnManager): readonly JsonObject[] {
  const ours = fieldsOwned(live, (entry) => isOwnUpdate(entry, own));
  const isNoted = (fields: JsonObject): boolean =>
    valueAt(fields, 'f:metadata', 'f:annotations', `f:${annotations.lastApplied}`) !== undefined;
  return ours.some(isNoted) ? [] : storedFields(live, ours);
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
export function foreignFields(live: JsonObject, own: OwnManager): readonly JsonObject[] {
  return fieldsOwned(live, (entry) => !saysWhatWasApplied(entry, own) && !isOfNobody(entry));
}

/** The API server's entry for what an object without managed fields had before its first apply. */
export function isOfNobody(entry: JsonObject): boolean {
  return ownMember(entry, 'manager') === 'before-first-apply';
}

/** Whether the managed fields tell what we or `kubectl apply` applied, created or patched. */
export function hasOwnEntry(live: JsonObject, own: OwnManager): boolean {
  return fieldsOwned(live, (entry) => saysWhatWasApplied(entry, own)).length > 0;
}

/** Whether what the entry owns counts as applied before, for an object without last-applied. */
export function saysWhatWasApplied(entry: JsonObject, own: OwnManager): boolean {
  return isOwnApply(entry, own) || isUpdate(entry, own);
}

function isUpdate(entry: JsonObject, own: OwnManager): boolean {
  return isOwnUpdate(entry, own) || isKubectlApply(entry);
}

/** `kubectl apply` sets what is in last-applied. */
export function isKubectlApply(entry: JsonObject): boolean {
  return isMainEntry(entry, 'Update') && ownMember(entry, 'manager') === clientSideManager;
}

/** Whether the entry is ours: of any operation, and of subresources too. */
export function isOwnEntry(entry: JsonObject, own: OwnManager): boolean {
  return isOwnManager(textOf(ownMember(entry, 'manager')), own);
}

export function isOwnUpdate(entry: JsonObject, own: OwnManager): boolean {
  return isMainEntry(entry, 'Update') && isOwnEntry(entry, own);
}

export function isOwnApply(entry: JsonObject, { fieldManager = controllerManager }: OwnManager): boolean {
  return isMainEntry(entry, 'Apply') && ownMember(entry, 'manager') === fieldManager;
}

/** Whether the entry is of the main resource, not of a subresource. */
export function isMainEntry(entry: JsonObject, operation: 'Apply' | 'Update'): boolean {
  return ownMember(entry, 'operation') === operation && textOf(ownMember(entry, 'subresource')) === '';
}

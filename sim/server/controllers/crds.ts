import { deepEqual } from '#base';
import type { ClockTimer, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { servedKindsOf } from '../discovery/crd-kinds.ts';
import { fieldAt, itemsAt, stringOrEmpty, stringAt, timestamp, withField, withMeta } from '../fields.ts';
import type { SimControllerDeps } from './deps.ts';
import { groupKindOf } from '../discovery/registry.ts';
import type { StorageChange } from '../storage/storage.ts';

export const crdStorageKey = 'apiextensions.k8s.io/CustomResourceDefinition';
const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/**
 * Serves the kinds of CustomResourceDefinitions: conditions, discovery, and removal of all objects
 * before the definition is deleted (apiextensions-apiserver: controllers establish, status/naming
 * and finalizer).
 */
export function startCrds(deps: SimControllerDeps, delayMs = 0): () => void {
  const timers = new Set<ClockTimer>();
  const serve: Serve = (crd) => {
    const setKinds = (): void => {
      const now = deps.storage.get(crdStorageKey, '', crd.metadata.name ?? '');
      if (now !== undefined && now.metadata.uid === crd.metadata.uid)
        deps.registry.setCrd(crd.metadata.name ?? '', servedKindsOf(now));
    };
    const bornAt = Date.parse(crd.metadata.creationTimestamp ?? '');
    const restMs = delayMs === 0 ? 0 : bornAt + delayMs - deps.clock.now();
    if (restMs <= 0) setKinds();
    else timers.add(deps.clock.timer(restMs, setKinds));
  };
  const stop = deps.storage.subscribe((change) => {
    if (change.kind === crdStorageKey) reconcileCrd(deps, serve, change);
    else if (change.type === 'DELETED') releaseOwner(deps, change.kind);
  });
  return () => {
    stop();
    for (const timer of timers) timer.cancel();
  };
}

/** Serves the kinds of an established definition, at once or after the delay. */
type Serve = (crd: KubeObject) => void;

function reconcileCrd(deps: SimControllerDeps, serve: Serve, change: StorageChange): void {
  const crd = change.object;
  const name = crd.metadata.name ?? '';
  if (change.type === 'DELETED') {
    deps.registry.setCrd(name, []);
    return;
  }
  // A later change of the same definition may already be stored: use the current state.
  const now = deps.storage.get(crdStorageKey, '', name);
  if (now === undefined || now.metadata.uid !== crd.metadata.uid) return;
  if (now.metadata.deletionTimestamp !== undefined) {
    deleteInstances(deps, now);
    return;
  }
  const settled = withDesiredStatus(deps, now);
  const spec = fieldAt(now, 'spec');
  const served = change.old !== undefined && deepEqual(fieldAt(change.old, 'spec'), spec);
  if (isEstablished(settled) && (!served || !isEstablished(change.old))) serve(settled);
  if (settled !== now) writeCrd(deps, settled);
}

function writeCrd(deps: SimControllerDeps, crd: KubeObject): void {
  const kind = deps.registry.byKind('apiextensions.k8s.io', 'CustomResourceDefinition');
  if (kind !== undefined) deps.objects.force(kind, crd);
}

function isEstablished(crd: KubeObject | undefined): boolean {
  return crd !== undefined && conditionOf(crd, 'Established')?.['status'] === 'True';
}

function conditionOf(crd: KubeObject, type: string): JsonObject | undefined {
  return itemsAt(crd, 'status', 'conditions').find((condition) => condition['type'] === type);
}

/** The definition with its desired status and finalizer; the same object if nothing changes. */
function withDesiredStatus(deps: SimControllerDeps, crd: KubeObject): KubeObject {
  const group = stringAt(crd, 'spec', 'group');
  const kind = stringAt(crd, 'spec', 'names', 'kind');
  const other = deps.registry.byKind(group, kind);
  const taken = other !== undefined && other.crd !== crd.metadata.name;
  const at = timestamp(deps.clock.now());
  const names = taken
    ? { status: 'False', reason: 'ListKindConflict', message: `"${kind}List" is already in use` }
    : { status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  const established = taken
    ? { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
    : { status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' };
  const versions = itemsAt(crd, 'spec', 'versions');
  const storage = stringOrEmpty(versions.find((version) => version['storage'] === true)?.['name']);
  const stored = fieldAt(crd, 'status', 'storedVersions');
  const storedVersions = [...new Set([...(Array.isArray(stored) ? stored.map(stringOrEmpty) : []), storage])];
  const conditions = [crdCondition(crd, 'NamesAccepted', names, at), crdCondition(crd, 'Established', established, at)];
  const others = itemsAt(crd, 'status', 'conditions').filter(
    ({ type }) => type !== 'NamesAccepted' && type !== 'Established' && type !== 'Terminating',
  );
  const status = {
    acceptedNames: taken ? { kind: '', plural: '' } : (fieldAt(crd, 'spec', 'names') ?? {}),
    conditions: [...conditions, ...others],
    storedVersions,
  };
  const finalizers = crd.metadata.finalizers ?? [];
  const held = finalizers.includes(cleanupFinalizer);
  if (held && deepEqual(fieldAt(crd, 'status'), status)) return crd;
  const next = withField(crd, 'status', status);
  return held ? next : withMeta(next, { finalizers: [...finalizers, cleanupFinalizer] });
}

function crdCondition(crd: KubeObject, type: string, now: JsonObject, at: string): JsonObject {
  const before = conditionOf(crd, type);
  const since = before !== undefined && before['status'] === now['status'] ? before['lastTransitionTime'] : at;
  return { lastTransitionTime: since ?? at, ...now, type };
}

/** Deletes the objects of a terminating definition; removes the finalizer when none is left. */
function deleteInstances(deps: SimControllerDeps, crd: KubeObject): void {
  const groupKind = groupKindOf(stringAt(crd, 'spec', 'group'), stringAt(crd, 'spec', 'names', 'kind'));
  const kind = deps.registry.all().find((served) => served.groupKind === groupKind && served.crd === crd.metadata.name);
  if (kind !== undefined) {
    for (const object of deps.storage.list(groupKind)) {
      const { namespace = '', name = '', deletionTimestamp } = object.metadata;
      if (deletionTimestamp === undefined && deps.storage.get(groupKind, namespace, name) !== undefined)
        deps.deletion.delete(kind, { namespace, name }, { propagationPolicy: 'Background' });
    }
    if (deps.storage.size(groupKind) > 0) return;
  }
  const finalizers = (crd.metadata.finalizers ?? []).filter((name) => name !== cleanupFinalizer);
  if (finalizers.length === (crd.metadata.finalizers ?? []).length) return;
  writeCrd(deps, withMeta(crd, { finalizers: finalizers.length === 0 ? undefined : finalizers }));
}

/** The last object of a kind is deleted; its terminating definition may be waiting for that. */
function releaseOwner(deps: SimControllerDeps, groupKind: string): void {
  if (deps.storage.size(groupKind) > 0) return;
  const name = deps.registry.all().find((served) => served.groupKind === groupKind)?.crd;
  const crd = name === undefined ? undefined : deps.storage.get(crdStorageKey, '', name);
  if (crd?.metadata.deletionTimestamp !== undefined) deleteInstances(deps, crd);
}

import { deepEqual } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { kindsOf } from './crd-kinds.ts';
import { field, items, str, text, timestamp, withField, withMeta } from './fields.ts';
import type { Inner } from './inner.ts';
import { shelfOf } from './registry.ts';
import type { Change } from './storage.ts';

export const crdShelf = 'apiextensions.k8s.io/CustomResourceDefinition';
const cleanup = 'customresourcecleanup.apiextensions.k8s.io';

/**
 * Serves the kinds of CustomResourceDefinitions: conditions, discovery, and the removal of all objects before a definition goes
 * (apiextensions-apiserver: controllers establish, status/naming and finalizer).
 */
export function startCrds(inner: Inner): () => void {
  return inner.storage.subscribe((change) => {
    if (change.kind === crdShelf) react(inner, change);
    else if (change.type === 'DELETED') releaseOwner(inner, change.kind);
  });
}

function react(inner: Inner, change: Change): void {
  const crd = change.object;
  const name = crd.metadata.name ?? '';
  if (change.type === 'DELETED') {
    inner.registry.setCrd(name, []);
    return;
  }
  // A later change of the same definition may already be stored: react to what is true now.
  const now = inner.storage.get(crdShelf, '', name);
  if (now === undefined || now.metadata.uid !== crd.metadata.uid) return;
  if (now.metadata.deletionTimestamp !== undefined) {
    empty(inner, now);
    return;
  }
  const settled = settle(inner, now);
  const spec = field(now, 'spec');
  const served = change.old !== undefined && deepEqual(field(change.old, 'spec'), spec);
  if (isEstablished(settled) && (!served || !isEstablished(change.old))) inner.registry.setCrd(name, kindsOf(settled));
  if (settled !== now) write(inner, settled);
}

function write(inner: Inner, crd: KubeObject): void {
  const kind = inner.registry.byKind('apiextensions.k8s.io', 'CustomResourceDefinition');
  if (kind !== undefined) inner.objects.force(kind, crd);
}

function isEstablished(crd: KubeObject | undefined): boolean {
  return crd !== undefined && conditionOf(crd, 'Established')?.['status'] === 'True';
}

function conditionOf(crd: KubeObject, type: string): JsonObject | undefined {
  return items(crd, 'status', 'conditions').find((condition) => condition['type'] === type);
}

/** The definition with its status and finalizer as they should be; the same object when they are. */
function settle(inner: Inner, crd: KubeObject): KubeObject {
  const group = text(crd, 'spec', 'group');
  const kind = text(crd, 'spec', 'names', 'kind');
  const other = inner.registry.byKind(group, kind);
  const taken = other !== undefined && other.crd !== crd.metadata.name;
  const at = timestamp(inner.clock.now());
  const names = taken
    ? { status: 'False', reason: 'KindConflict', message: `"${kind}" is already in use` }
    : { status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  const established = taken
    ? { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
    : { status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' };
  const versions = items(crd, 'spec', 'versions');
  const storage = str(versions.find((version) => version['storage'] === true)?.['name']);
  const stored = field(crd, 'status', 'storedVersions');
  const storedVersions = [...new Set([...(Array.isArray(stored) ? stored.map(str) : []), storage])];
  const conditions = [condition(crd, 'NamesAccepted', names, at), condition(crd, 'Established', established, at)];
  const others = items(crd, 'status', 'conditions').filter(
    ({ type }) => type !== 'NamesAccepted' && type !== 'Established' && type !== 'Terminating',
  );
  const status = {
    acceptedNames: taken ? { kind: '', plural: '' } : (field(crd, 'spec', 'names') ?? {}),
    conditions: [...conditions, ...others],
    storedVersions,
  };
  const finalizers = crd.metadata.finalizers ?? [];
  const held = finalizers.includes(cleanup);
  if (held && deepEqual(field(crd, 'status'), status)) return crd;
  const next = withField(crd, 'status', status);
  return held ? next : withMeta(next, { finalizers: [...finalizers, cleanup] });
}

function condition(crd: KubeObject, type: string, now: JsonObject, at: string): JsonObject {
  const before = conditionOf(crd, type);
  const since = before !== undefined && before['status'] === now['status'] ? before['lastTransitionTime'] : at;
  return { lastTransitionTime: since ?? at, ...now, type };
}

/** Deletes the objects of a definition that is going, and lets it go when none is left. */
function empty(inner: Inner, crd: KubeObject): void {
  const shelf = shelfOf(text(crd, 'spec', 'group'), text(crd, 'spec', 'names', 'kind'));
  const kind = inner.registry.all().find((served) => served.shelf === shelf && served.crd === crd.metadata.name);
  if (kind !== undefined) {
    for (const object of inner.storage.list(shelf)) {
      const { namespace = '', name = '', deletionTimestamp } = object.metadata;
      if (deletionTimestamp === undefined && inner.storage.get(shelf, namespace, name) !== undefined)
        inner.deletion.delete(kind, { namespace, name }, { propagationPolicy: 'Background' });
    }
    if (inner.storage.size(shelf) > 0) return;
  }
  const finalizers = (crd.metadata.finalizers ?? []).filter((name) => name !== cleanup);
  if (finalizers.length === (crd.metadata.finalizers ?? []).length) return;
  write(inner, withMeta(crd, { finalizers: finalizers.length === 0 ? undefined : finalizers }));
}

/** The last object of a kind has gone: its definition may be waiting for that. */
function releaseOwner(inner: Inner, shelf: string): void {
  if (inner.storage.size(shelf) > 0) return;
  const name = inner.registry.all().find((served) => served.shelf === shelf)?.crd;
  const crd = name === undefined ? undefined : inner.storage.get(crdShelf, '', name);
  if (crd?.metadata.deletionTimestamp !== undefined) empty(inner, crd);
}

import { defined } from '#base';
import type { LiveChange, LiveRow } from '#live';
import { groupOf, keyOf, parseTrackingId, refOf, versionOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { clusterKey } from '#sharding';

/**
 * The change that a cluster's watch reports: the owner of the object, or its namespace for orphans.
 */
export function changeOf(server: string, object: KubeObject): LiveChange {
  const id = parseTrackingId(object.metadata.annotations?.['argocd.argoproj.io/tracking-id'] ?? '');
  const change = { server, key: keyOf(object) };
  if (id !== undefined) return { ...change, apps: new Map([[id.app, { managed: true }]]) };
  const { namespace } = object.metadata;
  return { ...change, apps: new Map(), ...defined({ orphanNamespace: namespace }) };
}

/** Rows by object; stored objects are never mutated. */
const rows = new WeakMap<KubeObject, LiveRow>();

/** The cached row of an object. */
export function rowOf(object: KubeObject): LiveRow {
  const known = rows.get(object);
  if (known !== undefined) return known;
  const row: LiveRow = {
    ...refOf(object),
    key: keyOf(object),
    group: groupOf(object.apiVersion),
    version: versionOf(object.apiVersion),
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    createdAt: '',
    owners: [],
    parents: [],
    health: null,
    deleting: false,
    images: [],
  };
  rows.set(object, row);
  return row;
}

/** The rows of the objects that exist. */
export function rowsAt(
  objects: ReadonlyMap<ResourceKey, KubeObject>,
  keys: readonly ResourceKey[],
  excluded: readonly ResourceKey[] = [],
): ReadonlyMap<ResourceKey, LiveRow> {
  return new Map(
    keys.flatMap((key) => {
      const object = objects.get(key);
      return object === undefined || excluded.includes(key) ? [] : [[key, rowOf(object)]];
    }),
  );
}

/** The ownership report of a cluster that no replica has owned for minutes. */
export function longUnowned(server: string): ReadonlyMap<string, number> {
  return new Map([[clusterKey(server), 700_000]]);
}

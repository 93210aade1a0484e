import type { Json, JsonObject } from '#base';
import { valueAt, isObject } from '#base';
import type { KubeObject, OwnerReference } from '#model';
import type { SimStore } from '../types.ts';

export function specObjectOf(object: KubeObject): JsonObject {
  const spec = object['spec'];
  return isObject(spec) ? spec : {};
}

export function statusObjectOf(object: KubeObject): JsonObject {
  const status = object['status'];
  return isObject(status) ? status : {};
}

export function numberIn(value: Json | undefined, fallback: number, ...path: readonly (string | number)[]): number {
  const found = valueAt(value, ...path);
  return typeof found === 'number' ? found : fallback;
}

export function textIn(value: Json | undefined, ...path: readonly (string | number)[]): string {
  const found = valueAt(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function objectListIn(value: Json | undefined, ...path: readonly (string | number)[]): readonly JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter(isObject) : [];
}

/** The owner reference of objects that `owner` creates. */
export function ownedBy(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Objects of a kind that `owner` controls, oldest first. */
export function ownedObjects(store: SimStore, owner: KubeObject, group: string, kind: string): KubeObject[] {
  const uid = owner.metadata.uid;
  return store
    .list(group, kind, owner.metadata.namespace ?? '')
    .filter((object) => object.metadata.ownerReferences?.some((reference) => reference.uid === uid) === true)
    .sort((a, b) => (String(a.metadata.creationTimestamp) < String(b.metadata.creationTimestamp) ? -1 : 1));
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function conditionOf(object: KubeObject, type: string): JsonObject | undefined {
  return objectListIn(object as unknown as Json, 'status', 'conditions').find(
    (condition) => condition['type'] === type,
  );
}

export function isReady(pod: KubeObject): boolean {
  return conditionOf(pod, 'Ready')?.['status'] === 'True' && !isDeleting(pod);
}

export function isFinished(pod: KubeObject): boolean {
  const phase = statusObjectOf(pod)['phase'];
  return phase === 'Succeeded' || phase === 'Failed';
}

/** A condition; its transition time changes only with its status. */
export function conditionFor(
  object: KubeObject,
  wanted: {
    readonly type: string;
    readonly status: 'True' | 'False';
    readonly reason: string;
    readonly message: string;
  },
  now: string,
  extra: JsonObject = {},
): JsonObject {
  const known = conditionOf(object, wanted.type);
  const same = known?.['status'] === wanted.status;
  const { type, status, reason, message } = wanted;
  return {
    type,
    status,
    reason,
    message,
    lastTransitionTime: same ? (known['lastTransitionTime'] ?? now) : now,
    ...extra,
  };
}

/** A pod for one owner, from its template. */
export function podFrom(
  owner: KubeObject,
  name: string,
  extraLabels: Readonly<Record<string, string>>,
  nodeName = 'sim-node',
): KubeObject {
  const template = specObjectOf(owner)['template'];
  const labels = {
    ...(valueAt(template, 'metadata', 'labels') as Readonly<Record<string, string>> | undefined),
    ...extraLabels,
  };
  const annotations = valueAt(template, 'metadata', 'annotations') as Readonly<Record<string, string>> | undefined;
  const spec = valueAt(template, 'spec');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: owner.metadata.namespace ?? '',
      labels,
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [ownedBy(owner)],
    },
    spec: { ...(isObject(spec) ? spec : {}), nodeName },
  };
}

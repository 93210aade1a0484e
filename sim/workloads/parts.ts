import type { Json, JsonObject } from '#base';
import { at, isObject } from '#base';
import type { KubeObject, OwnerReference } from '#model';
import type { SimStore } from '../types.ts';

export function specOf(object: KubeObject): JsonObject {
  const spec = object['spec'];
  return isObject(spec) ? spec : {};
}

export function statusOf(object: KubeObject): JsonObject {
  const status = object['status'];
  return isObject(status) ? status : {};
}

export function numberAt(value: Json | undefined, fallback: number, ...path: readonly (string | number)[]): number {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : fallback;
}

export function textAt(value: Json | undefined, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function listAt(value: Json | undefined, ...path: readonly (string | number)[]): readonly JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter(isObject) : [];
}

/** The owner reference of something that `owner` made. */
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
export function owned(store: SimStore, owner: KubeObject, group: string, kind: string): KubeObject[] {
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
  return listAt(object as unknown as Json, 'status', 'conditions').find((condition) => condition['type'] === type);
}

export function isReady(pod: KubeObject): boolean {
  return conditionOf(pod, 'Ready')?.['status'] === 'True' && !isDeleting(pod);
}

export function isFinished(pod: KubeObject): boolean {
  const phase = statusOf(pod)['phase'];
  return phase === 'Succeeded' || phase === 'Failed';
}

/** A condition; its times move only when its status does. */
export function condition(
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

/** A pod from a template, for one owner. */
export function podFrom(
  owner: KubeObject,
  name: string,
  extraLabels: Readonly<Record<string, string>>,
  nodeName = 'sim-node',
): KubeObject {
  const template = specOf(owner)['template'];
  const labels = {
    ...(at(template, 'metadata', 'labels') as Readonly<Record<string, string>> | undefined),
    ...extraLabels,
  };
  const annotations = at(template, 'metadata', 'annotations') as Readonly<Record<string, string>> | undefined;
  const spec = at(template, 'spec');
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

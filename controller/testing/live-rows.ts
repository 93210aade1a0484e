import type { LiveChange, LiveRow } from '#live';
import { groupOf, keyOf, parseTrackingId, refOf, versionOf } from '#model';
import type { KubeObject } from '#model';

/** What is told of an object that changed. */
export function changeOf(server: string, object: KubeObject): LiveChange {
  const id = parseTrackingId(object.metadata.annotations?.['argocd.argoproj.io/tracking-id'] ?? '');
  return { server, key: keyOf(object), apps: new Map(id === undefined ? [] : [[id.app, { managed: true }]]) };
}

/** What a tree knows of an object. */
export function rowOf(object: KubeObject): LiveRow {
  return {
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
}

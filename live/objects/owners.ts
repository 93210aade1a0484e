import { valueAt } from '#base';
import type { Json } from '#base';
import { annotationOf, groupOf, resourceKey, versionOf } from '#model';
import type { GroupKind, KubeObject } from '#model';
import type { LiveOwner } from '../types.ts';

/**
 * Owners by `metadata.ownerReferences`, then implicit ones (gitops-engine/pkg/cache/references.go):
 * the Service of Endpoints, the OperatorGroup of a ClusterServiceVersion, the ServiceAccount of a
 * token Secret. The owner's namespace is that of the object, unless the owner's kind is
 * cluster-scoped.
 */
export function ownersOf(
  object: KubeObject,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
): readonly LiveOwner[] {
  const namespace = object.metadata.namespace ?? '';
  const owner = (apiVersion: string, kind: string, name: string, uid: string): LiveOwner => {
    const group = groupOf(apiVersion);
    const scope = isNamespaced({ group, kind }) === false ? '' : namespace;
    return { key: resourceKey(group, kind, scope, name), version: versionOf(apiVersion), uid };
  };
  const owners = (object.metadata.ownerReferences ?? []).map((ref) =>
    owner(ref.apiVersion, ref.kind, ref.name, ref.uid),
  );
  const name = object.metadata.name ?? '';
  if (object.apiVersion === 'v1' && object.kind === 'Endpoints' && owners.length === 0)
    owners.push(owner('v1', 'Service', name, ''));
  if (groupOf(object.apiVersion) === 'operators.coreos.com' && object.kind === 'ClusterServiceVersion') {
    const operatorGroup = annotationOf(object, 'olm.operatorGroup') ?? '';
    if (operatorGroup !== '') owners.push(owner('operators.coreos.com/v1', 'OperatorGroup', operatorGroup, ''));
  }
  if (object.apiVersion === 'v1' && object.kind === 'Secret') owners.push(...tokenOwner(object, owner));
  return owners;
}

function tokenOwner(
  secret: KubeObject,
  owner: (apiVersion: string, kind: string, name: string, uid: string) => LiveOwner,
): readonly LiveOwner[] {
  if (secret['type'] !== 'kubernetes.io/service-account-token') return [];
  const name = annotationOf(secret, 'kubernetes.io/service-account.name') ?? '';
  const uid = annotationOf(secret, 'kubernetes.io/service-account.uid') ?? '';
  return name === '' || uid === '' ? [] : [owner('v1', 'ServiceAccount', name, uid)];
}

/** Names of the volume claim templates of a StatefulSet; empty for other kinds. */
export function claimTemplates(object: KubeObject): readonly string[] {
  if (object.kind !== 'StatefulSet' || groupOf(object.apiVersion) !== 'apps') return [];
  const templates = valueAt(object['spec'] as Json | undefined, 'volumeClaimTemplates');
  if (!Array.isArray(templates)) return [];
  return (templates as readonly Json[]).flatMap((template) => {
    const name = valueAt(template, 'metadata', 'name');
    return typeof name === 'string' ? [name] : [];
  });
}

/**
 * Whether a PersistentVolumeClaim belongs to a StatefulSet: `<template>-<set>-<ordinal>`. Unlike in
 * Argo CD the whole name must match, so `x-data-web-0` is not a match for `data`.
 */
export function isClaimOf(claim: string, set: string, templates: readonly string[]): boolean {
  return templates.some((template) => {
    const prefix = `${template}-${set}-`;
    return claim.startsWith(prefix) && /^[0-9]+$/.test(claim.slice(prefix.length));
  });
}

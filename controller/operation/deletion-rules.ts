import { annotationOf, annotations, asObject, csvAnnotation, gkOf, isTrackable } from '#model';
import type { Application, KubeObject } from '#model';
import { isPostDeleteHook, optionValue, resourceOption } from '#sync';
import { parseTime } from '../shared/kube-time.ts';

/**
 * False for CRDs (deleting one also deletes instances that belong to other applications), for the
 * Application itself, and for objects marked to keep.
 */
export function isDeletable(app: Application, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  if (!isTrackable(object)) return false;
  if (group === 'argoproj.io' && kind === 'Application' && object.metadata.uid === app.metadata.uid) return false;
  if (deleteOption(app, object) === 'false') return false;
  return !csvAnnotation(object, annotations.helmResourcePolicy).includes('keep');
}

/**
 * What PostDelete hooks may need to run: their namespace, their service account and its rights.
 * These are deleted after the hooks; in Argo CD before, and a hook in such a namespace never ends.
 */
export function isNeededByHooks(object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  if (group === '') return kind === 'Namespace' || kind === 'ServiceAccount';
  return group === 'rbac.authorization.k8s.io';
}

function deleteOption(app: Application, object: KubeObject): string | undefined {
  return resourceOption(object, 'Delete') ?? optionValue(app.spec.syncPolicy?.syncOptions ?? [], 'Delete');
}

export function lacksApproval(app: Application, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  const { name, namespace } = object.metadata;
  const needed = app.status?.resources?.some(
    (r) =>
      r.requiresDeletionConfirmation === true &&
      (r.group ?? '') === group &&
      r.kind === kind &&
      r.name === name &&
      (r.namespace ?? '') === (namespace ?? ''),
  );
  if (needed !== true) return false;
  const approved = parseTime(annotationOf(asObject(app), annotations.deletionApproved));
  const since = parseTime(app.metadata.deletionTimestamp);
  return approved === undefined || (since !== undefined && approved < since);
}

export function hasDeletePolicy(hook: KubeObject, argo: string, helm: string): boolean {
  return (
    csvAnnotation(hook, annotations.hookDeletePolicy).includes(argo) ||
    csvAnnotation(hook, annotations.helmHookDeletePolicy).includes(helm)
  );
}

/** A PostDelete hook that this deletion has created: it is cleaned up by its own policies. */
export function isRunByDeletion(app: Application, object: KubeObject): boolean {
  const [created, since] = [object.metadata.creationTimestamp, app.metadata.deletionTimestamp].map(parseTime);
  return isPostDeleteHook(object) && created !== undefined && since !== undefined && created >= since;
}

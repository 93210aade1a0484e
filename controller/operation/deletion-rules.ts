import { findResource } from '#kube';
import { failureOf } from '#live';
import type { KindState, LiveCluster } from '#live';
import {
  annotationOf,
  annotations,
  asObject,
  csvAnnotation,
  gkOf,
  isTrackable,
  keyOf,
  malformedStatusOf,
} from '#model';
import type { Application, KubeObject, ResourceKey, ResourceStatus } from '#model';
import { isPostDeleteHook, optionValue, resourceOption } from '#sync';
import type { BoundApplication } from '../admission/bound.ts';
import type { DeleteHook } from '../application/finalizers.ts';
import { DeletionBlocked } from '../shared/errors.ts';
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

/**
 * Gives each hook without a name a stable one for this deletion. Otherwise no pass would find it
 * again, and each would create another one, which happens in Argo CD with generateName.
 */
export function withStableNames(
  hooks: readonly KubeObject[],
  type: DeleteHook,
  { app }: BoundApplication,
): KubeObject[] {
  const since = Math.floor((parseTime(app.metadata.deletionTimestamp) ?? 0) / 1000);
  const taken = new Set<ResourceKey>();
  return hooks.map((hook) => {
    const { generateName, ...metadata } = hook.metadata;
    if ((metadata.name ?? '') !== '') return hook;
    const name = `${generateName ?? ''}${type.toLowerCase()}-${since}`;
    let named: KubeObject = { ...hook, metadata: { ...metadata, name } };
    for (let n = 2; taken.has(keyOf(named)); n += 1)
      named = { ...hook, metadata: { ...metadata, name: `${name}-${n}` } };
    taken.add(keyOf(named));
    return named;
  });
}

/**
 * Whether a delete hook may be deleted before its end is seen. Another controller deletes a Job
 * with a time to live, and a hook that was deleted once would run again and again.
 */
export function mayVanish(hook: KubeObject, created: ReadonlySet<ResourceKey> | undefined): boolean {
  const spec = hook['spec'] as { readonly ttlSecondsAfterFinished?: unknown } | null | undefined;
  return spec?.ttlSecondsAfterFinished !== undefined || created?.has(keyOf(hook)) === true;
}

/** A resource as Argo CD's log names it: group, kind, namespace and name. */
export function logName(object: KubeObject): string {
  const { group, kind } = gkOf(object);
  return [group, kind, object.metadata.namespace ?? '', object.metadata.name ?? ''].join('/');
}

/** The objects a user has to look at: `ConfigMap apps/a (finalizers: x/y)`. */
export function describeObjects(objects: readonly Pick<KubeObject, 'kind' | 'metadata'>[]): string {
  const names = objects.slice(0, maxShownObjects).map(({ kind, metadata }) => {
    const place = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
    const held = metadata.deletionTimestamp === undefined ? [] : (metadata.finalizers ?? []);
    return `${kind} ${place}${metadata.name ?? ''}${held.length === 0 ? '' : ` (finalizers: ${held.join(', ')})`}`;
  });
  const more = objects.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const maxShownObjects = 3;

/**
 * Whether unseen objects of a kind may be left behind. Known objects of a kind that is left out are
 * read one by one. A kind that is polled must have been listed since the deletion began.
 */
export function isBlind(kind: KindState | undefined, deletedAt: number): boolean {
  if (kind === undefined || kind.state === 'left-out') return false;
  // Deletion timestamps have whole seconds.
  return kind.state !== 'polled' || (kind.listedAt ?? 0) <= deletedAt + 1000;
}

/** The server answered a write that removes these finalizers, and still has them. */
export function keptFinalizers(names: readonly string[]): string {
  return `the API server keeps the finalizers that the controller removes: ${names.join(', ')}. An admission webhook or policy of the cluster adds them again: exempt Applications that are being deleted.`;
}

/** Blocks the deletion until a comparison has written the resources of the status anew. */
export function refuseUnreadResources(app: Application): void {
  if (malformedStatusOf(app).includes('resources'))
    throw new DeletionBlocked(
      'status.resources cannot be read: an entry has another type than in the schema of Applications. A refresh writes it anew.',
    );
}

/**
 * Blocks the deletion while discovery cannot read the kind of a known resource: such a kind is not
 * watched, and its objects would be left behind.
 */
export function refuseUnreadKinds(known: readonly ResourceStatus[], cluster: LiveCluster): void {
  const discovery = cluster.discovery();
  for (const { group = '', kind = '' } of known) {
    const failure = failureOf(discovery, group) ?? cluster.discoveryDoubt();
    if (failure !== undefined && findResource(discovery, { group, kind }) === undefined)
      throw new DeletionBlocked(`the live state of ${group}/${kind} cannot be read: ${failure}`);
  }
}

import type { Clock, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { numberAt, fieldAt, stringAt, timestamp, withField, withMeta } from '../fields.ts';
import { isRemovable } from './objects.ts';
import type { ObjectStore } from './objects.ts';
import type { ServedKind } from '../discovery/registry.ts';
import { conflictError, forbiddenError, invalidOptions } from '../status.ts';
import type { SimError } from '../status.ts';

export interface SimDeleteOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly dryRun?: boolean;
}

export interface DeletionResult {
  /**
   * The last state of the removed object, or the current state while a finalizer or grace period
   * remains.
   */
  readonly object: KubeObject;
  readonly removed: boolean;
}

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';
const protectedNamespaces = new Set(['default', 'kube-system', 'kube-public']);

/**
 * Deletes an object, or only marks it for deletion: an object with finalizers, a pod with a grace
 * period, a namespace with content (apiserver: registry/generic/registry/store.go,
 * registry/rest/delete.go).
 */
export class ObjectDeleter {
  readonly #objects: ObjectStore;
  readonly #clock: Clock;

  constructor(objects: ObjectStore, clock: Clock) {
    this.#objects = objects;
    this.#clock = clock;
  }

  /**
   * @throws SimError 404, 409 if a precondition fails, 403 for the namespaces that every cluster
   * has.
   */
  delete(
    kind: ServedKind,
    where: { readonly namespace: string; readonly name: string },
    options: SimDeleteOptions,
  ): DeletionResult {
    const live = this.#objects.get(kind, where.namespace, where.name);
    checkPreconditions(kind, live, options);
    if (kind.groupKind === '/Namespace' && protectedNamespaces.has(where.name))
      throw forbiddenError(kind, where.name, 'this namespace may not be deleted');
    const marked = this.#mark(kind, live, options);
    const removed = isRemovable(marked);
    if (options.dryRun === true) return { object: removed ? live : marked, removed };
    // For kinds with graceful deletion the last state carries the deletion timestamp.
    if (removed) return { object: this.#objects.erase(kind, kind.groupKind === '/Pod' ? marked : live), removed };
    return { object: marked === live ? live : this.#objects.force(kind, marked), removed };
  }

  #mark(kind: ServedKind, live: KubeObject, options: SimDeleteOptions): KubeObject {
    const finalizers = finalizersFor(kind, live, options.propagationPolicy);
    const graceSeconds = kind.groupKind === '/Pod' ? podGrace(live, options.gracePeriodSeconds) : 0;
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = live.metadata;
    const already = deletionTimestamp !== undefined;
    if (already && graceSeconds >= (deletionGracePeriodSeconds ?? 0)) {
      const same = finalizers.join() === (live.metadata.finalizers ?? []).join();
      return same ? live : withMeta(live, { finalizers: finalizers.length === 0 ? undefined : finalizers });
    }
    const marked = withMeta(live, {
      deletionTimestamp: timestamp(this.#clock.now() + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      finalizers: finalizers.length === 0 ? undefined : finalizers,
      generation: generation === undefined || already ? generation : generation + 1,
    });
    return kind.groupKind === '/Namespace' ? asTerminating(marked) : marked;
  }
}

function asTerminating(namespace: KubeObject): KubeObject {
  const status = (fieldAt(namespace, 'status') ?? {}) as JsonObject;
  const marked = withMeta(namespace, { deletionGracePeriodSeconds: undefined });
  return withField(marked, 'status', { ...status, phase: 'Terminating' });
}

function checkPreconditions(kind: ServedKind, live: KubeObject, options: SimDeleteOptions): void {
  const name = live.metadata.name ?? '';
  const { uid, resourceVersion } = live.metadata;
  if (options.uid !== undefined && options.uid !== uid) {
    throw failedPrecondition(
      kind,
      name,
      `the UID in the precondition (${options.uid}) does not match the UID in record (${uid ?? ''}). ` +
        'The object might have been deleted and then recreated',
    );
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const found = resourceVersion ?? '';
    throw failedPrecondition(
      kind,
      name,
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in ` +
        `record (${found}). The object might have been modified`,
    );
  }
}

/** The server names the kind here, not the resource. */
function failedPrecondition(kind: ServedKind, name: string, why: string): SimError {
  return conflictError({ group: kind.group, resource: kind.kind }, name, why);
}

/** The garbage collector's finalizers for this policy replace those of an earlier policy. */
function finalizersFor(
  kind: ServedKind,
  live: KubeObject,
  policy: SimDeleteOptions['propagationPolicy'],
): readonly string[] {
  const present = live.metadata.finalizers ?? [];
  if (policy === undefined && present.some((name) => name === orphanFinalizer || name === foregroundFinalizer))
    return present;
  const rest = present.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const chosen = policy ?? (orphansByDefault(kind) ? 'Orphan' : 'Background');
  if (chosen === 'Orphan') return [...rest, orphanFinalizer];
  return chosen === 'Foreground' ? [...rest, foregroundFinalizer] : rest;
}

/** Kinds that predate cascading deletion orphan their dependents by default. */
export function orphansByDefault(kind: ServedKind): boolean {
  return kind.groupKind === 'batch/Job' || kind.groupKind === '/ReplicationController';
}

/** The pod's grace period in seconds: 0 if it is not scheduled or has terminated. */
function podGrace(pod: KubeObject, asked: number | undefined): number {
  const phase = stringAt(pod, 'status', 'phase');
  if (stringAt(pod, 'spec', 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  return asked ?? numberAt(pod, ['spec', 'terminationGracePeriodSeconds'], 30);
}

/** Reads DeleteOptions; the body overrides the query. */
export function parseDeleteOptions(body: JsonObject, query: URLSearchParams): SimDeleteOptions {
  const policy = policyOf(body, query);
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds');
  const preconditions = (body['preconditions'] ?? {}) as JsonObject;
  const dryRun = body['dryRun'] ?? query.getAll('dryRun');
  return {
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(typeof preconditions['uid'] === 'string' ? { uid: preconditions['uid'] } : {}),
    ...(typeof preconditions['resourceVersion'] === 'string'
      ? { resourceVersion: preconditions['resourceVersion'] }
      : {}),
    dryRun: Array.isArray(dryRun) && dryRun.includes('All'),
  };
}

function policyOf(body: JsonObject, query: URLSearchParams): SimDeleteOptions['propagationPolicy'] {
  const field = 'propagationPolicy';
  if (body[field] !== undefined && body['orphanDependents'] !== undefined) {
    const given = JSON.stringify(body[field]);
    const message = `Invalid value: ${given}: orphanDependents and deletionPropagation cannot be both set`;
    throw invalidOptions('DeleteOptions', [{ type: 'FieldValueInvalid', field, message }]);
  }
  const policy = body[field] ?? query.get(field) ?? orphanFlag(body, query);
  if (policy === undefined || policy === 'Foreground' || policy === 'Background' || policy === 'Orphan') return policy;
  const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: "Foreground", "Background", "Orphan", "nil"`;
  throw invalidOptions('DeleteOptions', [{ type: 'FieldValueNotSupported', field, message }]);
}

function orphanFlag(body: JsonObject, query: URLSearchParams): 'Orphan' | 'Background' | undefined {
  const given = body['orphanDependents'];
  const flag = typeof given === 'boolean' ? String(given) : query.get('orphanDependents');
  if (flag === null) return undefined;
  return flag === 'true' ? 'Orphan' : 'Background';
}

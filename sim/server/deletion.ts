import type { Clock, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { count, field, text, timestamp, withField, withMeta } from './fields.ts';
import { mayGo } from './objects.ts';
import type { Objects } from './objects.ts';
import type { ServedKind } from './registry.ts';
import { conflict, forbidden, invalidOptions } from './status.ts';
import type { SimError } from './status.ts';

export interface DeleteOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly dryRun?: boolean;
}

export interface Deleted {
  /** The object as it was last, or as it is now while something holds it. */
  readonly object: KubeObject;
  readonly removed: boolean;
}

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';
const immortal = new Set(['default', 'kube-system', 'kube-public']);

/**
 * Deletes, as far as it can be done at once: an object with finalizers, a pod with grace, a namespace with content is only marked
 * (apiserver: registry/generic/registry/store.go, registry/rest/delete.go).
 */
export class Deletion {
  readonly #objects: Objects;
  readonly #clock: Clock;

  constructor(objects: Objects, clock: Clock) {
    this.#objects = objects;
    this.#clock = clock;
  }

  /** @throws SimError 404, 409 when a precondition fails, 403 for the namespaces that every cluster has. */
  delete(
    kind: ServedKind,
    where: { readonly namespace: string; readonly name: string },
    options: DeleteOptions,
  ): Deleted {
    const live = this.#objects.get(kind, where.namespace, where.name);
    checkPreconditions(kind, live, options);
    if (kind.shelf === '/Namespace' && immortal.has(where.name))
      throw forbidden(kind, where.name, 'this namespace may not be deleted');
    const marked = this.#mark(kind, live, options);
    const removed = mayGo(marked);
    if (options.dryRun === true) return { object: removed ? live : marked, removed };
    // Of kinds that end gracefully the last state shows that they have been ended.
    if (removed) return { object: this.#objects.erase(kind, kind.shelf === '/Pod' ? marked : live), removed };
    return { object: marked === live ? live : this.#objects.force(kind, marked), removed };
  }

  #mark(kind: ServedKind, live: KubeObject, options: DeleteOptions): KubeObject {
    const finalizers = finalizersFor(kind, live, options.propagationPolicy);
    const graceSeconds = kind.shelf === '/Pod' ? podGrace(live, options.gracePeriodSeconds) : 0;
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
    return kind.shelf === '/Namespace' ? terminating(marked) : marked;
  }
}

function terminating(namespace: KubeObject): KubeObject {
  const status = (field(namespace, 'status') ?? {}) as JsonObject;
  const marked = withMeta(namespace, { deletionGracePeriodSeconds: undefined });
  return withField(marked, 'status', { ...status, phase: 'Terminating' });
}

function checkPreconditions(kind: ServedKind, live: KubeObject, options: DeleteOptions): void {
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
  return conflict({ group: kind.group, resource: kind.kind }, name, why);
}

/** The finalizers that the garbage collector needs for a policy replace those of an earlier one. */
function finalizersFor(
  kind: ServedKind,
  live: KubeObject,
  policy: DeleteOptions['propagationPolicy'],
): readonly string[] {
  const present = live.metadata.finalizers ?? [];
  if (policy === undefined && present.some((name) => name === orphanFinalizer || name === foregroundFinalizer))
    return present;
  const rest = present.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const chosen = policy ?? (orphansByDefault(kind) ? 'Orphan' : 'Background');
  if (chosen === 'Orphan') return [...rest, orphanFinalizer];
  return chosen === 'Foreground' ? [...rest, foregroundFinalizer] : rest;
}

/** Kinds from the time before cascading deletion keep their dependents unless told otherwise. */
export function orphansByDefault(kind: ServedKind): boolean {
  return kind.shelf === 'batch/Job' || kind.shelf === '/ReplicationController';
}

/** Seconds that a pod has to end: none when no kubelet has it, or when it has ended. */
function podGrace(pod: KubeObject, asked: number | undefined): number {
  const phase = text(pod, 'status', 'phase');
  if (text(pod, 'spec', 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  return asked ?? count(pod, ['spec', 'terminationGracePeriodSeconds'], 30);
}

/** Reads the DeleteOptions of a body over those of the query. */
export function parseDeleteOptions(body: JsonObject, query: URLSearchParams): DeleteOptions {
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

function policyOf(body: JsonObject, query: URLSearchParams): DeleteOptions['propagationPolicy'] {
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

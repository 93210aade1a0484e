import { abortable, applyMergePatch, cloneJson, deepEqual, omit, parsePointer, removeAt, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { KubeApiError } from '#kube';
import type {
  ApiDiscovery,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListPage,
  NamedObject,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '#kube';
import { ClusterUnavailable } from '#live';
import type { LiveCapabilities, LiveDiscovery } from '#live';
import { apiVersionOf, gvkOf, jsonOf, keyOf, resourceKey } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';

/**
 * Hooks around each call: throw to fail it, or wait. `after` runs when the server has acted but not
 * yet responded.
 */
export interface CallInterference {
  /** `user`: the impersonated user. */
  readonly before?: (call: string, user?: string) => Promise<void> | void;
  readonly after?: (call: string) => Promise<void> | void;
}

function throwStatus(code: number, reason: string, message: string): never {
  throw new KubeApiError({ code, reason, message }, 'fake');
}

/**
 * A minimal in-memory API server for tests of decisions: objects, resourceVersions, merge and JSON
 * patches, finalizers, watches. No network and no time: calls complete in the same turn unless the
 * test interferes. The simulator covers full server behavior.
 */
export class FakeApi {
  readonly server: string;
  readonly objects = new Map<ResourceKey, KubeObject>();
  /** `verb kind name` of every call that reached the server, in order. */
  readonly calls: string[] = [];
  /** Impersonated users, in order. */
  readonly impersonated: string[] = [];
  /** The impersonated user of each of `calls`; undefined: none. */
  readonly callers: (string | undefined)[] = [];
  /** Groups that discovery cannot read, and why. */
  readonly failedGroups = new Map<string, string>();
  /** True: the API versions of failed groups are still known. */
  hasCompleteList = true;
  /** Groups that discovery silently omits, and that are not watched. */
  readonly unnamedGroups = new Set<string>();
  /** Maximum object size in characters of JSON; exceeding it fails like etcd above 1.5 MiB. */
  limit = Number.POSITIVE_INFINITY;
  /** Why the server refuses to store an object as invalid; undefined: it is valid. */
  invalid: (object: KubeObject) => string | undefined = () => undefined;
  /** Changes a patched object, as an admission webhook does. */
  admit: (object: KubeObject) => KubeObject = (object) => object;
  /** True: managedFields name the client that wrote an object last. */
  recordsManagers = false;
  /** Why discovery has never worked; undefined: it has. */
  unreachable: string | undefined;
  /** Deletions by requests: kind, name and propagation policy. */
  readonly deleted: string[] = [];
  readonly #kinds: readonly ApiResource[];
  readonly #listeners = new Set<(event: WatchEvent & { readonly object: KubeObject }) => void>();
  #version = 0;

  constructor(server: string, kinds: readonly ApiResource[]) {
    this.server = server;
    this.#kinds = kinds;
  }

  get discovery(): ApiDiscovery {
    const kinds = this.#kinds.filter(({ group }) => !this.failedGroups.has(group) && !this.unnamedGroups.has(group));
    return {
      preferred: kinds,
      served: kinds,
      apiVersions: ['v1', 'v1/ConfigMap'],
      failedGroups: new Map(this.failedGroups),
    };
  }

  /** Discovery as the live cache sees it. */
  discovered(): LiveDiscovery {
    if (this.unreachable !== undefined) throw new ClusterUnavailable(this.server, this.unreachable);
    return { ...this.discovery, version: 1 };
  }

  capabilities(unsure: string | undefined): LiveCapabilities {
    const { apiVersions, failedGroups } = this.discovered();
    const missing = new Map(failedGroups);
    if (unsure !== undefined) missing.set('*', unsure);
    return { apiVersions, missing, hasCompleteList: missing.size === 0 || this.hasCompleteList };
  }

  get(kind: string, name: string): KubeObject | undefined {
    return [...this.objects.values()].find((object) => object.kind === kind && object.metadata.name === name);
  }

  /** Stores an object unchanged, as if another client had written it. */
  put(object: KubeObject): KubeObject {
    const old = this.objects.get(keyOf(object));
    this.#version += 1;
    const stored = cloneJson({
      ...object,
      metadata: {
        uid: `uid-${this.#version}`,
        creationTimestamp: '2026-01-01T00:00:00Z',
        ...(old === undefined ? {} : { uid: old.metadata.uid ?? '' }),
        ...object.metadata,
        resourceVersion: String(this.#version),
      },
    });
    if (stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0)
      return this.#remove(stored);
    this.objects.set(keyOf(stored), stored);
    this.#notify({ type: old === undefined ? 'ADDED' : 'MODIFIED', object: stored });
    return stored;
  }

  delete(kind: string, name: string): void {
    const object = this.get(kind, name);
    if (object === undefined) return;
    if ((object.metadata.finalizers ?? []).length === 0) this.#remove(object);
    else
      this.put({
        ...object,
        metadata: {
          ...object.metadata,
          deletionTimestamp: object.metadata.deletionTimestamp ?? '2026-01-01T00:00:00Z',
        },
      });
  }

  /** Repeats the watch event of an object. */
  announce(kind: string, name: string): void {
    const object = this.get(kind, name);
    if (object !== undefined) this.#notify({ type: 'MODIFIED', object });
  }

  onEvent(listener: (event: WatchEvent & { readonly object: KubeObject }) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #remove(object: KubeObject): KubeObject {
    this.objects.delete(keyOf(object));
    this.#notify({ type: 'DELETED', object });
    return object;
  }

  #notify(event: WatchEvent & { readonly object: KubeObject }): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** A separate client, whose calls a test may interfere with. */
  client(interference: CallInterference = {}, user?: string): KubeClient {
    const call = async <T>(text: string, act: () => T, options?: CallOptions): Promise<T> => {
      const held = Promise.resolve(interference.before?.(text, user));
      await (options === undefined ? held : abortable(held, options.signal));
      options?.beforeSend?.();
      this.calls.push(text);
      this.callers.push(user);
      const answer = act();
      await interference.after?.(text);
      return answer;
    };
    return {
      server: this.server,
      get: (r, o) => call(`get ${r.kind} ${o.name}`, () => this.#read(r, o)),
      list: (r) => call(`list ${r.kind}`, () => this.#page(r)),
      podLog: () => call('log', () => ''),
      create: (r, object, o) =>
        call(
          `create ${r.kind} ${object.metadata.name ?? ''}${dryRunSuffix(o)}`,
          () => this.#create(r, this.#managedBy(object, o.fieldManager), o.dryRun === true),
          o,
        ),
      replace: (r, object, o) =>
        call(
          `replace ${r.kind} ${object.metadata.name ?? ''}${dryRunSuffix(o)}`,
          () => this.#replace(r, this.#managedBy(object, o.fieldManager), o.dryRun === true),
          o,
        ),
      patch: (r, o, patch, w) =>
        call(`patch ${r.kind} ${o.name}${dryRunSuffix(w)}`, () => this.#patch(r, o, patch, w), w),
      delete: (r, o, w) => call(`delete ${r.kind} ${o.name}${dryRunSuffix(w)}`, () => this.#deleteIf(r, o, w), w),
      watch: (r, options) => this.#watch(r, options),
      discover: () => call('discover', () => this.discovery),
      openApiIndex: () => call('openapi', () => new Map()),
      openApiDocument: () => call('openapi', () => ({})),
      mayList: () => call('review', () => true),
      version: () => call('version', () => 'v1.30.0'),
      impersonate: (other) => {
        this.impersonated.push(other);
        return this.client(interference, other);
      },
      updateCredentials: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  #read(resource: ApiResource, { namespace, name }: NamedObject): KubeObject {
    const object = this.objects.get(resourceKey(resource.group, resource.kind, namespace, name));
    return object ?? throwStatus(404, 'NotFound', `${resource.resource} "${name}" not found`);
  }

  #page(resource: ApiResource): ListPage {
    const items = [...this.objects.values()].filter((object) => isOfKind(resource, object));
    return { items, resourceVersion: String(this.#version) };
  }

  #create(resource: ApiResource, object: KubeObject, dryRun: boolean): KubeObject {
    if (this.objects.has(keyOf(object))) throwStatus(409, 'AlreadyExists', `${resource.resource} already exists`);
    if (object.metadata.resourceVersion !== undefined)
      throwStatus(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    return dryRun ? object : this.put({ ...object, apiVersion: apiVersionOf(resource.group, resource.version) });
  }

  #replace(resource: ApiResource, object: KubeObject, dryRun: boolean): KubeObject {
    const { namespace = '', name = '' } = object.metadata;
    const old = this.#read(resource, { namespace, name });
    const version = object.metadata.resourceVersion;
    if (version !== undefined && version !== old.metadata.resourceVersion)
      throwStatus(409, 'Conflict', 'object was modified');
    if (dryRun) {
      // The API server keeps the managed fields that a replacement does not name.
      const { managedFields } = old.metadata;
      return managedFields === undefined ? object : { ...object, metadata: { managedFields, ...object.metadata } };
    }
    return this.put(this.#fitting(withoutNulls(object)));
  }

  #managedBy(object: KubeObject, manager = 'unknown'): KubeObject {
    return this.recordsManagers ? withManager(object, manager) : object;
  }

  #patch(
    resource: ApiResource,
    name: NamedObject,
    patch: Patch,
    { dryRun = false, fieldManager }: WriteOptions,
  ): KubeObject {
    const isNew =
      patch.type === 'apply' &&
      !this.objects.has(resourceKey(resource.group, resource.kind, name.namespace, name.name));
    if (isNew) return this.#create(resource, withApplyOwnership(patch.body), dryRun);
    const old = this.#read(resource, name);
    const next = this.admit(
      patch.type === 'apply' ? withApplyOwnership(applyPatch(old, patch)) : applyPatch(old, patch),
    );
    if (patch.type !== 'json' && next.metadata.resourceVersion !== old.metadata.resourceVersion)
      throwStatus(409, 'Conflict', 'object was modified');
    if (dryRun || deepEqual(jsonOf(next), jsonOf(old))) return dryRun ? next : old;
    return this.put(this.#managedBy(this.#fitting(next), fieldManager));
  }

  #deleteIf(resource: ApiResource, name: NamedObject, options: DeleteOptions): void {
    const { preconditions, dryRun, propagationPolicy } = options;
    const { uid, resourceVersion } = this.#read(resource, name).metadata;
    if ((preconditions?.resourceVersion ?? resourceVersion) !== resourceVersion && preconditions?.uid === uid)
      throwStatus(409, 'Conflict', 'Precondition failed: ResourceVersion');
    if ((preconditions?.uid ?? uid) !== uid) throwStatus(409, 'Conflict', 'Precondition failed: UID');
    if (dryRun === true) return;
    this.deleted.push(`${resource.kind} ${name.name} ${propagationPolicy ?? ''}`);
    this.delete(resource.kind, name.name);
  }

  #fitting(object: KubeObject): KubeObject {
    if (this.limit < Number.POSITIVE_INFINITY && JSON.stringify(object).length > this.limit)
      throwStatus(500, '', 'etcdserver: request is too large');
    const problem = this.invalid(object);
    if (problem !== undefined) throwStatus(422, 'Invalid', problem);
    return object;
  }

  async *#watch(resource: ApiResource, { signal }: WatchOptions): AsyncIterable<WatchEvent> {
    const pending: WatchEvent[] = [];
    let wake: () => void = () => undefined;
    const stop = this.onEvent((event) => {
      if (isOfKind(resource, event.object)) pending.push(event);
      wake();
    });
    const onAbort = (): void => wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const event = pending.shift();
        if (event !== undefined) yield event;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop();
      signal.removeEventListener('abort', onAbort);
    }
  }
}

function dryRunSuffix(options: { readonly dryRun?: boolean }): string {
  return options.dryRun === true ? ' (dry run)' : '';
}

function isOfKind(resource: ApiResource, object: KubeObject): boolean {
  const { group, kind } = gvkOf(object);
  return group === resource.group && kind === resource.kind;
}

function applyPatch(old: KubeObject, patch: Patch): KubeObject {
  if (patch.type === 'json')
    return withoutNulls(applyJsonPatch(old, patch.body as unknown as readonly JsonPatchOperation[]));
  return withoutNulls(applyMergePatch(jsonOf(old), jsonOf(patch.body)) as unknown as KubeObject);
}

/** After an apply, its writer owns every field. */
function withApplyOwnership(object: KubeObject): KubeObject {
  return withManager(object, 'argocd-controller', 'Apply');
}

/** A copy of an object of which one manager owns every field. */
export function withManager(object: KubeObject, manager: string, operation = 'Update'): KubeObject {
  const { annotations = {}, labels = {} } = object.metadata;
  const said = {
    ...omit(object, 'apiVersion', 'kind', 'metadata', 'status'),
    metadata: { annotations, labels },
  };
  const entry = { manager, operation, fieldsType: 'FieldsV1' };
  const managedFields = [{ ...entry, apiVersion: object.apiVersion, fieldsV1: managedFieldsOf(jsonOf(said)) }];
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

function managedFieldsOf(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [`f:${name}`, managedFieldsOf(member ?? null)]),
  );
}

interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: Json;
}

function applyJsonPatch(old: KubeObject, operations: readonly JsonPatchOperation[]): KubeObject {
  const root = cloneJson(jsonOf(old)) as MutableJsonObject;
  for (const { op, path, value } of operations) {
    const steps = parsePointer(path) ?? [];
    const last = steps.at(-1) ?? '';
    let parent: MutableJson | undefined = root;
    for (const step of steps.slice(0, -1)) parent = isMap(parent) ? parent[step] : undefined;
    if (!isMap(parent)) throwStatus(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'test' && !deepEqual(parent[last], value)) throwStatus(422, 'Invalid', `testing ${path} failed`);
    if (op === 'remove' && !removeAt(root, steps)) throwStatus(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'replace' && !Object.hasOwn(parent, last))
      throwStatus(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'add' || op === 'replace') setOwnMember(parent, last, cloneJson(value ?? null) as MutableJson);
  }
  return root as unknown as KubeObject;
}

function isMap(value: MutableJson | undefined): value is MutableJsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Like a real server: a top-level null in one of our objects (`operation`) means an absent field.
 */
function withoutNulls(object: KubeObject): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as unknown as KubeObject;
}

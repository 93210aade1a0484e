import { applyMergePatch, cloneJson, deepEqual, omit, parsePointer, removeAt, setOwn } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient, ListPage, NamedObject, Patch, WatchEvent, WatchOptions } from '#kube';
import { ClusterUnavailable } from '#live';
import type { LiveDiscovery } from '#live';
import { apiVersionOf, gvkOf, jsonOf, keyOf, resourceKey } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';

/** What a test may do around each call: throw to fail it, or wait. `after`: the server has acted, the answer is still to come. */
export interface Interference {
  /** `user`: whom the client acts as. */
  readonly before?: (call: string, user?: string) => Promise<void> | void;
  readonly after?: (call: string) => Promise<void> | void;
}

function refuse(code: number, reason: string, message: string): never {
  throw new KubeApiError({ code, reason, message }, 'fake');
}

/**
 * The little of an API server that decisions can be tested with: objects, resourceVersions, merge and JSON patches, finalizers, watches. No
 * network and no time: calls end in the turn in which they were made, unless the test interferes. What a real server does in full is the
 * simulator's matter.
 */
export class FakeApi {
  readonly server: string;
  readonly objects = new Map<ResourceKey, KubeObject>();
  /** `verb kind name` of every call that reached the server, in order. */
  readonly calls: string[] = [];
  /** Whom clients were made to act as. */
  readonly impersonated: string[] = [];
  /** As whom each of `calls` was made; undefined: as ourselves. */
  readonly callers: (string | undefined)[] = [];
  /** Groups that discovery cannot read, and why. */
  readonly failedGroups = new Map<string, string>();
  /** Groups that discovery leaves out without a word, and nobody watches. */
  readonly unnamedGroups = new Set<string>();
  /** The biggest object that it stores for a client, in characters of its JSON: etcd says what it says to more than 1.5 MiB. */
  limit = Number.POSITIVE_INFINITY;
  /** Why discovery has never worked; undefined: it has. */
  unreachable: string | undefined;
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

  /** The same for those who watch it. */
  discovered(): LiveDiscovery {
    if (this.unreachable !== undefined) throw new ClusterUnavailable(this.server, this.unreachable);
    return { ...this.discovery, version: 1 };
  }

  get(kind: string, name: string): KubeObject | undefined {
    return [...this.objects.values()].find((object) => object.kind === kind && object.metadata.name === name);
  }

  /** Stores an object as it is, as if someone else had written it. */
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
    this.#tell({ type: old === undefined ? 'ADDED' : 'MODIFIED', object: stored });
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

  onEvent(listener: (event: WatchEvent & { readonly object: KubeObject }) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #remove(object: KubeObject): KubeObject {
    this.objects.delete(keyOf(object));
    this.#tell({ type: 'DELETED', object });
    return object;
  }

  #tell(event: WatchEvent & { readonly object: KubeObject }): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** A client of its own, whose calls a test may interfere with. */
  client(interference: Interference = {}, user?: string): KubeClient {
    const call = async <T>(text: string, act: () => T): Promise<T> => {
      await interference.before?.(text, user);
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
      create: (r, object, o) =>
        call(`create ${r.kind} ${object.metadata.name ?? ''}${dry(o)}`, () =>
          this.#create(r, object, o.dryRun === true),
        ),
      replace: (r, object, o) =>
        call(`replace ${r.kind} ${object.metadata.name ?? ''}${dry(o)}`, () =>
          this.#replace(r, object, o.dryRun === true),
        ),
      patch: (r, o, patch, w) =>
        call(`patch ${r.kind} ${o.name}${dry(w)}`, () => this.#patch(r, o, patch, w.dryRun === true)),
      delete: (r, o, w) =>
        call(`delete ${r.kind} ${o.name}${dry(w)}`, () => {
          const { uid, resourceVersion } = this.#read(r, o).metadata;
          if ((w.preconditions?.resourceVersion ?? resourceVersion) !== resourceVersion && w.preconditions?.uid === uid)
            refuse(409, 'Conflict', 'Precondition failed: ResourceVersion');
          if ((w.preconditions?.uid ?? uid) !== uid) refuse(409, 'Conflict', 'Precondition failed: UID');
          if (w.dryRun !== true) this.delete(r.kind, o.name);
        }),
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
    return object ?? refuse(404, 'NotFound', `${resource.resource} "${name}" not found`);
  }

  #page(resource: ApiResource): ListPage {
    const items = [...this.objects.values()].filter((object) => isOf(resource, object));
    return { items, resourceVersion: String(this.#version) };
  }

  #create(resource: ApiResource, object: KubeObject, dryRun: boolean): KubeObject {
    if (this.objects.has(keyOf(object))) refuse(409, 'AlreadyExists', `${resource.resource} already exists`);
    if (object.metadata.resourceVersion !== undefined)
      refuse(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    return dryRun ? object : this.put({ ...object, apiVersion: apiVersionOf(resource.group, resource.version) });
  }

  #replace(resource: ApiResource, object: KubeObject, dryRun: boolean): KubeObject {
    const { namespace = '', name = '' } = object.metadata;
    const old = this.#read(resource, { namespace, name });
    const version = object.metadata.resourceVersion;
    if (version !== undefined && version !== old.metadata.resourceVersion)
      refuse(409, 'Conflict', 'object was modified');
    return dryRun ? object : this.put(this.#fitting(withoutNulls(object)));
  }

  #patch(resource: ApiResource, name: NamedObject, patch: Patch, dryRun: boolean): KubeObject {
    const isNew =
      patch.type === 'apply' &&
      !this.objects.has(resourceKey(resource.group, resource.kind, name.namespace, name.name));
    if (isNew) return this.#create(resource, applyOwned(patch.body), dryRun);
    const old = this.#read(resource, name);
    const next = patch.type === 'apply' ? applyOwned(applied(old, patch)) : applied(old, patch);
    if (patch.type !== 'json' && next.metadata.resourceVersion !== old.metadata.resourceVersion)
      refuse(409, 'Conflict', 'object was modified');
    if (dryRun || deepEqual(jsonOf(next), jsonOf(old))) return dryRun ? next : old;
    return this.put(this.#fitting(next));
  }

  #fitting(object: KubeObject): KubeObject {
    if (this.limit < Number.POSITIVE_INFINITY && JSON.stringify(object).length > this.limit)
      refuse(500, '', 'etcdserver: request is too large');
    return object;
  }

  async *#watch(resource: ApiResource, { signal }: WatchOptions): AsyncIterable<WatchEvent> {
    const pending: WatchEvent[] = [];
    let wake: () => void = () => undefined;
    const stop = this.onEvent((event) => {
      if (isOf(resource, event.object)) pending.push(event);
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

function dry(options: { readonly dryRun?: boolean }): string {
  return options.dryRun === true ? ' (dry run)' : '';
}

function isOf(resource: ApiResource, object: KubeObject): boolean {
  const { group, kind } = gvkOf(object);
  return group === resource.group && kind === resource.kind;
}

function applied(old: KubeObject, patch: Patch): KubeObject {
  if (patch.type === 'json') return withoutNulls(jsonPatched(old, patch.body as unknown as readonly Operation[]));
  return withoutNulls(applyMergePatch(jsonOf(old), jsonOf(patch.body)) as unknown as KubeObject);
}

/** After an apply, everything that says something is its writer's. */
function applyOwned(object: KubeObject): KubeObject {
  const { annotations = {}, labels = {} } = object.metadata;
  const said = {
    ...omit(object, 'apiVersion', 'kind', 'metadata', 'status'),
    metadata: { annotations, labels },
  };
  const entry = { manager: 'argocd-controller', operation: 'Apply', fieldsType: 'FieldsV1' };
  const managedFields = [{ ...entry, apiVersion: object.apiVersion, fieldsV1: fieldsOf(jsonOf(said)) }];
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

function fieldsOf(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [`f:${name}`, fieldsOf(member ?? null)]));
}

interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: Json;
}

function jsonPatched(old: KubeObject, operations: readonly Operation[]): KubeObject {
  const root = cloneJson(jsonOf(old)) as MutableJsonObject;
  for (const { op, path, value } of operations) {
    const steps = parsePointer(path) ?? [];
    const last = steps.at(-1) ?? '';
    let parent: MutableJson | undefined = root;
    for (const step of steps.slice(0, -1)) parent = isMap(parent) ? parent[step] : undefined;
    if (!isMap(parent)) refuse(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'test' && !deepEqual(parent[last], value)) refuse(422, 'Invalid', `testing ${path} failed`);
    if (op === 'remove' && !removeAt(root, steps)) refuse(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'replace' && !Object.hasOwn(parent, last)) refuse(422, 'Invalid', `the path ${path} does not exist`);
    if (op === 'add' || op === 'replace') setOwn(parent, last, cloneJson(value ?? null) as MutableJson);
  }
  return root as unknown as KubeObject;
}

function isMap(value: MutableJson | undefined): value is MutableJsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As the real server: a null at the top of an object of ours (`operation`) is no field. */
function withoutNulls(object: KubeObject): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as unknown as KubeObject;
}

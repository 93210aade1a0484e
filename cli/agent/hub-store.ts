import { applyMergePatch, cloneJson, deepEqual, isObject, omit, ownMember, parsePointer, setOwnMember } from '#base';
import type { Clock, Json, MutableJson, MutableJsonObject, RandomSource } from '#base';
import { KubeApiError } from '#kube';
import { groupOf, jsonOf, keyOf, resourceKey } from '#model';
import type { KubeObject, ResourceKey } from '#model';

/** A stored change. The version of a deleted object is that of its deletion. */
export interface HubEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

export interface HubStoreDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<RandomSource, 'uuid'>;
}

/**
 * The hub of an agent: the Application, its project and settings, in the memory of this process.
 * Versions, conflicts and no-op writes are those of an API server. There are no schemas, because
 * only the controller of this process writes here. Objects are shared and immutable.
 */
export class HubStore {
  readonly #deps: HubStoreDeps;
  readonly #objects = new Map<ResourceKey, KubeObject>();
  readonly #listeners = new Set<(event: HubEvent) => void>();
  #version = 0;
  #deletedAt = 0;

  constructor(deps: HubStoreDeps) {
    this.#deps = deps;
  }

  /** Version of the last change. */
  get version(): number {
    return this.#version;
  }

  /** Version of the last deletion: a watch from an older one cannot learn what was deleted. */
  get deletedAt(): number {
    return this.#deletedAt;
  }

  get(group: string, kind: string, namespace: string, name: string): KubeObject | undefined {
    return this.#objects.get(resourceKey(group, kind, namespace, name));
  }

  list(group: string, kind: string): readonly KubeObject[] {
    return [...this.#objects.values()].filter((object) => object.kind === kind && groupOf(object.apiVersion) === group);
  }

  /** @throws KubeApiError AlreadyExists */
  create(object: KubeObject): KubeObject {
    const key = keyOf(object);
    if (this.#objects.has(key)) throw refusal(409, 'AlreadyExists', object, 'already exists');
    const creationTimestamp = new Date(this.#deps.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const own = { uid: this.#deps.random.uuid(), creationTimestamp, generation: 1 };
    return this.#commit('ADDED', { ...object, metadata: { ...object.metadata, ...own } });
  }

  /** Replaces an object. An object that is equal to the stored one changes nothing. */
  update(object: KubeObject): KubeObject {
    const current = this.#current(object);
    const { resourceVersion, uid, creationTimestamp = '', generation = 1 } = current.metadata;
    const wanted = object.metadata.resourceVersion;
    if (wanted !== undefined && wanted !== resourceVersion)
      throw refusal(
        409,
        'Conflict',
        object,
        'cannot be written: the object has been modified; please apply your changes to the latest version',
      );
    const own = { uid: uid ?? '', creationTimestamp, resourceVersion: resourceVersion ?? '' };
    const next = stored({ ...object, metadata: { ...object.metadata, ...own, generation } });
    if (deepEqual(jsonOf(next), jsonOf(current))) return current;
    const hasNewContent = !deepEqual(contentOf(next), contentOf(current));
    const metadata = { ...next.metadata, generation: hasNewContent ? generation + 1 : generation };
    return this.#commit('MODIFIED', { ...next, metadata });
  }

  /**
   * Applies a patch of RFC 7386 or 6902, which may name the version that it belongs to.
   * @throws KubeApiError Invalid if an operation cannot be applied
   */
  patch(at: KubeObject, type: 'merge' | 'json', patch: Json): KubeObject {
    const current = this.#current(at);
    const { apiVersion, kind, metadata } = current;
    const apply = type === 'merge' ? applyMergePatch : applyMemberPatch;
    const merged = apply(jsonOf(current), patch) as unknown as KubeObject | undefined;
    if (merged === undefined) throw refusal(422, 'Invalid', at, 'cannot be patched: an operation does not apply');
    const { name, namespace } = metadata;
    const own = { name: name ?? '', ...(namespace === undefined ? {} : { namespace }) };
    return this.update({ ...merged, apiVersion, kind, metadata: { ...merged.metadata, ...own } });
  }

  /** Removes an object at once: no object of this hub has a finalizer. */
  delete(at: KubeObject): void {
    const { uid, resourceVersion } = at.metadata;
    const current = this.#current(at);
    const isOther =
      (uid !== undefined && uid !== current.metadata.uid) ||
      (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion);
    if (isOther) throw refusal(409, 'Conflict', at, 'cannot be deleted: the precondition is not met');
    this.#objects.delete(keyOf(at));
    this.#version += 1;
    this.#deletedAt = this.#version;
    this.#emit('DELETED', {
      ...current,
      metadata: { ...current.metadata, resourceVersion: String(this.#version) },
    });
  }

  /** Calls `listener` for each change, after it is visible. Returns the unsubscribe function. */
  subscribe(listener: (event: HubEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #current(object: KubeObject): KubeObject {
    const current = this.#objects.get(keyOf(object));
    if (current === undefined) throw refusal(404, 'NotFound', object, 'not found');
    return current;
  }

  #commit(type: HubEvent['type'], object: KubeObject): KubeObject {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const committed = stored({ ...object, metadata });
    this.#objects.set(keyOf(committed), committed);
    this.#emit(type, committed);
    return committed;
  }

  #emit(type: HubEvent['type'], object: KubeObject): void {
    for (const listener of [...this.#listeners]) listener({ type, object });
  }
}

/** A copy without undefined members, and with the texts of a Secret in its `data`. */
function stored(object: KubeObject): KubeObject {
  const { kind, stringData, data } = object;
  if (kind !== 'Secret' || !isObject(stringData)) return cloneJson(object);
  const texts = Object.entries(stringData as Readonly<Record<string, string>>);
  const encoded = Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  return cloneJson({ ...object, stringData: undefined, data: { ...(isObject(data) ? data : {}), ...encoded } });
}

function contentOf(object: KubeObject): Json {
  return jsonOf(omit(object, 'metadata'));
}

/** In the words of an API server; the controller looks for the quoted name. */
export function refusal(code: number, reason: string, object: KubeObject, why: string): KubeApiError {
  const { apiVersion, kind, metadata } = object;
  const group = groupOf(apiVersion);
  const plural = `${kind.toLowerCase()}s${group === '' ? '' : `.${group}`}`;
  return new KubeApiError(
    { code, reason, message: `${plural} "${metadata.name ?? ''}" ${why}` },
    `${plural} of the agent`,
  );
}

/**
 * Applies the operations of RFC 6902 that the controller sends to its hub: test, add, replace and
 * remove, each for a member of an object. A member that is set to null is absent, as in an
 * Application on an API server. Undefined: an operation cannot be applied.
 */
function applyMemberPatch(document: Json, patch: Json): Json | undefined {
  const result = cloneJson(document) as MutableJson;
  const operations = Array.isArray(patch) ? (patch as readonly Json[]) : [null];
  return operations.every((operation) => applyOperation(result, operation)) ? result : undefined;
}

/** Changes the document. Returns whether the operation can be applied. */
function applyOperation(document: MutableJson, operation: Json): boolean {
  if (!isObject(operation) || typeof operation['path'] !== 'string') return false;
  const { op, path, value = null } = operation;
  const steps = parsePointer(path) ?? [];
  const name = steps.at(-1);
  const parent = steps.slice(0, -1).reduce<Json | undefined>(memberOf, document);
  if (name === undefined || !isObject(parent)) return false;
  const current = ownMember(parent, name);
  switch (op) {
    case 'test':
      return deepEqual(current ?? null, value);
    case 'remove':
      setMember(parent, name, null);
      return current !== undefined;
    // API servers also replace what is absent.
    case 'replace':
    case 'add':
      setMember(parent, name, value);
      return true;
    default:
      return false;
  }
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? ownMember(value, name) : undefined;
}

function setMember(parent: Json, name: string, value: Json): void {
  const target = parent as MutableJsonObject;
  if (value === null) Reflect.deleteProperty(target, name);
  else setOwnMember(target, name, cloneJson(value) as MutableJson);
}

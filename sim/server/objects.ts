import { deepEqual, isObject } from '#base';
import type { Clock, JsonObject, Random } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { FieldError, SchemaBook } from '../types.ts';
import { asJson, field, timestamp, withField, withMeta, without } from './fields.ts';
import { changesGeneration, hasGeneration } from './generation.ts';
import { metaErrors, tidyMeta } from './meta.ts';
import { converted, prepare } from './prepare.ts';
import type { Allocator } from './prepare.ts';
import { inVersion } from './registry.ts';
import type { Registry, ServedKind } from './registry.ts';
import { alreadyExists, badRequest, conflict, forbidden, invalid, notFound, plainError, staleText } from './status.ts';
import type { Storage } from './storage.ts';

/** How a write is made. */
export interface WriteHow {
  readonly manager: string;
  /** "" or "status"; writes through "scale" count as main writes by another subresource name. */
  readonly subresource: '' | 'status' | 'scale' | 'finalize';
  readonly dryRun: boolean;
  /** Comes from a patch: an identity that it changes is told by validation. */
  readonly patch?: boolean;
  /** Comes from server-side apply: managedFields are final. */
  readonly applied?: boolean;
}

export interface ObjectsDeps {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly book: SchemaBook;
  readonly clock: Clock;
  readonly random: Random;
  readonly allocator: Allocator;
}

const namespaces = { group: '', resource: 'namespaces' } as const;

/** Kinds that may not be replaced without saying which revision is replaced. */
const conditionalOnly = new Set([
  'apiextensions.k8s.io/CustomResourceDefinition',
  'policy/PodDisruptionBudget',
  'coordination.k8s.io/Lease',
  'apiregistration.k8s.io/APIService',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
]);

/**
 * Creates and updates: everything between a decoded object and the storage, in the order of the real server (namespace, defaults,
 * metadata, validation, ownership of fields, optimistic concurrency, commit). The HTTP side and the in-process store both come here.
 * All functions are synchronous: a request is one step, so nothing is ever half done. All throw SimError.
 */
export class Objects {
  readonly #deps: ObjectsDeps;

  constructor(deps: ObjectsDeps) {
    this.#deps = deps;
  }

  /** The object in the kind's own version. */
  find(kind: ServedKind, namespace: string, name: string): KubeObject | undefined {
    const stored = this.#deps.storage.get(kind.shelf, namespace, name);
    return stored === undefined ? undefined : inVersion(stored, apiVersionOf(kind.group, kind.version));
  }

  get(kind: ServedKind, namespace: string, name: string): KubeObject {
    const found = this.find(kind, namespace, name);
    if (found === undefined) throw notFound(kind, name);
    return found;
  }

  /** Stores a new object, which must already be decoded; its namespace must be the one of the request. */
  create(kind: ServedKind, object: KubeObject, how: WriteHow): KubeObject {
    const { storage, book } = this.#deps;
    if (object.metadata.resourceVersion !== undefined && object.metadata.resourceVersion !== '' && how.applied !== true)
      throw plainError('resourceVersion should not be set on objects to be created');
    this.#admitInto(kind, object);
    const fresh = this.#fresh(kind, book.applyDefaults(kind, object), how);
    const said = converted(kind, fresh);
    const ready = prepare(kind, said, undefined, this.#deps.allocator);
    this.#validate(kind, ready, undefined);
    const name = ready.metadata.name ?? '';
    if (storage.get(kind.shelf, ready.metadata.namespace ?? '', name) !== undefined) throw alreadyExists(kind, name);
    const owned = how.applied === true ? ready : ownedAs(ready, book.trackUpdate(kind, undefined, said, this.#by(how)));
    if (how.dryRun) return owned;
    return this.#commit(kind, owned);
  }

  /**
   * Replaces an object by what `change` makes of the present one. `change` sees and returns the kind's own version; its
   * metadata.resourceVersion, if it sets one, must be the present one.
   */
  update(
    kind: ServedKind,
    where: { readonly namespace: string; readonly name: string },
    change: (live: KubeObject) => KubeObject,
    how: WriteHow,
  ): KubeObject {
    const { book } = this.#deps;
    const live = this.get(kind, where.namespace, where.name);
    const wanted = book.applyDefaults(kind, change(live));
    this.#checkPreconditions(kind, live, wanted, how.patch === true);
    const merged = this.#merge(kind, live, converted(kind, wanted), how);
    const ready = how.subresource === 'status' ? merged : prepare(kind, merged, live, this.#deps.allocator);
    this.#validate(kind, ready, live);
    const owned = how.applied === true ? ready : ownedAs(ready, book.trackUpdate(kind, live, merged, this.#by(how)));
    if (sameButForTimes(live, owned)) return live;
    const next = this.#counted(kind, live, owned);
    if (how.dryRun) return next;
    return mayGo(next) ? this.erase(kind, next) : this.#commit(kind, next);
  }

  /** Removes an object that nothing holds back any more; returns its last state. */
  erase(kind: ServedKind, last: KubeObject): KubeObject {
    const gone = this.#deps.storage.remove(kind.shelf, this.#stored(kind, last));
    return inVersion(gone, last.apiVersion);
  }

  /** Stores a next state without any checks, for the server's own controllers. */
  force(kind: ServedKind, next: KubeObject): KubeObject {
    return mayGo(next) ? this.erase(kind, next) : this.#commit(kind, next);
  }

  /** Manager, subresource and time, as managedFields record them. */
  by(how: WriteHow): { readonly manager: string; readonly subresource: string; readonly time: string } {
    return this.#by(how);
  }

  #by(how: WriteHow): { readonly manager: string; readonly subresource: string; readonly time: string } {
    return { manager: how.manager, subresource: how.subresource, time: timestamp(this.#deps.clock.now()) };
  }

  #commit(kind: ServedKind, object: KubeObject): KubeObject {
    const stored = this.#deps.storage.put(kind.shelf, this.#stored(kind, object));
    return inVersion(stored, apiVersionOf(kind.group, kind.version));
  }

  #stored(kind: ServedKind, object: KubeObject): KubeObject {
    return inVersion(object, apiVersionOf(kind.group, kind.storageVersion));
  }

  /** The NamespaceLifecycle admission: new content needs a namespace that lives. */
  #admitInto(kind: ServedKind, object: KubeObject): void {
    if (!kind.namespaced) return;
    const name = object.metadata.namespace ?? '';
    const namespace = this.#deps.storage.get('/Namespace', '', name);
    if (namespace === undefined) throw notFound(namespaces, name);
    if (namespace.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${name} because it is being terminated`;
    throw forbidden(kind, object.metadata.name ?? '', why, [
      { reason: 'NamespaceTerminating', message: `namespace ${name} is being terminated`, field: 'metadata.namespace' },
    ]);
  }

  #fresh(kind: ServedKind, object: KubeObject, how: WriteHow): KubeObject {
    const { clock, random } = this.#deps;
    const { generateName } = object.metadata;
    const given = object.metadata.name ?? '';
    const generated = generateName === undefined || generateName === '' ? '' : `${generateName}${random.suffix(5)}`;
    const fresh = withMeta(object, {
      name: given === '' ? generated : given,
      namespace: kind.namespaced ? object.metadata.namespace : undefined,
      uid: random.uuid(),
      creationTimestamp: timestamp(clock.now()),
      resourceVersion: undefined,
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
      generation: hasGeneration(kind) ? 1 : undefined,
      managedFields: how.applied === true ? object.metadata.managedFields : undefined,
    });
    return { ...fresh, metadata: tidyMeta(fresh.metadata) };
  }

  #validate(kind: ServedKind, object: KubeObject, old: KubeObject | undefined): void {
    const { book } = this.#deps;
    const found: FieldError[] = [...metaErrors(kind, object, old), ...book.validate(kind, object, old)];
    if (kind.shelf === 'apiextensions.k8s.io/CustomResourceDefinition') found.push(...book.validateCrd(object));
    const distinct = new Map(found.map((error) => [`${error.type} ${error.field} ${error.message}`, error]));
    if (distinct.size > 0) throw invalid(kind, object.metadata.name ?? '', [...distinct.values()]);
  }

  #checkPreconditions(kind: ServedKind, live: KubeObject, wanted: KubeObject, patch: boolean): void {
    const name = live.metadata.name ?? '';
    const { resourceVersion, uid } = wanted.metadata;
    if (uid !== undefined && uid !== '' && uid !== live.metadata.uid && !patch) {
      const key = `/registry/${kind.resource}/${live.metadata.namespace === undefined ? '' : `${live.metadata.namespace}/`}${name}`;
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
      throw conflict(
        kind,
        name,
        `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
      );
    }
    if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== '0') {
      if (!/^[0-9]+$/.test(resourceVersion))
        throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
      if (resourceVersion !== live.metadata.resourceVersion) throw conflict(kind, name, staleText);
      return;
    }
    if (!kind.custom && !conditionalOnly.has(kind.shelf)) return;
    const message = 'Invalid value: 0: must be specified for an update';
    const named = { group: kind.group, kind: kind.resource };
    throw invalid(named, name, [{ type: 'FieldValueInvalid', field: 'metadata.resourceVersion', message }]);
  }

  /** Takes from `wanted` what this subresource may change, the rest from the live object. */
  #merge(kind: ServedKind, live: KubeObject, wanted: KubeObject, how: WriteHow): KubeObject {
    const managedFields = how.applied === true ? wanted.metadata.managedFields : carriedFields(live, wanted);
    if (how.subresource === 'status') {
      const part = withField(live, 'status', field(wanted, 'status'));
      return { ...part, metadata: tidyMeta(withMeta(live, { managedFields }).metadata) };
    }
    const metadata = tidyMeta({
      ...wanted.metadata,
      uid: how.patch === true ? (wanted.metadata.uid ?? live.metadata.uid ?? '') : (live.metadata.uid ?? ''),
      creationTimestamp: live.metadata.creationTimestamp ?? null,
      resourceVersion: live.metadata.resourceVersion ?? '',
      ...pickMeta(live, 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'),
      managedFields: managedFields ?? [],
    });
    const whole: KubeObject = { ...wanted, metadata: dropForeign(metadata, live) };
    if (how.subresource === 'finalize') return withField(live, 'spec', field(wanted, 'spec'));
    return kind.statusSubresource ? withField(whole, 'status', field(live, 'status')) : whole;
  }

  #counted(kind: ServedKind, live: KubeObject, next: KubeObject): KubeObject {
    if (!hasGeneration(kind) || !changesGeneration(kind, live, next)) return next;
    return withMeta(next, { generation: (live.metadata.generation ?? 0) + 1 });
  }
}

/** Ownership is settled before a kind's strategy fills in its part: what that adds belongs to nobody. */
function ownedAs(object: KubeObject, { metadata: { managedFields } }: KubeObject): KubeObject {
  return { ...object, metadata: tidyMeta(withMeta(object, { managedFields }).metadata) };
}

function pickMeta(object: KubeObject, ...names: readonly (keyof KubeObject['metadata'])[]): JsonObject {
  const meta = asJson(object.metadata);
  return Object.fromEntries(names.filter((name) => meta[name] !== undefined).map((name) => [name, meta[name]]));
}

/** Server-owned members that the live object does not have cannot be introduced by a client. */
function dropForeign(metadata: KubeObject['metadata'], live: KubeObject): KubeObject['metadata'] {
  const result: Record<string, unknown> = { ...metadata };
  for (const name of ['generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'] as const)
    if (live.metadata[name] === undefined) Reflect.deleteProperty(result, name);
  return result;
}

/** A write that says nothing about managedFields keeps them; `[{}]`, which forgets all managers, is left for who tracks them. */
function carriedFields(live: KubeObject, wanted: KubeObject): KubeObject['metadata']['managedFields'] {
  const given = wanted.metadata.managedFields;
  if (given === undefined || given.length === 0) return live.metadata.managedFields;
  return given;
}

/** Equal in all but the times in managedFields: such a write changes nothing and gets no new revision. */
function sameButForTimes(a: KubeObject, b: KubeObject): boolean {
  return deepEqual(timeless(a), timeless(b));
}

function timeless(object: KubeObject): JsonObject {
  const { managedFields, ...metadata } = object.metadata;
  const entries = (managedFields ?? []).map((entry) =>
    Object.fromEntries(Object.entries(entry).filter(([k]) => k !== 'time')),
  );
  return { ...asJson(without(object, 'metadata')), metadata: { ...asJson(metadata), managedFields: entries } };
}

/** Is an object that is being deleted free to go: no finalizers, no grace left? */
export function mayGo(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if (object.kind === 'Namespace' && object.apiVersion === 'v1') {
    const held = field(object, 'spec', 'finalizers');
    if (Array.isArray(held) && held.length > 0) return false;
  }
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

/** A body that must be an object with kind and apiVersion of what the URL names. */
export function expectKind(kind: ServedKind, body: unknown): KubeObject {
  if (!isObject(body)) throw badRequest('the object provided is unrecognized (must be a JSON object)');
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const metadata = isObject(body['metadata']) ? body['metadata'] : {};
  const object = { apiVersion, kind: kind.kind, ...body, metadata } as KubeObject;
  const version = JSON.stringify(object.apiVersion.split('/').at(-1));
  const refused = (why: string): Error =>
    badRequest(`${object.kind} in version ${version} cannot be handled as a ${kind.kind}: ${why}`);
  if (object.kind !== kind.kind) throw refused(unknownConversion(kind, object));
  if (object.apiVersion !== apiVersion) {
    if (!kind.custom) throw refused(unregistered(object));
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (body['metadata'] !== undefined && body['metadata'] !== null && !isObject(body['metadata'])) {
    const found = Array.isArray(body['metadata']) ? 'array' : typeof body['metadata'];
    throw refused(`json: cannot unmarshal ${found} into Go struct field ${kind.kind}.metadata of type v1.ObjectMeta`);
  }
  return object;
}

/** What the server's scheme says of an object of another kind than asked for. */
export function unknownConversion(kind: ServedKind, object: KubeObject): string {
  const internal = kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '');
  const version = object.apiVersion.split('/').at(-1) ?? '';
  return `converting (${version}.${object.kind}) to (${internal}.${kind.kind}): unknown conversion`;
}

/** What it says of a version that it does not have; the place in its source is part of the text. */
export function unregistered(object: KubeObject): string {
  const version = JSON.stringify(object.apiVersion);
  return `no kind ${JSON.stringify(object.kind)} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`;
}

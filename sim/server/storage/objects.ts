import { deepEqual, isObject } from '#base';
import type { Clock, JsonObject, RandomSource } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { FieldError, SchemaBook } from '../../types.ts';
import { asJsonObject, fieldAt, timestamp, withField, withMeta, withoutFields } from '../fields.ts';
import { changesGeneration, hasGeneration } from '../admission/generation.ts';
import { metadataErrors, storedMetadata } from '../admission/metadata.ts';
import { applyConversion, applyStrategy } from '../admission/prepare.ts';
import type { ServiceAllocator } from '../admission/prepare.ts';
import { inVersion } from '../discovery/registry.ts';
import type { KindRegistry, ServedKind } from '../discovery/registry.ts';
import {
  alreadyExistsError,
  badRequestError,
  conflictError,
  forbiddenError,
  invalidError,
  notFoundError,
  plainError,
  staleText,
} from '../status.ts';
import type { RevisionedStorage } from './storage.ts';

/** Options of a write. */
export interface SimWriteOptions {
  readonly manager: string;
  /** Writes through "scale" count as main writes under another subresource name. */
  readonly subresource: '' | 'status' | 'scale' | 'finalize';
  readonly dryRun: boolean;
  /** A patch: validation reports a change of identity. */
  readonly patch?: boolean;
  /** Server-side apply: managedFields are final. */
  readonly applied?: boolean;
}

export interface ObjectStoreDeps {
  readonly storage: RevisionedStorage;
  readonly registry: KindRegistry;
  readonly book: SchemaBook;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly allocator: ServiceAllocator;
}

const namespacesResource = { group: '', resource: 'namespaces' } as const;

/** Kinds whose updates require a resourceVersion. */
const conditionalOnly = new Set([
  'apiextensions.k8s.io/CustomResourceDefinition',
  'policy/PodDisruptionBudget',
  'coordination.k8s.io/Lease',
  'apiregistration.k8s.io/APIService',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
]);

/**
 * Creates and updates objects: all steps between decoding and storage in the order of the real
 * server (namespace, defaults, metadata, validation, field ownership, optimistic concurrency,
 * commit). Serves HTTP and the in-process store. All functions are synchronous, so a request is
 * atomic. All throw SimError.
 */
export class ObjectStore {
  readonly #deps: ObjectStoreDeps;

  constructor(deps: ObjectStoreDeps) {
    this.#deps = deps;
  }

  /** The object in the requested version of its kind. */
  find(kind: ServedKind, namespace: string, name: string): KubeObject | undefined {
    const stored = this.#deps.storage.get(kind.groupKind, namespace, name);
    return stored === undefined ? undefined : inVersion(stored, apiVersionOf(kind.group, kind.version));
  }

  get(kind: ServedKind, namespace: string, name: string): KubeObject {
    const found = this.find(kind, namespace, name);
    if (found === undefined) throw notFoundError(kind, name);
    return found;
  }

  /** Stores a new, decoded object; its namespace must be that of the request. */
  create(kind: ServedKind, object: KubeObject, how: SimWriteOptions): KubeObject {
    const { storage, book } = this.#deps;
    if (object.metadata.resourceVersion !== undefined && object.metadata.resourceVersion !== '' && how.applied !== true)
      throw plainError('resourceVersion should not be set on objects to be created');
    this.#admitInto(kind, object);
    const fresh = this.#fresh(kind, book.applyDefaults(kind, object), how);
    const asClient = applyConversion(kind, fresh);
    const ready = applyStrategy(kind, asClient, undefined, this.#deps.allocator);
    this.#validate(kind, ready, undefined);
    const name = ready.metadata.name ?? '';
    if (storage.get(kind.groupKind, ready.metadata.namespace ?? '', name) !== undefined)
      throw alreadyExistsError(kind, name);
    const owned =
      how.applied === true ? ready : ownedAs(ready, book.trackUpdate(kind, undefined, asClient, this.#by(how)));
    if (how.dryRun) return owned;
    return this.#commit(kind, owned);
  }

  /**
   * Replaces an object by the result of `change`, which receives and returns the requested version
   * of the kind. A metadata.resourceVersion that it sets must be the current one.
   */
  update(
    kind: ServedKind,
    where: { readonly namespace: string; readonly name: string },
    change: (live: KubeObject) => KubeObject,
    how: SimWriteOptions,
  ): KubeObject {
    const { book } = this.#deps;
    const live = this.get(kind, where.namespace, where.name);
    const wanted = book.applyDefaults(kind, change(live));
    this.#checkPreconditions(kind, live, wanted, how.patch === true);
    const merged = this.#merge(kind, live, applyConversion(kind, wanted), how);
    const ready = how.subresource === 'status' ? merged : applyStrategy(kind, merged, live, this.#deps.allocator);
    this.#validate(kind, ready, live);
    const owned = how.applied === true ? ready : ownedAs(ready, book.trackUpdate(kind, live, merged, this.#by(how)));
    if (sameButForTimes(live, owned)) return live;
    const next = this.#counted(kind, live, owned);
    if (how.dryRun) return next;
    return isRemovable(next) ? this.erase(kind, next) : this.#commit(kind, next);
  }

  /** Removes an object without remaining finalizers and grace; returns its last state. */
  erase(kind: ServedKind, last: KubeObject): KubeObject {
    const gone = this.#deps.storage.remove(kind.groupKind, this.#stored(kind, last));
    return inVersion(gone, last.apiVersion);
  }

  /** Stores the next state without checks, for the server's own controllers. */
  force(kind: ServedKind, next: KubeObject): KubeObject {
    return isRemovable(next) ? this.erase(kind, next) : this.#commit(kind, next);
  }

  /** Manager, subresource and time, as recorded in managedFields. */
  by(how: SimWriteOptions): { readonly manager: string; readonly subresource: string; readonly time: string } {
    return this.#by(how);
  }

  #by(how: SimWriteOptions): { readonly manager: string; readonly subresource: string; readonly time: string } {
    return { manager: how.manager, subresource: how.subresource, time: timestamp(this.#deps.clock.now()) };
  }

  #commit(kind: ServedKind, object: KubeObject): KubeObject {
    const stored = this.#deps.storage.put(kind.groupKind, this.#stored(kind, object));
    return inVersion(stored, apiVersionOf(kind.group, kind.version));
  }

  #stored(kind: ServedKind, object: KubeObject): KubeObject {
    return inVersion(object, apiVersionOf(kind.group, kind.storageVersion));
  }

  /**
   * The NamespaceLifecycle admission plugin: new objects need an existing namespace that is not
   * terminating.
   */
  #admitInto(kind: ServedKind, object: KubeObject): void {
    if (!kind.namespaced) return;
    const name = object.metadata.namespace ?? '';
    const namespace = this.#deps.storage.get('/Namespace', '', name);
    if (namespace === undefined) throw notFoundError(namespacesResource, name);
    if (namespace.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${name} because it is being terminated`;
    throw forbiddenError(kind, object.metadata.name ?? '', why, [
      { reason: 'NamespaceTerminating', message: `namespace ${name} is being terminated`, field: 'metadata.namespace' },
    ]);
  }

  #fresh(kind: ServedKind, object: KubeObject, how: SimWriteOptions): KubeObject {
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
    return { ...fresh, metadata: storedMetadata(fresh.metadata) };
  }

  #validate(kind: ServedKind, object: KubeObject, old: KubeObject | undefined): void {
    const { book } = this.#deps;
    const found: FieldError[] = [...metadataErrors(kind, object, old), ...book.validate(kind, object, old)];
    if (kind.groupKind === 'apiextensions.k8s.io/CustomResourceDefinition') found.push(...book.validateCrd(object));
    const distinct = new Map(found.map((error) => [`${error.type} ${error.field} ${error.message}`, error]));
    if (distinct.size > 0) throw invalidError(kind, object.metadata.name ?? '', [...distinct.values()]);
  }

  #checkPreconditions(kind: ServedKind, live: KubeObject, wanted: KubeObject, patch: boolean): void {
    const name = live.metadata.name ?? '';
    const { resourceVersion, uid } = wanted.metadata;
    if (uid !== undefined && uid !== '' && uid !== live.metadata.uid && !patch) {
      const key = `/registry/${kind.resource}/${live.metadata.namespace === undefined ? '' : `${live.metadata.namespace}/`}${name}`;
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
      throw conflictError(
        kind,
        name,
        `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
      );
    }
    if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== '0') {
      if (!/^[0-9]+$/.test(resourceVersion))
        throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
      if (resourceVersion !== live.metadata.resourceVersion) throw conflictError(kind, name, staleText);
      return;
    }
    if (!kind.custom && !conditionalOnly.has(kind.groupKind)) return;
    const message = 'Invalid value: 0: must be specified for an update';
    const named = { group: kind.group, kind: kind.resource };
    throw invalidError(named, name, [{ type: 'FieldValueInvalid', field: 'metadata.resourceVersion', message }]);
  }

  /**
   * Takes from `wanted` the part that the subresource may change, the rest from the live object.
   */
  #merge(kind: ServedKind, live: KubeObject, wanted: KubeObject, how: SimWriteOptions): KubeObject {
    const managedFields = how.applied === true ? wanted.metadata.managedFields : carriedFields(live, wanted);
    if (how.subresource === 'status') {
      const part = withField(live, 'status', fieldAt(wanted, 'status'));
      return { ...part, metadata: storedMetadata(withMeta(live, { managedFields }).metadata) };
    }
    const metadata = storedMetadata({
      ...wanted.metadata,
      uid: how.patch === true ? (wanted.metadata.uid ?? live.metadata.uid ?? '') : (live.metadata.uid ?? ''),
      creationTimestamp: live.metadata.creationTimestamp ?? null,
      resourceVersion: live.metadata.resourceVersion ?? '',
      ...pickMeta(live, 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'),
      managedFields: managedFields ?? [],
    });
    const whole: KubeObject = { ...wanted, metadata: dropForeign(metadata, live) };
    if (how.subresource === 'finalize') return withField(live, 'spec', fieldAt(wanted, 'spec'));
    return kind.statusSubresource ? withField(whole, 'status', fieldAt(live, 'status')) : whole;
  }

  #counted(kind: ServedKind, live: KubeObject, next: KubeObject): KubeObject {
    if (!hasGeneration(kind) || !changesGeneration(kind, live, next)) return next;
    return withMeta(next, { generation: (live.metadata.generation ?? 0) + 1 });
  }
}

/**
 * Ownership is tracked before the kind's strategy runs: fields that the strategy adds have no
 * owner.
 */
function ownedAs(object: KubeObject, { metadata: { managedFields } }: KubeObject): KubeObject {
  return { ...object, metadata: storedMetadata(withMeta(object, { managedFields }).metadata) };
}

function pickMeta(object: KubeObject, ...names: readonly (keyof KubeObject['metadata'])[]): JsonObject {
  const meta = asJsonObject(object.metadata);
  return Object.fromEntries(names.filter((name) => meta[name] !== undefined).map((name) => [name, meta[name]]));
}

/** Clients cannot introduce server-owned members that the live object lacks. */
function dropForeign(metadata: KubeObject['metadata'], live: KubeObject): KubeObject['metadata'] {
  const result: Record<string, unknown> = { ...metadata };
  for (const name of ['generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'] as const)
    if (live.metadata[name] === undefined) Reflect.deleteProperty(result, name);
  return result;
}

/**
 * A write without managedFields keeps them; `[{}]`, which clears all managers, is left to the
 * tracker.
 */
function carriedFields(live: KubeObject, wanted: KubeObject): KubeObject['metadata']['managedFields'] {
  const given = wanted.metadata.managedFields;
  if (given === undefined || given.length === 0) return live.metadata.managedFields;
  return given;
}

/**
 * True if only the times in managedFields differ: such a write is a no-op without a new revision.
 */
function sameButForTimes(a: KubeObject, b: KubeObject): boolean {
  return deepEqual(withoutTimes(a), withoutTimes(b));
}

function withoutTimes(object: KubeObject): JsonObject {
  const { managedFields, ...metadata } = object.metadata;
  const entries = (managedFields ?? []).map((entry) =>
    Object.fromEntries(Object.entries(entry).filter(([k]) => k !== 'time')),
  );
  return {
    ...asJsonObject(withoutFields(object, 'metadata')),
    metadata: { ...asJsonObject(metadata), managedFields: entries },
  };
}

/** True if an object marked for deletion has no finalizers and no grace period left. */
export function isRemovable(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if (object.kind === 'Namespace' && object.apiVersion === 'v1') {
    const held = fieldAt(object, 'spec', 'finalizers');
    if (Array.isArray(held) && held.length > 0) return false;
  }
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

/** Checks that a body is an object with the kind and apiVersion of the URL. */
export function expectKind(kind: ServedKind, body: unknown): KubeObject {
  if (!isObject(body)) throw badRequestError('the object provided is unrecognized (must be a JSON object)');
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const metadata = isObject(body['metadata']) ? body['metadata'] : {};
  const object = { apiVersion, kind: kind.kind, ...body, metadata } as KubeObject;
  const version = JSON.stringify(object.apiVersion.split('/').at(-1));
  const refused = (why: string): Error =>
    badRequestError(`${object.kind} in version ${version} cannot be handled as a ${kind.kind}: ${why}`);
  if (object.kind !== kind.kind) throw refused(unknownConversion(kind, object));
  if (object.apiVersion !== apiVersion) {
    if (!kind.custom) throw refused(unregisteredVersion(object));
    throw badRequestError(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (body['metadata'] !== undefined && body['metadata'] !== null && !isObject(body['metadata'])) {
    const found = Array.isArray(body['metadata']) ? 'array' : typeof body['metadata'];
    throw refused(`json: cannot unmarshal ${found} into Go struct field ${kind.kind}.metadata of type v1.ObjectMeta`);
  }
  return object;
}

/** The scheme's message for an object of another kind. */
export function unknownConversion(kind: ServedKind, object: KubeObject): string {
  const internal = kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '');
  const version = object.apiVersion.split('/').at(-1) ?? '';
  return `converting (${version}.${object.kind}) to (${internal}.${kind.kind}): unknown conversion`;
}

/** The scheme's message for an unknown version; the source location is part of the text. */
export function unregisteredVersion(object: KubeObject): string {
  const version = JSON.stringify(object.apiVersion);
  return `no kind ${JSON.stringify(object.kind)} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`;
}

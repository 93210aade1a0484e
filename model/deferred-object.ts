import { deepEqual } from '#base';
import type { DeferredJson, Json, JsonObject } from '#base';
import type { KubeObject } from './object.ts';

/** The members that a deferred object keeps as text. */
export interface DeferredParts {
  readonly status: DeferredJson<JsonObject> | undefined;
  readonly managedFields: DeferredJson<readonly JsonObject[]> | undefined;
  /** The text that `spec` was parsed from. */
  readonly specText: DeferredJson<JsonObject>;
}

/** Not enumerable, so that copies, which have read the members, do not have it. */
const partsKey = Symbol('deferred parts');
type Deferred<T> = T & { readonly [partsKey]?: DeferredParts };

// V8 gives objects with the same getters one hidden class, and each with its own closures another.
const statusProperty = deferredProperty(({ status }) => status?.read());
const managedFieldsProperty = deferredProperty(({ managedFields }) => managedFields?.read());

/**
 * An object whose `status` and `metadata.managedFields` are parsed when they are read. For readers
 * it is like any other object: copies, comparisons and serializations read the members.
 * @param head the object without these members. The result owns it.
 */
export function deferredObject(head: KubeObject, parts: DeferredParts): KubeObject {
  if (parts.managedFields !== undefined) addDeferred(head.metadata, parts, 'managedFields', managedFieldsProperty);
  return addDeferred(head, parts, 'status', parts.status && statusProperty);
}

/** Adds a member that is computed from the parts when it is read; undefined: only the parts. */
export function addDeferred<T extends object>(
  head: T,
  parts: DeferredParts,
  name: string,
  property: PropertyDescriptor | undefined,
): T {
  Object.defineProperty(head, partsKey, { value: parts });
  return property === undefined ? head : Object.defineProperty(head, name, property);
}

/** A member for {@link addDeferred}. `read` gets the parts, and the object that is read. */
export function deferredProperty(read: (parts: DeferredParts, object: object) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    get(this: Deferred<object>) {
      const parts = this[partsKey];
      return parts === undefined ? undefined : read(parts, this);
    },
  };
}

/** The parts of a {@link deferredObject}; undefined for other objects. */
export function deferredPartsOf(object: Deferred<KubeObject>): DeferredParts | undefined {
  return object[partsKey];
}

/** Whether two objects are known to be equal without reading what is kept as text. */
export function isSameText(a: KubeObject, b: KubeObject): boolean {
  const [left, right] = [deferredPartsOf(a), deferredPartsOf(b)];
  if (left === undefined || right === undefined) return false;
  return (
    left.specText.hasTextOf(right.specText) &&
    isSame(left.status, right.status) &&
    isSame(left.managedFields, right.managedFields) &&
    isEqualHead(a, b)
  );
}

function isEqualHead(a: KubeObject, b: KubeObject): boolean {
  const head = ({ apiVersion, kind, metadata, operation }: KubeObject): Json => {
    const names = Object.keys(metadata).filter((name) => name !== 'managedFields');
    const members = names.map((name) => [name, Reflect.get(metadata, name) as Json]);
    return { apiVersion, kind, metadata: members, operation } as unknown as Json;
  };
  return deepEqual(head(a), head(b));
}

function isSame<T extends JsonObject | readonly Json[]>(
  a: DeferredJson<T> | undefined,
  b: DeferredJson<T> | undefined,
): boolean {
  return a === undefined || b === undefined ? a === b : a.hasTextOf(b);
}

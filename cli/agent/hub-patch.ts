import { cloneJson, deepEqual, isObject, ownMember, parsePointer, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';

/**
 * Applies the operations of RFC 6902 that the controller sends to its hub: test, add, replace and
 * remove, each for a member of an object. A member that is set to null is absent, as in an
 * Application on an API server. Undefined: an operation cannot be applied.
 */
export function applyMemberPatch(document: Json, patch: Json): Json | undefined {
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

import { cloneJson, deepEqual, isObject, messageOf, parsePointer, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';

/** A patch that cannot be read or applied; the text is what the server puts into its answer. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

/**
 * Applies an RFC 6902 patch; the document is not changed.
 * @throws PatchError with the text of kube-apiserver (it words these errors as the library that it uses, evanphx/json-patch)
 */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch))
    throw new PatchError('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  let result = cloneJson(document) as MutableJson;
  for (const operation of patch as readonly Json[]) result = applyOne(result, operation);
  return result;
}

function applyOne(document: MutableJson, operation: Json): MutableJson {
  if (!isObject(operation))
    throw new PatchError('json: cannot unmarshal value into Go value of type jsonpatch.Operation');
  const op = text(operation, 'op');
  switch (op) {
    case 'add':
      return add(document, text(operation, 'path'), value(operation));
    case 'remove':
      return remove(document, text(operation, 'path'), op);
    case 'replace':
      return replace(document, text(operation, 'path'), value(operation));
    case 'move': {
      const from = text(operation, 'from');
      const path = text(operation, 'path');
      const moved = cloneJson(find(document, from, op));
      return add(remove(document, from, op), path, moved);
    }
    case 'copy':
      return add(document, text(operation, 'path'), cloneJson(find(document, text(operation, 'from'), op)));
    case 'test':
      return test(document, text(operation, 'path'), operation['value'] ?? null);
    default:
      throw new PatchError(`Unexpected kind: ${op}`);
  }
}

function text(operation: JsonObject, key: string): string {
  const member = operation[key];
  if (typeof member === 'string') return member;
  if (key === 'op') throw new PatchError('Unexpected kind: unknown');
  const op = operation['op'];
  throw new PatchError(`${typeof op === 'string' ? op : 'unknown'} operation failed to decode ${key}: missing field`);
}

/** A missing value is null to the server's library. */
function value(operation: JsonObject): MutableJson {
  return cloneJson(operation['value'] ?? null) as MutableJson;
}

function steps(path: string, op: string): string[] {
  // The server's library does not ask for the slash at the beginning: what stands before the first one does not count.
  const result = path.includes('/') ? parsePointer(path.slice(path.indexOf('/'))) : undefined;
  if (result === undefined) throw missing(op, path);
  return result;
}

function missing(op: string, path: string): PatchError {
  return new PatchError(`${op} operation does not apply: doc is missing path: "${path}": missing value`);
}

/** The place in an array; a negative one counts from the end. */
function index(step: string, length: number): number {
  if (!/^-?[0-9]+$/.test(step))
    throw new PatchError(
      `value was not a proper array index: '${step}': strconv.Atoi: parsing "${step}": invalid syntax`,
    );
  const at = Number(step);
  if (at >= length || at < -length)
    throw new PatchError(`Unable to access invalid index: ${at}: invalid index referenced`);
  return at < 0 ? at + length : at;
}

function child(here: MutableJson | undefined, step: string): MutableJson | undefined {
  if (Array.isArray(here)) return here[index(step, here.length)];
  return isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
}

function container(document: MutableJson, path: string, op: string): MutableJson[] | MutableJsonObject {
  let here: MutableJson | undefined = document;
  for (const step of steps(path, op).slice(0, -1)) here = child(here, step);
  if (Array.isArray(here)) return here;
  if (isObject(here)) return here;
  throw missing(op, path);
}

/** Runs a change of one member; what goes wrong in it is told with the path. */
function changing(op: string, path: string, change: () => void): void {
  try {
    change();
  } catch (error) {
    throw new PatchError(`error in ${op} for path: '${path}': ${messageOf(error)}`);
  }
}

function last(path: string): string {
  return parsePointer(path.slice(path.indexOf('/')))?.at(-1) ?? '';
}

function add(document: MutableJson, path: string, what: MutableJson): MutableJson {
  if (path === '') return what;
  const parent = container(document, path, 'add');
  const step = last(path);
  changing('add', path, () => {
    if (!Array.isArray(parent)) setOwn(parent, step, what);
    else if (step === '-') parent.push(what);
    else parent.splice(index(step, parent.length + 1), 0, what);
  });
  return document;
}

function remove(document: MutableJson, path: string, op: string): MutableJson {
  if (path === '') return null;
  const parent = container(document, path, op);
  const step = last(path);
  changing(op, path, () => {
    if (Array.isArray(parent)) parent.splice(index(step, parent.length), 1);
    else if (Object.hasOwn(parent, step)) Reflect.deleteProperty(parent, step);
    else throw new PatchError(`Unable to remove nonexistent key: ${step}: missing value`);
  });
  return document;
}

function replace(document: MutableJson, path: string, what: MutableJson): MutableJson {
  if (path === '') return what;
  const parent = container(document, path, 'replace');
  const step = last(path);
  changing('replace', path, () => {
    if (Array.isArray(parent)) parent[index(step, parent.length)] = what;
    else setOwn(parent, step, what);
  });
  return document;
}

/** What `from` names, for move and copy. */
function find(document: MutableJson, path: string, op: string): MutableJson {
  const parent = container(document, path, op);
  const found = child(parent, last(path));
  // A member that is absent copies as null; it cannot be moved.
  if (found === undefined && op === 'move')
    throw new PatchError(`${op} operation does not apply: doc is missing from path: ${path}: missing value`);
  return found ?? null;
}

function test(document: MutableJson, path: string, expected: Json): MutableJson {
  let here: MutableJson | undefined = document;
  for (const step of steps(path, 'test')) here = child(here, step);
  // A member that is absent equals null.
  if (!deepEqual(here ?? null, expected)) throw new PatchError(`testing value ${path} failed: test failed`);
  return document;
}

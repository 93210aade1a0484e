import { cloneJson, deepEqual, isObject, messageOf, parsePointer, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';

/** An invalid or inapplicable patch; the text is part of the server's response. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

/**
 * Applies an RFC 6902 patch; the document is not changed.
 * @throws PatchError with the text of kube-apiserver (the errors of its library evanphx/json-patch)
 */
export function applyRfc6902Patch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch))
    throw new PatchError('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  let result = cloneJson(document) as MutableJson;
  for (const operation of patch as readonly Json[]) result = applyOne(result, operation);
  return result;
}

function applyOne(document: MutableJson, operation: Json): MutableJson {
  if (!isObject(operation))
    throw new PatchError('json: cannot unmarshal value into Go value of type jsonpatch.Operation');
  const op = stringMember(operation, 'op');
  switch (op) {
    case 'add':
      return applyAdd(document, stringMember(operation, 'path'), valueMember(operation));
    case 'remove':
      return applyRemove(document, stringMember(operation, 'path'), op);
    case 'replace':
      return applyReplace(document, stringMember(operation, 'path'), valueMember(operation));
    case 'move': {
      const from = stringMember(operation, 'from');
      const path = stringMember(operation, 'path');
      const moved = cloneJson(valueAt(document, from, op));
      return applyAdd(applyRemove(document, from, op), path, moved);
    }
    case 'copy':
      return applyAdd(
        document,
        stringMember(operation, 'path'),
        cloneJson(valueAt(document, stringMember(operation, 'from'), op)),
      );
    case 'test':
      return applyTest(document, stringMember(operation, 'path'), operation['value'] ?? null);
    default:
      throw new PatchError(`Unexpected kind: ${op}`);
  }
}

function stringMember(operation: JsonObject, key: string): string {
  const member = operation[key];
  if (typeof member === 'string') return member;
  if (key === 'op') throw new PatchError('Unexpected kind: unknown');
  const op = operation['op'];
  throw new PatchError(`${typeof op === 'string' ? op : 'unknown'} operation failed to decode ${key}: missing field`);
}

/** The server's library treats a missing value as null. */
function valueMember(operation: JsonObject): MutableJson {
  return cloneJson(operation['value'] ?? null) as MutableJson;
}

function pointerSteps(path: string, op: string): string[] {
  // The server's library does not require a leading slash: it ignores the text before the first
  // one.
  const result = path.includes('/') ? parsePointer(path.slice(path.indexOf('/'))) : undefined;
  if (result === undefined) throw missingPathError(op, path);
  return result;
}

function missingPathError(op: string, path: string): PatchError {
  return new PatchError(`${op} operation does not apply: doc is missing path: "${path}": missing value`);
}

/** An index into an array; a negative one counts from the end. */
function arrayIndex(step: string, length: number): number {
  if (!/^-?[0-9]+$/.test(step))
    throw new PatchError(
      `value was not a proper array index: '${step}': strconv.Atoi: parsing "${step}": invalid syntax`,
    );
  const at = Number(step);
  if (at >= length || at < -length)
    throw new PatchError(`Unable to access invalid index: ${at}: invalid index referenced`);
  return at < 0 ? at + length : at;
}

function childAt(here: MutableJson | undefined, step: string): MutableJson | undefined {
  if (Array.isArray(here)) return here[arrayIndex(step, here.length)];
  return isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
}

function containerAt(document: MutableJson, path: string, op: string): MutableJson[] | MutableJsonObject {
  let here: MutableJson | undefined = document;
  for (const step of pointerSteps(path, op).slice(0, -1)) here = childAt(here, step);
  if (Array.isArray(here)) return here;
  if (isObject(here)) return here;
  throw missingPathError(op, path);
}

/** Runs the change of one member and adds the path to its errors. */
function changeMember(op: string, path: string, change: () => void): void {
  try {
    change();
  } catch (error) {
    throw new PatchError(`error in ${op} for path: '${path}': ${messageOf(error)}`);
  }
}

function lastStep(path: string): string {
  return parsePointer(path.slice(path.indexOf('/')))?.at(-1) ?? '';
}

function applyAdd(document: MutableJson, path: string, what: MutableJson): MutableJson {
  if (path === '') throw missingPathError('add', path);
  const parent = containerAt(document, path, 'add');
  const step = lastStep(path);
  changeMember('add', path, () => {
    if (!Array.isArray(parent)) setOwnMember(parent, step, what);
    else if (step === '-') parent.push(what);
    else parent.splice(arrayIndex(step, parent.length + 1), 0, what);
  });
  return document;
}

function applyRemove(document: MutableJson, path: string, op: string): MutableJson {
  if (path === '') return null;
  const parent = containerAt(document, path, op);
  const step = lastStep(path);
  changeMember(op, path, () => {
    if (Array.isArray(parent)) parent.splice(arrayIndex(step, parent.length), 1);
    else if (Object.hasOwn(parent, step)) Reflect.deleteProperty(parent, step);
    else throw new PatchError(`Unable to remove nonexistent key: ${step}: missing value`);
  });
  return document;
}

function applyReplace(document: MutableJson, path: string, what: MutableJson): MutableJson {
  if (path === '') return what;
  const parent = containerAt(document, path, 'replace');
  const step = lastStep(path);
  changeMember('replace', path, () => {
    if (Array.isArray(parent)) parent[arrayIndex(step, parent.length)] = what;
    else setOwnMember(parent, step, what);
  });
  return document;
}

/** The value at `from`, for move and copy. */
function valueAt(document: MutableJson, path: string, op: string): MutableJson {
  const parent = containerAt(document, path, op);
  const found = childAt(parent, lastStep(path));
  // An absent member copies as null; it cannot be moved.
  if (found === undefined && op === 'move')
    throw new PatchError(`${op} operation does not apply: doc is missing from path: ${path}: missing value`);
  return found ?? null;
}

function applyTest(document: MutableJson, path: string, expected: Json): MutableJson {
  let here: MutableJson | undefined = document;
  for (const step of pointerSteps(path, 'test')) here = childAt(here, step);
  // An absent member equals null.
  if (!deepEqual(here ?? null, expected)) throw new PatchError(`testing value ${path} failed: test failed`);
  return document;
}

import { isObject, JsonSyntaxError, JsonTooDeepError, messageOf, omit, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';

/** A value of an answer, and why only the head of the object in it was taken; undefined: all of it was. */
export interface ReadValue {
  readonly value: Json;
  readonly fault?: string;
  /** The text that the value was read from. */
  readonly text?: string;
}

const faults = new WeakMap<KubeObject, string>();

/**
 * Why an object has only its head (apiVersion, kind, and metadata without managedFields), undefined for whole ones. An API server stores what is
 * nested ten thousand levels deep: such an object must not cost the others of its list their places, and of itself nobody may believe that it is
 * gone. So it is there, and says by this that there is more to it.
 */
export function faultOf(object: KubeObject): string | undefined {
  return faults.get(object);
}

/** Marks an object as a head. */
export function asHead(object: KubeObject, fault: string): KubeObject {
  faults.set(object, fault);
  return object;
}

const texts = new WeakMap<KubeObject, string>();

/**
 * The text that an object of a list or of a watch was read from, for who wants to keep it in less memory. It may leave out apiVersion and kind, as
 * the items of lists do. Undefined: nobody knows.
 */
export function rawTextOf(object: KubeObject): string | undefined {
  return texts.get(object);
}

/** Notes what an object was read from. */
export function asRead(object: KubeObject, text: string): KubeObject {
  texts.set(object, text);
  return object;
}

/**
 * Parses the object in a text; of one that is nested too deeply its head. `objectOf` finds it in what was parsed.
 * @throws JsonSyntaxError
 */
export function readValue(text: string, inside?: 'object'): ReadValue {
  try {
    return { value: parseJson(text), text };
  } catch (error) {
    if (!(error instanceof JsonTooDeepError)) throw error;
    // The runtime's parser needs no stack. What it makes must not be given to anything else before it is cut.
    const all = deepJson(text);
    if (!isObject(all)) throw error;
    const object = inside === undefined ? all : all[inside];
    if (!isObject(object)) throw error;
    const head = headOf(object, error);
    const value = inside === undefined ? head : { ...headOf(all, error), [inside]: head };
    return { value, fault: messageOf(error) };
  }
}

function deepJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The runtime's message quotes the text: it may be a Secret.
    throw new JsonSyntaxError('not valid JSON, and nested too deeply to say where');
  }
}

/** @throws `tooDeep` for one that is too deep even for the runtime to write. */
function headOf(object: JsonObject, tooDeep: JsonTooDeepError): JsonObject {
  const { apiVersion, kind, metadata, type } = object;
  const head = { apiVersion, kind, type, metadata: isObject(metadata) ? omit(metadata, 'managedFields') : undefined };
  // Written and read once more: what is too deep even in here is an answer that nobody can read.
  let text: string;
  try {
    text = JSON.stringify(head);
  } catch {
    throw tooDeep;
  }
  return parseJson(text) as JsonObject;
}

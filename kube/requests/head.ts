import { isObject, JsonSyntaxError, JsonTooDeepError, messageOf, omit, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';

/**
 * A value of a response. `fault` explains why only the object's head was read; undefined if all of
 * it was.
 */
export interface ReadValue {
  readonly value: Json;
  readonly fault?: string;
  /** The text that the value was parsed from. */
  readonly text?: string;
}

const faultsByObject = new WeakMap<KubeObject, string>();

/**
 * Why an object has only its head (apiVersion, kind, and metadata without managedFields); undefined
 * for whole objects. An API server stores objects nested 10,000 levels deep: such an object must
 * not fail its whole list, nor look deleted. So it is listed as a head with a fault.
 */
export function faultOf(object: KubeObject): string | undefined {
  return faultsByObject.get(object);
}

/** Marks an object as a head. */
export function markAsHead(object: KubeObject, fault: string): KubeObject {
  faultsByObject.set(object, fault);
  return object;
}

const textsByObject = new WeakMap<KubeObject, string>();

/**
 * The text that an object of a list or watch was parsed from; undefined if unknown. It takes less
 * memory than the object. May lack apiVersion and kind, as list items do.
 */
export function rawTextOf(object: KubeObject): string | undefined {
  return textsByObject.get(object);
}

/** Remembers the text that an object was parsed from. */
export function rememberText(object: KubeObject, text: string): KubeObject {
  textsByObject.set(object, text);
  return object;
}

/** Removes the text of an object that stays in memory. */
export function forgetText(object: KubeObject): void {
  textsByObject.delete(object);
}

/**
 * Parses the object in a text; only its head if it is nested too deeply. `inside` names the member
 * that holds the object.
 * @throws JsonSyntaxError
 */
export function readValue(text: string, inside?: 'object'): ReadValue {
  try {
    return { value: parseJson(text), text };
  } catch (error) {
    if (!(error instanceof JsonTooDeepError)) throw error;
    // The runtime's parser needs no stack. Pass its result on only after cutting it to the head.
    const all = parseDeepJson(text);
    if (!isObject(all)) throw error;
    const object = inside === undefined ? all : all[inside];
    if (!isObject(object)) throw error;
    const head = objectHead(object, error);
    const value = inside === undefined ? head : { ...objectHead(all, error), [inside]: head };
    return { value, fault: messageOf(error) };
  }
}

function parseDeepJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The runtime's message quotes the text, which may be a Secret.
    throw new JsonSyntaxError('not valid JSON, and nested too deeply to say where');
  }
}

/** @throws `tooDeep` if even the runtime cannot serialize it. */
function objectHead(object: JsonObject, tooDeep: JsonTooDeepError): JsonObject {
  const { apiVersion, kind, metadata, type } = object;
  const head = { apiVersion, kind, type, metadata: isObject(metadata) ? omit(metadata, 'managedFields') : undefined };
  // Serialize and parse once more: if the head is too deep as well, it is unreadable.
  let text: string;
  try {
    text = JSON.stringify(head);
  } catch {
    throw tooDeep;
  }
  return parseJson(text) as JsonObject;
}

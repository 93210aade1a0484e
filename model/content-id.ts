import type { KubeObject } from './object.ts';

const contentIds = new WeakMap<KubeObject, number>();
let lastContentId = 0;

/** A number that is unique in this process. */
export function nextContentId(): number {
  lastContentId += 1;
  return lastContentId;
}

/**
 * Identifies the text an object was parsed from: objects with equal ids come from the same text. A
 * cache keyed by it survives parsing the text again. An object without an id gets a new one.
 */
export function contentIdOf(object: KubeObject): number {
  const known = contentIds.get(object);
  if (known !== undefined) return known;
  const id = nextContentId();
  contentIds.set(object, id);
  return id;
}

/** Marks an object as parsed from the text with the given id. */
export function withContentId(object: KubeObject, id: number): KubeObject {
  contentIds.set(object, id);
  return object;
}

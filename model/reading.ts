import type { KubeObject } from './object.ts';

const readings = new WeakMap<KubeObject, number>();
let last = 0;

/** A number that nothing has had since the process began. */
export function nextReading(): number {
  last += 1;
  return last;
}

/**
 * What an object was made from, by number: objects with one number were made from the same text. So who remembers something of an object that is kept
 * as text knows it again when it has been parsed once more. An object that nobody has marked has a number of its own.
 */
export function readingOf(object: KubeObject): number {
  const known = readings.get(object);
  if (known !== undefined) return known;
  const reading = nextReading();
  readings.set(object, reading);
  return reading;
}

/** Marks an object as made from what had that number. */
export function asReading(object: KubeObject, reading: number): KubeObject {
  readings.set(object, reading);
  return object;
}

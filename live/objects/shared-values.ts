import { isObject } from '#base';
import type { Json } from '#base';

/** Deduplicates equal values. A full table is cleared: later values are shared anew. */
export class SharedValues {
  #texts = new Map<string, string>();
  #values = new Map<string, unknown>();

  /** For strings that many objects share: kinds, namespaces, Application names. */
  text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const flat = flatCopy(text);
    // Long strings are not names, and would outlive their objects in the table.
    if (text.length > maxTextLength) return flat;
    if (this.#texts.size >= maxTexts) this.#texts = new Map();
    this.#texts.set(flat, flat);
    return flat;
  }

  /** For small immutable values without bigints. */
  value<T>(value: T): T {
    const text = JSON.stringify(value);
    if (text.length > maxValueLength) return deepCopy(value as Json) as T;
    const known = this.#values.get(text);
    if (known !== undefined) return known as T;
    if (this.#values.size >= maxValues) this.#values = new Map();
    const flat = deepCopy(value as Json) as T;
    this.#values.set(text, flat);
    return flat;
  }
}

const maxTexts = 50_000;
const maxTextLength = 300;
const maxValueLength = 4096;
/** A small table is enough, because equal values follow each other: objects of the same owner. */
const maxValues = 2000;

/** Copies a string, because a slice keeps the whole string that it was cut from in memory. */
export function flatCopy(text: string): string {
  return text.length < minSliceLength ? text : Buffer.from(text, 'utf8').toString('utf8');
}

/** V8 copies shorter slices anyway. */
const minSliceLength = 13;

function deepCopy(value: Json | undefined): Json | undefined {
  if (typeof value === 'string') return flatCopy(value);
  if (Array.isArray(value)) return value.map((one) => deepCopy(one as Json) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deepCopy(one)]));
}

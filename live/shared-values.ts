import { isObject } from '#base';
import type { Json } from '#base';

/** One value instead of many equal ones. When it knows too many it forgets them all: then the next equal value is another one, which is as good. */
export class SharedValues {
  #texts = new Map<string, string>();
  #values = new Map<string, unknown>();

  /** For texts that many objects have: kinds, namespaces, names of Applications. */
  text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= mostTexts) this.#texts = new Map();
    const flat = unlinked(text);
    this.#texts.set(flat, flat);
    return flat;
  }

  /** For small values without bigints that nobody changes. */
  value<T>(value: T): T {
    const text = JSON.stringify(value);
    const known = this.#values.get(text);
    if (known !== undefined) return known as T;
    if (this.#values.size >= mostValues) this.#values = new Map();
    const flat = copied(value as Json) as T;
    this.#values.set(text, flat);
    return flat;
  }
}

const mostTexts = 200_000;
/** Few: equal values come one after the other, from objects of one owner. */
const mostValues = 2000;

/** A part of a long text holds all of it in memory; a copy does not. */
export function unlinked(text: string): string {
  return text.length < shortestPart ? text : Buffer.from(text, 'utf8').toString('utf8');
}

/** Shorter parts are copies anyway. */
const shortestPart = 13;

function copied(value: Json | undefined): Json | undefined {
  if (typeof value === 'string') return unlinked(value);
  if (Array.isArray(value)) return value.map((one) => copied(one as Json) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]));
}

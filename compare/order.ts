import { finish } from '#base';
import type { Steps } from '#base';
import type { ManagedPair } from './types.ts';

/** What follows from the pairs of a comparison alone, pair by pair, and was found out for the last pairs in the same order. */
interface Derived {
  readonly from: readonly ManagedPair[];
  /** What it depends on besides. */
  readonly premise: unknown;
  readonly values: readonly unknown[];
}

/** What pairs of the same resources in the same places have in common. */
type Order = Map<symbol, Derived | readonly number[]>;

const orders = new WeakMap<readonly ManagedPair[], Order>();

/** Says that these pairs are those of `before` with some replaced, each by one of the same resource. */
export function likeBefore(before: readonly ManagedPair[], pairs: readonly ManagedPair[]): readonly ManagedPair[] {
  const order = orders.get(before) ?? new Map<symbol, Derived | readonly number[]>();
  orders.set(before, order);
  orders.set(pairs, order);
  return pairs;
}

/** The places of the pairs in another order, by a text of each that no replacement changes. Found out once. */
export function sortedPlaces(
  pairs: readonly ManagedPair[],
  what: symbol,
  textOf: (place: number) => string,
): readonly number[] {
  const order = orders.get(pairs) ?? new Map<symbol, Derived | readonly number[]>();
  orders.set(pairs, order);
  const known = order.get(what);
  if (known !== undefined && 'length' in known) return known;
  const texts = pairs.map((_pair, place) => textOf(place));
  const text = (place: number): string => texts[place] ?? '';
  const places = pairs
    .map((_pair, place) => place)
    .sort((a, b) => (text(a) < text(b) ? -1 : Number(text(a) > text(b))));
  order.set(what, places);
  return places;
}

/**
 * A value for each pair; found out anew only for those that are others than the last time. The very same list where no value is another.
 * @param premise what the values depend on besides; another one makes all of them anew.
 */
export function* derivedSteps<T>(
  pairs: readonly ManagedPair[],
  what: symbol,
  premise: unknown,
  { of, isSame }: { readonly of: (pair: ManagedPair) => T; readonly isSame: (a: T, b: T) => boolean },
): Steps<readonly T[]> {
  const order = orders.get(pairs) ?? new Map<symbol, Derived | readonly number[]>();
  orders.set(pairs, order);
  const known = order.get(what) as Derived | undefined;
  const isUsable = known !== undefined && known.premise === premise && known.from.length === pairs.length;
  const old = isUsable ? { from: known.from, values: known.values as readonly T[] } : undefined;
  const values = old?.values ?? [];
  let next: T[] | undefined;
  for (const [i, pair] of pairs.entries()) {
    if (pair === old?.from[i]) continue;
    const value = of(pair);
    yield;
    if (old !== undefined && isSame(old.values[i] as T, value)) continue;
    (next ??= [...values])[i] = value;
  }
  order.set(what, { from: pairs, premise, values: next ?? values });
  return next ?? values;
}

/** All steps of {@link derivedSteps} without a pause. */
export function derived<T>(...of: Parameters<typeof derivedSteps<T>>): readonly T[] {
  return finish(derivedSteps(...of));
}

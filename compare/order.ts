import { runSteps } from '#base';
import type { SlicedWork } from '#base';
import type { ManagedPair } from './types.ts';

/** Values computed for each pair of the last comparison, with their input. */
interface DerivedValues {
  readonly from: readonly ManagedPair[];
  /** Input besides the pairs. */
  readonly premise: unknown;
  readonly values: readonly unknown[];
}

/** Cached values of comparisons with the same resources at the same positions. */
type PairOrder = Map<symbol, DerivedValues | readonly number[]>;

const orders = new WeakMap<readonly ManagedPair[], PairOrder>();

/**
 * Declares that `pairs` are those of `before` with some replaced, each by one of the same resource.
 */
export function inheritOrder(before: readonly ManagedPair[], pairs: readonly ManagedPair[]): readonly ManagedPair[] {
  const order = orders.get(before) ?? new Map<symbol, DerivedValues | readonly number[]>();
  orders.set(before, order);
  orders.set(pairs, order);
  return pairs;
}

/** Positions of the pairs sorted by a text that replacements do not change. Computed once. */
export function sortedPositions(
  pairs: readonly ManagedPair[],
  what: symbol,
  textOf: (position: number) => string,
): readonly number[] {
  const order = orders.get(pairs) ?? new Map<symbol, DerivedValues | readonly number[]>();
  orders.set(pairs, order);
  const known = order.get(what);
  if (known !== undefined && 'length' in known) return known;
  const texts = pairs.map((_pair, position) => textOf(position));
  const text = (position: number): string => texts[position] ?? '';
  const positions = pairs
    .map((_pair, position) => position)
    .sort((a, b) => (text(a) < text(b) ? -1 : Number(text(a) > text(b))));
  order.set(what, positions);
  return positions;
}

/**
 * Computes a value for each pair that changed since the last comparison. Returns the same list if
 * no value changed.
 * @param premise input besides the pairs; a change recomputes all values.
 */
export function* deriveSteps<T>(
  pairs: readonly ManagedPair[],
  what: symbol,
  premise: unknown,
  { of, isSame }: { readonly of: (pair: ManagedPair) => T; readonly isSame: (a: T, b: T) => boolean },
): SlicedWork<readonly T[]> {
  const order = orders.get(pairs) ?? new Map<symbol, DerivedValues | readonly number[]>();
  orders.set(pairs, order);
  const known = order.get(what) as DerivedValues | undefined;
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

/** All steps of {@link deriveSteps} at once. */
export function deriveValues<T>(...of: Parameters<typeof deriveSteps<T>>): readonly T[] {
  return runSteps(deriveSteps(...of));
}

import type { GroupKind } from './object.ts';

/** A kind in one namespace; "": cluster-scoped. */
export interface NamespacedKind extends GroupKind {
  readonly namespace: string;
}

/** A fact about a kind in one namespace, or without one in all. */
export type KindPlace = GroupKind & { readonly namespace?: string };

/** Finds what holds for the kind of an object in its namespace; undefined: nothing. */
export function kindFinder<P extends KindPlace>(places: readonly P[]): (at: NamespacedKind) => P | undefined {
  const known = finders.get(places) as ((at: NamespacedKind) => P | undefined) | undefined;
  if (known !== undefined) return known;
  const byPlace = new Map(places.map((place) => [textOf(place, place.namespace ?? everywhere), place]));
  const finder = (at: NamespacedKind): P | undefined =>
    byPlace.get(textOf(at, everywhere)) ?? byPlace.get(textOf(at, at.namespace));
  finders.set(places, finder);
  return finder;
}

/** Several modules look up the same list, which may be long for a cluster of many namespaces. */
const finders = new WeakMap<readonly KindPlace[], (at: NamespacedKind) => KindPlace | undefined>();

/** Not a possible name of a namespace. */
const everywhere = '*';

function textOf({ group, kind }: GroupKind, namespace: string): string {
  return `${group}/${kind} ${namespace}`;
}

import { defined } from '#base';
import type { GroupKind } from '#model';
import { kindText } from '../discovery/discovery.ts';
import type { KindWatch, KindWatchState } from './kind-watch.ts';
import { activityByKind, noActivity } from './kind-activity.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { KindReport, KindState } from '../types.ts';

/** Facts about a kind that its watches do not know. */
export interface KindStateSources {
  readonly objects: (kind: GroupKind) => number;
  /** A message for a kind in sync. */
  readonly note: (kind: GroupKind) => string | undefined;
}

/** One entry per kind, with the worst state of its watches in all namespaces: for display. */
export function kindStates(watches: readonly KindWatch[], facts: KindStateSources): readonly KindState[] {
  return [...worstStates(watches, facts, ({ resource }) => kindText(resource)).values()];
}

/** The states of kinds with their activity and memory: for display. */
export function kindReports(
  kinds: readonly KindState[],
  watches: readonly KindWatch[],
  { sizes }: Pick<NodeStore, 'sizes'>,
): readonly KindReport[] {
  const activity = activityByKind(watches);
  return kinds.map((kind) => {
    const { rows, bodies } = sizes.ofKind(kindText(kind));
    return { ...kind, ...(activity.get(kindText(kind)) ?? noActivity), bytes: rows + bodies };
  });
}

/**
 * The kinds that are not fresh, by kind and namespace, sorted: trouble in one namespace concerns no
 * objects in others.
 */
export function staleKinds(watches: Iterable<KindWatch>, facts: KindStateSources): readonly KindState[] {
  const placeOf = ({ resource, namespace = '' }: KindWatch): string => `${kindText(resource)} ${namespace}`;
  const found = [...worstStates(watches, facts, placeOf)].filter(([, { state }]) => state !== 'synced');
  return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
}

function worstStates(
  watches: Iterable<KindWatch>,
  facts: KindStateSources,
  placeOf: (watch: KindWatch) => string,
): ReadonlyMap<string, KindState> {
  const kinds = new Map<string, KindState>();
  for (const watch of watches) {
    const { group, kind, version } = watch.resource;
    const state = watch.state();
    const place = placeOf(watch);
    const other = kinds.get(place);
    const isWorse = other === undefined || severity[other.state] < severity[state.state];
    const note = watch.fault() ?? facts.note(watch.resource);
    if (!isWorse && (other.message !== undefined || note === undefined)) continue;
    const objects = facts.objects(watch.resource);
    const { namespace } = watch;
    const listedAt = state.state === 'synced' ? undefined : watch.syncedAt();
    const isPolledByNature = state.state === 'polled' ? state.isLasting : undefined;
    const where = defined({ namespace, listedAt, isPolledByNature });
    kinds.set(place, { group, kind, version, ...where, state: state.state, objects, ...messageIn(state, note) });
  }
  return kinds;
}

function messageIn(state: KindWatchState, note: string | undefined): { readonly message?: string } {
  if ('message' in state) return { message: state.message };
  return note === undefined ? {} : { message: note };
}

const severity: Readonly<Record<KindState['state'], number>> = {
  synced: 0,
  polled: 1,
  listing: 2,
  'left-out': 3,
  forbidden: 4,
  degraded: 5,
};

import type { GroupKind } from '#model';
import { kindText } from '../discovery/discovery.ts';
import type { KindWatch, KindWatchState } from './kind-watch.ts';
import type { KindState } from '../types.ts';

/** Facts about a kind that its watches do not know. */
export interface KindStateSources {
  readonly objects: (kind: GroupKind) => number;
  /** A message for a kind in sync. */
  readonly note: (kind: GroupKind) => string | undefined;
}

/** One entry per kind, with the worst state of its watches in all namespaces. */
export function kindStates(watches: readonly KindWatch[], facts: KindStateSources): readonly KindState[] {
  const kinds = new Map<string, KindState>();
  for (const watch of watches) {
    const { group, kind, version } = watch.resource;
    const state = watch.state();
    const other = kinds.get(kindText(watch.resource));
    const isWorse = other === undefined || severity[other.state] < severity[state.state];
    const note = watch.fault() ?? facts.note(watch.resource);
    if (!isWorse && (other.message !== undefined || note === undefined)) continue;
    const objects = facts.objects(watch.resource);
    kinds.set(kindText(watch.resource), {
      group,
      kind,
      version,
      state: state.state,
      objects,
      ...messageIn(state, note),
    });
  }
  return [...kinds.values()];
}

function messageIn(state: KindWatchState, note: string | undefined): { readonly message?: string } {
  if ('message' in state) return { message: state.message };
  return note === undefined ? {} : { message: note };
}

const severity: Readonly<Record<KindState['state'], number>> = {
  synced: 0,
  listing: 1,
  'left-out': 2,
  forbidden: 3,
  degraded: 4,
};

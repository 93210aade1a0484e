import { defined } from '#base';
import type { KindState, LiveCluster } from '#live';
import { kindFinder } from '#model';
import type { ResourceRef } from '#model';

/** The live state of an object whose kind is not fresh. */
export interface LiveAge {
  /** When the kind was last listed completely (RFC 3339); absent: not by this replica. */
  readonly listedAt?: string;
  /** Why it is not watched. */
  readonly reason: string;
}

/**
 * Finds how old the live state of an object may be; undefined: its kind is fresh, or its objects
 * are read one by one.
 */
export function liveAges(cluster: LiveCluster | undefined): (ref: ResourceRef) => LiveAge | undefined {
  const find = kindFinder(cluster?.staleKinds() ?? noKinds);
  return (ref) => {
    const kind = find(ref);
    if (kind === undefined || kind.state === 'left-out') return undefined;
    const { listedAt, message, state } = kind;
    const at = listedAt === undefined ? undefined : new Date(listedAt).toISOString();
    return { reason: message ?? state, ...defined({ listedAt: at }) };
  };
}

const noKinds: readonly KindState[] = [];

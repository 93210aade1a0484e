import type { EventRates, EventRateBook } from '../load/event-rates.ts';
import { shardFromHostname } from './identity.ts';
import type { LocalState } from '../protocol/member-types.ts';
import { partKey } from '../distribution/parts.ts';
import type { PlanInputs } from '../protocol/plan.ts';
import type { ReplicaCount } from '../load/replica-count.ts';
import type { OwnershipRights } from './rights.ts';
import { addEventWeights } from '../load/weights.ts';
import type { ClusterWeighting } from '../load/weights.ts';

export interface OwnershipWorldDeps {
  readonly rights: OwnershipRights;
  readonly rates: EventRateBook;
  readonly replicaCount: Pick<ReplicaCount, 'count' | 'isMissing'>;
  readonly dynamic: boolean;
  readonly ordinal: number | undefined;
  readonly weighting: ClusterWeighting;
}

/** Intent: the inputs that this replica would build a table from, and the slot that it wants. */
export class OwnershipWorld {
  readonly #deps: OwnershipWorldDeps;
  #weighed: { readonly base: PlanInputs; readonly rates: EventRates; readonly inputs: PlanInputs } | undefined;

  constructor(deps: OwnershipWorldDeps) {
    this.#deps = deps;
  }

  world(state: Pick<LocalState, 'drained' | 'landing' | 'leaving' | 'warm' | 'reach'>): LocalState {
    const { replicaCount, weighting, rates } = this.#deps;
    return {
      inputs: this.inputs(),
      replicas: replicaCount.count(),
      fixedSlot: this.fixedSlot(),
      ...state,
      ...(weighting === 'measured' ? { load: rates.own() } : {}),
    };
  }

  /**
   * Shard by host name. A single replica has shard 0 whatever its name. Replicas without an ordinal
   * share that shard: one works, the others stand by.
   */
  fixedSlot(): number | undefined {
    const { dynamic, ordinal, replicaCount, rights } = this.#deps;
    if (dynamic) return undefined;
    const asBefore = replicaCount.isMissing() ? (rights.table()?.replicas ?? 1) : undefined;
    const replicas = replicaCount.count() ?? asBefore;
    return replicas !== undefined && replicas <= 1 ? 0 : (ordinal ?? 0);
  }

  /** Clusters and weights including event rates; the same object until one changes. */
  inputs(): PlanInputs | undefined {
    const { rights, rates: book, weighting, replicaCount } = this.#deps;
    const table = rights.table();
    const base = rights.view()?.inputs(replicaCount.count() ?? table?.replicas ?? 1, table);
    if (base === undefined || weighting !== 'measured') return base;
    const rates = book.known();
    if (this.#weighed?.base !== base || this.#weighed.rates !== rates) {
      const inputs = { ...base, weights: addEventWeights(base.weights, base.clusters, rates) };
      this.#weighed = { base, rates, inputs };
    }
    return this.#weighed.inputs;
  }

  /** Weight of the owned parts. */
  load(): number {
    const { rights } = this.#deps;
    const { weights } = this.inputs() ?? { weights: new Map<string, number>() };
    let load = 0;
    for (const owned of rights.ownedParts()) {
      const [server = '', part = ''] = owned.split(' ');
      const parts = rights.table()?.entries.get(server)?.shards.length ?? 1;
      load += weights.get(partKey(server, Number(part), parts)) ?? 0;
    }
    return load;
  }
}

/** Ordinal of a StatefulSet replica; undefined when unknown. */
export function ordinalOf({
  shard,
  hostname,
}: {
  readonly shard?: number | undefined;
  readonly hostname: string;
}): number | undefined {
  return shard !== undefined && shard >= 0 ? shard : shardFromHostname(hostname);
}

import type { EventRates, EventRateBook } from './event-rates.ts';
import { shardFromHostname } from './identity.ts';
import type { World } from './member-types.ts';
import { partKey } from './parts.ts';
import type { PlanInputs } from './plan.ts';
import type { ReplicaCount } from './replica-count.ts';
import type { Rights } from './rights.ts';
import { withEvents } from './weights.ts';
import type { Weighting } from './weights.ts';

export interface OwnershipWorldDeps {
  readonly rights: Rights;
  readonly rates: EventRateBook;
  readonly replicaCount: Pick<ReplicaCount, 'count' | 'isMissing'>;
  readonly dynamic: boolean;
  readonly ordinal: number | undefined;
  readonly weighting: Weighting;
}

/** Intent: what this replica would have the table made of, and which slot it wants. */
export class OwnershipWorld {
  readonly #deps: OwnershipWorldDeps;
  #weighed: { readonly base: PlanInputs; readonly rates: EventRates; readonly inputs: PlanInputs } | undefined;

  constructor(deps: OwnershipWorldDeps) {
    this.#deps = deps;
  }

  world(state: Pick<World, 'drained' | 'leaving' | 'warm'>): World {
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
   * The shard that the name gives to this replica. A single one has shard 0 whatever its name. A name without an ordinal has to share that
   * shard: one works, the others stand by.
   */
  fixedSlot(): number | undefined {
    const { dynamic, ordinal, replicaCount, rights } = this.#deps;
    if (dynamic) return undefined;
    const asBefore = replicaCount.isMissing() ? (rights.table()?.replicas ?? 1) : undefined;
    const replicas = replicaCount.count() ?? asBefore;
    return replicas !== undefined && replicas <= 1 ? 0 : (ordinal ?? 0);
  }

  /** What the view says, and how busy clusters are; the same object while neither has changed. */
  inputs(): PlanInputs | undefined {
    const { rights, rates: book, weighting } = this.#deps;
    const base = rights.view()?.inputs;
    if (base === undefined || weighting !== 'measured') return base;
    const rates = book.known();
    if (this.#weighed?.base !== base || this.#weighed.rates !== rates) {
      const inputs = { ...base, weights: withEvents(base.weights, base.clusters, rates) };
      this.#weighed = { base, rates, inputs };
    }
    return this.#weighed.inputs;
  }

  /** What the owned parts weigh. */
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

/** The ordinal that a replica of a StatefulSet has; undefined when nothing tells. */
export function ordinalOf({
  shard,
  hostname,
}: {
  readonly shard?: number | undefined;
  readonly hostname: string;
}): number | undefined {
  return shard !== undefined && shard >= 0 ? shard : shardFromHostname(hostname);
}

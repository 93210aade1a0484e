import { shardOfText } from '../distribution/distribution.ts';
import { isNewerEpoch, newestEpoch } from '../documents/bounds.ts';
import { claimsBesideTable } from './intents.ts';
import type { ProtocolSituation } from './intents.ts';
import type { HubKnowledge } from './hub-knowledge.ts';
import type { LocalInstant, WriteIntent, LocalState } from './member-types.ts';
import { offersOf } from './offers.ts';
import { nextTable } from './plan.ts';
import type { PlanInputs } from './plan.ts';
import type { TableDocument } from '../documents/table-document.ts';
import type { ProtocolTiming } from '../timing/timing.ts';

interface PlannedInputs {
  readonly table: TableDocument | undefined;
  readonly inputs: PlanInputs;
  readonly replicas: number;
  /** Live, absent and unready slots, and offered clusters. */
  readonly present: string;
  readonly at: number;
}

const replanIntervalMs = 60_000;

/**
 * Intent: the next table, if this replica plans. Remembers when it published a table, and the
 * inputs that led to no change.
 */
export class TablePlanner {
  readonly #timing: ProtocolTiming;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #planned: PlannedInputs | undefined;

  constructor(timing: ProtocolTiming) {
    this.#timing = timing;
  }

  /** Our table was published. */
  published(now: LocalInstant): void {
    this.#publishedAt = now.monotonic;
  }

  /**
   * Until when further changes must wait: shortly after each table, and while parts move under it,
   * since a newer table makes all replicas write to the slots at once.
   */
  restsUntil(hub: Pick<HubKnowledge, 'isHandingOver'>): number {
    const { publishMs, releaseMs } = this.#timing;
    return this.#publishedAt + (hub.isHandingOver() ? releaseMs / 2 : publishMs);
  }

  next(situation: ProtocolSituation): WriteIntent | undefined {
    const { hub, leaseState, world, now, self } = situation;
    const [lease, slots] = [leaseState.lease(), hub.slots()];
    if (lease === undefined || slots === undefined || world.inputs === undefined) return undefined;
    if (leaseState.leaseLeft(now) === 0 || now.monotonic < this.restsUntil(hub) || !hub.isPlanner(lease.slot, now))
      return undefined;
    const floor = hub.floor(leaseState.table());
    const published = hub.published();
    const isValid = published !== undefined && !isNewerEpoch(floor, published.epoch);
    const valid = isValid && !hub.isContested(published) ? published : undefined;
    // Build only on a table that we obey and have acknowledged, so that unacknowledged epochs do
    // not pile up.
    if (valid !== undefined && leaseState.acked() !== valid.epoch) return undefined;
    const replicas = wantedReplicas(world, published);
    const [live, absent] = [hub.presence.live(), hub.presence.absent(now.monotonic)];
    const cold = hub.presence.cold(now.monotonic);
    const offers = offersOf(slots, live);
    const shown = [...offers].map(([digest, offer]) => [digest, ...offer.unreachedBy, '', ...offer.reachedBy].join());
    const present = `${live.join()} ${[...absent].join()} ${[...cold].join()} ${shown.join(' ')}`;
    const same = { table: valid, inputs: world.inputs, replicas, present };
    if (this.#isPlanned(same, now)) return undefined;
    const table = nextTable(valid, world.inputs, {
      replicas,
      settled: (wait) => hub.settled(wait),
      live,
      absent,
      isReady: (slot, isAnnounced) => hub.presence.isReady(slot, isAnnounced, now.monotonic),
      holders: [...slots.keys()],
      offers,
      epochFloor: newestEpoch(floor, published?.epoch ?? 0),
      nonce: shardOfText(`${self.incarnation} ${now.monotonic}`, 1000),
      now: Math.round(now.wall),
      longestLeaseMs: hub.presence.longestOf(slots.values()),
    });
    if (table !== undefined) return { write: 'table', table, claims: claimsBesideTable(situation) };
    this.#planned = { ...same, at: now.monotonic };
    return undefined;
  }

  /**
   * Reports whether the same inputs led to no change within the last {@link replanIntervalMs}. Only
   * time can change that result, because moved parts rest for a while.
   */
  #isPlanned({ table, inputs, replicas, present }: Omit<PlannedInputs, 'at'>, now: LocalInstant): boolean {
    const last = this.#planned;
    if (last?.inputs !== inputs || last.replicas !== replicas || last.table?.epoch !== table?.epoch) return false;
    if (last.present !== present) return false;
    return now.monotonic - last.at < replanIntervalMs;
  }
}

/** The desired number; when it is 0 or unknown, the number of the published table. */
function wantedReplicas({ replicas = 0 }: LocalState, published: TableDocument | undefined): number {
  return replicas > 0 ? replicas : Math.max(1, published?.replicas ?? 1);
}

import { shardOfText } from './distribution.ts';
import { claimsBesideTable } from './intents.ts';
import type { Situation } from './intents.ts';
import type { Instant, Intent, World } from './member-types.ts';
import { nextTable } from './plan.ts';
import type { PlanInputs } from './plan.ts';
import type { TableDocument } from './table-document.ts';
import type { Timing } from './timing.ts';

interface Planned {
  readonly table: TableDocument | undefined;
  readonly inputs: PlanInputs;
  readonly replicas: number;
  /** Who was there, who was not, and who was not ready. */
  readonly present: string;
  readonly at: number;
}

const planAgainMs = 60_000;

/** Intent: the table that follows, if this replica is the one to plan it. Remembers when it published, and what it found good. */
export class Planner {
  readonly #timing: Timing;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #planned: Planned | undefined;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** A table of ours was published. */
  published(now: Instant): void {
    this.#publishedAt = now.monotonic;
  }

  /** One was a moment ago: what has changed since must wait. */
  rests(now: Instant): boolean {
    return now.monotonic - this.#publishedAt < this.#timing.publishMs;
  }

  next(situation: Situation): Intent | undefined {
    const { hub, tenure, world, now, self } = situation;
    const [lease, slots] = [tenure.lease(), hub.slots()];
    if (lease === undefined || slots === undefined || world.inputs === undefined) return undefined;
    if (tenure.leaseLeft(now) === 0 || this.rests(now) || !hub.isPlanner(lease.slot, now)) return undefined;
    const floor = hub.floor(tenure.table());
    const published = hub.published();
    const valid = (published?.epoch ?? -1) >= floor ? published : undefined;
    // Whoever plans obeys and has acknowledged what it builds upon: epochs that nobody knows of must not pile up.
    if (valid !== undefined && tenure.acked() !== valid.epoch) return undefined;
    const replicas = wantedReplicas(world, published);
    const [live, absent] = [hub.presence.live(), hub.presence.absent(now.monotonic)];
    const cold = hub.presence.cold(now.monotonic);
    const present = `${live.join()} ${[...absent].join()} ${[...cold].join()}`;
    const same = { table: valid, inputs: world.inputs, replicas, present };
    if (this.#isPlanned(same, now)) return undefined;
    const table = nextTable(valid, world.inputs, {
      replicas,
      settled: (wait) => hub.settled(wait),
      live,
      absent,
      isReady: (slot, isAnnounced) => hub.presence.isReady(slot, isAnnounced, now.monotonic),
      holders: [...slots.keys()],
      epochFloor: Math.max(floor, published?.epoch ?? 0),
      nonce: shardOfText(`${self.incarnation} ${now.monotonic}`, 1000),
      now: Math.round(now.wall),
      longestLeaseMs: hub.presence.longestOf(slots.values()),
    });
    if (table !== undefined) return { write: 'table', table, claims: claimsBesideTable(situation) };
    this.#planned = { ...same, at: now.monotonic };
    return undefined;
  }

  /** The same was asked a moment ago, and the answer was that nothing has to change. Only time can change that (rests between moves). */
  #isPlanned({ table, inputs, replicas, present }: Omit<Planned, 'at'>, now: Instant): boolean {
    const last = this.#planned;
    if (last?.inputs !== inputs || last.replicas !== replicas || last.table?.epoch !== table?.epoch) return false;
    if (last.present !== present) return false;
    return now.monotonic - last.at < planAgainMs;
  }
}

/** As many as are wanted; scaled to none, or when nobody says, as many as there were. */
function wantedReplicas({ replicas = 0 }: World, published: TableDocument | undefined): number {
  return replicas > 0 ? replicas : Math.max(1, published?.replicas ?? 1);
}

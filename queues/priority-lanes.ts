import { FairRing, FlowTurns, maxDebtTurns } from './fair-ring.ts';
import type { RingLink } from './fair-ring.ts';
import type { Priority } from './types.ts';

/** A priority as a number, so that priorities can be compared. */
export type Urgency = 0 | 1 | 2;

const priorities = ['resync', 'live', 'user'] as const satisfies readonly Priority[];

export function urgencyOf(priority: Priority): Urgency {
  return priority === 'user' ? 2 : priority === 'live' ? 1 : 0;
}

export function priorityOf(urgency: Urgency): Priority {
  return priorities[urgency];
}

/** Fields of an entry of {@link PriorityLanes}. */
export interface LaneEntry<E> {
  urgency: Urgency;
  /**
   * The flow that the turns are charged to, as `group/name`: groups take turns, and so do the flows
   * of a group. A flow without a slash is a group of its own. Constant while the entry is in a
   * lane.
   */
  flow: string;
  readonly links: LaneLinks<E>;
}

/** Positions of an entry in the lanes up to its own urgency. */
export type LaneLinks<E> = [RingLink<E> | undefined, RingLink<E> | undefined, RingLink<E> | undefined];

/** A literal, because V8 reserves 17 elements for an array that grows by push. */
export function noLinks<E>(): LaneLinks<E> {
  return [undefined, undefined, undefined];
}

/** One turn in 16 serves all entries, whatever their urgency. */
export const turnsPerRound = 16;
/** One turn in 4 serves the entries that are at least `live`. */
export const turnsPerLive = 4;

/** The flow and group to charge for the work on a taken entry, in the lane that gave the turn. */
export interface TurnTicket<E> {
  readonly name: string;
  readonly turns: FlowTurns<E>;
  readonly groupTurns: FlowTurns<FairRing<E>>;
}

/** One flow in all lanes; removed when it has no waiting entry and no open ticket. */
interface FlowState<E> {
  readonly group: GroupState<E>;
  readonly lanes: readonly [FlowTurns<E>, FlowTurns<E>, FlowTurns<E>];
  /** Number of waiting entries and open tickets. */
  users: number;
}

/** The flows of one group in one lane. */
interface GroupLane<E> {
  readonly ring: FairRing<E>;
  readonly turns: FlowTurns<FairRing<E>>;
  /** Position of the group in the lane; undefined while its flows have no waiting entry. */
  link: RingLink<FairRing<E>> | undefined;
}

/** Removed with its last flow. */
interface GroupState<E> {
  readonly name: string;
  readonly lanes: readonly [GroupLane<E>, GroupLane<E>, GroupLane<E>];
  flows: number;
}

/**
 * The entries that are due: by urgency, in turn between flows, first in, first out within a flow.
 *
 * Three nested lanes: lane 0 holds every entry, lane 1 those that are at least `live`, lane 2 those
 * of priority `user`. A turn serves one lane; an empty lane passes its turn to the lane below:
 *
 *     turn   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
 *     lane   2  1  2  2  2  1  2  2  2  1  2  2  2  1  2  0
 *
 * Each lane is a {@link FairRing} of groups, and each group a FairRing of flows, so a tenant gets
 * no more turns by spreading its work over many flows. Nothing starves, whatever is added later:
 * among G groups an entry is taken within 16 × G × F × (n + 1) turns, where F counts the flows of
 * its group and n the earlier entries of its flow; an entry that is at least `live` within
 * 4 × G × F × (n + 1). The bound grows by the factor 9 (1 + maxDebtTurns) if the group's work takes
 * long, and again if the flow's does. Raising an entry only adds it to further lanes.
 *
 * Operations take constant time (`next` amortized), and a removal frees all memory.
 */
export class PriorityLanes<E extends LaneEntry<E>> {
  readonly #lanes: readonly [FairRing<FairRing<E>>, FairRing<FairRing<E>>, FairRing<FairRing<E>>] = [
    new FairRing(),
    new FairRing(),
    new FairRing(),
  ];
  readonly #flows = new Map<string, FlowState<E>>();
  readonly #groups = new Map<string, GroupState<E>>();
  #sequence = 0;
  #turn = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Number of known flows and groups. */
  get flows(): number {
    return this.#flows.size + this.#groups.size;
  }

  /** The entry that has waited longest. Takes time linear in the number of flows. */
  get oldest(): E | undefined {
    let oldest: RingLink<E> | undefined;
    for (const { entry: ring } of this.#lanes[0].heads())
      for (const link of ring.heads()) if (link.sequence < (oldest?.sequence ?? Infinity)) oldest = link;
    return oldest?.entry;
  }

  /** Appends an entry to its flow. It must not be in a lane already. */
  push(entry: E): void {
    this.#size += 1;
    this.#use(entry.flow);
    this.#join(entry);
  }

  /** Raises a waiting entry to at least this urgency. */
  raise(entry: E, urgency: Urgency): void {
    if (urgency <= entry.urgency) return;
    entry.urgency = urgency;
    this.#join(entry);
  }

  /** Removes and returns the next entry. Settle its ticket when the work on it has ended. */
  next(): { readonly entry: E; readonly ticket: TurnTicket<E> } | undefined {
    for (let lane: number = laneOfTurn(this.#turn); lane >= 0; lane -= 1) {
      const entry = this.#lanes[lane]?.take()?.take();
      if (entry === undefined) continue;
      this.#turn = (this.#turn + 1) % turnsPerRound;
      const { lanes, group } = this.#use(entry.flow);
      this.remove(entry);
      const [turns, groupTurns] = [lanes[lane as Urgency], group.lanes[lane as Urgency].turns];
      return { entry, ticket: { name: entry.flow, turns, groupTurns } };
    }
    return undefined;
  }

  /**
   * Charges flow and group for the turns that the work took beyond its own; see {@link
   * maxDebtTurns}.
   */
  settle({ name, turns, groupTurns }: TurnTicket<E>, extraTurns: number): void {
    turns.debt = Math.min(maxDebtTurns, turns.debt + extraTurns);
    groupTurns.debt = Math.min(maxDebtTurns, groupTurns.debt + extraTurns);
    this.#release(name);
  }

  remove(entry: E): void {
    const group = this.#flows.get(entry.flow)?.group;
    for (let lane = 0; lane < entry.links.length; lane += 1) {
      const link = entry.links[lane];
      if (link === undefined) break;
      if (group !== undefined) this.#unlink(group, lane as Urgency, link);
      entry.links[lane] = undefined;
    }
    this.#size -= 1;
    this.#release(entry.flow);
  }

  #join(entry: E): void {
    const flow = this.#flows.get(entry.flow);
    if (flow === undefined) return;
    for (let lane: Urgency = 0; lane <= entry.urgency; lane += 1)
      entry.links[lane] ??= this.#link(flow, lane as Urgency, entry);
  }

  #link({ group, lanes }: FlowState<E>, lane: Urgency, entry: E): RingLink<E> {
    const { ring, turns, link } = group.lanes[lane];
    this.#sequence += 1;
    if (link === undefined) group.lanes[lane].link = this.#lanes[lane].append(turns, ring, this.#sequence);
    return ring.append(lanes[lane], entry, this.#sequence);
  }

  #unlink(group: GroupState<E>, lane: Urgency, link: RingLink<E>): void {
    const groupLane = group.lanes[lane];
    groupLane.ring.remove(link);
    if (!groupLane.ring.isEmpty || groupLane.link === undefined) return;
    this.#lanes[lane].remove(groupLane.link);
    groupLane.link = undefined;
  }

  #use(name: string): FlowState<E> {
    const known = this.#flows.get(name);
    const flow = known ?? {
      group: this.#groupOf(name),
      lanes: [new FlowTurns<E>(), new FlowTurns<E>(), new FlowTurns<E>()] as const,
      users: 0,
    };
    if (known === undefined) {
      flow.group.flows += 1;
      this.#flows.set(name, flow);
    }
    flow.users += 1;
    return flow;
  }

  #groupOf(flow: string): GroupState<E> {
    const [name = ''] = flow.split('/', 1);
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const lane = (): GroupLane<E> => ({ ring: new FairRing(), turns: new FlowTurns(), link: undefined });
    const group = { name, lanes: [lane(), lane(), lane()] as const, flows: 0 };
    this.#groups.set(name, group);
    return group;
  }

  #release(name: string): void {
    const flow = this.#flows.get(name);
    if (flow === undefined) return;
    flow.users -= 1;
    if (flow.users > 0) return;
    this.#flows.delete(name);
    flow.group.flows -= 1;
    if (flow.group.flows === 0) this.#groups.delete(flow.group.name);
  }
}

function laneOfTurn(turn: number): Urgency {
  if (turn === turnsPerRound - 1) return 0;
  return turn % turnsPerLive === 1 ? 1 : 2;
}

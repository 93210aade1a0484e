/** Position of an entry in the queue of its flow. */
export interface RingLink<E> {
  readonly entry: E;
  readonly turns: FlowTurns<E>;
  /** Increases with every append. */
  readonly sequence: number;
  before: RingLink<E> | undefined;
  after: RingLink<E> | undefined;
}

/** The waiting entries of one flow, first in, first out, and its position in a {@link FairRing}. */
export class FlowTurns<E> {
  /** Turns to skip: the cost of long-running work, charged after it ended. */
  debt = 0;
  head: RingLink<E> | undefined;
  tail: RingLink<E> | undefined;
  /** Neighbours in the ring; undefined while the flow has no waiting entry. */
  previous: FlowTurns<E> | undefined;
  next: FlowTurns<E> | undefined;
}

/** Maximum debt, so that one very long run does not starve the other entries of its flow. */
export const maxDebtTurns = 8;

/**
 * Deficit round robin over flows (Shreedhar and Varghese), charged afterwards, when the cost of the
 * work is known: on its turn a flow gives one entry or pays one turn of its debt. A lone flow never
 * pays.
 *
 *     ring   A ──▶ B ──▶ C ──▶ (A)      Among F flows, an entry is taken within
 *            │     │     │              F × (n + 1) × (1 + maxDebtTurns) takes, where n counts the
 *            a1    b1    c1   fifo      earlier entries of its flow, those in flight included.
 *            a2          c2             Later adds do not change this bound.
 *
 * Operations take constant time (`take` amortized: it skips a flow only for a turn charged before).
 */
export class FairRing<E> {
  /** The flow with the next turn. */
  #head: FlowTurns<E> | undefined;

  get isEmpty(): boolean {
    return this.#head === undefined;
  }

  /** The first entry of each flow. */
  *heads(): Generator<RingLink<E>> {
    let flow = this.#head;
    do {
      if (flow?.head !== undefined) yield flow.head;
      flow = flow?.next;
    } while (flow !== this.#head);
  }

  /** Appends an entry to its flow. A flow without waiting entries joins at the end of the ring. */
  append(turns: FlowTurns<E>, entry: E, sequence: number): RingLink<E> {
    const link: RingLink<E> = { entry, turns, sequence, before: turns.tail, after: undefined };
    if (turns.tail === undefined) turns.head = link;
    else turns.tail.after = link;
    turns.tail = link;
    if (turns.next === undefined) this.#join(turns);
    return link;
  }

  /** The next entry. It stays in its flow until removed; the flow goes to the end of the ring. */
  take(): E | undefined {
    for (;;) {
      const flow = this.#head;
      if (flow === undefined) return undefined;
      this.#head = flow.next;
      const isAlone = flow.next === flow;
      if (flow.debt === 0 || isAlone) return flow.head?.entry;
      flow.debt -= 1;
    }
  }

  remove({ turns, before, after }: RingLink<E>): void {
    if (before === undefined) turns.head = after;
    else before.after = after;
    if (after === undefined) turns.tail = before;
    else after.before = before;
    if (turns.head === undefined) this.#leave(turns);
  }

  #join(flow: FlowTurns<E>): void {
    const first = this.#head;
    if (first === undefined) {
      flow.previous = flow;
      flow.next = flow;
      this.#head = flow;
      return;
    }
    const last = first.previous ?? first;
    flow.previous = last;
    flow.next = first;
    last.next = flow;
    first.previous = flow;
  }

  #leave(flow: FlowTurns<E>): void {
    const { previous, next } = flow;
    if (previous === undefined || next === undefined) return;
    previous.next = next;
    next.previous = previous;
    if (this.#head === flow) this.#head = next === flow ? undefined : next;
    flow.previous = undefined;
    flow.next = undefined;
  }
}

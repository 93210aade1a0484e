import type { Priority } from './types.ts';

/** Position in the order of urgency, so that priorities compare as numbers. */
export type Urgency = 0 | 1 | 2;

const priorities = ['resync', 'live', 'asked'] as const satisfies readonly Priority[];

export function urgencyOf(priority: Priority): Urgency {
  return priority === 'asked' ? 2 : priority === 'live' ? 1 : 0;
}

export function priorityOf(urgency: Urgency): Priority {
  return priorities[urgency];
}

/** An entry's place in one lane. */
export interface Link<E> {
  readonly entry: E;
  before: Link<E> | undefined;
  after: Link<E> | undefined;
}

/** What an entry carries to stand in lanes. */
export interface InLanes<E> {
  urgency: Urgency;
  readonly links: Links<E>;
}

/** Its place in the lane of each urgency up to its own; none while it stands nowhere. */
export type Links<E> = [Link<E> | undefined, Link<E> | undefined, Link<E> | undefined];

/** Of fixed length: an array that grows by push reserves room for seventeen. */
export function noLinks<E>(): Links<E> {
  return [undefined, undefined, undefined];
}

/** Of every 16 turns one goes to the oldest of all entries. */
export const turnsPerRound = 16;
/** Of every 4 turns one goes to the oldest entry that is at least live. */
export const turnsPerLive = 4;

/**
 * The entries that may be taken now, first in first out by urgency, and nobody starves.
 *
 * Three lanes, nested: lane 0 holds every entry, lane 1 those that are at least `live`, lane 2 those that were `asked` for. A turn
 * serves the head of one lane (an empty lane hands its turn down):
 *
 *     turn   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
 *     lane   2  1  2  2  2  1  2  2  2  1  2  2  2  1  2  0
 *
 * So an entry is taken within 16 × (n + 1) turns, n being the entries that were there before it; one that is at least live within
 * 4 × (n + 1), counting only those in lane 1. That holds whatever is added later, it needs no clock, and making an entry more urgent
 * only adds a lane to those it stands in already: it can never lose its place.
 *
 * Every operation takes constant time and nothing is left behind by a removal.
 */
export class Lanes<E extends InLanes<E>> {
  readonly #lanes: readonly [Lane<E>, Lane<E>, Lane<E>] = [new Lane<E>(), new Lane<E>(), new Lane<E>()];
  #turn = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The entry that has been here longest. */
  get oldest(): E | undefined {
    return this.#lanes[0].head?.entry;
  }

  /** Lets an entry that stands nowhere line up behind all others. */
  push(entry: E): void {
    this.#size += 1;
    this.#join(entry);
  }

  /** Makes a standing entry at least this urgent. */
  raise(entry: E, urgency: Urgency): void {
    if (urgency <= entry.urgency) return;
    entry.urgency = urgency;
    this.#join(entry);
  }

  /** Takes out the entry whose turn it is. */
  next(): E | undefined {
    const entry = this.#head(laneOfTurn(this.#turn));
    if (entry === undefined) return undefined;
    this.#turn = (this.#turn + 1) % turnsPerRound;
    this.remove(entry);
    return entry;
  }

  remove(entry: E): void {
    for (let lane = 0; lane < entry.links.length; lane += 1) {
      const link = entry.links[lane];
      if (link === undefined) break;
      this.#lanes[lane]?.unlink(link);
      entry.links[lane] = undefined;
    }
    this.#size -= 1;
  }

  #join(entry: E): void {
    for (let lane = 0; lane <= entry.urgency; lane += 1) entry.links[lane] ??= this.#lanes[lane]?.append(entry);
  }

  #head(from: Urgency): E | undefined {
    for (let lane: number = from; lane >= 0; lane -= 1) {
      const head = this.#lanes[lane]?.head;
      if (head !== undefined) return head.entry;
    }
    return undefined;
  }
}

function laneOfTurn(turn: number): Urgency {
  if (turn === turnsPerRound - 1) return 0;
  return turn % turnsPerLive === 1 ? 1 : 2;
}

class Lane<E> {
  head: Link<E> | undefined;
  #tail: Link<E> | undefined;

  append(entry: E): Link<E> {
    const link: Link<E> = { entry, before: this.#tail, after: undefined };
    if (this.#tail === undefined) this.head = link;
    else this.#tail.after = link;
    this.#tail = link;
    return link;
  }

  unlink(link: Link<E>): void {
    if (link.before === undefined) this.head = link.after;
    else link.before.after = link.after;
    if (link.after === undefined) this.#tail = link.before;
    else link.after.before = link.before;
  }
}

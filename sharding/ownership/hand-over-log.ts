import { RingBuffer } from '#base';
import type { HandOverReason } from '../documents/moves.ts';
import { listMoves } from '../documents/moves.ts';
import type { TableDocument } from '../documents/table-document.ts';

/** A part that changed its owner in the published table. */
export interface HandOver {
  /** When this replica saw the table first, by its wall clock. */
  readonly at: number;
  readonly server: string;
  readonly part: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly epoch: number;
  readonly reason: HandOverReason;
}

const maxHandOvers = 2000;

/** The newest hand-overs, from one published table to the next, as this replica saw them. */
export class HandOverLog {
  readonly #handOvers = new RingBuffer<HandOver>(maxHandOvers);
  #last: TableDocument | undefined;
  #epochSince: number | undefined;

  /** When this replica saw the present epoch first. */
  get epochSince(): number | undefined {
    return this.#epochSince;
  }

  /** Call it with the published table as often as wanted; undefined is ignored. */
  observe(table: TableDocument | undefined, now: number): void {
    if (table === undefined || table.epoch === this.#last?.epoch) return;
    // The table that a replica finds when it starts is no news.
    if (this.#last !== undefined)
      for (const move of listMoves(this.#last, table)) this.#handOvers.push({ at: now, epoch: table.epoch, ...move });
    this.#last = table;
    this.#epochSince = now;
  }

  newestFirst(): readonly HandOver[] {
    return [...this.#handOvers.newestFirst()];
  }
}

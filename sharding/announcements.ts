import type { Logger } from '#telemetry';
import { serversOf } from './rights.ts';
import type { OwnershipChange } from './types.ts';

export interface Owned {
  readonly parts: ReadonlySet<string>;
  /** Of the obeyed table. */
  readonly epoch: number | undefined;
  readonly shard: number | undefined;
}

/** Effect: tells listeners what this replica has gained and lost since they were told last. */
export class Announcements {
  readonly #logger: Logger;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #parts: ReadonlySet<string> = new Set();
  #epoch: number | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns whether anything was lost. */
  announce({ parts, epoch, shard }: Owned): boolean {
    const gained = [...parts].filter((part) => !this.#parts.has(part));
    const lost = [...this.#parts].filter((part) => !parts.has(part));
    // Under a new table names may mean something else: Applications change hands though no cluster does.
    if (gained.length === 0 && lost.length === 0 && epoch === this.#epoch) return false;
    this.#epoch = epoch;
    this.#parts = parts;
    const change = { gained: serversOf(gained), lost: serversOf(lost) };
    if (gained.length + lost.length > 0)
      this.#logger.info('cluster ownership changed', {
        shard,
        epoch,
        partsGained: gained.length,
        partsLost: lost.length,
        gained: change.gained.length,
        lost: change.lost.length,
      });
    for (const listener of this.#listeners) listener(change);
    return lost.length > 0;
  }
}

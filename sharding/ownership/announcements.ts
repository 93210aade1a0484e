import type { Logger } from '#telemetry';
import { serversOf } from './rights.ts';
import type { OwnershipChange } from './types.ts';

export interface OwnedState {
  readonly parts: ReadonlySet<string>;
  /** Epoch of the obeyed table. */
  readonly epoch: number | undefined;
  readonly shard: number | undefined;
}

/** Effect: notifies listeners of what this replica has gained and lost since the last call. */
export class OwnershipAnnouncer {
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
  announce({ parts, epoch, shard }: OwnedState): boolean {
    const gained = [...parts].filter((part) => !this.#parts.has(part));
    const lost = [...this.#parts].filter((part) => !parts.has(part));
    // A new table may resolve names differently, so Applications may change owners although no
    // cluster does.
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

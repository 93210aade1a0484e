import { hasReached } from '../documents/bounds.ts';
import { anyServer } from '../documents/slots-document.ts';
import type { LandingWrites, SlotHolders, SlotRecord } from '../documents/slots-document.ts';

interface TrackedRecord {
  readonly record: SlotRecord;
  /** By server, on our monotonic clock. */
  readonly until: LandingWrites;
}

/**
 * Observation: which servers writes of former holders may still reach, by our monotonic clock. A
 * record counts its times from when it was written, so counting them from when we first saw it
 * waits long enough.
 */
export class LandingTracker {
  #tracked: ReadonlyMap<number, TrackedRecord> = new Map();
  #now = Number.NEGATIVE_INFINITY;

  /** Takes in one read of the slots, released ones included, answered at `now`. */
  observe(slots: SlotHolders, now: number): void {
    this.#now = now;
    const tracked = new Map<number, TrackedRecord>();
    for (const [slot, record] of slots) {
      const known = this.#tracked.get(slot);
      tracked.set(slot, { record, until: untilOf(record, known, now) });
    }
    // A lost record still counts: only a newer one shows that nothing can land any more.
    for (const [slot, known] of this.#tracked)
      if (!tracked.has(slot) && isLater(known.until, now)) tracked.set(slot, known);
    this.#tracked = tracked;
  }

  /**
   * Reports whether such a write may reach the server. A holder that had not acknowledged
   * `everyone` may have sent it under another name of the server.
   */
  isLanding(server: string, everyone: number): boolean {
    for (const { record, until } of this.#tracked.values()) {
      const at = Math.max(until.get(server) ?? 0, until.get(anyServer) ?? 0);
      if (at > this.#now || (!hasReached(record.acked, everyone) && isLater(until, this.#now))) return true;
    }
    return false;
  }

  /** The content that the next record of a slot must have. */
  remaining(slot: number, now: number): LandingWrites {
    const until = [...(this.#tracked.get(slot)?.until ?? [])];
    return new Map(until.flatMap(([server, at]) => (at > now ? [[server, Math.ceil(at - now)]] : [])));
  }

  /** When waits end. */
  ends(now: number): readonly number[] {
    return [...this.#tracked.values()].flatMap(({ until }) => [...until.values()]).filter((at) => at > now);
  }
}

/** A claim adds none until it is released, so its first record with a server counts. */
function untilOf(record: SlotRecord, known: TrackedRecord | undefined, now: number): LandingWrites {
  const { incarnation, released, landing = new Map<string, number>() } = record;
  const isSame = known?.record.incarnation === incarnation && known.record.released === released;
  const before = isSame ? known.until : new Map<string, number>();
  return new Map([...landing].map(([server, ms]) => [server, Math.min(now + ms, before.get(server) ?? Infinity)]));
}

function isLater(until: LandingWrites, now: number): boolean {
  return [...until.values()].some((at) => at > now);
}

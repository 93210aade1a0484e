import type { Clock } from '#base';
import { appKeyOf, asApplication } from '#model';
import type { AppKey } from '#model';
import type { ReplicaFacts } from '../facts.ts';

interface FeedChange {
  readonly sequence: number;
  /** Undefined: ownership. */
  readonly key: AppKey | undefined;
}

/** What changed after a position. */
export interface FeedChanges {
  readonly position: number;
  readonly keys: readonly AppKey[];
  readonly ownership: boolean;
}

/** What was seen of an Application at the last scan: no object is held. */
interface SeenApplication {
  readonly version: string;
  readonly owner: string;
}

const scanIntervalMs = 400;
const maxRecordedChanges = 20_000;
/** Most keys of one batch. */
const maxBatch = 500;

/**
 * Records which Applications changed. Listeners that wait scan for changes, one scan for all of
 * them; without listeners nothing runs. Each listener has only a position: a slow one costs no
 * memory, and starts again when the record has moved on without it.
 */
export class ChangeFeed {
  readonly #facts: ReplicaFacts;
  readonly #clock: Clock;
  #seen = new Map<AppKey, SeenApplication>();
  #record: FeedChange[] = [];
  #sequence = 0;
  #placement = '';
  #scannedAt: number | undefined;

  constructor(facts: ReplicaFacts, clock: Clock) {
    this.#facts = facts;
    this.#clock = clock;
  }

  /** The position now, after a scan. */
  current(): number {
    this.#scanIfDue();
    return this.#sequence;
  }

  /** Changes after a position; undefined: they are no longer recorded. */
  after(position: number): FeedChanges | undefined {
    const oldest = this.#sequence - this.#record.length;
    if (position < oldest || position > this.#sequence) return undefined;
    const keys = new Set<AppKey>();
    let [reached, ownership] = [position, false];
    for (const { key, sequence } of this.#record.slice(position - oldest)) {
      if (keys.size >= maxBatch) break;
      if (key === undefined) ownership = true;
      else keys.add(key);
      reached = sequence;
    }
    return { position: reached, keys: [...keys], ownership };
  }

  /** Resolves when there is something after the position, or at the deadline. Rejects on abort. */
  async changed(position: number, limitMs: number, signal: AbortSignal): Promise<void> {
    const end = this.#clock.monotonic() + limitMs;
    for (;;) {
      this.#scanIfDue();
      const left = end - this.#clock.monotonic();
      if (this.#sequence > position || left <= 0) return;
      await this.#clock.sleep(Math.min(scanIntervalMs, left), signal);
    }
  }

  #scanIfDue(): void {
    const now = this.#clock.monotonic();
    if (this.#scannedAt !== undefined && now - this.#scannedAt < scanIntervalMs) return;
    this.#scannedAt = now;
    this.scan();
  }

  /** Compares all Applications with those of the last scan. */
  scan(): void {
    const { controller, ownership } = this.#facts;
    const { epoch, holders } = ownership.facts();
    const isPlacedAnew = this.#notePlacement(epoch, holders);
    const next = new Map<AppKey, SeenApplication>();
    for (const object of controller.applications()) {
      const app = asApplication(object);
      const key = appKeyOf(app);
      const last = this.#seen.get(key);
      const version = `${app.metadata.uid ?? ''} ${app.metadata.resourceVersion ?? ''}`;
      if (last?.version === version && !isPlacedAnew) {
        next.set(key, last);
        continue;
      }
      const slot = ownership.placeOf(key, controller.clusterOf(app))?.slot ?? -1;
      const owner = `${slot} ${holders.get(slot)?.holder ?? ''}`;
      if (last?.version !== version || last.owner !== owner) this.#note(key);
      next.set(key, { version, owner });
    }
    for (const key of this.#seen.keys()) if (!next.has(key)) this.#note(key);
    this.#seen = next;
  }

  /** True if owners changed. */
  #notePlacement(epoch: number | undefined, holders: ReadonlyMap<number, { readonly holder: string }>): boolean {
    const placement = `${epoch ?? ''} ${[...holders].map(([slot, { holder }]) => `${slot}=${holder}`).join(' ')}`;
    if (placement === this.#placement) return false;
    this.#placement = placement;
    this.#note(undefined);
    return true;
  }

  #note(key: AppKey | undefined): void {
    this.#sequence += 1;
    this.#record.push({ sequence: this.#sequence, key });
    if (this.#record.length > 2 * maxRecordedChanges) this.#record = this.#record.slice(-maxRecordedChanges);
  }
}

import type { AppKey } from '#model';
import { capturedObjects } from './capture.ts';
import type { PassCapture } from './capture.ts';

/** Bounds over all Applications on the last passes that are kept. */
const maxKeptApplications = 200;
const maxKeptObjects = 1000;
/** Bounds on the passes that wait to be read by one recording. */
const maxWaitingPasses = 256;
const maxWaitingObjects = 20_000;

/** The passes of an Application that a recording has not read yet. */
export interface PassSubscription {
  /** Removes and returns the oldest pass. */
  take(): PassCapture | undefined;
  /** Passes left out since the last call, because nobody read in time. */
  takeDropped(): number;
  close(): void;
}

interface WaitingPasses {
  readonly passes: PassCapture[];
  objects: number;
  dropped: number;
}

/**
 * Keeps references to the last passes of Applications, and to those that recordings wait for.
 * Costs nothing but these references: the objects are those that the comparison read.
 */
export class PassLog {
  readonly #last = new Map<AppKey, Partial<Record<PassCapture['kind'], PassCapture>>>();
  readonly #waiting = new Map<AppKey, Set<WaitingPasses>>();
  #kept = 0;

  keep(capture: PassCapture): void {
    const { key } = capture;
    const known = this.#last.get(key);
    this.#kept += capturedObjects(capture) - objectsOf(known?.[capture.kind]);
    this.#last.delete(key);
    this.#last.set(key, { ...known, [capture.kind]: capture });
    for (const oldest of this.#last.keys()) {
      if (oldest === key || (this.#last.size <= maxKeptApplications && this.#kept <= maxKeptObjects)) break;
      this.forget(oldest);
    }
    for (const waiting of this.#waiting.get(key) ?? []) addTo(waiting, capture);
  }

  /** The last refresh and the last step of an operation, in the order of time. */
  lastOf(key: AppKey): readonly PassCapture[] {
    const { refresh, operation } = this.#last.get(key) ?? {};
    return [operation, refresh]
      .filter((capture) => capture !== undefined)
      .toSorted((a, b) => a.startedAt - b.startedAt);
  }

  forget(key: AppKey): void {
    const { refresh, operation } = this.#last.get(key) ?? {};
    this.#kept -= objectsOf(refresh) + objectsOf(operation);
    this.#last.delete(key);
  }

  /** Whether a recording waits for the passes of an Application. */
  isFollowed(key: AppKey): boolean {
    return this.#waiting.has(key);
  }

  subscribe(key: AppKey): PassSubscription {
    const waiting: WaitingPasses = { passes: [], objects: 0, dropped: 0 };
    const all = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, all.add(waiting));
    return {
      take: () => {
        const next = waiting.passes.shift();
        waiting.objects -= objectsOf(next);
        return next;
      },
      takeDropped: () => {
        const { dropped } = waiting;
        waiting.dropped = 0;
        return dropped;
      },
      close: () => {
        all.delete(waiting);
        if (all.size === 0 && this.#waiting.get(key) === all) this.#waiting.delete(key);
      },
    };
  }

  /** Applications and objects that are kept alive. */
  get size(): { readonly applications: number; readonly objects: number } {
    return { applications: this.#last.size, objects: this.#kept };
  }
}

function addTo(waiting: WaitingPasses, capture: PassCapture): void {
  const objects = capturedObjects(capture);
  const isFull = waiting.passes.length >= maxWaitingPasses || waiting.objects + objects > maxWaitingObjects;
  if (isFull && waiting.passes.length > 0) {
    waiting.dropped += 1;
    return;
  }
  waiting.passes.push(capture);
  waiting.objects += objects;
}

function objectsOf(capture: PassCapture | undefined): number {
  return capture === undefined ? 0 : capturedObjects(capture);
}

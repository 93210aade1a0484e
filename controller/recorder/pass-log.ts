import { DriftlessError, isAbort, messageOf, recordedText } from '#base';
import type { AppKey } from '#model';
import { capturedObjects } from './capture.ts';
import type { CapturedError, PassCapture } from './capture.ts';

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

/** A pass, and about how many bytes its objects take. */
interface KeptPass {
  readonly capture: PassCapture;
  readonly bytes: number;
}

interface WaitingPasses {
  readonly passes: PassCapture[];
  objects: number;
  dropped: number;
}

export interface PassLogBounds {
  /** About how many bytes the objects of an Application take. */
  readonly bytesOf: (key: AppKey) => number;
  /** The limit of all kept passes together. A pass that alone takes more is not kept. */
  readonly maxBytes: number;
}

/**
 * Keeps references to the last passes of Applications, and to those that recordings wait for.
 * Costs nothing but these references: the objects are those that the comparison read.
 */
export class PassLog {
  readonly #bounds: PassLogBounds;
  readonly #last = new Map<AppKey, Partial<Record<PassCapture['kind'], KeptPass>>>();
  readonly #waiting = new Map<AppKey, Set<WaitingPasses>>();
  #kept = 0;
  #keptBytes = 0;

  constructor(bounds: PassLogBounds = { bytesOf: () => 0, maxBytes: Infinity }) {
    this.#bounds = bounds;
  }

  keep(capture: PassCapture): void {
    const { key } = capture;
    const known = this.#last.get(key);
    const kept = { capture, bytes: this.#bounds.bytesOf(key) };
    this.#count(known?.[capture.kind], -1);
    this.#count(kept, 1);
    this.#last.delete(key);
    this.#last.set(key, { ...known, [capture.kind]: kept });
    for (const oldest of this.#last.keys()) {
      // The newest may have more objects than all may have, and not more bytes.
      const isFull = oldest === key ? this.#hasTooManyBytes() : this.#hasTooMany() || this.#hasTooManyBytes();
      if (!isFull) break;
      this.forget(oldest);
    }
    for (const waiting of this.#waiting.get(key) ?? []) addTo(waiting, capture);
  }

  /** The last refresh and the last step of an operation, in the order of time. */
  lastOf(key: AppKey): readonly PassCapture[] {
    const { refresh, operation } = this.#last.get(key) ?? {};
    return [operation, refresh].flatMap((kept) => kept?.capture ?? []).toSorted((a, b) => a.startedAt - b.startedAt);
  }

  forget(key: AppKey): void {
    const { refresh, operation } = this.#last.get(key) ?? {};
    this.#count(refresh, -1);
    this.#count(operation, -1);
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

  #count(kept: KeptPass | undefined, sign: 1 | -1): void {
    this.#kept += sign * objectsOf(kept?.capture);
    this.#keptBytes += sign * (kept?.bytes ?? 0);
  }

  #hasTooMany(): boolean {
    return this.#last.size > maxKeptApplications || this.#kept > maxKeptObjects;
  }

  #hasTooManyBytes(): boolean {
    return this.#keptBytes > this.#bounds.maxBytes;
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

/** An error that ended a pass; undefined for an abort, which decides nothing. */
export function capturedError(error: unknown): CapturedError | undefined {
  if (isAbort(error)) return undefined;
  const code = error instanceof DriftlessError ? error.code : 'INTERNAL';
  return { code, message: recordedText(messageOf(error)) };
}

/** Runs the work of a pass, and keeps its capture if an error ends it. */
export async function keepFailure<T>(
  capture: PassCapture,
  log: Pick<PassLog, 'keep'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const found = capturedError(error);
    if (found !== undefined) {
      capture.error = found;
      log.keep(capture);
    }
    throw error;
  }
}

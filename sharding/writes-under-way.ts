import { isOver } from '#base';
import { KubeApiError, KubeConnectionError, KubeCredentialError, KubeRequestError } from '#kube';
import type { AppKey } from '#model';

/** A write that may still reach what it writes to. */
export interface Write {
  readonly server: string;
  readonly app: AppKey | undefined;
}

interface Entry extends Write {
  /** While it runs: for ever. After it ended without an answer: as long as it may still be on its way. */
  landsUntil: number;
}

/** Effect: the writes of this replica that are on their way. What they write to is given to nobody else before they have landed. */
export class WritesUnderWay {
  readonly #entries = new Set<Entry>();
  readonly #marginMs: number;
  readonly #monotonic: () => number;

  constructor(marginMs: number, monotonic: () => number) {
    this.#marginMs = marginMs;
    this.#monotonic = monotonic;
  }

  async run<T>(write: Write, send: () => Promise<T>): Promise<T> {
    const entry: Entry = { ...write, landsUntil: Number.POSITIVE_INFINITY };
    this.#entries.add(entry);
    try {
      const answer = await send();
      this.#entries.delete(entry);
      return answer;
    } catch (error) {
      if (cannotLand(error)) this.#entries.delete(entry);
      else entry.landsUntil = this.#monotonic() + this.#marginMs;
      throw error;
    }
  }

  all(): readonly Write[] {
    const now = this.#monotonic();
    for (const entry of this.#entries) if (entry.landsUntil <= now) this.#entries.delete(entry);
    return [...this.#entries];
  }
}

/**
 * The server has answered, or has never seen the request. Anything else (a reset, a deadline, an abort) says nothing: the request may be on
 * its way, or be carried out at this moment.
 */
function cannotLand(error: unknown): boolean {
  // An API server that answers 5xx may have passed the write on to its store, which ends it in its own time.
  if (error instanceof KubeApiError) return error.status < 500;
  if (isOver(error) || error instanceof KubeRequestError || error instanceof KubeCredentialError) return true;
  return error instanceof KubeConnectionError && error.neverSent;
}

import { isRequestOver } from '#base';
import { KubeApiError, KubeConnectionError, KubeCredentialError, KubeRequestError } from '#kube';
import type { AppKey } from '#model';

/** A write that may still reach its target. */
export interface InFlightWrite {
  readonly server: string;
  readonly app: AppKey | undefined;
}

interface InFlightEntry extends InFlightWrite {
  /**
   * Infinite while the write runs. If it ended without a response: when it can no longer arrive.
   */
  landsUntil: number;
}

/**
 * Effect: writes of this replica in flight. Their targets are given away only after they have
 * landed.
 */
export class InFlightWrites {
  readonly #entries = new Set<InFlightEntry>();
  readonly #marginMs: number;
  readonly #monotonic: () => number;

  constructor(marginMs: number, monotonic: () => number) {
    this.#marginMs = marginMs;
    this.#monotonic = monotonic;
  }

  async run<T>(write: InFlightWrite, send: () => Promise<T>): Promise<T> {
    const entry: InFlightEntry = { ...write, landsUntil: Number.POSITIVE_INFINITY };
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

  all(): readonly InFlightWrite[] {
    const now = this.#monotonic();
    for (const entry of this.#entries) if (entry.landsUntil <= now) this.#entries.delete(entry);
    return [...this.#entries];
  }
}

/**
 * Reports whether the write can no longer take effect: the server has responded, or never saw the
 * request. After any other error (reset, deadline, abort) the request may still be carried out.
 */
function cannotLand(error: unknown): boolean {
  // An API server that responds with 5xx may have passed the write to its store, which may still
  // complete it.
  if (error instanceof KubeApiError) return error.status < 500;
  if (isRequestOver(error) || error instanceof KubeRequestError || error instanceof KubeCredentialError) return true;
  return error instanceof KubeConnectionError && error.neverSent;
}

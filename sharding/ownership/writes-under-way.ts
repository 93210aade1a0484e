import { isRequestOver, newAbortController, OwnershipLost } from '#base';
import { KubeApiError, KubeConnectionError, KubeCredentialError, KubeRequestError } from '#kube';
import type { AppKey } from '#model';
import { clusterKey } from '../distribution/parts.ts';
import { anyServer } from '../documents/slots-document.ts';
import type { LandingWrites } from '../documents/slots-document.ts';

/** A write that may still reach its target. */
export interface InFlightWrite {
  readonly server: string;
  readonly app: AppKey | undefined;
}

/** A longer list would make the slots too big. */
const maxLandingServers = 100;

interface InFlightEntry extends InFlightWrite {
  /**
   * Infinite while the write runs. If it ended without a response: when it can no longer arrive.
   */
  landsUntil: number;
  /** Ends its request. */
  readonly abandoned: AbortController;
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

  /** Runs a write; the signal aborts when the write is abandoned. */
  async run<T>(write: InFlightWrite, send: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const abandoned = newAbortController();
    const entry: InFlightEntry = { ...write, landsUntil: Number.POSITIVE_INFINITY, abandoned };
    this.#entries.add(entry);
    try {
      const answer = await send(abandoned.signal);
      this.#entries.delete(entry);
      return answer;
    } catch (error) {
      if (cannotLand(error)) this.#entries.delete(entry);
      else entry.landsUntil = Math.min(entry.landsUntil, this.#monotonic() + this.#marginMs);
      throw error;
    }
  }

  all(): readonly InFlightWrite[] {
    const now = this.#monotonic();
    for (const entry of this.#entries) if (entry.landsUntil <= now) this.#entries.delete(entry);
    return [...this.#entries];
  }

  /** Ends all requests that still run: from now on they count as writes without an answer. */
  abandon(): void {
    for (const entry of this.#entries) {
      if (entry.landsUntil !== Number.POSITIVE_INFINITY) continue;
      entry.landsUntil = this.#monotonic() + this.#marginMs;
      entry.abandoned.abort(new OwnershipLost(`cluster ${entry.server}`));
    }
  }

  /** How long writes may still reach each server; undefined while a request runs. */
  landing(): LandingWrites | undefined {
    const now = this.#monotonic();
    const landing = new Map<string, number>();
    for (const { server, landsUntil } of this.#entries) {
      if (landsUntil === Number.POSITIVE_INFINITY) return undefined;
      const key = clusterKey(server);
      if (landsUntil > now) landing.set(key, Math.max(landing.get(key) ?? 0, Math.ceil(landsUntil - now)));
    }
    return landing.size > maxLandingServers ? new Map([[anyServer, Math.max(...landing.values())]]) : landing;
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

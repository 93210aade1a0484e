import { KubeApiError, KubeConnectionError } from '#kube';
import type { AppKey, KubeObject } from '#model';

/**
 * Which events of the watch may show writes of ours: those in flight, and those without an answer,
 * which may have been carried out and show at any time until a later write is answered.
 */
export class ApplicationWriteOutcomes {
  /** The resourceVersion that each write in flight produces; undefined: not known. */
  readonly #inFlight = new Map<AppKey, Promise<string | undefined>>();
  readonly #unanswered = new Set<AppKey>();

  /** Follows a write that was sent; call it for one write of an Application at a time. */
  async follow(key: AppKey, sent: Promise<KubeObject>): Promise<KubeObject> {
    const version = sent.then(
      ({ metadata }) => metadata.resourceVersion,
      () => undefined,
    );
    this.#inFlight.set(key, version);
    try {
      const stored = await sent;
      this.#unanswered.delete(key);
      return stored;
    } catch (error) {
      if (mayBeCarriedOut(error)) this.#unanswered.add(key);
      throw error;
    }
  }

  /** The response is in the store: the write is no longer in flight. */
  stored(key: AppKey): void {
    this.#inFlight.delete(key);
  }

  forget(key: AppKey): void {
    this.#unanswered.delete(key);
  }

  /**
   * The resourceVersion of our write, undefined if it may be any; undefined: no write of ours is
   * missing from the store.
   */
  written(key: AppKey): Promise<string | undefined> | undefined {
    return this.#inFlight.get(key) ?? (this.#unanswered.has(key) ? Promise.resolve(undefined) : undefined);
  }
}

/** A server that refuses a write has not carried it out; one that fails may have. */
function mayBeCarriedOut(error: unknown): boolean {
  if (error instanceof KubeApiError) return error.status >= 500;
  return !(error instanceof KubeConnectionError && error.neverSent);
}

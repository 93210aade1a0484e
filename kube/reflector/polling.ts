import { DeadlineExceeded, isAbort } from '#base';
import type { RandomSource } from '#base';
import type { ApiResource } from '#model';
import { isExpired, isTooLargeVersion, KubeApiError } from '../errors.ts';

/** Shortest delay between two lists of a kind that is polled, even if it changes all the time. */
const minPollMs = 10_000;
const maxPollMs = 60_000;
const pollGrowth = 1.5;
/** Listing takes at most this share of the time. */
const maxPollShare = 0.1;

/** Delays between the lists of a kind that cannot be watched: longer while nothing changes. */
export class PollPace {
  readonly #random: RandomSource;
  #delayMs = minPollMs;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  nextMs(isChanged: boolean, tookMs: number): number {
    this.#delayMs = isChanged ? minPollMs : Math.min(maxPollMs, this.#delayMs * pollGrowth);
    return Math.max(this.#delayMs, tookMs / maxPollShare) * (1 + 0.2 * this.#random.next());
  }
}

/** Why a kind is never watched, as far as discovery and its list show; undefined: it may be. */
export function unwatchableReason({ verbs }: ApiResource, listVersion: string): string | undefined {
  if (!verbs.includes('watch')) return 'the server does not offer to watch it';
  return listVersion === '' ? 'its list has no resourceVersion' : undefined;
}

/**
 * Whether a watch that said nothing was refused although lists may work: by the server, a proxy, or
 * missing rights. Not if the server is overloaded or needs other credentials.
 */
export function isWatchRefusal(error: unknown): boolean {
  if (isAbort(error) || isExpired(error) || isTooLargeVersion(error)) return false;
  if (error instanceof DeadlineExceeded) return true;
  return !(error instanceof KubeApiError && [401, 429].includes(error.status));
}

/** After this many refusals of its watch in a row, each retry lists a kind. */
export const maxWatchRefusals = 2;

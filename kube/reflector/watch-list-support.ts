import { DeadlineExceeded, messageOf, outsideText } from '#base';
import type { Clock } from '#base';
import type { Logger } from '#telemetry';
import { isTooLargeVersion, KubeApiError, KubeProtocolError } from '../errors.ts';

/** How long lists are not streamed after a server has failed to. */
const fallBackMs = 1_800_000;
/** From this minor version of Kubernetes 1 on, streaming is enabled by default. */
const firstMinor = 34;

/** How a reflector continues after a stream that failed before its list was complete. */
export type StreamFailure =
  /** The server does not support it: list now, and do not stream for a while. */
  | 'fall-back'
  /** A list may succeed, or report the same problem better: list now. */
  | 'list'
  /** Any request could have failed like this: back off, then list. */
  | 'retry';

/**
 * Whether the lists of one cluster can be streamed by watches (WatchList of Kubernetes). A group
 * that fails to stream falls back to lists for half an hour, because another server may serve it
 * (APIService). After a second group, the whole cluster does.
 */
export class WatchListSupport {
  readonly #deps: {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly logger: Logger;
    /** `v1.34.1`; undefined if unknown. */
    readonly serverVersion: () => string | undefined;
  };
  /** When each API group may stream again. */
  readonly #refusedUntil = new Map<string, number>();

  constructor(deps: {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly logger: Logger;
    readonly serverVersion: () => string | undefined;
  }) {
    this.#deps = deps;
  }

  /** Whether the lists of an API group can be streamed now. */
  isUsable(group: string): boolean {
    if (!isStreamingVersion(this.#deps.serverVersion())) return false;
    const now = this.#deps.clock.monotonic();
    for (const [refused, until] of this.#refusedUntil) if (until <= now) this.#refusedUntil.delete(refused);
    return this.#refusedUntil.size < 2 && !this.#refusedUntil.has(group);
  }

  /** Stops streaming the lists of an API group for a while. Logs it if they were streamed. */
  fallBack(group: string, error: unknown): void {
    const { clock, logger } = this.#deps;
    const isNews = this.isUsable(group);
    this.#refusedUntil.set(group, clock.monotonic() + fallBackMs);
    if (!isNews) return;
    const minutes = fallBackMs / 60_000;
    logger.info('The API server does not stream lists as expected; using lists and watches instead', {
      ...(this.#refusedUntil.size > 1 ? {} : { group }),
      minutes,
      reason: outsideText('server', messageOf(error)),
    });
  }
}

/** Whether every API server of this version streams lists, unless the feature is disabled. */
export function isStreamingVersion(version: string | undefined): boolean {
  const match = /^v?([0-9]{1,4})\.([0-9]{1,4})(?:\.|$)/.exec(version ?? '');
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > 1 || (major === 1 && minor >= firstMinor);
}

/** Decides how to continue after a stream that failed before its list was complete. */
export function streamFailureOf(error: unknown): StreamFailure {
  // A proxy may hold streams back, and each takes its whole deadline and the place of a list.
  if (error instanceof KubeProtocolError || error instanceof DeadlineExceeded) return 'fall-back';
  if (!(error instanceof KubeApiError)) return 'retry';
  const { status, message } = error;
  // A watch without a version cannot expire.
  if (status === 410) return 'fall-back';
  // From a proxy: its own limit for the start of a response.
  if (status === 504 && !isTooLargeVersion(error)) return 'fall-back';
  if ([400, 403, 422, 500].includes(status) && featureNames.test(message)) return 'fall-back';
  return [400, 403, 404, 405, 422].includes(status) ? 'list' : 'retry';
}

/** Servers answer with 500 if their etcd lacks a `required storage feature`. */
const featureNames = /sendInitialEvents|resourceVersionMatch|WatchList|required storage feature/;

import { isAbort } from '#base';
import { KubeApiError, KubeConnectionError, KubeProtocolError } from '../errors.ts';

const longestDelayMs = 10_000;

export interface FailedAttempt {
  /** 1 after the first failure. */
  readonly attempt: number;
  /** Sending the request twice is harmless. */
  readonly repeatable: boolean;
  /** Delay after the first failure. */
  readonly firstMs: number;
  /** Uniform in [0, 1), for the jitter. */
  readonly chance: number;
}

/**
 * Delay before a request is retried; undefined if it must not be.
 *
 *  error                                   reads      writes
 *  connection not established              retry      retry
 *  connection lost                         retry      never: the server may have acted
 *  429, 503 with Retry-After               after it   after it
 *  429, 5xx without Retry-After            retry      never
 *  truncated or invalid response           retry      never
 *  certificates, other 4xx                 never      never
 */
export function retryDelay(
  error: unknown,
  { attempt, repeatable, firstMs, chance }: FailedAttempt,
): number | undefined {
  if (isAbort(error)) return undefined;
  const backoff = Math.min(longestDelayMs, firstMs * 2 ** (attempt - 1)) * (0.5 + chance);
  if (error instanceof KubeConnectionError)
    return !error.permanent && (error.neverSent || repeatable) ? backoff : undefined;
  if (error instanceof KubeProtocolError) return repeatable ? backoff : undefined;
  if (!(error instanceof KubeApiError)) return undefined;
  const told = typeof error.retry === 'object' ? error.retry.afterMs : undefined;
  if (told !== undefined && (error.status === 429 || error.status === 503)) return told + backoff * 0.5;
  return repeatable && (error.status === 429 || error.status >= 500) ? backoff : undefined;
}

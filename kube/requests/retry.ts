import { isAbort } from '#base';
import { KubeApiError, KubeConnectionError, KubeProtocolError } from '../errors.ts';

const firstDelayMs = 100;
const longestDelayMs = 10_000;

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
 *
 * @param attempt 1 after the first failure.
 * @param chance uniform in [0, 1), for the jitter.
 */
export function retryDelay(error: unknown, attempt: number, repeatable: boolean, chance: number): number | undefined {
  if (isAbort(error)) return undefined;
  const backoff = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + chance);
  if (error instanceof KubeConnectionError)
    return !error.permanent && (error.neverSent || repeatable) ? backoff : undefined;
  if (error instanceof KubeProtocolError) return repeatable ? backoff : undefined;
  if (!(error instanceof KubeApiError)) return undefined;
  const told = typeof error.retry === 'object' ? error.retry.afterMs : undefined;
  if (told !== undefined && (error.status === 429 || error.status === 503)) return told + backoff * 0.5;
  return repeatable && (error.status === 429 || error.status >= 500) ? backoff : undefined;
}

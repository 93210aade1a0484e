import { isUnreachable } from '#desired';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshPass } from './pass.ts';

/**
 * During the grace period an unreadable source keeps the last comparison. Level 3 (a user request,
 * a changed source or a manual sync) reports the error at once, and its retries do not accept an
 * older answer of the repository.
 */
export function toleratesOutage(pass: RefreshPass, error: unknown, graceMs: number): boolean {
  if (pass.refresh.level === compareLevel.forceResolve) {
    pass.memory.owesResolution = isUnreachable(error);
    return false;
  }
  const since = pass.memory.sourceFailedAt ?? pass.now;
  pass.memory.sourceFailedAt = since;
  const tolerated = pass.now - since <= graceMs;
  if (tolerated) pass.logger.warn('Ignoring temporary failed attempt to compare app state against repo', { error });
  return tolerated;
}

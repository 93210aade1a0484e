import { appKeyOf } from '#model';
import type { Application } from '#model';
import { compareLevel } from '../application/freshness.ts';
import type { DueRefresh } from '../application/freshness.ts';
import type { AppMemory } from '../comparison/memory.ts';
import type { RefreshDeps } from './refresh-deps.ts';

/** A refresh that would begin now. */
interface NextRefresh {
  readonly app: Application;
  readonly due: DueRefresh;
  readonly memory: AppMemory;
}

/**
 * Whether a refresh is about nothing but changed objects, and the last comparison has seen them as
 * they are. After a sync, these are the objects that it has applied.
 */
export async function isOldNews(
  { app, due, memory }: NextRefresh,
  { effects, memories, comparer }: Pick<RefreshDeps, 'effects' | 'memories' | 'comparer'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { sight } = memory;
  const isAboutObjects = due.cause === 'object' && due.resources !== undefined && due.level <= compareLevel.recent;
  if (!isAboutObjects || sight === undefined) return false;
  const key = appKeyOf(app);
  // A recording needs every comparison.
  if (memories.passLog.isFollowed(key) || !effects.stands({ key, before: app })) return false;
  return comparer.hasSeen({ sight, key, app, changed: due.resources }, signal);
}

import type { AppMemory, MemoryChange } from '../comparison/memory.ts';

/** Recheck interval when nothing moves; changes of managed objects requeue earlier. */
export const deletionBackstopMs = 5000;
const maxPauseMs = 60_000;

type PausedMemory = Pick<AppMemory, 'deletionPause'>;

/** How long the next step of a deletion waits, by the monotonic clock. */
export function deletionPauseMs({ deletionPause }: PausedMemory, now: number): number {
  return Math.max(0, (deletionPause?.until ?? now) - now);
}

/**
 * Delays the next step after one that failed. If such steps write each time, a webhook or a
 * controller undoes the write: the delay doubles, because the write is an event of its own.
 */
export function pausedDeletion({ deletionPause }: PausedMemory, now: number, hasWritten: boolean): MemoryChange {
  const before = deletionPause?.ms ?? 0;
  const ms = hasWritten ? Math.min(maxPauseMs, Math.max(deletionBackstopMs, 2 * before)) : 0;
  return { deletionPause: { until: now + Math.max(ms, deletionBackstopMs), ms } };
}

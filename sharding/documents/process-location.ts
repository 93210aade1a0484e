import type { RecordedProcess, SlotRecord } from './slots-document.ts';

/** Where a process runs: enough to prove that another process at the same location is gone. */
export interface ProcessLocation extends RecordedProcess {
  /**
   * Reports whether the recorded process still runs at this location. A thread, or another process
   * with the same PID, does not count.
   */
  readonly isRunning: (recorded: RecordedProcess) => boolean;
}

/** The part of a location that the slots document keeps. */
export function recordedProcess({ place, pid, started }: ProcessLocation): RecordedProcess {
  return { place, pid, ...(started === undefined ? {} : { started }) };
}

/**
 * Reports whether the holder was a process at our location and is provably gone, so that we need
 * not wait for its lease. Without start times a reused PID proves nothing, and we wait.
 */
export function isProvablyGone({ home }: SlotRecord, own: ProcessLocation | undefined): boolean {
  if (home === undefined || own?.place !== home.place) return false;
  // Two live processes never share a PID: an earlier holder with ours is gone.
  return home.pid === own.pid || !own.isRunning(home);
}

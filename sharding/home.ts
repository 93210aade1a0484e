import type { SlotRecord } from './slots-document.ts';

/** Where a process runs, and which process of that place it is: enough to tell that another one of the same place is gone. */
export interface Home {
  /** A pod, by its UID: its container is started anew only when the process of the earlier one is gone. Or a machine's PID namespace. */
  readonly place: string;
  readonly pid: number;
  /** Whether a process of this number runs at the same place. */
  readonly isRunning: (pid: number) => boolean;
}

/**
 * Whether the holder of a slot was a process of the same place and is provably gone: then nothing has to be waited for. A number that another
 * process has got meanwhile says nothing, and the lease is waited for.
 */
export function isGone({ home }: SlotRecord, own: Home | undefined): boolean {
  if (home === undefined || own?.place !== home.place) return false;
  // Two processes never have one number: who had ours before us is gone.
  return home.pid === own.pid || !own.isRunning(home.pid);
}

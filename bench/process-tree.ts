import { readdirSync, readFileSync } from 'node:fs';
import { collectGarbage } from './harness.ts';

/** The cost of some work in this process and all its children. */
export interface ProcessTreeCost {
  readonly wallSeconds: number;
  /** User and system time; 0 if the system does not report it (only Linux does). */
  readonly cpuSeconds: number;
}

const ticksPerSecond = 100;

/** Measures work that runs in child processes, as rendering does. */
export async function costOf(body: () => Promise<unknown>): Promise<ProcessTreeCost> {
  collectGarbage();
  const [begin, cpuBefore] = [process.hrtime.bigint(), cpuTicks(process.pid)];
  await body();
  return {
    wallSeconds: Number(process.hrtime.bigint() - begin) / 1e9,
    cpuSeconds: (cpuTicks(process.pid) - cpuBefore) / ticksPerSecond,
  };
}

/**
 * User and system time of a process and its children, also of those that have ended; 0 without a
 * process.
 */
export function cpuSecondsOf(pid: number): number {
  return cpuTicks(pid) / ticksPerSecond;
}

/** CPU time and wakeups of one process since its start, without its children. */
export interface ProcessActivity {
  readonly cpuSeconds: number;
  /** How often its threads have gone to sleep, and so were woken again. */
  readonly wakeups: number;
}

/** Zeros if the process has ended. */
export function activityOf(pid: number): ProcessActivity {
  try {
    const [user = 0, system = 0] = timesOf(pid);
    const wakeups = readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + sleepsOf(pid, task), 0);
    return { cpuSeconds: (user + system) / ticksPerSecond, wakeups };
  } catch {
    return { cpuSeconds: 0, wakeups: 0 };
  }
}

function sleepsOf(pid: number, task: string): number {
  const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
}

/** Memory of one process, or of it and its children. */
export interface ProcessMemory {
  readonly rssBytes: number;
  /** Shared pages count in proportion to the processes that map them. */
  readonly pssBytes: number;
}

/** Memory of a process alone. @throws Error if it has ended, or on a system without /proc */
export function memoryOf(pid: number): ProcessMemory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const bytesOf = (name: string): number => 1024 * Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(rollup)?.[1]);
  return { rssBytes: bytesOf('Rss'), pssBytes: bytesOf('Pss') };
}

/** PSS of a process and its children. Children that end meanwhile do not count. */
export function treePssBytes(pid: number): number {
  const ofChildren = childrenOf(pid).map((child) => {
    try {
      return treePssBytes(child);
    } catch {
      return 0;
    }
  });
  return ofChildren.reduce((sum, bytes) => sum + bytes, memoryOf(pid).pssBytes);
}

/** The clock ticks of a process, its children that have ended, and those that run. */
function cpuTicks(pid: number): number {
  try {
    const own = timesOf(pid).reduce((sum, ticks) => sum + ticks, 0);
    return childrenOf(pid).reduce((sum, child) => sum + cpuTicks(child), own);
  } catch {
    // It has ended, and its parent has counted it.
    return 0;
  }
}

/** Ticks of utime, stime, cutime and cstime. */
function timesOf(pid: number): readonly number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may contain spaces. The first field after it is the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).map(Number);
}

/** Running children, by their process ids. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== '')
      .map(Number),
  );
}

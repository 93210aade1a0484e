import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock } from '#base';
import { collectGarbage } from '../harness.ts';

/** Resources that a piece of work used in this process. */
export interface ResourceUsage {
  readonly wallMs: number;
  /** User and system time of all threads. */
  readonly cpuMs: number;
  /**
   * Delay of the event loop: 99th percentile and maximum. Includes other programs on a busy
   * machine.
   */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** Measures `body`, after a full garbage collection. */
export async function measureUsage(body: () => Promise<void>): Promise<ResourceUsage> {
  collectGarbage();
  // Keeps the collection itself out of the measured delay.
  await systemClock.sleep(20);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const begin = systemClock.monotonic();
  const cpu = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = systemClock.monotonic() - begin;
  delay.disable();
  return {
    wallMs,
    cpuMs: (user + system) / 1000,
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
  };
}

/**
 * User and system time of all threads during `body`, after a full garbage collection. Does not
 * wake the process a thousand times a second like {@link measureUsage}, which would cost an idle
 * process more than its own work.
 */
export async function measureCpuMs(body: () => Promise<void>): Promise<number> {
  collectGarbage();
  const cpu = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1000;
}

/** The value below which the given share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** CPU time of the main thread; of the process where the kernel does not show it. */
export function mainThreadMs(): number {
  try {
    const [nanoseconds = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

export interface LineFit {
  /** Growth from one value to the next. */
  readonly slope: number;
  readonly mean: number;
  /** Standard deviation of the values from the line. */
  readonly noise: number;
}

/** The least-squares line through equally spaced values. */
export function fitLine(values: readonly number[]): LineFit {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const center = (count - 1) / 2;
  const spread = values.reduce((sum, _value, i) => sum + (i - center) ** 2, 0);
  const slope = spread === 0 ? 0 : values.reduce((sum, value, i) => sum + (i - center) * (value - mean), 0) / spread;
  const variance = values.reduce((sum, value, i) => sum + (value - mean - slope * (i - center)) ** 2, 0) / count;
  return { slope, mean, noise: Math.sqrt(variance) };
}

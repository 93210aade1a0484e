import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock } from '#base';
import { collectGarbage } from '../harness.ts';

/** What a piece of work took of this process. */
export interface Spent {
  readonly wallMs: number;
  /** User and system time of all threads. */
  readonly cpuMs: number;
  /** How late the event loop came to a timer: the 99th percentile, and the worst. On a busy machine other programs are in it. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** Measures `body`, after a full collection. */
export async function spent(body: () => Promise<void>): Promise<Spent> {
  collectGarbage();
  // The collection itself must not count as a delay of what follows.
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

/** Of numbers, the one below which this share of them lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

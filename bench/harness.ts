import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '#base';
import type { RandomSource } from '#base';

/**
 * The results of a benchmark: names in snake_case that end in their unit (`_per_second`, `_bytes`,
 * `_ratio`).
 */
export type BenchMetrics = Readonly<Record<string, number>>;

export interface BenchContext {
  /** Only checks that the benchmark runs: small sizes, one round, meaningless numbers. */
  readonly smoke: boolean;
  /** Repeatable randomness. */
  readonly random: RandomSource;
  /** True for the requested {@link Benchmark.parts}. */
  readonly wants: (part: string) => boolean;
}

export interface Benchmark {
  readonly name: string;
  /** One line of description. */
  readonly about: string;
  /** Parts that can run alone, as `NAME/PART`. */
  readonly parts?: readonly string[];
  run(context: BenchContext): Promise<BenchMetrics>;
}

export interface BenchOptions {
  /** `NAME` or `NAME/PART`. */
  readonly names: readonly string[];
  readonly json: boolean;
  readonly smoke: boolean;
}

/**
 * The median of several runs of `body` in seconds, after a warm-up. The median is less affected by
 * other load on the machine than the mean, and less lucky than the best.
 */
export async function medianSeconds(rounds: number, body: () => Promise<void> | void): Promise<number> {
  await body();
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    collectGarbage();
    const start = process.hrtime.bigint();
    await body();
    seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
  }
  return seconds.sort((a, b) => a - b)[Math.floor(seconds.length / 2)] ?? Number.NaN;
}

/**
 * Heap bytes that the result of `build` keeps in use, and the result, which must live until the
 * count.
 */
export function heapBytesOf<T>(build: () => T): { readonly bytes: number; readonly value: T } {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const value = build();
  collectGarbage();
  return { bytes: process.memoryUsage().heapUsed - before, value };
}

let collectFunction: (() => void) | undefined;

/** A full collection; works without `--expose-gc`. */
export function collectGarbage(): void {
  if (collectFunction === undefined) {
    setFlagsFromString('--expose-gc');
    collectFunction = runInNewContext('gc') as () => void;
  }
  collectFunction();
}

export const benchSeed = 20260101;

/** The same seed for every benchmark, whatever ran before it. */
export function contextOf(options: BenchOptions, name: string): BenchContext {
  const { names, smoke } = options;
  const wants = (part: string): boolean =>
    names.length === 0 || names.includes(name) || names.includes(`${name}/${part}`);
  return { smoke, random: seededRandom(benchSeed), wants };
}

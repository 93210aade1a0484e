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
  /** The value of one of {@link Benchmark.options}; undefined if it is not given. */
  readonly option: (name: string) => string | undefined;
  /** Prints a line on stderr. */
  readonly progress: (line: string) => void;
}

export interface Benchmark {
  readonly name: string;
  /** One line of description. */
  readonly about: string;
  /** Parts that can run alone, as `NAME/PART`. */
  readonly parts?: readonly string[];
  /** Names of options with a value: `size` for `--size 200`. */
  readonly options?: readonly string[];
  /** Replaces the list of metrics that is printed without `--json`. */
  readonly table?: (metrics: BenchMetrics) => string;
  run(context: BenchContext): Promise<BenchMetrics>;
}

export interface BenchOptions {
  /** `NAME` or `NAME/PART`. */
  readonly names: readonly string[];
  readonly json: boolean;
  readonly smoke: boolean;
  /** Options with a value, by name. */
  readonly values: ReadonlyMap<string, string>;
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
export function contextOf(options: BenchOptions, name: string, progress: (line: string) => void): BenchContext {
  const { names, smoke, values } = options;
  const wants = (part: string): boolean =>
    names.length === 0 || names.includes(name) || names.includes(`${name}/${part}`);
  return { smoke, random: seededRandom(benchSeed), wants, option: (option) => values.get(option), progress };
}

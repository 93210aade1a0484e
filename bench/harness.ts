import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '#base';
import type { Random } from '#base';

/** What a benchmark found: names in snake_case that end in their unit (`_per_second`, `_bytes`, `_ratio`). */
export type BenchMetrics = Readonly<Record<string, number>>;

export interface BenchContext {
  /** Only shows that the benchmark runs: small sizes, one round. Its numbers mean nothing. */
  readonly smoke: boolean;
  /** Repeatable chance. */
  readonly random: Random;
  /** Which of its {@link Benchmark.parts} are asked for. */
  readonly wants: (part: string) => boolean;
}

export interface Benchmark {
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  /** Pieces that can be run alone, as `NAME/PART`. */
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
 * Seconds of the middle one of several runs of `body`, after a warm-up. The middle is less moved by what else the machine does than the
 * mean, and less lucky than the best.
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

/** Bytes of heap that stay in use through what `build` returns, and that value, so that it lives until the count. */
export function heapBytesOf<T>(build: () => T): { readonly bytes: number; readonly value: T } {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const value = build();
  collectGarbage();
  return { bytes: process.memoryUsage().heapUsed - before, value };
}

let collect: (() => void) | undefined;

/** A full collection; works without `--expose-gc` too. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}

export const benchSeed = 20260101;

/** The same chance for every benchmark, whichever ran before it. */
export function contextOf(options: BenchOptions, name: string): BenchContext {
  const { names, smoke } = options;
  const wants = (part: string): boolean =>
    names.length === 0 || names.includes(name) || names.includes(`${name}/${part}`);
  return { smoke, random: seededRandom(benchSeed), wants };
}

import { systemClock } from '#base';
import type { RandomSource } from '#base';
import type { BenchContext, Benchmark, BenchMetrics } from '../harness.ts';

/** A benchmark of a whole fleet, with one process for each replica. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly run: (run: ScenarioRun) => Promise<BenchMetrics>;
}

/** Each scenario at full size. */
const deadlineMs = 900_000;
const smokeDeadlineMs = 150_000;
const progressIntervalMs = 10_000;

/** One run of a scenario: its size, its deadline, and its progress. */
export class ScenarioRun {
  readonly smoke: boolean;
  readonly random: RandomSource;
  readonly #context: BenchContext;
  readonly #name: string;
  readonly #begin = systemClock.monotonic();
  readonly #share: number;
  #printedAt = 0;

  constructor(context: BenchContext, name: string) {
    this.#context = context;
    this.#name = name;
    this.smoke = context.smoke;
    this.random = context.random;
    this.#share = parseShare(context.option('share') ?? '1');
  }

  /** A number at full size, reduced by `--share`, or the one of the smoke test. */
  size(full: number, smoke: number): number {
    return this.smoke ? smoke : Math.max(smoke, Math.round(full * this.#share));
  }

  seconds(): number {
    return (systemClock.monotonic() - this.#begin) / 1000;
  }

  progress(text: string): void {
    this.#printedAt = systemClock.monotonic();
    if (!this.smoke) this.#context.progress(`${this.#name}: ${this.seconds().toFixed(0)} s: ${text}`);
  }

  /**
   * Waits until `poll` returns undefined; until then it returns what is missing.
   * @throws Error at the deadline of the scenario
   */
  async waitUntil(what: string, poll: () => Promise<string | undefined>, pollMs = 100): Promise<void> {
    const limitMs = this.smoke ? smokeDeadlineMs : deadlineMs;
    for (;;) {
      const missing = await poll();
      if (missing === undefined) return;
      if (systemClock.monotonic() - this.#begin > limitMs)
        throw new Error(`${this.#name} is not over after ${limitMs / 1000} s: waiting until ${what}: ${missing}`);
      if (systemClock.monotonic() - this.#printedAt > progressIntervalMs) this.progress(`${what}: ${missing}`);
      await systemClock.sleep(pollMs);
    }
  }

  /** Waits for a time, with progress. */
  async pause(what: string, ms: number): Promise<void> {
    const until = systemClock.monotonic() + ms;
    const left = async (): Promise<string | undefined> => {
      const leftMs = until - systemClock.monotonic();
      return leftMs <= 0 ? undefined : `${(leftMs / 1000).toFixed(0)} s left`;
    };
    await this.waitUntil(what, left, Math.min(100, ms));
  }
}

/** @throws Error unless it is a number above 0, and at most 1 */
function parseShare(text: string): number {
  const share = Number(text);
  if (share > 0 && share <= 1) return share;
  throw new Error(`--share ${text} is not a share of the full size: give a number above 0, and at most 1`);
}

/** The benchmark `fleet/NAME`, or one with a name of its own. */
export function benchmarkOf({ name, about, run }: Scenario, fullName = `fleet/${name}`): Benchmark {
  return {
    name: fullName,
    about,
    options: ['share'],
    run: (context) => run(new ScenarioRun(context, fullName)),
  };
}

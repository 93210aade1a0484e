import { defined, RingBuffer } from '#base';
import type { Clock, Runnable } from '#base';
import type { ProcessFacts, ReplicaFacts } from '../facts.ts';
import type { HistorySample, ReplicaHistory } from '../view-types.ts';

export const sampleIntervalMs = 10_000;
const hourMs = 3_600_000;

/** Samples do not look at the readiness, which takes time linear in the number of kinds. */
type HistoryFacts = Pick<ReplicaFacts, 'controller' | 'clock'> & {
  readonly process: () => Omit<ProcessFacts, 'ready' | 'reason'>;
};

/** Counters that only grow, at the last sample. */
interface CounterReading {
  readonly at: number;
  readonly monotonic: number;
  readonly cpuMs: number;
  readonly apiRequests: number;
  readonly watchEvents: number;
}

/** Samples the figures of this replica for an hour: a ring of 360 small records. */
export class ReplicaHistoryRecorder implements Runnable {
  readonly name = 'history of the read API';
  readonly #facts: HistoryFacts;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #totals: () => Pick<CounterReading, 'apiRequests' | 'watchEvents'>;
  readonly #samples = new RingBuffer<HistorySample>(hourMs / sampleIntervalMs);
  #last: CounterReading;

  /** @param totals counts of this process since its start */
  constructor(
    facts: HistoryFacts,
    clock: Pick<Clock, 'sleep'>,
    totals: () => Pick<CounterReading, 'apiRequests' | 'watchEvents'>,
  ) {
    this.#facts = facts;
    this.#clock = clock;
    this.#totals = totals;
    this.#last = this.#read();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#clock.sleep(sampleIntervalMs, signal);
        this.sample();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  sample(): void {
    const before = this.#last;
    const now = this.#read();
    this.#last = now;
    this.#samples.push(sampleOf(this.#facts, before, now));
  }

  history(): Omit<ReplicaHistory, 'replica'> {
    return { intervalMs: sampleIntervalMs, samples: [...this.#samples.newestFirst()].reverse() };
  }

  #read(): CounterReading {
    const { clock, process } = this.#facts;
    return { at: clock.now(), monotonic: clock.monotonic(), cpuMs: process().cpuMs, ...this.#totals() };
  }
}

function sampleOf(
  { controller, process, clock }: HistoryFacts,
  before: CounterReading,
  now: CounterReading,
): HistorySample {
  const { heapBytes, rssBytes, eventLoopDelayMs = 0 } = process();
  const { passes, syncs } = controller.activity();
  // Newest first: a pass that began before the interval and ended in it counts by its end.
  const ended = passes.filter(({ at, durationMs, result }) => result !== 'running' && at + durationMs > before.at);
  const finished = syncs.filter(({ at }) => at > before.at);
  const causes: Record<string, number> = {};
  for (const { cause } of ended) causes[cause] = (causes[cause] ?? 0) + 1;
  const elapsed = Math.max(1, now.monotonic - before.monotonic);
  const queues = controller.pools().map(({ progress, contents }) => ({ ...progress(), oldest: contents().oldest }));
  const oldest = queues.flatMap((queue) => queue.oldest?.since ?? []);
  return {
    at: new Date(now.at).toISOString(),
    heapBytes,
    rssBytes,
    eventLoopDelayMs,
    cpu: Math.round((1000 * (now.cpuMs - before.cpuMs)) / elapsed) / 1000,
    queueDepth: queues.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestQueuedMs: oldest.length === 0 ? 0 : Math.round(Math.max(0, clock.monotonic() - Math.min(...oldest))),
    apiRequests: Math.max(0, now.apiRequests - before.apiRequests),
    watchEvents: Math.max(0, now.watchEvents - before.watchEvents),
    passes: causes,
    syncs: finished.length,
    syncFailures: finished.filter(({ phase }) => phase !== 'Succeeded').length,
    ...percentiles(
      'pass',
      ended.map(({ durationMs }) => durationMs),
    ),
    ...percentiles(
      'sync',
      finished.map(({ durationMs }) => durationMs),
    ),
  };
}

function percentiles(name: 'pass' | 'sync', values: readonly number[]): Partial<HistorySample> {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number | undefined => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    return value === undefined ? undefined : Math.round(value * 10) / 10;
  };
  return defined({ [`${name}P50Ms`]: at(0.5), [`${name}P99Ms`]: at(0.99) });
}

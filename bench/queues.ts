import { systemClock } from '#base';
import { createWorkQueue } from '#queues';
import type { Priority, WorkQueue } from '#queues';
import { heapBytesOf, medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

const neverAborted = new AbortController().signal;
const benchPriorities: readonly Priority[] = ['resync', 'resync', 'live', 'user'];
const hourMs = 3_600_000;

type BenchQueue = WorkQueue<string, number>;

interface QueueSize {
  readonly label: string;
  readonly keys: readonly string[];
  /** Passes over all keys per round, so that rounds of all sizes take about equally long. */
  readonly repeat: number;
}

function makeQueue(): BenchQueue {
  return createWorkQueue<string, number>({ clock: systemClock, name: '', merge: Math.max });
}

function sizesOf({ smoke }: BenchContext): QueueSize[] {
  const size = (label: string, count: number): QueueSize => ({
    label,
    keys: Array.from({ length: count }, (_, i) => `argocd/application-${i}`),
    repeat: Math.max(1, Math.round((smoke ? 1_000 : 200_000) / count)),
  });
  return [size('1_key', 1), size('1k_keys', smoke ? 100 : 1_000), size('100k_keys', smoke ? 1_000 : 100_000)];
}

function addAll(queue: BenchQueue, keys: readonly string[]): void {
  keys.forEach((key, i) => queue.add(key, { payload: i & 3, priority: benchPriorities[i & 3] ?? 'live' }));
}

async function emptyAll(queue: BenchQueue, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const taken = await queue.take(neverAborted);
    if (taken !== undefined) queue.done(taken.key);
  }
}

/** Seconds of one operation (add, take or done): all keys are added, then all taken and done. */
async function cycleSeconds(rounds: number, { keys, repeat }: QueueSize): Promise<number> {
  const queue = makeQueue();
  const seconds = await medianSeconds(rounds, async () => {
    for (let i = 0; i < repeat; i += 1) {
      addAll(queue, keys);
      await emptyAll(queue, keys.length);
    }
  });
  return seconds / (3 * repeat * keys.length);
}

/** The same operations on a plain Map with the same awaits: the lower bound for any such queue. */
async function mapSeconds(rounds: number, { keys, repeat }: QueueSize): Promise<number> {
  const map = new Map<string, number>();
  const seconds = await medianSeconds(rounds, async () => {
    for (let i = 0; i < repeat; i += 1) {
      keys.forEach((key, at) => map.set(key, at & 3));
      for (const key of keys) {
        const taken = await Promise.resolve({ key, payload: map.get(key) });
        map.delete(taken.key);
      }
    }
  });
  return seconds / (3 * repeat * keys.length);
}

/** Seconds of one add with a random delay, and of one drop of it. */
async function delayedSeconds(rounds: number, { keys, repeat }: QueueSize, delays: readonly number[]): Promise<number> {
  const queue = makeQueue();
  const seconds = await medianSeconds(rounds, () => {
    for (let i = 0; i < repeat; i += 1) {
      keys.forEach((key, at) => queue.add(key, { delayMs: delays[at] ?? hourMs }));
      for (const key of keys) queue.drop(key);
    }
  });
  return seconds / (2 * repeat * keys.length);
}

/** Heap of one filled queue. Small ones are built many times, to exceed the noise of the heap. */
function heapOf(size: QueueSize, fill: (queue: BenchQueue) => void): number {
  const { bytes, value } = heapBytesOf(() =>
    Array.from({ length: Math.min(size.repeat, 5_000) }, () => {
      const queue = makeQueue();
      fill(queue);
      return queue;
    }),
  );
  for (const queue of value) queue.shutDown();
  return bytes / value.length;
}

/** Rate and memory of the work queue at 1, 1,000 and 100,000 keys. */
export const queuesBenchmark: Benchmark = {
  name: 'queues',
  about: 'work queue: add, take, done; delayed add and drop; heap of a queue with this many keys (without their text)',
  async run(context) {
    const rounds = context.smoke ? 1 : 5;
    const metrics: Record<string, number> = {};
    const cycle: number[] = [];
    const delayed: number[] = [];
    const mapOnly: number[] = [];
    for (const size of sizesOf(context)) {
      const delays = size.keys.map(() => hourMs * (1 + context.random.next()));
      const plain = await cycleSeconds(rounds, size);
      const later = await delayedSeconds(rounds, size, delays);
      cycle.push(plain);
      delayed.push(later);
      mapOnly.push(await mapSeconds(rounds, size));
      metrics[`add_take_done_${size.label}_ops_per_second`] = 1 / plain;
      metrics[`delayed_add_drop_${size.label}_ops_per_second`] = 1 / later;
      metrics[`waiting_${size.label}_heap_bytes`] = heapOf(size, (queue) => addAll(queue, size.keys));
      metrics[`delayed_${size.label}_heap_bytes`] = heapOf(size, (queue) =>
        size.keys.forEach((key, at) => queue.add(key, { delayMs: delays[at] ?? hourMs })),
      );
    }
    const [one = 0, thousand = 0, many = 0] = cycle;
    return {
      ...metrics,
      cost_100k_to_1k_keys_ratio: many / thousand,
      cost_1_to_1k_keys_ratio: one / thousand,
      cost_to_plain_map_1k_keys_ratio: thousand / (mapOnly[1] ?? 0),
      delayed_to_immediate_cost_100k_keys_ratio: (delayed[2] ?? 0) / many,
    };
  },
};

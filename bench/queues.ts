import { systemClock } from '#base';
import { createWorkQueue } from '#queues';
import type { Priority, WorkQueue } from '#queues';
import { heapBytesOf, medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

const never = new AbortController().signal;
const priorities: readonly Priority[] = ['resync', 'resync', 'live', 'asked'];
const anHour = 3_600_000;

type Queue = WorkQueue<string, number>;

interface Size {
  readonly label: string;
  readonly keys: readonly string[];
  /** How often a round goes through all keys, so that rounds of all sizes take about as long. */
  readonly repeat: number;
}

function makeQueue(): Queue {
  return createWorkQueue<string, number>({ clock: systemClock, name: '', merge: Math.max });
}

function sizesOf({ smoke }: BenchContext): Size[] {
  const size = (label: string, count: number): Size => ({
    label,
    keys: Array.from({ length: count }, (_, i) => `argocd/application-${i}`),
    repeat: Math.max(1, Math.round((smoke ? 1_000 : 200_000) / count)),
  });
  return [size('1_key', 1), size('1k_keys', smoke ? 100 : 1_000), size('100k_keys', smoke ? 1_000 : 100_000)];
}

function addAll(queue: Queue, keys: readonly string[]): void {
  keys.forEach((key, i) => queue.add(key, { payload: i & 3, priority: priorities[i & 3] ?? 'live' }));
}

async function emptyAll(queue: Queue, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const taken = await queue.take(never);
    if (taken !== undefined) queue.done(taken.key);
  }
}

/** Seconds of one operation (an add, a take or a done) when all keys are added, then all taken and done. */
async function cycleSeconds(rounds: number, { keys, repeat }: Size): Promise<number> {
  const queue = makeQueue();
  const seconds = await medianSeconds(rounds, async () => {
    for (let i = 0; i < repeat; i += 1) {
      addAll(queue, keys);
      await emptyAll(queue, keys.length);
    }
  });
  return seconds / (3 * repeat * keys.length);
}

/** The same movements with a bare Map, awaited likewise: the least that any queue of this kind costs. */
async function mapSeconds(rounds: number, { keys, repeat }: Size): Promise<number> {
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
async function delayedSeconds(rounds: number, { keys, repeat }: Size, delays: readonly number[]): Promise<number> {
  const queue = makeQueue();
  const seconds = await medianSeconds(rounds, () => {
    for (let i = 0; i < repeat; i += 1) {
      keys.forEach((key, at) => queue.add(key, { delayMs: delays[at] ?? anHour }));
      for (const key of keys) queue.drop(key);
    }
  });
  return seconds / (2 * repeat * keys.length);
}

/** Heap of one filled queue. Small ones are built many times over, or the noise of the heap would drown them. */
function heapOf(size: Size, fill: (queue: Queue) => void): number {
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
export const queues: Benchmark = {
  name: 'queues',
  about:
    'work queue: add, take, done; delayed add and drop; heap of a queue that holds so many (without the text of the keys)',
  async run(context) {
    const rounds = context.smoke ? 1 : 5;
    const metrics: Record<string, number> = {};
    const cycle: number[] = [];
    const delayed: number[] = [];
    const mapOnly: number[] = [];
    for (const size of sizesOf(context)) {
      const delays = size.keys.map(() => anHour * (1 + context.random.next()));
      const plain = await cycleSeconds(rounds, size);
      const later = await delayedSeconds(rounds, size, delays);
      cycle.push(plain);
      delayed.push(later);
      mapOnly.push(await mapSeconds(rounds, size));
      metrics[`add_take_done_${size.label}_ops_per_second`] = 1 / plain;
      metrics[`delayed_add_drop_${size.label}_ops_per_second`] = 1 / later;
      metrics[`waiting_${size.label}_heap_bytes`] = heapOf(size, (queue) => addAll(queue, size.keys));
      metrics[`delayed_${size.label}_heap_bytes`] = heapOf(size, (queue) =>
        size.keys.forEach((key, at) => queue.add(key, { delayMs: delays[at] ?? anHour })),
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

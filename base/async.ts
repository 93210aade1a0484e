import { Mutex, Semaphore } from 'async-mutex';
import { abortable } from './abort.ts';

/**
 * Runs at most `size` bodies at once; the others wait in arrival order. A waiter whose signal
 * aborts leaves the queue. A size below 1 means no limit (as Argo CD's
 * --kubectl-parallelism-limit).
 */
export class ConcurrencyLimiter {
  readonly #semaphore: Semaphore | undefined;

  constructor(size: number) {
    this.#semaphore = size < 1 ? undefined : new Semaphore(size);
  }

  async run<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#semaphore === undefined) return body();
    const release = await acquire(
      this.#semaphore.acquire().then(([, free]) => free),
      signal,
    );
    try {
      return await body();
    } finally {
      release();
    }
  }
}

/** One body at a time per key; keys do not wait for each other, and an idle key uses no memory. */
export class KeyedMutex<K> {
  readonly #mutexes = new Map<K, { mutex: Mutex; users: number }>();

  async run<T>(key: K, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const entry = this.#mutexes.get(key) ?? { mutex: new Mutex(), users: 0 };
    this.#mutexes.set(key, entry);
    entry.users += 1;
    try {
      const release = await acquire(entry.mutex.acquire(), signal);
      try {
        return await body();
      } finally {
        release();
      }
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#mutexes.delete(key);
    }
  }
}

/** Waits for a lock; releases it at once if it arrives after the waiter has aborted. */
async function acquire(lock: Promise<() => void>, signal: AbortSignal): Promise<() => void> {
  try {
    return await abortable(lock, signal);
  } catch (error) {
    void lock.then((release) => release());
    throw error;
  }
}

/**
 * Maps with at most `maxConcurrent` bodies at once and keeps the order of the results. After the
 * first failure no new body starts; the call waits for the running ones, then rejects.
 */
export async function mapLimit<T, R>(
  items: readonly T[],
  maxConcurrent: number,
  body: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    while (next < items.length && failure === undefined) {
      const index = next;
      next += 1;
      try {
        results[index] = await body(items[index] as T, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(maxConcurrent, items.length)) }, worker));
  if (failure !== undefined) throw failure.error as Error;
  return results;
}

/** Lets the event loop turn once: call it between slices of long synchronous work. */
export function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

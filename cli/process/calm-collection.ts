import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Runnable } from '#base';
import type { Logger } from '#telemetry';

const mebibyte = 1024 * 1024;
const checkIntervalMs = 5000;
/** CPU of a calm process in one interval: a tenth of a core. */
const calmCpuMs = checkIntervalMs / 10;
/** A collection stops the process for about a millisecond per MiB of live objects. */
const maxHeapBytes = 512 * mebibyte;
const minGarbageBytes = 8 * mebibyte;
const minEmptyBytes = 2 * mebibyte;

/** Pauses for a larger heap are longer than a repair takes. */
const smallHeapBytes = 64 * mebibyte;
/** V8 empties pages for 4 MiB of objects in one collection, so that one returns few pages. */
const followUpsOf = (usedBytes: number): number => (usedBytes > smallHeapBytes ? 2 : 8);
/** A follow-up that returns less is the last one. */
const minReturnedBytes = mebibyte;

/** Inputs of the decision to collect. */
export interface HeapObservation {
  /** CPU of the process since the last check. */
  readonly cpuMs: number;
  readonly usedBytes: number;
  /** Bytes of pages that V8 holds for its heap. */
  readonly totalBytes: number;
  /** Used bytes after the last collection by {@link CalmCollection}; 0 before the first. */
  readonly afterLastBytes: number;
  /** Collections that may still follow the last one for much garbage. */
  readonly followUps: number;
}

/** Reports whether a full collection is worth its pause: much to free, and nothing to delay. */
export function shouldCollect(observation: HeapObservation): 'garbage' | 'pages' | undefined {
  const { cpuMs, usedBytes, totalBytes, afterLastBytes, followUps } = observation;
  if (cpuMs >= calmCpuMs || usedBytes > maxHeapBytes) return undefined;
  if (usedBytes >= 1.25 * afterLastBytes + minGarbageBytes) return 'garbage';
  return followUps > 0 && totalBytes >= 1.05 * usedBytes + minEmptyBytes ? 'pages' : undefined;
}

/** The process, as far as a collection needs it. */
export interface CollectedProcess {
  /** CPU of all threads since the start. */
  readonly cpuMs: () => number;
  readonly usedHeapBytes: () => number;
  readonly totalHeapBytes: () => number;
  readonly collect: () => void;
}

export interface CalmCollectionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly process: CollectedProcess;
}

/**
 * Collects garbage when the process becomes calm: once, and again while that returns pages.
 * V8 collects when it allocates, so a replica that has just synced its fleet keeps all garbage of
 * that burst, which can be more than its live objects.
 */
export class CalmCollection implements Runnable {
  readonly name = 'calm-collection';
  readonly #deps: CalmCollectionDeps;
  #afterLastBytes = 0;
  #followUps = 0;

  constructor(deps: CalmCollectionDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, process } = this.#deps;
    let lastCpuMs = process.cpuMs();
    while (await sleepUnlessAborted(clock, signal)) {
      const cpuMs = process.cpuMs();
      this.#check(cpuMs - lastCpuMs);
      lastCpuMs = cpuMs;
    }
  }

  #check(cpuMs: number): void {
    const { clock, logger, process } = this.#deps;
    const [usedBytes, totalBytes] = [process.usedHeapBytes(), process.totalHeapBytes()];
    const last = { afterLastBytes: this.#afterLastBytes, followUps: this.#followUps };
    const reason = shouldCollect({ cpuMs, usedBytes, totalBytes, ...last });
    if (reason === undefined) return;
    const begin = clock.monotonic();
    process.collect();
    const pauseMs = Math.round(clock.monotonic() - begin);
    this.#afterLastBytes = process.usedHeapBytes();
    const returnedBytes = totalBytes - process.totalHeapBytes();
    if (reason === 'garbage') this.#followUps = followUpsOf(this.#afterLastBytes);
    else this.#followUps = returnedBytes < minReturnedBytes ? 0 : this.#followUps - 1;
    const [beforeMb, afterMb] = [usedBytes, this.#afterLastBytes].map((bytes) => Math.round(bytes / mebibyte));
    logger.debug('Collected garbage of a calm process', { beforeMb, afterMb, pauseMs });
  }
}

/** Waits for the next check. Returns false when the process ends. */
async function sleepUnlessAborted(clock: Clock, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(checkIntervalMs, signal);
    return true;
  } catch {
    return false;
  }
}

/** This process. Works without `--expose-gc`. */
export function ownProcess(): CollectedProcess {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return {
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    usedHeapBytes: () => getHeapStatistics().used_heap_size,
    totalHeapBytes: () => getHeapStatistics().total_heap_size,
    collect,
  };
}

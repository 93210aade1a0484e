import { readdirSync } from 'node:fs';
import { queryObjects } from 'node:v8';
import { isObject } from '#base';
import { collectGarbage } from '../harness.ts';

/**
 * Holdings of a process after a full garbage collection: bytes, open files, active resources of
 * libuv by type, and live instances by class.
 */
export interface ProcessHoldings {
  readonly heapBytes: number;
  readonly fileDescriptors: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly instances: Readonly<Record<string, number>>;
}

/** Sent by the bench; the answer has the same id. */
export interface HoldingsRequest {
  readonly benchHoldings: number;
  /** Counting instances walks the heap several times. */
  readonly withInstances: boolean;
}

export interface HoldingsAnswer {
  readonly benchHoldings: number;
  readonly holdings: ProcessHoldings;
}

function countHoldings(withInstances: boolean): ProcessHoldings {
  collectGarbage();
  const resources: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
  const timer = setTimeout(() => undefined, 0);
  clearTimeout(timer);
  const classes = { Map, Set, Promise, AbortSignal, Timeout: timer.constructor };
  const instances = Object.fromEntries(
    Object.entries(withInstances ? classes : {}).map(([name, constructor]) => [
      name,
      queryObjects(constructor, { format: 'count' }),
    ]),
  );
  return {
    heapBytes: process.memoryUsage().heapUsed,
    fileDescriptors: readdirSync('/proc/self/fd').length,
    resources,
    instances,
  };
}

// Preloaded into a replica (`--import`) beside the shipped program.
process.on('message', (message) => {
  if (!isObject(message) || typeof message['benchHoldings'] !== 'number') return;
  const { benchHoldings, withInstances } = message as unknown as HoldingsRequest;
  collectGarbage();
  // Finalizers run after the first collection, and what they release is freed by the second one.
  setImmediate(() =>
    process.send?.({ benchHoldings, holdings: countHoldings(withInstances) } satisfies HoldingsAnswer),
  );
});
// The channel must not keep the replica alive.
process.channel?.unref();

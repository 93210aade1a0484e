import type { Clock } from '#base';
import type { SchemaBook, SimCluster, SimOptions, SimStore, Workloads } from '../types.ts';
import { createAllocator } from './allocator.ts';
import { startCrds } from './crds.ts';
import { Deletion } from './deletion.ts';
import { Discovery } from './discovery.ts';
import { Faults } from './faults.ts';
import { startGarbageCollector } from './gc.ts';
import { HttpSide } from './http.ts';
import { startKubelet } from './kubelet.ts';
import { bootstrap, startNamespaces } from './namespaces.ts';
import { Objects } from './objects.ts';
import { Registry } from './registry.ts';
import { createSimStore } from './sim-store.ts';
import { Storage } from './storage.ts';
import { virtualKinds } from './virtual.ts';

/** The parts of the simulator that are not the server. */
export interface Parts {
  readonly book: SchemaBook;
  readonly startWorkloads?: (deps: {
    readonly store: SimStore;
    readonly clock: Clock;
    readonly random: SimOptions['random'];
    readonly delayMs: number;
  }) => Workloads;
}

/**
 * Starts one simulated cluster: storage, its own controllers (namespaces, CRDs, garbage collection, the end of pods), HTTP.
 * @throws DriftlessError when the port is taken; SimError when a CRD is refused.
 */
export async function startCluster(options: SimOptions, parts: Parts): Promise<SimCluster> {
  const { clock, random } = options;
  const { book } = parts;
  const storage = new Storage();
  const registry = new Registry([...book.builtinKinds(), ...virtualKinds]);
  const allocator = createAllocator();
  const objects = new Objects({ storage, registry, book, clock, random, allocator });
  const deletion = new Deletion(objects, clock);
  const faults = new Faults(random);
  const discovery = new Discovery(registry, book);
  const store = createSimStore({ storage, registry, objects, deletion, book });
  const inner = { storage, registry, objects, deletion, clock };
  const delayMs = options.workloads?.delayMs ?? 0;
  const stops = [startCrds(inner), startNamespaces(inner), startGarbageCollector(inner), startKubelet(inner, delayMs)];
  bootstrap(store);
  for (const crd of options.crds ?? []) store.create(crd, 'sim');
  if (options.workloads?.enabled !== false && parts.startWorkloads !== undefined) {
    const workloads = parts.startWorkloads({ store, clock, random, delayMs });
    stops.push(() => workloads.stop());
  }
  const http = new HttpSide({
    ...inner,
    book,
    random,
    discovery,
    faults,
    tokens: options.tokens,
  });
  const url = await http.listen(options.port ?? 0);
  return {
    name: options.name,
    url,
    store,
    addFault: (rule) => faults.add(rule),
    compact: (keep = 0) => storage.compact(keep),
    onRequest: (listener) => http.onRequest(listener),
    requests: () => http.requests(),
    disconnect: () => http.disconnect(),
    close: async () => {
      for (const stop of stops) stop();
      await http.close();
    },
  };
}

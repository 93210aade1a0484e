import { defined } from '#base';
import type { Clock } from '#base';
import type { SchemaBook, SimCluster, SimOptions, SimStore, WorkloadControllers } from '../types.ts';
import { createAllocator } from './admission/allocator.ts';
import { startCrds } from './controllers/crds.ts';
import { ObjectDeleter } from './storage/deletion.ts';
import { DiscoveryDocuments } from './discovery/discovery.ts';
import { FaultInjector } from './http/faults.ts';
import { startGarbageCollector } from './controllers/garbage-collector.ts';
import { ApiServer } from './http/server.ts';
import { startKubelet } from './controllers/kubelet.ts';
import { createBootstrapObjects, startNamespaces } from './controllers/namespaces.ts';
import { ObjectStore } from './storage/objects.ts';
import { KindRegistry } from './discovery/registry.ts';
import { createSimStore } from './sim-store.ts';
import { RevisionedStorage } from './storage/storage.ts';
import { reviewKindDefinitions } from './discovery/virtual.ts';

/** The parts of the simulator outside server/. */
export interface SimParts {
  readonly book: SchemaBook;
  readonly startWorkloads?: (deps: {
    readonly store: SimStore;
    readonly clock: Clock;
    readonly random: SimOptions['random'];
    readonly delayMs: number;
  }) => WorkloadControllers;
}

/**
 * Starts one simulated cluster: storage, its own controllers (namespaces, CRDs, garbage collection,
 * pod termination), HTTP.
 * @throws DriftlessError if the port is taken; SimError if a CRD is rejected.
 */
export async function startCluster(options: SimOptions, parts: SimParts): Promise<SimCluster> {
  const { clock, random } = options;
  const { book } = parts;
  const storage = new RevisionedStorage();
  const registry = new KindRegistry([...book.builtinKinds(), ...reviewKindDefinitions]);
  const allocator = createAllocator();
  const objects = new ObjectStore({ storage, registry, book, clock, random, allocator });
  const deletion = new ObjectDeleter(objects, clock);
  const faults = new FaultInjector(random);
  const discovery = new DiscoveryDocuments(registry, book);
  const store = createSimStore({ storage, registry, objects, deletion, book });
  const deps = { storage, registry, objects, deletion, clock };
  const delayMs = options.workloads?.delayMs ?? 0;
  const stops = [
    startCrds(deps, options.crdDelayMs),
    startNamespaces(deps),
    startGarbageCollector(deps),
    startKubelet(deps, delayMs),
  ];
  createBootstrapObjects(store);
  for (const crd of options.crds ?? []) store.create(crd, 'sim');
  if (options.workloads?.enabled !== false && parts.startWorkloads !== undefined) {
    const workloads = parts.startWorkloads({ store, clock, random, delayMs });
    stops.push(() => workloads.stop());
  }
  const http = new ApiServer({
    ...deps,
    book,
    random,
    discovery,
    faults,
    tokens: options.tokens,
    podAddress: options.podAddress,
    ...defined({ review: options.review }),
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

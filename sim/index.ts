/**
 * sim: a Kubernetes API server small enough to embed: demo, tests and benches stand on it. An independent witness: it shares words (model)
 * with the rest and no client code. It must refuse what the real one refuses; `npm run e2e` holds the two together.
 */
export type { FaultRule, SimCluster, SimOptions, SimStore, StoreEvent } from './types.ts';

import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ChaosFleet } from './fleet.ts';
import { play, promise } from './scenario.ts';

/** Both identities at once: most of their time is waiting for leases. */
describe('replicas as processes, with their shard from the hostname and from a lease', () => {
  let fleets: readonly ChaosFleet[] = [];
  beforeAll(async () => {
    fleets = await Promise.all([false, true].map((dynamic) => ChaosFleet.start({ dynamic, seed: 1, clusters: 5 })));
  });
  afterAll(() => Promise.all(fleets.map((fleet) => fleet.close())));

  it(promise, () => Promise.all(fleets.map(play)).then(() => undefined), 240_000);
});

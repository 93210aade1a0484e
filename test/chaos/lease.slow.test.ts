import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ChaosFleet } from './fleet.ts';
import { play, promise } from './scenario.ts';

describe('replicas as processes, with their shard from a lease', () => {
  let fleet: ChaosFleet;
  beforeAll(async () => {
    fleet = await ChaosFleet.start({ dynamic: true, seed: 1, clusters: 5 });
  });
  afterAll(() => fleet.close());

  it(promise, () => play(fleet), 400_000);
});

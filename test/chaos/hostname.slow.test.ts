import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ChaosFleet } from './fleet.ts';
import { play, promise } from './scenario.ts';

describe('replicas as processes, with their shard from the hostname', () => {
  let fleet: ChaosFleet;
  beforeAll(async () => {
    fleet = await ChaosFleet.start({ dynamic: false, seed: 1, clusters: 5 });
  });
  afterAll(() => fleet.close());

  it(promise, () => play(fleet), 400_000);
});

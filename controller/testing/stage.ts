import { afterEach, beforeEach } from '@jest/globals';
import { FakeClock } from '#support';
import { FakeWorld } from './fake-world.ts';

export interface Stage {
  readonly clock: FakeClock;
  readonly world: FakeWorld;
  /** Second by second: a long list is taken in slices, and each wants its turn of the loop. */
  pass(seconds: number): Promise<void>;
}

/** A world of its own for each test of a file, in virtual time, with what `prepare` puts there; ended after the test. */
export function stage(prepare: (world: FakeWorld) => void = () => undefined): Stage {
  const make = (): { readonly clock: FakeClock; readonly world: FakeWorld } => {
    const clock = new FakeClock();
    return { clock, world: new FakeWorld(clock) };
  };
  let now = make();
  beforeEach(() => {
    now = make();
    prepare(now.world);
  });
  afterEach(() => now.world.close(now.clock));
  return {
    get clock() {
      return now.clock;
    },
    get world() {
      return now.world;
    },
    pass: async (seconds) => {
      for (let i = 0; i < seconds; i += 1) await now.clock.advance(1000);
    },
  };
}

import { afterEach, expect } from '@jest/globals';
import { Shutdown } from '#base';
import type { Runnable } from '#base';
import type { FakeClock } from '#support';

/** Components of a test that end with it. Created once per test file by {@link testLifetimes}. */
export interface TestLifetimes {
  /**
   * Starts a component that stops at the end of the test, or when the returned function is called.
   * @param clock if given, the stopped component must have left no timer in it.
   */
  run(component: Pick<Runnable, 'run'>, clock?: FakeClock): () => Promise<void>;
  /** Closes a resource at the end of the test, after the components started later have stopped. */
  closing<T extends { close(): unknown }>(resource: T): T;
}

/** Ends components and resources after each test, the last one first. */
export function testLifetimes(): TestLifetimes {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  return {
    run(component, clock) {
      const life = new AbortController();
      const ended = component.run(life.signal);
      const stop = async (): Promise<void> => {
        life.abort(new Shutdown());
        await ended;
        if (clock !== undefined) expect(clock.pending).toBe(0);
      };
      cleanups.push(stop);
      return stop;
    },
    closing(resource) {
      cleanups.push(() => resource.close());
      return resource;
    },
  };
}

import { expect } from '@jest/globals';
import { FakeClock } from '#support';
import { FakeWorld } from './fake-world.ts';

/** Work that must come to its end although replicas die at any of their calls. */
export interface CrashScenario {
  readonly name: string;
  /** ARGOCD_SYNC_WAVE_DELAY. */
  readonly syncWaveDelayMs?: number;
  /** For how long the first replica runs if it does not die; default 20 s. */
  readonly firstMs?: number;
  readonly begin: (world: FakeWorld) => void;
  readonly end: (world: FakeWorld) => void;
}

/** Makes every call hang after call `at`: from outside, the process looks dead. */
function death(
  at: number,
  moment: 'before' | 'after',
): { readonly before: () => Promise<void>; readonly after: () => Promise<void>; calls: () => number } {
  let calls = 0;
  let dead = false;
  const never = new Promise<void>(() => undefined);
  return {
    calls: () => calls,
    before: () => {
      calls += 1;
      if (dead || (moment === 'before' && calls > at)) {
        dead = true;
        return never;
      }
      return Promise.resolve();
    },
    after: () => {
      if (dead || (moment === 'after' && calls > at)) {
        dead = true;
        return never;
      }
      return Promise.resolve();
    },
  };
}

/**
 * Runs the scenario with a replica that dies at call `at`, then with a second one. Returns the
 * number of calls of the first.
 */
async function play(scenario: CrashScenario, at: number, moment: 'before' | 'after'): Promise<number> {
  const clock = new FakeClock();
  const world = new FakeWorld(clock);
  scenario.begin(world);
  const { syncWaveDelayMs = 0, firstMs = 20_000 } = scenario;
  const madeAt = new Map<string, number>();
  world.dest.onEvent(({ type, object }) => {
    if (type === 'ADDED') madeAt.set(object.metadata.name ?? '', clock.now());
  });
  const fate = death(at, moment);
  world.replica({ hub: fate, dest: fate, config: { syncWaveDelayMs } });
  await clock.advance(firstMs);
  const calls = fate.calls();
  const second = world.replica({ config: { syncWaveDelayMs } });
  await clock.advance(firstMs + 100_000);
  scenario.end(world);
  const made = world.dest.calls.filter((call) => /^create ConfigMap (?:first|second|done|once)$/.test(call));
  expect(made).toHaveLength(new Set(made).size);
  if (syncWaveDelayMs > 0) {
    const [one = 0, two = 0, three = 0] = ['first', 'second', 'done'].map((name) => madeAt.get(name));
    // A restart may lengthen a wave delay by one more delay and its own duration, never shorten it.
    expect(Math.min(two - one, three - two)).toBeGreaterThanOrEqual(syncWaveDelayMs);
  }
  const ended = second.stop();
  await clock.advance(2000);
  await ended;
  return calls;
}

/** Plays a scenario with a replica that dies at each of its calls, one after the other. */
export async function crashAtEachCall(scenario: CrashScenario, moment: 'before' | 'after'): Promise<void> {
  const total = await play(scenario, Number.POSITIVE_INFINITY, moment);
  expect(total).toBeGreaterThan(4);
  for (let at = 0; at < total; at += 1) {
    try {
      await play(scenario, at, moment);
    } catch (error) {
      throw new Error(`the process died at call ${at} of ${total}`, { cause: error });
    }
  }
}

import { FakeWorld, configMap } from '../../controller/testing/index.ts';
import type { Publisher } from '#publish';
import type { Settings } from '#model';
import { parseSettings } from '#settings';
import { FakeClock } from '#support';
import { controllerConfig } from '../run/infrastructure.ts';
import type { RunConfig } from '../options/run-options.ts';

/** The real controller, over in-memory servers and Git, in virtual time. */
export interface EffectWorld {
  readonly world: FakeWorld;
  readonly clock: FakeClock;
  /** Starts a replica with the configuration and gives it two seconds. */
  readonly start: () => Promise<void>;
  /** Advances second by second. */
  readonly pass: (seconds: number) => Promise<void>;
}

export const firstCommit = 'a'.repeat(40);

/** Runs `play` with a configuration; everything is stopped afterwards. */
export async function inWorld<T>(
  config: RunConfig,
  play: (effect: EffectWorld) => Promise<T>,
  { settings, publisher }: { readonly settings?: Settings; readonly publisher?: Publisher } = {},
): Promise<T> {
  const clock = new FakeClock();
  const world = new FakeWorld(clock);
  if (settings !== undefined) world.settings = settings;
  world.git.push(firstCommit, [configMap('one')]);
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i += 1) await clock.advance(1000);
  };
  const start = async (): Promise<void> => {
    const options = publisher === undefined ? {} : { publisher };
    world.replica({ config: controllerConfig(config, 'argocd'), ...options });
    await clock.advance(2000);
  };
  try {
    return await play({ world, clock, start, pass });
  } finally {
    await world.close(clock);
  }
}

/** Settings of an argocd-cm with these keys. */
export function settingsOf(data: Readonly<Record<string, string>>): Settings {
  return parseSettings(data).settings;
}

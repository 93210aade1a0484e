import { expect } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import { FakeClock } from '#support';
import { PromMetrics, silentLogger } from '#telemetry';
import { createSettingsStore } from '../store.ts';
import type { SettingsStoreDeps } from '../store.ts';
import type { SettingsStore } from '../types.ts';
import { FakeHub } from './fake-hub.ts';

type Change = Parameters<Parameters<SettingsStore['onChange']>[0]>[0];

export type CompileScripts = NonNullable<SettingsStoreDeps['healthScripts']>;

export const suspending: CompileScripts = (overrides) => ({
  run: (_group, { kind }) => (overrides[kind]?.healthLua === undefined ? undefined : { status: 'Suspended' }),
});

export interface SettingsWorld {
  readonly hub: FakeHub;
  readonly clock: FakeClock;
  readonly store: SettingsStore;
  readonly metrics: PromMetrics;
  readonly changes: Change[];
  readonly stop: () => Promise<void>;
}

/** A settings store on a hub in memory. */
export async function settingsWorld(
  prepare: (hub: FakeHub) => void = () => undefined,
  healthScripts: CompileScripts = suspending,
): Promise<SettingsWorld> {
  const hub = new FakeHub();
  prepare(hub);
  const clock = new FakeClock();
  const metrics = new PromMetrics();
  const store = createSettingsStore({
    client: hub.client(),
    namespace: 'argocd',
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    inClusterConnection: { server: 'https://10.0.0.1', insecure: false, credentials: {} },
    healthScripts,
    metrics,
  });
  const changes: Change[] = [];
  store.onChange((change) => changes.push(change));
  const controller = new AbortController();
  const running = store.run(controller.signal);
  await store.ready?.(controller.signal);
  await clock.settle();
  const stop = async (): Promise<void> => {
    controller.abort(new Shutdown());
    await running;
    expect(clock.pending).toBe(0);
  };
  return { hub, clock, store, metrics, changes, stop };
}

/** The data of a cluster Secret. */
export const cluster = (name: string, token = 't'): Record<string, string> => ({
  server: `https://${name}`,
  name,
  config: JSON.stringify({ bearerToken: token }),
});

import { beforeEach, expect, it } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import { FakeClock } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { FakeHub } from './testing/fake-hub.ts';
import { createSettingsStore } from './store.ts';
import { createSettingsWriter } from './settings-writer.ts';

const key = 'resource.exclusions';
const good = { [key]: '- kinds: [Secret]\n' };

let hub: FakeHub;
let clock: FakeClock;

beforeEach(() => {
  hub = new FakeHub();
  clock = new FakeClock();
});

interface LoudStore {
  readonly lines: string[];
  readonly problems: () => readonly string[];
  readonly gauge: (name: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

async function start(): Promise<LoudStore> {
  const lines: string[] = [];
  const metrics = new PromMetrics();
  const store = createSettingsStore({
    client: hub.client(),
    namespace: 'argocd',
    clock,
    random: seededRandom(1),
    logger: createLogger({ level: 'warn', format: 'json', destination: { write: (line) => void lines.push(line) } }),
    writer: createSettingsWriter(hub.client()),
    metrics,
  });
  const end = new AbortController();
  const running = store.run(end.signal);
  await clock.advance(40_000);
  return {
    lines,
    problems: () => store.problems().map(({ object, message }) => `${object}: ${message}`),
    gauge: async (name) => {
      const text = await metrics.expose();
      return text.split('\n').find((line) => line.startsWith(name)) ?? '';
    },
    stop: async () => {
      end.abort(new Shutdown());
      await running;
    },
  };
}

const eventsWritten = (): number => hub.written.filter((name) => name.startsWith('Event ')).length;

function lastEvent(): { readonly reason: string; readonly message: string; readonly involvedObject: object } {
  const name = hub.written.findLast((one) => one.startsWith('Event '))?.slice('Event '.length) ?? '';
  return hub.find('Event', name) as unknown as ReturnType<typeof lastEvent>;
}

it('an argocd-cm that vanishes is an error in the log, an Event, a metric and a problem, until it is back', async () => {
  hub.put('ConfigMap', 'argocd-cm', good);
  const store = await start();
  expect([store.lines, store.problems(), eventsWritten()]).toEqual([[], [], 0]);
  expect(await store.gauge('driftless_settings_vanished_seconds')).toMatch(/ 0$/);
  hub.remove('ConfigMap', 'argocd-cm');
  await clock.advance(5000);
  expect(store.lines.join('')).toContain('argocd-cm was deleted: the settings that were last in force stay in force');
  expect(store.problems()).toEqual([expect.stringContaining('ConfigMap argocd-cm: it was deleted (noticed at ')]);
  expect(await store.gauge('driftless_settings_vanished_seconds')).toMatch(/ 5$/);
  const involvedObject = { kind: 'ConfigMap', namespace: 'argocd', name: 'argocd-cm' };
  expect(lastEvent()).toMatchObject({ reason: 'SettingsVanished', type: 'Warning', involvedObject });
  hub.put('ConfigMap', 'argocd-cm', good);
  await clock.settle();
  expect(store.problems()).toEqual([]);
  expect(await store.gauge('driftless_settings_vanished_seconds')).toMatch(/ 0$/);
  await store.stop();
});

it('a key that becomes unreadable is told in the same ways, with the line and what holds now', async () => {
  hub.put('ConfigMap', 'argocd-cm', good);
  const store = await start();
  hub.put('ConfigMap', 'argocd-cm', { [key]: '- kinds: Secret\n' });
  await clock.settle();
  const text = `argocd-cm ${key} cannot be read: line 1: kinds must be a list of texts; its last readable value stays in force`;
  expect(store.lines.join('')).toContain(text);
  expect(store.problems()).toEqual([`ConfigMap argocd-cm: ${text}`]);
  expect(lastEvent()).toMatchObject({ reason: 'SettingUnreadable', message: text });
  expect(await store.gauge('driftless_setting_unreadable')).toContain(`key="${key}",kept="true"`);
  await store.stop();
});

it('is told once in ten minutes, and by all replicas in one Event', async () => {
  hub.put('ConfigMap', 'argocd-cm', good);
  const [first, second] = [await start(), await start()];
  const flip = async (): Promise<void> => {
    hub.put('ConfigMap', 'argocd-cm', { [key]: '- kinds: Secret\n' });
    await clock.settle();
    hub.put('ConfigMap', 'argocd-cm', good);
    await clock.settle();
  };
  for (let i = 0; i < 100; i += 1) await flip();
  expect([first.lines.length, second.lines.length]).toEqual([1, 1]);
  expect(new Set(hub.written.filter((name) => name.startsWith('Event '))).size).toBe(1);
  expect(eventsWritten()).toBe(2);
  await clock.advance(600_000);
  await flip();
  expect([first.lines.length, second.lines.length]).toEqual([2, 2]);
  await Promise.all([first.stop(), second.stop()]);
});

it('settings that a restart would forget are a metric and a problem that names the missing right', async () => {
  hub.put('ConfigMap', 'argocd-cm', good);
  hub.forbidden = 'driftless-settings';
  const store = await start();
  expect(store.problems()).toEqual([
    expect.stringContaining('grant the controller get, create and update on ConfigMap'),
  ]);
  expect(await store.gauge('driftless_settings_unkept')).toMatch(/ 1$/);
  hub.forbidden = '';
  await clock.advance(120_000);
  expect(store.problems()).toEqual([]);
  expect(await store.gauge('driftless_settings_unkept')).toMatch(/ 0$/);
  await store.stop();
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hashJson, seededRandom, Shutdown } from '#base';
import { KubeApiError } from '#kube';
import type { KubeClient } from '#kube';
import { FakeClock } from '#support';
import type { LastSettings } from './in-force.ts';
import { KeptSettings } from './kept-settings.ts';
import { createSettingsWriter } from './settings-writer.ts';
import { FakeHub } from './testing/fake-hub.ts';
import type { SettingsWriter } from './types.ts';

type Data = Readonly<Record<string, string>>;

const old = { installationID: 'old' };
const fresh = { installationID: 'new' };
const name = 'driftless-settings';

let hub: FakeHub;
let clock: FakeClock;
let end: AbortController;
let read: LastSettings[];

beforeEach(() => {
  [hub, clock, end, read] = [new FakeHub(), new FakeClock(), new AbortController(), []];
});
afterEach(async () => {
  end.abort(new Shutdown());
  await clock.settle();
  expect(clock.pending).toBe(0);
});

const hash = (data: Data): Data => ({ 'driftless.io/settings-hash': hashJson(data) });

function keep(data: Data, version: string, more: Data = hash(data)): void {
  const annotations = { ...more, 'driftless.io/settings-version': version };
  hub.put('ConfigMap', name, data, {
    more: { metadata: { name, namespace: 'argocd', resourceVersion: '1', annotations } },
  });
}

async function start(
  writer: SettingsWriter = createSettingsWriter(hub.client()),
  client: Pick<KubeClient, 'get'> = hub.client(),
  keptAnnotations: Data = {},
): Promise<KeptSettings> {
  const onRead = (last: LastSettings): void => void read.push(last);
  const random = seededRandom(1);
  const kept = new KeptSettings({ client, namespace: 'argocd', clock, random, writer, keptAnnotations, onRead });
  void kept.run(end.signal);
  await clock.settle();
  return kept;
}

const stored = (): unknown => hub.find('ConfigMap', name)?.['data'];

describe('the settings that are kept for a restart', () => {
  it.each([
    ['9', '10', fresh],
    ['10', '9', old],
    ['10', '10', old],
  ])('of version %s, offered %s: only newer ones are written', async (kept, offered, expected) => {
    keep(old, kept);
    const settings = await start();
    settings.offer(fresh, offered);
    await clock.advance(5000);
    expect([read, stored()]).toEqual([[old], expected]);
  });

  it('are not written again for a newer argocd-cm with the same content', async () => {
    keep(old, '1');
    const settings = await start();
    settings.offer(old, '2');
    await clock.advance(5000);
    expect(hub.written).toEqual([]);
  });

  it('bring annotations of the start with them, once', async () => {
    keep(old, '9', { ...hash(old), 'example.com/note': 'mine' });
    const settings = await start(undefined, undefined, { 'driftless.io/more': 'a', 'driftless.io/none': '' });
    const annotations = (): unknown => hub.find('ConfigMap', name)?.metadata.annotations;
    // Older settings do not replace newer ones, but the annotations are not theirs.
    settings.offer(fresh, '3');
    await clock.advance(5000);
    const kept = { ...hash(old), 'driftless.io/settings-version': '9', 'example.com/note': 'mine' };
    expect([stored(), annotations()]).toEqual([old, { ...kept, 'driftless.io/more': 'a', 'driftless.io/none': '' }]);
    keep(old, '9', { ...hash(old), 'driftless.io/more': 'of a replica that started later' });
    settings.offer(fresh, '10');
    await clock.advance(5000);
    expect([stored(), annotations()]).toEqual([
      fresh,
      {
        ...hash(fresh),
        'driftless.io/settings-version': '10',
        'driftless.io/more': 'of a replica that started later',
      },
    ]);
  });

  it('are not written again for annotations that are kept already', async () => {
    keep(old, '9', { ...hash(old), 'driftless.io/more': 'a' });
    const settings = await start(undefined, undefined, { 'driftless.io/more': 'a', 'driftless.io/none': '' });
    settings.offer(old, '9');
    await clock.advance(5000);
    expect(hub.written).toEqual([]);
  });

  it('keep the annotations of others', async () => {
    keep(old, '1', { ...hash(old), 'example.com/note': 'mine' });
    const settings = await start();
    settings.offer(fresh, '2');
    await clock.advance(5000);
    expect(stored()).toEqual(fresh);
    expect(hub.find('ConfigMap', name)?.metadata.annotations).toMatchObject({ 'example.com/note': 'mine' });
  });

  it('are unknown, not none, when somebody changed them', async () => {
    keep(old, '1', hash(fresh));
    const settings = await start();
    expect(read).toEqual(['unknown']);
    expect(settings.problem()).toContain('its content does not match its hash');
    settings.offer(fresh, '2');
    await clock.advance(5000);
    expect([stored(), settings.problem()]).toEqual([fresh, undefined]);
  });

  it('are unknown when the API server does not answer for 30 seconds', async () => {
    const silent = { get: () => new Promise<never>(() => undefined) };
    const settings = await start(createSettingsWriter(hub.client()), silent);
    await clock.advance(29_000);
    expect(read).toEqual([]);
    await clock.advance(2000);
    expect(read).toEqual(['unknown']);
    expect(settings.problem()).toContain('the API server does not answer');
  });

  it('are tried again ever more slowly while other replicas win', async () => {
    let attempts = 0;
    const conflict = new KubeApiError({ code: 409, reason: 'Conflict', message: 'changed' }, 'PUT');
    const settings = await start({
      keep: () => {
        attempts += 1;
        return Promise.reject(conflict);
      },
      record: () => Promise.resolve(),
    });
    settings.offer(fresh, '2');
    await clock.advance(60_000);
    expect(attempts).toBeGreaterThan(2);
    expect(attempts).toBeLessThan(10);
    expect(settings.problem()).toBeUndefined();
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hashJson, seededRandom, Shutdown } from '#base';
import type { KubeObject, Settings } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { ObservedSettings } from './observed-settings.ts';
import { FakeHub } from './testing/fake-hub.ts';

type Data = Readonly<Record<string, string>>;

const keptName = 'driftless-settings';
const key = 'application.resourceTrackingMethod';
const good = { [key]: 'label' };
const bad = { [key]: 'lable' };

let hub: FakeHub;
let clock: FakeClock;
let end: AbortController;
let used: Settings | undefined;
let written: KubeObject[];

beforeEach(() => {
  [hub, clock, end, used, written] = [new FakeHub(), new FakeClock(), new AbortController(), undefined, []];
});
afterEach(async () => {
  end.abort(new Shutdown());
  await clock.settle();
});

const configMap = (data: Data, resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd', resourceVersion },
  data,
});

function keep(data: Data, version: string): void {
  const annotations = { 'driftless.io/settings-hash': hashJson(data), 'driftless.io/settings-version': version };
  hub.put('ConfigMap', keptName, data, { more: { metadata: { name: keptName, namespace: 'argocd', annotations } } });
}

async function start(): Promise<ObservedSettings> {
  const keepObject = (object: KubeObject): Promise<void> => {
    written.push(object);
    return Promise.resolve();
  };
  const observed = new ObservedSettings({
    client: hub.client(),
    namespace: 'argocd',
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    writer: { keep: keepObject, record: () => Promise.resolve() },
    use: (settings) => (used = settings),
  });
  void observed.run(end.signal);
  await clock.settle();
  return observed;
}

describe('the settings in force', () => {
  it('have no last value of a key that is unreadable in the first argocd-cm', async () => {
    const observed = await start();
    observed.observe(undefined);
    observed.observe(configMap(bad, '1'));
    expect(used?.unreadable).toMatchObject([{ key, isKept: false }]);
  });

  it('do not replace newer kept ones while argocd-cm is emptied', async () => {
    const observed = await start();
    observed.observe(configMap(good, '1'));
    await clock.advance(5000);
    expect(written.map((object) => object['data'])).toEqual([good]);
    // Another replica has seen a version that this one has missed.
    keep({ installationID: 'newer' }, '5');
    observed.observe(configMap({}, '7'));
    await clock.advance(60_000);
    expect(used?.tracking.method).toBe('label');
    expect(written).toHaveLength(1);
  });

  it('keep the last value although the kept settings cannot be read', async () => {
    hub.forbidden = keptName;
    const observed = await start();
    observed.observe(configMap(good, '1'));
    await clock.advance(5000);
    observed.observe(configMap(bad, '2'));
    await clock.advance(300_000);
    expect(used?.tracking.method).toBe('label');
    expect(used?.unreadable).toMatchObject([{ key, isKept: true }]);
  });

  it('are the kept ones as soon as those can be read', async () => {
    hub.forbidden = keptName;
    const observed = await start();
    observed.observe(undefined);
    await clock.advance(5000);
    expect(used?.unreadable).toMatchObject([{ key: 'argocd-cm', isKept: false }]);
    keep(good, '1');
    hub.forbidden = '';
    await clock.advance(120_000);
    expect([used?.tracking.method, used?.unreadable]).toEqual(['label', []]);
  });
});

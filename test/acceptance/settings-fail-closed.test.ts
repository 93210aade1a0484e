import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Application } from '#model';
import { automated, config, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture, Replica } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

type Data = Readonly<Record<string, string>>;

const ignoreKey = 'resource.customizations.ignoreDifferences.ConfigMap';
const ignored: Data = { [ignoreKey]: 'jsonPointers:\n- /data/key\n' };

const settingsMap = (data: Data) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd' },
  data,
});

function create(data: Data): void {
  world.hub.store.create(settingsMap(data));
}

function update(data: Data): void {
  world.hub.store.update(settingsMap(data));
}

function remove(): void {
  world.hub.store.delete('', 'ConfigMap', 'argocd', 'argocd-cm');
}

/** The settings that are kept for a restart. */
const keptSettings = (): unknown => world.hub.store.get('', 'ConfigMap', 'argocd', 'driftless-settings')?.['data'];

/** Self-heal without a backoff. */
const atOnce = { selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } };

const warned = (type: string, text: string) => (app: Application) => {
  expect(app.status?.conditions).toEqual(
    expect.arrayContaining([expect.objectContaining({ type, message: expect.stringContaining(text) as unknown })]),
  );
};

const liveKey = (): string | undefined => (world.live('', 'ConfigMap', 'a')?.['data'] as Data | undefined)?.['key'];

/** Starts a self-healing Application whose ConfigMap has a value that an operator set. */
async function startWithIgnoredValue(data: Data = ignored): Promise<Replica> {
  repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
  create(data);
  const replica = await world.replica(atOnce);
  world.application('demo', { ...repo.source(), ...automated });
  await world.until('demo', synced);
  world.tamper('', 'ConfigMap', 'a', { data: { key: 'set by an operator' } });
  await healed(3);
  await eventually(() => expect(keptSettings()).toEqual(data));
  return replica;
}

/** Drift without ignore rules is repaired: a pass has seen all that happened before. */
async function healed(replicas: number): Promise<void> {
  const spec = (): { replicas?: number } => world.live('apps', 'Deployment', 'web')?.['spec'] as object;
  world.tamper('apps', 'Deployment', 'web', { spec: { ...spec(), replicas } });
  await eventually(() => expect(spec().replicas).toBe(2), 20_000);
}

/** Two of the ways in which a key is unreadable; settings/fail-closed.test.ts has all of them. */
const unreadable: readonly (readonly [string, Data, Data])[] = [
  ['a text instead of a list', ignored, { [ignoreKey]: 'jsonPointers: /data/key' }],
  [
    'bad YAML inside resource.customizations',
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n    jsonPointers:\n    - /data/key\n' },
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n    jsonPointers: [/data/key\n' },
  ],
];

describe('an ignored value stays', () => {
  it('while argocd-cm is deleted and created again', async () => {
    await startWithIgnoredValue();
    remove();
    await healed(4);
    await healed(5);
    expect(liveKey()).toBe('set by an operator');
    create(ignored);
    await healed(4);
    expect(liveKey()).toBe('set by an operator');
  }, 60_000);

  it.each(unreadable)(
    'when its key becomes unreadable: %s',
    async (_title, before, after) => {
      await startWithIgnoredValue(before);
      update(after);
      await world.until('demo', warned('IgnoreRuleWarning', 'Its last readable value stays in force: fix the key'));
      await healed(4);
      await healed(5);
      expect(liveKey()).toBe('set by an operator');
      await world.until('demo', synced);
      update(before);
      await world.until('demo', (app) => expect(app.status?.conditions ?? []).toEqual([]));
    },
    60_000,
  );

  it('after restarts while argocd-cm is deleted, and while its key is unreadable', async () => {
    const first = await startWithIgnoredValue();
    remove();
    await first.stop();
    const second = await world.replica(atOnce);
    await healed(4);
    expect(liveKey()).toBe('set by an operator');
    create({ [ignoreKey]: 'jsonPointers: /data/key' });
    await second.stop();
    await world.replica(atOnce);
    await healed(5);
    expect(liveKey()).toBe('set by an operator');
    await world.until('demo', warned('IgnoreRuleWarning', 'Its last readable value stays in force'));
  }, 60_000);

  it('while argocd-cm flips many times a second', async () => {
    await startWithIgnoredValue();
    const states = [() => remove(), () => create({}), () => update({ [ignoreKey]: 'a: [' }), () => update(ignored)];
    for (let i = 0; i < 400; i += 1) {
      states[i % states.length]?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await healed(4);
    expect(liveKey()).toBe('set by an operator');
    await world.until('demo', synced);
  }, 60_000);

  it('until its rule is removed by an edit, which holds at once', async () => {
    await startWithIgnoredValue();
    update({ url: 'https://argocd.example.com' });
    await eventually(() => expect(liveKey()).toBe('1'), 20_000);
  }, 60_000);

  it('until an administrator confirms that argocd-cm is empty on purpose', async () => {
    await startWithIgnoredValue();
    remove();
    await healed(4);
    const { metadata, ...rest } = settingsMap({});
    const annotations = { 'driftless.io/empty-on-purpose': 'true' };
    world.hub.store.create({ ...rest, metadata: { ...metadata, annotations } });
    await eventually(() => expect(liveKey()).toBe('1'), 20_000);
  }, 60_000);
});

describe('at a first start', () => {
  it('without argocd-cm the defaults hold', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    expect(keptSettings()).toBeUndefined();
  });

  it('a rule that cannot be read leaves resources of its kind alone, and creates missing ones', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b'), 'app/web.yaml': deployment() });
    const first = await world.replica(atOnce);
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    await first.stop();
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'set by an operator' } });
    world.cluster.store.delete('', 'ConfigMap', 'apps', 'b');
    create({ [ignoreKey]: 'jsonPointers: /data/key' });
    await world.replica(atOnce);
    const named = `argocd-cm ${ignoreKey} cannot be read: line 1: jsonPointers must be a list of texts`;
    await world.until('demo', (app) => {
      warned('IgnoreRuleWarning', named)(app);
      expect(app.status?.sync?.status).toBe('Unknown');
    });
    // No ignore rule prevents that a missing resource is created.
    await eventually(() => expect(world.live('', 'ConfigMap', 'b')).toMatchObject({ data: { key: '1' } }), 20_000);
    expect(liveKey()).toBe('set by an operator');
    update(ignored);
    await world.until('demo', synced);
    expect(liveKey()).toBe('set by an operator');
  }, 60_000);

  it.each([
    ['application.resourceTrackingMethod', 'lable'],
    ['resource.exclusions', '- kinds: Secret'],
    ['globalProjects', 'deny'],
  ])(
    'nothing is synced or deleted while %s cannot be read: %s',
    async (key, text) => {
      repo.commit({ 'app/a.yaml': config('a') });
      const first = await world.replica();
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced);
      const finalizers = ['resources-finalizer.argocd.argoproj.io'];
      world.application('gone', repo.source({ path: 'other' }), { finalizers });
      await first.stop();
      world.cluster.store.delete('', 'ConfigMap', 'apps', 'a');
      create({ [key]: text });
      await world.replica();
      const named = `argocd-cm ${key} cannot be read: `;
      await world.until('demo', (app) => {
        warned('SettingsError', named)(app);
        expect(app.status?.sync?.status).toBe('Unknown');
      });
      world.sync('demo');
      world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'gone');
      await world.until('gone', warned('DeletionError', named));
      await world.until('demo', (app) => expect(app.status?.operationState?.phase).toBe('Running'));
      expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
      update({ url: 'https://argocd.example.com' });
      await world.until('demo', synced, 20_000);
      await eventually(() => expect(world.app('gone')).toBeUndefined(), 20_000);
    },
    60_000,
  );
});

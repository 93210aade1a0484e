import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
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

const liveKey = (): string | undefined => (world.live('', 'ConfigMap', 'a')?.['data'] as Data | undefined)?.['key'];

/** Starts a self-healing Application whose ConfigMap has a value that an operator set. */
async function startWithIgnoredValue(data: Data = ignored): Promise<Replica> {
  repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
  create(data);
  const replica = await world.replica();
  world.application('demo', { ...repo.source(), ...automated });
  await world.until('demo', synced);
  world.tamper('', 'ConfigMap', 'a', { data: { key: 'set by an operator' } });
  await healed(3);
  return replica;
}

/** Drift without ignore rules is repaired: a pass has seen all that happened before. */
async function healed(replicas: number): Promise<void> {
  const spec = (): { replicas?: number } => world.live('apps', 'Deployment', 'web')?.['spec'] as object;
  world.tamper('apps', 'Deployment', 'web', { spec: { ...spec(), replicas } });
  await eventually(() => expect(spec().replicas).toBe(2), 20_000);
}

const unreadable: readonly (readonly [string, Data, Data])[] = [
  ['a text instead of a list', ignored, { [ignoreKey]: 'jsonPointers: /data/key' }],
  ['bad YAML', ignored, { [ignoreKey]: 'jsonPointers:\n- "/data/key' }],
  [
    'bad YAML in the key for all kinds',
    { 'resource.customizations.ignoreDifferences.all': 'jsonPointers:\n- /data/key\n' },
    { 'resource.customizations.ignoreDifferences.all': 'jsonPointers: [/data/key' },
  ],
  [
    'bad YAML in resource.customizations',
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n    jsonPointers:\n    - /data/key\n' },
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n  jsonPointers:\n   - /data/key\n - x' },
  ],
  [
    'bad YAML inside resource.customizations',
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n    jsonPointers:\n    - /data/key\n' },
    { 'resource.customizations': 'ConfigMap:\n  ignoreDifferences: |\n    jsonPointers: [/data/key\n' },
  ],
];

describe('an ignored value stays', () => {
  it('while argocd-cm is deleted', async () => {
    await startWithIgnoredValue();
    remove();
    await healed(4);
    await healed(5);
    expect(liveKey()).toBe('set by an operator');
  }, 60_000);

  it('while argocd-cm is deleted and created again', async () => {
    await startWithIgnoredValue();
    remove();
    await healed(4);
    create(ignored);
    await healed(5);
    expect(liveKey()).toBe('set by an operator');
  }, 60_000);

  it.each(unreadable)(
    'when its key becomes unreadable: %s',
    async (_title, before, after) => {
      await startWithIgnoredValue(before);
      update(after);
      await healed(4);
      await healed(5);
      expect(liveKey()).toBe('set by an operator');
    },
    60_000,
  );
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import { automated, config, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

type Data = Readonly<Record<string, unknown>>;

const ignoreKey = 'resource.customizations.ignoreDifferences.ConfigMap';
const argocdCm: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd' },
  data: { [ignoreKey]: 'jsonPointers:\n- /data/key\n' },
};
const waves = ['one', 'two', 'three'];
const atOnce = { selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } };

/** The two objects whose content decides what is written, and where. */
const objects = (): readonly KubeObject[] => {
  const found = world.hub.store.get('', 'Secret', 'argocd', 'cluster-dest');
  if (found === undefined) throw new Error('no cluster Secret');
  return [{ ...found, metadata: omit(found.metadata, 'resourceVersion', 'uid') }, argocdCm];
};

const put = (object: KubeObject): void => {
  const { kind } = object;
  const name = object.metadata.name ?? '';
  if (world.hub.store.get('', kind, 'argocd', name) === undefined) world.hub.store.create(object);
  else world.hub.store.update(object);
};
const remove = ({ kind, metadata }: KubeObject): void =>
  world.hub.store.delete('', kind, 'argocd', metadata.name ?? '');
const withData = (object: KubeObject, change: (data: Data) => Data): KubeObject => ({
  ...object,
  data: change(object['data'] as Data),
});
const each = (data: Data, value: string): Data => Object.fromEntries(Object.keys(data).map((key) => [key, value]));

/** Bad contents of an object; `undefined`: it is deleted. */
const badInputs: Readonly<Record<string, (object: KubeObject) => KubeObject | undefined>> = {
  deleted: () => undefined,
  emptied: (object) => withData(object, () => ({})),
  garbled: (object) => withData(object, (data) => each(data, object.kind === 'Secret' ? '/w==' : 'a: [')),
  'of another type': (object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { 'argocd.argoproj.io/secret-type': 'repository' } },
  }),
};
const cases = Object.entries(badInputs);

/** Puts bad content in place of the good one, many times a second, and the good one back. */
async function disturb(change: (object: KubeObject) => KubeObject | undefined): Promise<void> {
  const good = objects();
  for (let i = 0; i < 60; i += 1) {
    for (const object of good) {
      const bad = i % 3 === 2 ? object : change(object);
      if (bad !== undefined) put(bad);
      else if (world.hub.store.get('', object.kind, 'argocd', object.metadata.name ?? '') !== undefined) remove(object);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const object of good) put(object);
}

const image = (name: string): unknown => JSON.stringify(world.live('apps', 'Deployment', name)?.['spec'] ?? {});
const files = (tag: string): Record<string, string> => ({
  'app/a.yaml': config('a'),
  ...Object.fromEntries(waves.map((name, wave) => [`app/${name}.yaml`, deployment(`nginx:${tag}`, { name, wave })])),
});

async function startSynced(metadata: object = {}): Promise<void> {
  repo.commit(files('1'));
  put(argocdCm);
  await world.replica(atOnce);
  const syncPolicy = { ...automated.syncPolicy, syncOptions: ['RespectIgnoreDifferences=true'] };
  world.application('demo', { ...repo.source(), syncPolicy }, metadata);
  await world.until('demo', synced);
  world.tamper('', 'ConfigMap', 'a', { data: { key: 'set by an operator' } });
}

describe('bad content of the cluster Secret and of argocd-cm, 60 times', () => {
  it.each(cases)(
    '%s, in the middle of a sync: it ends, and an ignored value stays',
    async (_title, change) => {
      await startSynced();
      repo.commit(files('2'));
      world.refresh('demo');
      await eventually(() => expect(image('one')).toContain('nginx:2'), 30_000);
      await disturb(change);
      await eventually(() => waves.forEach((name) => expect(image(name)).toContain('nginx:2')), 60_000);
      await world.until('demo', synced);
      expect(world.live('', 'ConfigMap', 'a')?.['data']).toEqual({ key: 'set by an operator' });
    },
    120_000,
  );

  it.each(cases)(
    '%s, in the middle of a cascade: nothing is left behind',
    async (_title, change) => {
      await startSynced({ finalizers: ['resources-finalizer.argocd.argoproj.io'] });
      world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
      await disturb(change);
      await eventually(() => expect(world.app('demo')).toBeUndefined(), 90_000);
      expect(waves.flatMap((name) => world.live('apps', 'Deployment', name) ?? [])).toEqual([]);
      expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    },
    120_000,
  );
});

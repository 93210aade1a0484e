import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defined } from '#base';
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

describe('an Application that is deleted', () => {
  it('deletes its resources if it has the finalizer', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
    await world.replica();
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('demo', { ...repo.source(), ...automated }, { finalizers });
    await world.until('demo', synced);
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await eventually(() => expect(world.app('demo')).toBeUndefined());
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    expect(world.live('apps', 'Deployment', 'web')).toBeUndefined();
  });

  it('keeps its resources without the finalizer, and always those with Delete=false', async () => {
    const keep = { 'argocd.argoproj.io/sync-options': 'Delete=false' };
    repo.commit({ 'app/a.yaml': config('a'), 'kept/b.yaml': config('b', '1', keep), 'kept/c.yaml': config('c') });
    await world.replica();
    world.application('bare', { ...repo.source(), ...automated });
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('kept', { ...repo.source({ path: 'kept' }), ...automated }, { finalizers });
    await world.until('bare', synced);
    await world.until('kept', synced);
    for (const name of ['bare', 'kept']) world.hub.store.delete('argoproj.io', 'Application', 'argocd', name);
    await eventually(() => expect([world.app('bare'), world.app('kept')]).toEqual([undefined, undefined]));
    expect(['a', 'b', 'c'].map((name) => world.live('', 'ConfigMap', name) !== undefined)).toEqual([true, true, false]);
  });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Changes the data of the cluster Secret; null removes a key. */
function editSecret(data: Readonly<Record<string, string | null>>, labels?: Record<string, string>): void {
  const secret = structuredClone(world.hub.store.get('', 'Secret', 'argocd', 'cluster-dest')!);
  const before = secret['data'] as Record<string, string>;
  const after = { ...before, ...Object.fromEntries(Object.entries(data).map(([k, v]) => [k, v && base64(v)])) };
  Object.assign(secret, { data: Object.fromEntries(Object.entries(after).filter(([, value]) => value !== null)) });
  if (labels !== undefined) Object.assign(secret.metadata, { labels });
  world.hub.store.update(secret);
}

describe('a cascade while its cluster cannot be resolved', () => {
  const secretLabels = { 'argocd.argoproj.io/secret-type': 'cluster' };
  const secretOf = (): KubeObject => structuredClone(world.hub.store.get('', 'Secret', 'argocd', 'cluster-dest')!);
  const destination = (change: object): void =>
    world.edit('demo', (object) => {
      Object.assign(object['spec'] as object, { destination: { namespace: 'apps', ...change } });
    });
  const clusterUrl = (): string => world.cluster.url;
  let kept: KubeObject;
  const deleteSecret = (): void => {
    kept = secretOf();
    world.hub.store.delete('', 'Secret', 'argocd', 'cluster-dest');
  };
  const createSecret = (): void => {
    const { name, namespace, labels } = kept.metadata;
    world.hub.store.create({ ...kept, metadata: { ...defined({ name, namespace, labels }) } });
  };

  it.each<[string, 'server' | 'name', () => void, () => void, string]>([
    [
      'the key config is truncated',
      'server',
      () => editSecret({ config: '{"bearerToken":"x' }),
      () => editSecret({ config: '{}' }),
      'Secret argocd/cluster-dest cannot be read: the key "config" is not valid JSON',
    ],
    [
      'the key server is empty',
      'server',
      () => editSecret({ server: '' }),
      () => editSecret({ server: clusterUrl() }),
      'Secret argocd/cluster-dest cannot be read: the key "server" is missing or empty',
    ],
    [
      'the key server is missing',
      'name',
      () => editSecret({ server: null }),
      () => editSecret({ server: clusterUrl() }),
      'Secret argocd/cluster-dest cannot be read: the key "server" is missing or empty',
    ],
    [
      'the type label is gone',
      'server',
      () => editSecret({}, {}),
      () => editSecret({}, secretLabels),
      'Secret argocd/cluster-dest, which had this cluster, was deleted, or lost its label',
    ],
    [
      'the Secret is being created again',
      'server',
      deleteSecret,
      createSecret,
      'Secret argocd/cluster-dest, which had this cluster, was deleted, or lost its label',
    ],
    [
      'two Secrets have its name',
      'name',
      () => world.addCluster('twin', 'https://twin.invalid', { name: 'dest' }),
      () => world.hub.store.delete('', 'Secret', 'argocd', 'cluster-twin'),
      'there are 2 clusters with the same name',
    ],
    [
      'the name was changed',
      'name',
      () => editSecret({ name: 'prod' }),
      () => editSecret({ name: 'dest' }),
      'Secret argocd/cluster-dest, which had this cluster, now has another server or name',
    ],
    [
      'its destination has both name and server',
      'server',
      () => destination({ server: clusterUrl(), name: 'dest' }),
      () => destination({ server: clusterUrl() }),
      "application destination can't have both name and server defined",
    ],
    [
      'its destination has neither name nor server',
      'server',
      () => destination({}),
      () => destination({ server: clusterUrl() }),
      'Destination server missing from app spec',
    ],
    [
      'its URL is in capitals',
      'server',
      () => destination({ server: clusterUrl().toUpperCase() }),
      () => destination({ server: clusterUrl() }),
      'the destination may mean cluster',
    ],
  ])('waits and reports it, and deletes its resources later: %s', async (_title, by, breakIt, repair, why) => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    const to = by === 'name' ? { destination: { name: 'dest', namespace: 'apps' } } : {};
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('demo', { ...repo.source(), ...automated, ...to }, { finalizers });
    await world.until('demo', synced);
    breakIt();
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await world.until('demo', ({ status }) => {
      const shown = status?.conditions?.find(({ type }) => type === 'DeletionError')?.message;
      expect(shown).toContain(why);
      expect(shown).toContain('may still exist there');
    });
    expect(world.live('', 'ConfigMap', 'a')).toBeDefined();
    repair();
    await eventually(() => expect(world.app('demo')).toBeUndefined(), 20_000);
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
  });
});

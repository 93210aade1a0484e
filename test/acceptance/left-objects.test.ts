import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application, KubeObject } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;
let deletions: string[];

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  deletions = [];
  world.cluster.store.subscribe(({ type, object }) => {
    if (type === 'DELETED') deletions.push(`${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`);
  });
});
afterEach(() => world.close());

const inNamespace = (name: string, namespace: string): string =>
  config(name).replace(`name: ${name}`, `name: ${name}\n  namespace: ${namespace}`);
const left = (text: string) => (app: Application) => {
  const warnings = (app.status?.conditions ?? []).filter(({ type }) => type === 'KeptResourceWarning');
  expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining(text)]);
  expect(app.status?.sync?.status).toBe('OutOfSync');
};
const withoutWarning = (app: Application): void => {
  synced(app);
  expect(app.status?.conditions ?? []).toEqual([]);
};

function project(spec: object): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'team', namespace: 'argocd' },
    spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }], ...spec },
  };
}
const argocdCm = (data: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd' },
  data: data,
});

async function start(spec: object = {}): Promise<void> {
  await world.replica();
  world.application('demo', { ...repo.source(), ...automated, ...spec });
  await world.until('demo', synced);
}

describe('an object that leaves Git', () => {
  it.each<[string, object]>([
    ['in a namespace', { destinations: [{ server: '*', namespace: 'apps' }] }],
    ['of a kind', { namespaceResourceBlacklist: [{ group: '', kind: 'Secret' }] }],
  ])('%s that the project no longer permits is named until it is gone', async (where, spec) => {
    world.cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    world.hub.store.create(project({}));
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: b }\n';
    const [namespace, kind] = where === 'of a kind' ? ['apps', 'Secret'] : ['other', 'ConfigMap'];
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': kind === 'Secret' ? secret : inNamespace('b', namespace) });
    await start({ project: 'team' });
    const { metadata } = world.hub.store.get('argoproj.io', 'AppProject', 'argocd', 'team')!;
    world.hub.store.update({ ...project(spec), metadata });
    repo.commit({ 'app/b.yaml': null });
    world.refresh('demo', 'hard');
    await world.until('demo', left(`${kind}/${namespace}/b (the project team does not permit it)`));
    const { operationState } = (await world.until('demo', left('b (the project'))).status ?? {};
    // Drift of the rest is repaired, and the warning outlasts it.
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'drift' } });
    await world.until('demo', (app) => {
      expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } });
      expect(app.status?.operationState?.startedAt).not.toBe(operationState?.startedAt);
      left('b (the project')(app);
    });
    expect(deletions).toEqual([]);
    world.cluster.store.delete('', kind, namespace, 'b');
    await world.until('demo', withoutWarning);
  });

  it('after a change of the installation ID is named until it loses its mark, and is never deleted', async () => {
    world.hub.store.create(argocdCm({ installationID: 'one' }));
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await start();
    world.hub.store.update(argocdCm({ installationID: 'two' }));
    repo.commit({ 'app/b.yaml': null });
    world.refresh('demo', 'hard');
    await world.until('demo', left('ConfigMap/apps/b (marked by the installation "one")'));
    await world.until('demo', (app) => {
      left('b (marked by')(app);
      const { annotations = {} } = world.live('', 'ConfigMap', 'a')?.metadata ?? {};
      expect(annotations['argocd.argoproj.io/installation-id']).toBe('two');
    });
    expect(deletions).toEqual([]);
    const { metadata } = world.live('', 'ConfigMap', 'b')!;
    world.tamper('', 'ConfigMap', 'b', { metadata: { ...metadata, annotations: {} } });
    world.refresh('demo');
    await world.until('demo', withoutWarning);
    expect(world.live('', 'ConfigMap', 'b')?.metadata.name).toBe('b');
  });

  it('is pruned although somebody has marked it as a hook in the cluster', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await start();
    const { metadata } = world.live('', 'ConfigMap', 'b')!;
    const annotations = { ...metadata.annotations, 'argocd.argoproj.io/hook': 'PreSync' };
    world.tamper('', 'ConfigMap', 'b', { metadata: { ...metadata, annotations } });
    const second = repo.commit({ 'app/b.yaml': null });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.status?.sync?.revision).toBe(second);
      withoutWarning(app);
    });
    expect(deletions).toEqual(['apps/b']);
  });
});

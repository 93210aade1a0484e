import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('an object that leaves Git', () => {
  it('is pruned by an automated sync that may prune', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    const second = repo.commit({ 'app/b.yaml': null });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.status?.sync?.revision).toBe(second);
      synced(app);
    });
    expect(world.live('', 'ConfigMap', 'b')).toBeUndefined();
  });

  it.each([
    ['label', 'annotation'],
    ['annotation', 'label'],
  ])('is pruned although its tracking changed from %s to %s before the next sync', async (before, after) => {
    const argocdCm = (method: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'argocd-cm', namespace: 'argocd' },
      data: { 'application.resourceTrackingMethod': method },
    });
    world.hub.store.create(argocdCm(before));
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    world.hub.store.update(argocdCm(after));
    const second = repo.commit({ 'app/b.yaml': null });
    world.refresh('demo', 'hard');
    await world.until('demo', (app) => {
      expect(app.status?.sync?.revision).toBe(second);
      synced(app);
      expect(world.live('', 'ConfigMap', 'b')).toBeUndefined();
    });
  });

  it.each(['PreSinc', 'PostSync', 'Skip', 'PreDelete'])(
    'is none that others created, and only a manifest that is no resource names: %s',
    async (hook) => {
      const annotations = { 'argocd.argoproj.io/hook': hook, 'argocd.argoproj.io/hook-delete-policy': 'HookFailed' };
      const metadata = { name: 'theirs', namespace: 'apps' };
      world.cluster.store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: 'theirs' } });
      const deletions: string[] = [];
      world.cluster.store.subscribe(({ type, object }) => {
        if (type === 'DELETED') deletions.push(object.metadata.name ?? '');
      });
      repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('theirs', '1', annotations) });
      await world.replica();
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', (app) => {
        expect(app.status?.operationState?.phase).toBe('Succeeded');
        synced(app);
      });
      expect(deletions).toEqual([]);
    },
  );

  it('stays and is reported if the sync policy or the object itself does not allow pruning', async () => {
    const keep = { 'argocd.argoproj.io/sync-options': 'Prune=false' };
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b'), 'app/c.yaml': config('c', '1', keep) });
    await world.replica();
    world.application('careful', { ...repo.source(), syncPolicy: { automated: {} } });
    await world.until('careful', synced);
    repo.commit({ 'app/b.yaml': null, 'app/c.yaml': null });
    world.refresh('careful');
    await world.until('careful', (app) => {
      const rows = app.status?.resources?.filter((row) => row.requiresPruning === true).map((row) => row.name);
      expect([app.status?.sync?.status, rows]).toEqual(['OutOfSync', ['b', 'c']]);
    });
    world.sync('careful', { prune: true });
    await world.until('careful', (app) => {
      expect(app.operation ?? null).toBeNull();
      expect(app.status?.operationState?.phase).toBe('Succeeded');
      expect(world.live('', 'ConfigMap', 'b')).toBeUndefined();
    });
    expect(world.live('', 'ConfigMap', 'c')).toBeDefined();
  });

  it('nothing is pruned when Git suddenly has nothing at all', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    repo.commit({ 'app/a.yaml': null, 'app/README.md': 'empty' });
    world.refresh('demo');
    await world.until('demo', (app) => {
      const texts = (app.status?.conditions ?? []).map(({ message }) => message);
      expect(texts.join()).toContain('auto-sync will wipe out all resources');
    });
    expect(world.live('', 'ConfigMap', 'a')).toBeDefined();
  });

  it('a Namespace with managedNamespaceMetadata stays, and stays Synced', async () => {
    const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: { name: apps, labels: { from: git } }\n';
    repo.commit({ 'app/a.yaml': config('a'), 'app/ns.yaml': namespace });
    await world.replica();
    const syncPolicy = {
      ...automated.syncPolicy,
      syncOptions: ['CreateNamespace=true'],
      managedNamespaceMetadata: { labels: { team: 'a' } },
    };
    world.application('demo', { ...repo.source(), syncPolicy });
    await world.until('demo', synced);
    const commit = repo.commit({ 'app/ns.yaml': null });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.status?.sync?.revision).toBe(commit);
      synced(app);
    });
    expect(world.cluster.store.get('', 'Namespace', '', 'apps')?.metadata.labels).toMatchObject({ team: 'a' });
  });
});

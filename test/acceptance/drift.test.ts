import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

describe('drift', () => {
  it('with self-heal is reverted: deleted objects are recreated, edited ones restored', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);

    world.cluster.store.delete('apps', 'Deployment', 'apps', 'web');
    await eventually(() => expect(world.live('apps', 'Deployment', 'web')).toBeDefined(), 2000);
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 2000);
    await world.until('demo', synced);
  });

  // T-HEAL-5
  it('by another controller, again and again, is reported and then repaired less often', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica({ selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } });
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);

    const web = (): KubeObject => world.live('apps', 'Deployment', 'web') ?? { apiVersion: '', kind: '', metadata: {} };
    const replicas = (): unknown => (web()['spec'] as { readonly replicas?: number } | undefined)?.replicas;
    const scale = (): void => {
      const spec = { ...(web()['spec'] as object), replicas: 4 };
      if (replicas() !== 4) world.cluster.store.update({ ...web(), spec }, { manager: 'argocd-controller' });
    };
    const timer = setInterval(scale, 20);
    try {
      const app = await world.until('demo', ({ status }) => {
        expect(status?.conditions?.map(({ type }) => type)).toEqual(['ContestedResourceWarning']);
      });
      expect(app.status?.conditions?.[0]?.message).toMatch(
        /^Deployment apps\/web: another controller .* changes \/spec\/replicas .* waits 10 minutes/,
      );
      world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
      await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 2000);
      expect(replicas()).toBe(4);
    } finally {
      clearInterval(timer);
    }
    await world.until('demo', (app) => expect(app.operation).toBeUndefined());
    world.sync('demo');
    await eventually(() => expect(replicas()).not.toBe(4), 5000);
  });

  it('without self-heal is reported at once and left alone', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), syncPolicy: { automated: {} } });
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.refresh('demo');
    const app = await world.until('demo', (now) => {
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    });
    expect(app.status?.sync?.status).toBe('OutOfSync');
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: 'tampered' } });
  });

  it('does not include fields and objects that others add and Git does not mention', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: '1', other: 'mine' } });
    world.cluster.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'apps' },
    });
    world.refresh('demo');
    await world.until('demo', (now) => {
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      synced(now);
    });
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1', other: 'mine' } });
    expect(world.live('', 'ConfigMap', 'theirs')).toBeDefined();
  });
});

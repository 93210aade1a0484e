import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import type { Application } from '#model';
import { eventually } from '#support';
import { config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const managing = (labels: object, selfHeal = true): object => ({
  syncPolicy: {
    automated: { selfHeal },
    syncOptions: ['CreateNamespace=true'],
    managedNamespaceMetadata: { labels },
  },
});
const labels = (): object | undefined => world.cluster.store.get('', 'Namespace', '', 'apps')?.metadata.labels;

/** Sets a label of the Namespace by hand; undefined removes it. */
function label(name: string, value: string | undefined): void {
  const live = world.cluster.store.get('', 'Namespace', '', 'apps');
  if (live === undefined) throw new Error('no Namespace');
  const labelled = structuredClone(live);
  const rest = omit(labelled.metadata.labels ?? {}, name);
  const metadata = { ...labelled.metadata, labels: { ...rest, ...(value === undefined ? {} : { [name]: value }) } };
  world.cluster.store.update({ ...labelled, metadata });
}

describe('managedNamespaceMetadata', () => {
  it('heals a label that was removed or changed by hand, without a resource for the Namespace at rest', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...managing({ team: 'a' }) });
    await world.until('demo', synced);
    for (const value of [undefined, 'other']) {
      label('team', value);
      await world.until('demo', (app) => {
        synced(app);
        expect(labels()).toMatchObject({ team: 'a' });
        expect(app.status?.resources?.map(({ kind }) => kind)).toEqual(['ConfigMap']);
      });
    }
  });

  it('shows a removed label as a Namespace that is OutOfSync', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...managing({ team: 'a' }, false) });
    await world.until('demo', synced);
    label('team', undefined);
    await world.until('demo', (app) => {
      expect(app.status?.sync?.status).toBe('OutOfSync');
      const rows = app.status?.resources?.map(({ kind, status, requiresPruning }) => [kind, status, requiresPruning]);
      expect(rows).toContainEqual(['Namespace', 'OutOfSync', undefined]);
    });
  });

  it('leaves the Namespace behind, and ends, when the Application is deleted while a label differs', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    const instance = { team: 'a', 'app.kubernetes.io/instance': 'demo' };
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('demo', { ...repo.source(), ...managing(instance, false) }, { finalizers });
    await world.until('demo', synced);
    label('team', undefined);
    await world.until('demo', (app) => expect(app.status?.resources?.map(({ kind }) => kind)).toContain('Namespace'));
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await eventually(() => expect(world.app('demo')).toBeUndefined(), 60_000);
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    expect(labels()).toMatchObject({ 'app.kubernetes.io/instance': 'demo' });
  });

  it('of two Applications stays, each with its own keys', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'other/b.yaml': config('b') });
    await world.replica();
    world.application('one', { ...repo.source(), ...managing({ one: '1' }) });
    await world.until('one', synced);
    world.application('two', { ...repo.source({ path: 'other' }), ...managing({ two: '2' }) });
    await world.until('two', synced);
    expect(labels()).toMatchObject({ one: '1', two: '2' });
    world.edit('two', (app) => Object.assign((app as unknown as { spec: object }).spec, managing({ three: '3' })));
    await world.until('two', (app) => {
      synced(app);
      expect(labels()).toMatchObject({ one: '1', three: '3' });
      expect(labels()).not.toHaveProperty('two');
    });
    await world.until('one', synced);
  });

  it('with two values for one label is one warning that names both Applications, and nobody fights', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'other/b.yaml': config('b') });
    await world.replica();
    world.application('one', { ...repo.source(), ...managing({ team: 'a' }) });
    world.application('two', { ...repo.source({ path: 'other' }), ...managing({ team: 'b' }) });
    const warned = (app: Application): void => {
      synced(app);
      const shared = (app.status?.conditions ?? []).filter(({ type }) => type === 'SharedResourceWarning');
      expect(shared.map(({ message }) => message)).toEqual([expect.stringMatching(/one.*two|two.*one/)]);
      expect(shared[0]?.message).toContain('metadata.labels.team');
    };
    for (const name of ['one', 'two']) {
      await world.until(name, synced);
      world.refresh(name);
    }
    for (const name of ['one', 'two']) await world.until(name, warned);
    expect(labels()).toMatchObject({ team: 'a' });
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withLastApplied } from '#diff';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';

/** Deleting a CRD deletes all objects of its kind, so none is ever deleted, and none is tracked. */
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: { group: 'example.com', names: { kind: 'Widget', plural: 'widgets' }, scope: 'Namespaced' },
};
const trackingId = 'argocd.argoproj.io/tracking-id';
const tracked = (app: string): KubeObject => ({
  ...crd,
  metadata: {
    ...crd.metadata,
    annotations: { [trackingId]: `${app}:apiextensions.k8s.io/CustomResourceDefinition:apps/widgets.example.com` },
  },
});

let clock: FakeClock;
let world: FakeWorld;
let stop: (() => Promise<void>) | undefined;
beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  stop = undefined;
});
afterEach(async () => {
  const ended = stop?.();
  await clock.advance(2000);
  await ended;
});

async function start(): Promise<void> {
  const replica = world.replica();
  stop = () => replica.stop();
  await clock.advance(5000);
}

function writesOf(kind: string): readonly string[] {
  return world.dest.calls.filter((call) => new RegExp(`^(?:create|replace|patch|delete) ${kind}`).test(call));
}

describe('a CRD', () => {
  it('is applied without tracking, found by its name, and kept when it leaves Git', async () => {
    world.git.push('a'.repeat(40), [crd, configMap('one'), configMap('two')]);
    world.application(automated);
    await start();
    expect(world.dest.get(crd.kind, 'widgets.example.com')?.metadata.annotations).not.toHaveProperty([trackingId]);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(world.app.status?.resources?.map(({ kind, status }) => [kind, status])).toEqual([
      ['ConfigMap', 'Synced'],
      ['ConfigMap', 'Synced'],
      [crd.kind, 'Synced'],
    ]);
    world.git.push('b'.repeat(40), [configMap('two')]);
    await clock.advance(300_000);
    expect(world.dest.get('ConfigMap', 'one')).toBeUndefined();
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced', revision: 'b'.repeat(40) } });
    expect(world.app.status?.resources?.map(({ name }) => name)).toEqual(['two']);
    expect(writesOf(crd.kind)).toEqual(['create CustomResourceDefinition widgets.example.com']);
  });

  it.each([
    ['as Argo CD applied it', withLastApplied(crd)],
    ['with tracking', withLastApplied(tracked('demo'))],
    ['with tracking missing from last-applied', { ...tracked('demo') }],
    ['with the tracking of another application', withLastApplied(tracked('other'))],
  ])('is Synced without a write after switching from Argo CD, %s', async (_name, live) => {
    world.git.push('a'.repeat(40), [crd]);
    world.dest.put(live);
    world.application(automated);
    await start();
    await clock.advance(300_000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(world.app.status?.conditions).toBeUndefined();
    expect(writesOf(crd.kind)).toEqual([]);
  });

  it('is not pruned if an earlier controller tracked it and it left Git', async () => {
    world.git.push('a'.repeat(40), [configMap('one')]);
    world.dest.put(withLastApplied(tracked('demo')));
    world.application(automated);
    await start();
    await clock.advance(300_000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(writesOf(crd.kind)).toEqual([]);
    world.application({}, { metadata: { name: 'demo', namespace: 'argocd' }, operation: { sync: { prune: true } } });
    await clock.advance(10_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(writesOf(crd.kind)).toEqual([]);
  });

  it('loses leftover tracking when a change of it is applied', async () => {
    world.git.push('a'.repeat(40), [crd]);
    world.dest.put(withLastApplied(tracked('demo')));
    world.application(automated);
    await start();
    world.git.push('b'.repeat(40), [{ ...crd, spec: { ...(crd['spec'] as object), scope: 'Cluster' } }]);
    await clock.advance(300_000);
    const live = world.dest.get(crd.kind, 'widgets.example.com');
    expect(live?.['spec']).toMatchObject({ scope: 'Cluster' });
    expect(live?.metadata.annotations).not.toHaveProperty([trackingId]);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
  });

  const byLabel = { ...defaultSettings, tracking: { ...defaultSettings.tracking, method: 'label' as const } };
  const labelled: KubeObject = {
    ...crd,
    metadata: { ...crd.metadata, labels: { [defaultSettings.tracking.labelKey]: 'demo' } },
  };

  it('with the tracking label is neither listed nor pruned after it left Git', async () => {
    world.settings = byLabel;
    world.git.push('a'.repeat(40), [configMap('one')]);
    world.dest.put(withLastApplied(labelled));
    world.application(automated);
    await start();
    await clock.advance(300_000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(world.app.status?.resources?.map(({ kind }) => kind)).toEqual(['ConfigMap']);
    world.edit(() => ({ operation: { sync: { prune: true } } }));
    await clock.advance(10_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(writesOf(crd.kind)).toEqual([]);
  });

  it('with the tracking label is kept when its application is deleted with its resources', async () => {
    world.settings = byLabel;
    world.git.push('a'.repeat(40), [configMap('one')]);
    world.dest.put(withLastApplied(labelled));
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    expect(world.dest.get(crd.kind, 'widgets.example.com')?.metadata.labels).toEqual(labelled.metadata.labels);
    world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers } });
    await start();
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(world.dest.get('ConfigMap', 'one')).toBeUndefined();
    expect(writesOf(crd.kind).filter((call) => call.startsWith('delete'))).toEqual([]);
  });
});

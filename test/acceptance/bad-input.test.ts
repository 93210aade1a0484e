import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application, KubeObject } from '#model';
import { eventually } from '#support';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

const deployment = (image = 'nginx:1'): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "${image}" }] }
`;
const config = (name: string, value = '1'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: "${value}"\n`;

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

function synced(app: Application): void {
  expect([app.status?.sync?.status, app.status?.health?.status]).toEqual(['Synced', 'Healthy']);
  expect(app.operation ?? null).toBeNull();
}

function live(group: string, kind: string, name: string): KubeObject | undefined {
  return world.cluster.store.get(group, kind, 'apps', name);
}

const automated = { syncPolicy: { automated: { prune: true, selfHeal: true } } };
const source = (over: object = {}): object => ({
  source: { repoURL: repo.url, path: 'app', targetRevision: 'main', ...over },
});

describe('an automated application', () => {
  it('becomes Synced and Healthy, follows Git, heals drift, prunes', async () => {
    const first = repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...source(), ...automated });
    const app = await world.until('demo', synced);
    expect(app.status).toMatchObject({
      sync: { revision: first, comparedTo: { source: { path: 'app' } } },
      sourceType: 'Directory',
      controllerNamespace: 'argocd',
      resourceHealthSource: 'appTree',
      operationState: { phase: 'Succeeded', message: 'successfully synced (all tasks run)' },
    });
    expect(app.status?.history).toHaveLength(1);
    expect(app.status?.resources?.map((r) => `${r.kind ?? ''}/${r.name ?? ''} ${r.status ?? ''}`)).toEqual([
      'ConfigMap/a Synced',
      'ConfigMap/b Synced',
      'Deployment/web Synced',
    ]);

    world.cluster.store.delete('apps', 'Deployment', 'apps', 'web');
    await eventually(() => expect(live('apps', 'Deployment', 'web')).toBeDefined(), 2000);
    await world.until('demo', synced);
    const drifted = { ...live('', 'ConfigMap', 'a'), data: { key: 'tampered' } } as unknown as KubeObject;
    world.cluster.store.update(drifted);
    await eventually(() => expect(live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 2000);
    await world.until('demo', synced);

    const second = repo.commit({ 'app/a.yaml': config('a', '2'), 'app/b.yaml': null });
    world.edit('demo', (object) => {
      Object.assign(object.metadata, { annotations: { 'argocd.argoproj.io/refresh': 'normal' } });
    });
    const after = await world.until('demo', (now) => {
      expect(now.status?.sync?.revision).toBe(second);
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      synced(now);
    });
    expect(live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '2' } });
    expect(live('', 'ConfigMap', 'b')).toBeUndefined();
    expect(after.status?.history?.map((entry) => entry.revision)).toEqual([first, second]);
  });

  it('at rest writes nothing', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    const replica = await world.replica({ appResyncMs: 300, jitterMs: 0 });
    world.application('demo', { ...source(), ...automated });
    await world.until('demo', synced);
    // The Events and the last status write trail a little.
    await eventually(() =>
      expect(replica.controller.snapshot().queues.every((queue) => queue.running === 0)).toBe(true),
    );
    const version = world.app('demo')?.metadata.resourceVersion;
    const at = (): number => replica.controller.snapshot().applications[0]?.lastRefresh?.at ?? 0;
    const before = at();
    await eventually(() => expect(at()).toBeGreaterThan(before + 600));
    expect(world.app('demo')?.metadata.resourceVersion).toBe(version);
  });
});

describe('RespectIgnoreDifferences', () => {
  it.each([[], ['ServerSideApply=true'], ['Replace=true']])(
    '8.1.6: a sync (%s) brings what is new in Git and leaves what is ignored as it is live',
    async (...more: string[]) => {
      repo.commit({ 'app/web.yaml': deployment() });
      await world.replica();
      world.application('demo', {
        ...source(),
        ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }],
        syncPolicy: { ...automated.syncPolicy, syncOptions: ['RespectIgnoreDifferences=true', ...more] },
      });
      await world.until('demo', synced);
      const spec = (): { replicas?: number; paused?: boolean } => live('apps', 'Deployment', 'web')?.['spec'] as object;
      const scaled = { ...live('apps', 'Deployment', 'web'), spec: { ...spec(), replicas: 4 } };
      world.cluster.store.update(scaled as unknown as KubeObject);
      const second = repo.commit({ 'app/web.yaml': `${deployment().trimEnd()}\n  minReadySeconds: 1\n` });
      world.edit('demo', (object) => {
        Object.assign(object.metadata, { annotations: { 'argocd.argoproj.io/refresh': 'normal' } });
      });
      await world.until('demo', (app) => {
        expect(app.status?.sync?.revision).toBe(second);
        expect(app.status?.operationState?.phase).toBe('Succeeded');
        synced(app);
      });
      expect(spec()).toMatchObject({ replicas: 4, minReadySeconds: 1 });
    },
  );
});

describe('a manual application', () => {
  it('waits for its operation, and is deleted with its resources', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
    await world.replica();
    world.application('manual', source(), { finalizers: ['resources-finalizer.argocd.argoproj.io'] });
    await world.until('manual', (app) => {
      expect([app.status?.sync?.status, app.status?.health?.status]).toEqual(['OutOfSync', 'Missing']);
    });
    world.edit('manual', (object) =>
      Object.assign(object, { operation: { sync: {}, initiatedBy: { username: 'me' } } }),
    );
    const app = await world.until('manual', synced);
    expect(app.status?.operationState).toMatchObject({
      phase: 'Succeeded',
      operation: { initiatedBy: { username: 'me' } },
    });
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'manual');
    await eventually(() => {
      expect(world.app('manual')).toBeUndefined();
    });
    expect(live('', 'ConfigMap', 'a')).toBeUndefined();
    expect(live('apps', 'Deployment', 'web')).toBeUndefined();
  });

  it('goes on after a restart with the operation that was set meanwhile', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    const replica = await world.replica();
    world.application('manual', source());
    await world.until('manual', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    await replica.stop();
    world.edit('manual', (object) => Object.assign(object, { operation: { sync: {} } }));
    await world.replica();
    await world.until('manual', synced);
  });
});

describe('bad input', () => {
  const condition = (type: string, message: string) => (app: Application) => {
    expect(app.status?.conditions).toEqual(
      expect.arrayContaining([expect.objectContaining({ type, message: expect.stringContaining(message) as unknown })]),
    );
    expect(app.status?.sync?.status).toBe('Unknown');
  };

  it.each<[string, () => object, string, string]>([
    [
      'no source',
      () => ({}),
      'InvalidSpecError',
      'spec.source.repoURL and either spec.source.path or spec.source.chart are required',
    ],
    [
      'unknown project',
      () => ({ ...source(), project: 'nobody' }),
      'InvalidSpecError',
      'Application referencing project nobody which does not exist',
    ],
    [
      'unknown cluster',
      () => ({ ...source(), destination: { server: 'https://nowhere.example', namespace: 'apps' } }),
      'InvalidSpecError',
      'error getting cluster by server "https://nowhere.example"',
    ],
    [
      'no such repository',
      () => source({ repoURL: `file://${world.root}/nothing` }),
      'ComparisonError',
      'Failed to load target state: failed to generate manifest for source 1 of 1: ',
    ],
    ['no such revision', () => source({ targetRevision: 'nope' }), 'ComparisonError', 'nope'],
    ['no such path', () => source({ path: 'elsewhere' }), 'ComparisonError', 'elsewhere: app path does not exist'],
    ['broken YAML', () => source({ path: 'broken' }), 'ComparisonError', 'Failed to load target state: '],
  ])('%s: the condition says so, and the neighbour is not disturbed', async (_name, spec, type, message) => {
    repo.commit({ 'app/a.yaml': config('a'), 'broken/x.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: [1\nb: }' });
    await world.replica();
    world.application('bad', spec());
    world.application('good', { ...source(), ...automated });
    await world.until('bad', condition(type, message));
    await world.until('good', synced);
  });

  it('an API server that does not answer: the condition says so, and the neighbour is not disturbed', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    world.addCluster('away', 'http://127.0.0.1:9');
    await world.replica();
    world.application('bad', { ...source(), destination: { name: 'away', namespace: 'apps' } });
    world.application('good', { ...source(), ...automated });
    await world.until('good', synced);
    const app = await world.until('bad', condition('ComparisonError', 'Failed to load live state: '), 15_000);
    expect(app.status?.health?.status).toBe('Unknown');
  });

  it.each<[string, string, string]>([
    [
      'a kind that the cluster does not know',
      'apiVersion: example.com/v1\nkind: Gadget\nmetadata:\n  name: g\n',
      'The Kubernetes API could not find example.com/Gadget for requested resource apps/g.',
    ],
    ['an object without a name', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n', 'name'],
  ])('%s: the result of the sync says so', async (_name, manifest, message) => {
    repo.commit({ 'app/x.yaml': manifest, 'app/a.yaml': config('a') });
    await world.replica();
    world.application('bad', { ...source(), ...automated, syncPolicy: { automated: {}, retry: { limit: 0 } } });
    await world.until('bad', (app) => {
      const state = app.status?.operationState;
      const texts = [state?.message ?? '', ...(state?.syncResult?.resources ?? []).map((r) => r.message ?? '')];
      const conditions = (app.status?.conditions ?? []).map((c) => c.message);
      expect([...texts, ...conditions].join('\n')).toContain(message);
    });
  });
});

describe('an Application whose cluster had no owner', () => {
  it('loses the mark of that when a replica looks after it (T-SHARD-3)', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...source(), ...automated });
    await world.until('demo', synced);
    world.edit('demo', (object) => {
      const status = (object as unknown as Application).status;
      const conditions = [{ type: 'UnownedClusterWarning', message: 'nobody looks after it' }];
      Object.assign(object, { status: { ...status, conditions } });
      Object.assign(object.metadata, { annotations: { 'argocd.argoproj.io/refresh': 'normal' } });
    });
    await world.until('demo', (app) => {
      expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      expect(app.status?.conditions ?? []).toEqual([]);
    });
  });
});

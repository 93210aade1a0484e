import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createToolLookup } from '#desired';
import type { DesiredSource } from '#desired';
import type { Application, KubeObject } from '#model';
import { eventually, widgetCrd } from '#support';
import { automated, config, synced } from './objects.ts';
import { AggregationLayer } from './stale-groups.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

const group = 'acme.io';
const needs = 'test/needs';

let world: World;
let repo: GitFixture;
let layer: AggregationLayer;

beforeEach(async () => {
  world = await World.start();
  world.sources = asChart;
  world.cluster.store.create(widgetCrd(group));
  layer = new AggregationLayer(world.cluster.url);
  await layer.start();
  world.addCluster('behind', layer.url);
  repo = world.repository('sample');
  repo.commit({ 'app/a.yaml': config('a'), 'app/data.yaml': claim });
});
afterEach(async () => {
  await world.close();
  await layer.stop();
});

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations: { ${needs}: ${group}/v1 }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
`;

const tools = createToolLookup({
  path: env['PATH'],
  folders: [join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'driftless', 'e2e')],
});
/** Skipped if helm is neither on PATH nor in the cache of `npm run e2e:setup`. */
const itWithHelm = tools('helm') === undefined && env['DRIFTLESS_TOOLS'] !== 'required' ? it.skip : it;

/**
 * Treats files as templates of a chart: a file that names a required API is wrapped in
 * `{{ if .Capabilities.APIVersions.Has … }}`.
 */
function asChart(desired: DesiredSource): DesiredSource {
  return {
    name: desired.name,
    run: (signal) => desired.run(signal),
    resolve: (at, revision, signal) => desired.resolve(at, revision, signal),
    verify: (request, signal) => desired.verify?.(request, signal) ?? Promise.reject(new Error('no signatures')),
    manifests: async (request, signal) => {
      const { sources } = await desired.manifests(request, signal);
      const isThere = ({ metadata }: KubeObject): boolean =>
        request.cluster.apiVersions.includes(metadata.annotations?.[needs] ?? 'v1');
      return { sources: sources.map((one) => ({ ...one, objects: one.objects.filter(isThere), sourceType: 'Helm' })) };
    },
  };
}

function chart(name: string, more: object = automated): void {
  world.application(name, { ...repo.source(), ...more, destination: { server: layer.url, namespace: 'apps' } });
}

const volume = (): KubeObject | undefined => world.live('', 'PersistentVolumeClaim', 'data');

function warnings(app: Application): readonly string[] {
  const found = (app.status?.conditions ?? []).filter(({ type }) => type === 'IncompleteDiscoveryWarning');
  return found.map(({ message }) => message);
}

function toPrune(app: Application): readonly (string | undefined)[] {
  return (app.status?.resources ?? []).filter((row) => row.requiresPruning === true).map(({ kind }) => kind);
}

/** Syncs an Application, then stops the replica. */
async function syncedOnce(lists: string): Promise<void> {
  world.keptLists = join(world.root, lists);
  const first = await world.replica();
  chart('demo');
  await world.until('demo', synced);
  await eventually(() => expect(volume()).toBeDefined());
  await eventually(() =>
    expect(existsSync(join(world.root, lists)) && readdirSync(join(world.root, lists))).toHaveLength(2),
  );
  await first.stop();
}

/** Changes the CRD, so that watchers of CRDs run discovery again after the group came back. */
function touchDefinition(): void {
  const found = world.cluster.store.get('apiextensions.k8s.io', 'CustomResourceDefinition', '', `widgets.${group}`);
  if (found === undefined) throw new Error('no definition');
  world.cluster.store.update({ ...found, metadata: { ...found.metadata, labels: { up: 'again' } } });
}

async function refreshed(): Promise<Application> {
  world.refresh('demo');
  return world.until('demo', (app) => expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined());
}

describe('a chart that requires an API whose server is down', () => {
  it('renders the same after a restart: nothing is OutOfSync, and nothing is pruned', async () => {
    await syncedOnce('lists');
    layer.down.add(group);
    await world.replica();
    const app = await refreshed();
    synced(app);
    expect([toPrune(app), warnings(app)]).toEqual([[], []]);
    expect(volume()?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('loses no object to a replica without a complete list, and the condition names the group and what to do', async () => {
    await syncedOnce('lists');
    const uid = volume()?.metadata.uid;
    layer.down.add(group);
    world.keptLists = join(world.root, 'of the new owner');
    await world.replica();
    const app = await world.until('demo', (now) => {
      expect([now.status?.sync?.status, toPrune(now)]).toEqual(['OutOfSync', ['PersistentVolumeClaim']]);
      expect(now.operation ?? null).toBeNull();
    });
    expect(warnings(app).join()).toMatch(/API group acme\.io: .*nothing is pruned meanwhile.*delete its APIService/);

    world.sync('demo', { prune: true });
    await world.until('demo', (now) => {
      const { phase, syncResult } = now.status?.operationState ?? {};
      const row = syncResult?.resources?.find(({ kind }) => kind === 'PersistentVolumeClaim');
      expect([phase, row?.status, row?.message]).toEqual([
        'Succeeded',
        'PruneSkipped',
        'ignored (the API versions of the cluster are not fully known: acme.io)',
      ]);
    });
    expect([volume()?.metadata.uid, volume()?.metadata.deletionTimestamp]).toEqual([uid, undefined]);

    layer.down.clear();
    touchDefinition();
    await eventually(async () => {
      const now = await refreshed();
      synced(now);
      expect(warnings(now)).toEqual([]);
    }, 20_000);
    expect(volume()?.metadata.uid).toBe(uid);
  }, 40_000);

  it('has its object pruned when the API was removed for good', async () => {
    await syncedOnce('lists');
    layer.down.add(group);
    world.keptLists = join(world.root, 'of the new owner');
    await world.replica();
    await world.until('demo', (now) => expect(warnings(now)).toHaveLength(1));
    world.cluster.store.delete('apiextensions.k8s.io', 'CustomResourceDefinition', '', `widgets.${group}`);
    // After the first five requests, a refresh runs only every ten seconds.
    await eventually(async () => {
      await refreshed();
      expect(volume()).toBeUndefined();
    }, 60_000);
    await world.until('demo', (now) => {
      synced(now);
      expect(warnings(now)).toEqual([]);
    });
  }, 100_000);

  it('has nothing pruned if the group goes down while a replica runs', async () => {
    world.keptLists = join(world.root, 'lists');
    await world.replica();
    chart('demo');
    await world.until('demo', synced);
    layer.down.add(group);
    touchDefinition();
    // The second discovery begins when the result of the first one is known.
    await eventually(() => expect(layer.staleAnswers).toBeGreaterThan(1));
    repo.commit({ 'app/a.yaml': null });
    const app = await refreshed();
    expect([warnings(app).length, toPrune(app)]).toEqual([1, ['ConfigMap']]);
    expect([volume(), world.live('', 'ConfigMap', 'a')].map((one) => one === undefined)).toEqual([false, false]);
  });

  itWithHelm(
    'keeps objects that real Helm renders only for that API, with and without a stored list',
    async () => {
      world.sources = (desired) => desired;
      world.tools = tools;
      repo.commit({
        'app/a.yaml': null,
        'app/data.yaml': null,
        'app/Chart.yaml': 'apiVersion: v2\nname: demo\nversion: 1.0.0\n',
        'app/templates/a.yaml': config('a'),
        'app/templates/data.yaml': `{{ if .Capabilities.APIVersions.Has "${group}/v1" }}\n${claim}{{ end }}\n`,
      });
      await syncedOnce('lists');
      layer.down.add(group);
      const second = await world.replica();
      synced(await refreshed());
      await second.stop();
      world.keptLists = join(world.root, 'of the new owner');
      await world.replica();
      await world.until('demo', (now) => expect([warnings(now).length, toPrune(now).length]).toEqual([1, 1]));
      world.sync('demo', { prune: true });
      await world.until('demo', (now) => {
        expect(now.operation ?? null).toBeNull();
        expect(now.status?.operationState?.phase).toBe('Succeeded');
      });
      expect([volume() === undefined, volume()?.metadata.deletionTimestamp]).toEqual([false, undefined]);
    },
    40_000,
  );
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { eventually, widgetCrd } from '#support';
import { openWriter, planSync, runSync } from '../../engine/sync.ts';
import type { OpenedSyncWriter, SyncInputs, SyncInventory, SyncReport } from '../../engine/sync.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const owner = { label: 'example.com/owner', value: 'ours' };
const prune = { options: { prune: true } };

const configMap = (name: string, metadata: object = {}, data: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** Faults that users of cli-utils, gitops-engine, kubectl and Flux have reported. */
describe('public reports about engines, on a real API server', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let writer: OpenedSyncWriter;
  let count = 0;
  let place: string;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    await target.startLifecycle();
    double = await startDouble(target.access);
  }, 120_000);

  afterAll(async () => {
    await double.stop();
    await world.close();
  }, 60_000);

  beforeEach(async () => {
    count += 1;
    place = `report-${count}`;
    await target.kubectl(['create', 'namespace', place]);
    writer = await openWriter({ kubeConfig: target.kubeconfig });
  });

  afterEach(() => writer.close());

  const sync = (targets: readonly KubeObject[], more: Partial<SyncInputs> = {}): Promise<SyncReport> =>
    runSync({ targets, writer, namespace: place, ...more });
  const statusOf = ({ results }: SyncReport, name: string): string | undefined =>
    results.find((result) => result.name === name)?.status;
  const names = ({ objects }: SyncInventory): readonly string[] => objects.map(({ name }) => name);
  const mapOf = (name: string, at = place): Promise<KubeObject | undefined> =>
    target.api.get<KubeObject>(`/api/v1/namespaces/${at}/configmaps/${name}`);

  it('a Namespace that leaves the targets stays while they have objects in it (cli-utils 274)', async () => {
    const own = `${place}-own`;
    const inside = configMap('inside', { namespace: own });
    const { inventory } = await sync([namespace(own), inside]);
    const report = await sync([inside], { inventory, ...prune });
    expect([report.phase, statusOf(report, own)]).toEqual(['Succeeded', 'PruneSkipped']);
    expect((await mapOf('inside', own))?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('a prune of a Namespace that is being deleted already is no failure (kubernetes 89254)', async () => {
    const own = `${place}-own`;
    const { inventory } = await sync([
      namespace(own),
      configMap('held', { namespace: own, finalizers: ['example.com/hold'] }),
    ]);
    await target.kubectl(['delete', 'namespace', own, '--wait=false']);
    await eventually(async () =>
      expect((await target.api.get<KubeObject>(`/api/v1/namespaces/${own}`))?.metadata.deletionTimestamp).toBeDefined(),
    );
    expect(await sync([], { inventory, ...prune, deadlineMs: 20_000 })).toMatchObject({ phase: 'Succeeded' });
    await target.kubectl([
      'patch',
      'configmap',
      'held',
      '-n',
      own,
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ]);
  });

  it('an object that returns to Git while its prune waits for a finalizer is created again (gitops-engine 536)', async () => {
    const first = await sync([configMap('held', {}, { key: '1' })]);
    const hold = (finalizers: string): Promise<unknown> =>
      target.kubectl(['patch', 'configmap', 'held', '-n', place, '--type=merge', '-p', finalizers]);
    await hold('{"metadata":{"finalizers":["example.com/hold"]}}');
    const { inventory } = await sync([], { inventory: first.inventory, ...prune });
    await sync([configMap('held', {}, { key: '2' })], { inventory, deadlineMs: 3000 });
    await hold('{"metadata":{"finalizers":null}}');
    await eventually(async () => expect(await mapOf('held')).toBeUndefined());
    expect(await sync([configMap('held', {}, { key: '2' })], { inventory })).toMatchObject({ phase: 'Succeeded' });
    expect((await mapOf('held'))?.['data']).toEqual({ key: '2' });
  });

  it('an object that was refused is not in the inventory, and is never pruned (kustomize-controller 1510)', async () => {
    await sync([configMap('theirs')], { owner: { ...owner, value: 'theirs' } });
    const refused = await sync([configMap('theirs'), configMap('mine')], { owner });
    expect(refused.phase).toBe('Failed');
    expect(names(refused.inventory)).not.toContain('theirs');
    await sync([], { inventory: refused.inventory, owner, ...prune });
    expect(await mapOf('theirs')).toBeDefined();
  });

  it('a field that another applier set is taken over by a server-side apply (flux2 2515)', async () => {
    const other = await openWriter({ kubeConfig: target.kubeconfig, fieldManager: 'manual' });
    const options = { serverSideApply: true };
    await sync([configMap('a', {}, { key: 'manual' })], { writer: other, options });
    expect(await sync([configMap('a', {}, { key: 'git' })], { options })).toMatchObject({ phase: 'Succeeded' });
    expect((await mapOf('a'))?.['data']).toEqual({ key: 'git' });
    await other.close();
  });

  it('a prune of an object that somebody has deleted goes on with the others (cli-utils 33)', async () => {
    const { inventory } = await sync([configMap('gone'), configMap('extra')]);
    await target.kubectl(['delete', 'configmap', 'gone', '-n', place]);
    expect(await sync([], { inventory, ...prune })).toMatchObject({ phase: 'Succeeded' });
    expect(await mapOf('extra')).toBeUndefined();
  });

  it('a prune stays in the inventory, whatever else has its label (kubernetes 108161, kustomize-controller 315)', async () => {
    const { inventory } = await sync([configMap('a')], { owner });
    const labels = { [owner.label]: owner.value };
    await target.api.create(`/api/v1/namespaces/${place}/configmaps`, configMap('copied', { labels }));
    await target.api.create('/api/v1/namespaces/default/configmaps', configMap(`other-${place}`, { labels }));
    const report = await sync([], { inventory, owner, ...prune });
    expect(report.results.map(({ name, status }) => [name, status])).toEqual([['a', 'Pruned']]);
    expect([await mapOf('copied'), await mapOf(`other-${place}`, 'default')]).not.toContain(undefined);
  });

  it('a Namespace is created before its objects, in whatever order they come (cli-utils 233)', async () => {
    const own = `${place}-own`;
    const report = await sync([configMap('inside', { namespace: own }), namespace(own)]);
    expect([report.phase, names(report.inventory).toSorted()]).toEqual(['Succeeded', ['inside', own]]);
  });

  it('a cluster-scoped object whose manifest names a namespace is itself, and not pruned (argo-cd 15058)', async () => {
    const crd = widgetCrd(`${place}.example.com`);
    const { spec } = crd as KubeObject & { readonly spec: object };
    const scoped = {
      apiVersion: `${place}.example.com/v1`,
      kind: 'Widget',
      metadata: { name: 'app-ui', namespace: place },
      spec: {},
    };
    const targets = [{ ...crd, spec: { ...spec, scope: 'Cluster' } }, scoped];
    let { inventory } = await sync(targets);
    for (let round = 0; round < 2; round += 1) {
      const report = await sync(targets, { inventory, ...prune });
      expect(report.results.map(({ status }) => status)).toEqual(['Synced', 'Synced']);
      ({ inventory } = report);
    }
    expect(await planSync({ targets, writer, namespace: place, inventory, ...prune })).toEqual(
      expect.not.arrayContaining([expect.objectContaining({ action: 'prune' })]),
    );
  });

  it('one kind that cannot be read is refused before anything is written, and nothing is pruned (gitops-engine 520, 785)', async () => {
    const { inventory } = await sync([configMap('a')]);
    await target.kubectl(['create', 'serviceaccount', 'limited', '-n', place]);
    const rights = ['--verb=get,list,create,patch,delete', '--resource=configmaps'];
    await target.kubectl(['create', 'role', 'limited', '-n', place, ...rights]);
    const subject = ['--role=limited', `--serviceaccount=${place}:limited`];
    await target.kubectl(['create', 'rolebinding', 'limited', '-n', place, ...subject]);
    const limited = await openWriter({ kubeConfig: target.kubeconfigFor(await target.as(place, 'limited')) });
    const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
    await expect(sync([secret], { writer: limited, inventory, ...prune })).rejects.toMatchObject({
      code: 'LIVE_STATE',
    });
    expect(await mapOf('a')).toBeDefined();
    await limited.close();
  });
});

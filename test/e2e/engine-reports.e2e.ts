import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { eventually, widgetCrd } from '#support';
import { openCache } from '../../engine/live.ts';
import { openWriter, planSync, runSync } from '../../engine/sync.ts';
import type { OpenedSyncWriter, SyncInputs, SyncInventory, SyncReport, SyncWarning } from '../../engine/sync.ts';
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
const argo = (key: string, value: string): Record<string, string> => ({ [`argocd.argoproj.io/${key}`]: value });
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
  const edit = (name: string, patch: object, at = place): Promise<string> =>
    target.kubectl(['patch', 'configmap', name, '-n', at, '--type=merge', '-p', JSON.stringify(patch)]);
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
    await edit('held', { metadata: { finalizers: null } }, own);
  });

  it('an object that returns to Git while its prune waits for a finalizer is created again (gitops-engine 536)', async () => {
    const first = await sync([configMap('held', {}, { key: '1' })]);
    await edit('held', { metadata: { finalizers: ['example.com/hold'] } });
    const { inventory } = await sync([], { inventory: first.inventory, ...prune });
    await sync([configMap('held', {}, { key: '2' })], { inventory, deadlineMs: 3000 });
    await edit('held', { metadata: { finalizers: null } });
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
    await eventually(async () => expect(await mapOf('extra')).toBeUndefined());
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

  it('an object with PruneLast is pruned after the last wave is applied (gitops-engine 201)', async () => {
    const last = configMap('last', { annotations: argo('sync-options', 'PruneLast=true') });
    const { inventory } = await sync([last]);
    const order: string[] = [];
    const onStep = async (): Promise<void> => void order.push((await mapOf('last')) === undefined ? 'gone' : 'there');
    const later = configMap('later', { annotations: argo('sync-wave', '5') });
    expect(await sync([configMap('first'), later], { inventory, ...prune, onStep })).toMatchObject({
      phase: 'Succeeded',
    });
    expect([order[0], await mapOf('later')]).toEqual(['there', expect.anything()]);
    await eventually(async () => expect(await mapOf('last')).toBeUndefined());
  });

  it('objects are pruned in the reverse order of their waves (gitops-engine 538)', async () => {
    const targets = [0, 1, 2].map((wave) =>
      configMap(`wave-${wave}`, { annotations: argo('sync-wave', String(wave)) }),
    );
    const { inventory } = await sync(targets);
    const planned = await planSync({ targets: [], writer, namespace: place, inventory, ...prune });
    expect(planned.map(({ action, name }) => [action, name])).toEqual([
      ['prune', 'wave-2'],
      ['prune', 'wave-1'],
      ['prune', 'wave-0'],
    ]);
    expect(await sync([], { inventory, ...prune })).toMatchObject({ phase: 'Succeeded' });
  });

  it('a hook with HookSucceeded stays until the whole sync has succeeded (gitops-engine 144, argo-cd 4384)', async () => {
    const policy = argo('hook-delete-policy', 'HookSucceeded');
    const hook = configMap('hook', { annotations: { ...argo('hook', 'PreSync'), ...policy } });
    const seen: boolean[] = [];
    const onStep = async ({ phase }: SyncReport): Promise<void> => {
      if (phase === 'Running') seen.push((await mapOf('hook')) !== undefined);
    };
    const waves = [0, 1].map((wave) => configMap(`w-${wave}`, { annotations: argo('sync-wave', String(wave)) }));
    expect(await sync([hook, ...waves], { onStep })).toMatchObject({ phase: 'Succeeded' });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).not.toContain(false);
    await eventually(async () => expect(await mapOf('hook')).toBeUndefined());
  });

  it('a partial sync of what differs keeps the waves (gitops-engine 251)', async () => {
    const targets = [0, 1, 2].map((wave) =>
      configMap(`wave-${wave}`, { annotations: argo('sync-wave', String(wave)) }, { key: '1' }),
    );
    await sync(targets);
    for (const name of ['wave-0', 'wave-2']) await edit(name, { data: { key: 'drift' } });
    const order: string[] = [];
    const onStep = async (): Promise<void> => {
      const values = await Promise.all(['wave-0', 'wave-2'].map(async (name) => (await mapOf(name))?.['data']));
      order.push(values.map((data) => (data as { key: string }).key).join());
    };
    const { results } = await sync(targets, { options: { applyOutOfSyncOnly: true }, onStep });
    expect(results.map(({ name }) => name).toSorted()).toEqual(['wave-0', 'wave-2']);
    expect([order[0], order.at(-1)]).toEqual(['1,drift', '1,1']);
  });

  it.each(['serverSideApply', 'replace'] as const)(
    'a field that the manifest drops goes after a switch from client-side apply to %s (kustomize-controller 486, kubernetes 99003)',
    async (option) => {
      await sync([configMap('switched', {}, { kept: '1', legacy: '1' })]);
      const report = await sync([configMap('switched', {}, { kept: '1' })], { options: { [option]: true } });
      expect(report.phase).toBe('Succeeded');
      expect((await mapOf('switched'))?.['data']).toEqual({ kept: '1' });
    },
  );

  it('a server-side apply deletes the arguments that the manifest drops (kubernetes 89273)', async () => {
    const pod = (container: object): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'web', image: 'web:1', ...container }] },
        },
      },
    });
    const options = { serverSideApply: true };
    await sync([pod({ args: ['-a'] })], { options });
    await sync([pod({ command: ['b'] })], { options });
    const stored = await target.api.get<ReturnType<typeof pod>>(`/apis/apps/v1/namespaces/${place}/deployments/web`);
    const spec = stored?.['spec'] as { template: { spec: { containers: readonly [object] } } };
    expect(spec.template.spec.containers[0]).toEqual(expect.not.objectContaining({ args: expect.anything() }));
    expect(spec.template.spec.containers[0]).toMatchObject({ command: ['b'] });
  });

  it('a comparison right after a sync sees what it wrote (gitops-engine 745, argo-cd 20458)', async () => {
    const cache = await openCache({ kubeConfig: target.kubeconfig, namespaces: [place] });
    for (const value of ['1', '2', '3']) {
      const targets = [configMap('a', {}, { value })];
      await sync(targets, { cache });
      const planned = await planSync({ targets, writer, cache, namespace: place });
      expect(planned.map(({ action }) => action)).toEqual(['unchanged']);
    }
    await cache.close();
  });

  it('objects follow their definition at once, again and again (gitops-engine 286)', async () => {
    for (const round of [1, 2, 3]) {
      const group = `r${round}.${place}.example.com`;
      const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: { round } };
      const report = await sync([widget, widgetCrd(group)]);
      expect(report.results.map(({ status, message }) => [status, message])).toEqual([
        ['Synced', expect.anything()],
        ['Synced', expect.anything()],
      ]);
    }
  });

  it('a pruned object that its finalizer holds stays in the inventory until it is gone (cli-utils 142)', async () => {
    const first = await sync([configMap('held', { finalizers: ['example.com/hold'] })]);
    const { inventory } = await sync([], { inventory: first.inventory, ...prune });
    expect(names(inventory)).toEqual(['held']);
    await edit('held', { metadata: { finalizers: null } });
    await eventually(async () => expect(await mapOf('held')).toBeUndefined());
    expect(names((await sync([], { inventory, ...prune })).inventory)).toEqual([]);
  });

  it('what kubectl edit has added to a field of ours goes, and what it has added beside stays (flux2 2099)', async () => {
    const options = { serverSideApply: true };
    const targets = [configMap('a', { labels: { team: 'git' } }, { key: 'git' })];
    await sync(targets, { options });
    await edit('a', { metadata: { labels: { team: 'edited', foo: 'bar' } }, data: { key: 'edited' } });
    await sync(targets, { options });
    const live = await mapOf('a');
    expect([live?.metadata.labels, live?.['data']]).toEqual([{ team: 'git', foo: 'bar' }, { key: 'git' }]);
  });

  it.each([{}, { serverSideApply: true }])('a warning of the server names the object (%j)', async (options) => {
    const warnings: SyncWarning[] = [];
    const endpoints: KubeObject = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'old' } };
    await sync([endpoints], { options, onWarning: (_message, warning) => void warnings.push(warning) });
    const object = { group: '', kind: 'Endpoints', namespace: place, name: 'old' };
    expect(warnings).toEqual([{ source: 'server', message: expect.stringContaining('deprecated'), object }]);
  });

  it('an unknown field is a warning, and with Validate=false none', async () => {
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    await sync([{ ...configMap('odd'), dta: {} }], { onWarning });
    expect(warnings).toEqual([`ConfigMap ${place}/odd: unknown field "dta"`]);
    await sync([{ ...configMap('quiet'), dta: {} }], { onWarning, options: { validate: false } });
    expect(warnings).toHaveLength(1);
  });

  it.each(['CustomResourceDefinition', 'Namespace', 'ConfigMap'])(
    'a Replace of a %s that another manager has just written is sent again',
    async (kind) => {
      const own = `${place}-replaced`;
      const objects: Record<string, KubeObject> = {
        CustomResourceDefinition: widgetCrd(`${place}.example.com`),
        Namespace: namespace(own),
        ConfigMap: configMap('replaced', {}, { key: '1' }),
      };
      const object = objects[kind]!;
      await sync([object]);
      const how = { serverSide: false, force: false, replace: true, validate: true };
      const { signal } = new AbortController();
      const placed = kind === 'ConfigMap' ? configMap('replaced', { namespace: place }, { key: '2' }) : object;
      const read = await writer.get(placed, signal);
      const note = JSON.stringify({ metadata: { annotations: { 'example.com/note': 'theirs' } } });
      const name = object.metadata.name ?? '';
      await target.kubectl(['patch', kind, name, '-n', place, '--type=merge', '-p', note]);
      const { object: stored } = await writer.apply(placed, read, how, signal);
      expect(stored.metadata.annotations?.['example.com/note']).toBeUndefined();
      expect(stored.metadata.uid).toBe(read?.metadata.uid);
    },
  );
});

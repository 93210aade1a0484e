import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { widgetCrd } from '#support';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openWriter, planSync, runSync, serverSideDiff } from './sync.ts';
import type { SyncInputs, SyncInventory, SyncReport, SyncWriter } from './sync.ts';

const configMap = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data: { of: name },
});
const clusterRole: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'reader' },
  rules: [],
};
const prune = { options: { prune: true } };

describe('the inventory of runSync', () => {
  let sim: SimCluster;
  let writer: SyncWriter & { close(): Promise<void> };
  let deletions: string[];

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    deletions = [];
    sim.onRequest(({ verb, resource, name }) => {
      if (verb === 'delete') deletions.push(`${resource}/${name}`);
    });
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim) });
  });

  afterEach(async () => {
    await writer.close();
    await sim.close();
  });

  /** Stores the inventory as text in between, as a user does. */
  const sync = async (targets: readonly KubeObject[], inputs: Partial<SyncInputs> = {}): Promise<SyncReport> => {
    const report = await runSync({ targets, writer, ...inputs });
    return { ...report, inventory: JSON.parse(JSON.stringify(report.inventory)) as SyncInventory };
  };
  const namesOf = ({ inventory }: SyncReport): readonly string[] => inventory.objects.map(({ name }) => name);
  const messagesOf = ({ results }: SyncReport): Readonly<Record<string, unknown>> =>
    Object.fromEntries(results.map(({ name, message }) => [name, message]));
  const has = (name: string): boolean => sim.store.get('', 'ConfigMap', 'default', name) !== undefined;

  it('forgets nothing when nothing was out of sync', async () => {
    const all = [configMap('a'), configMap('b'), clusterRole];
    let report = await sync(all);
    expect(report.inventory).toMatchObject({ format: 'driftless.inventory/v1', name: '', server: sim.url });
    expect(namesOf(report)).toEqual(['a', 'b', 'reader']);
    for (let round = 0; round < 2; round += 1) {
      report = await sync(all, { inventory: report.inventory, options: { applyOutOfSyncOnly: true } });
      expect(report.results).toEqual([]);
      expect(namesOf(report)).toEqual(['a', 'b', 'reader']);
    }
    report = await sync([configMap('a')], { inventory: report.inventory, ...prune });
    expect([has('a'), has('b')]).toEqual([true, false]);
    expect(deletions.sort()).toEqual(['clusterroles/reader', 'configmaps/b']);
    report = await sync([configMap('a')], { inventory: report.inventory, ...prune });
    expect(namesOf(report)).toEqual(['a']);
  });

  it('keeps what was not pruned, until an option permits it', async () => {
    const kept = configMap('kept', { annotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' } });
    let report = await sync([configMap('a'), kept]);
    report = await sync([], { inventory: report.inventory });
    expect(namesOf(report)).toEqual(['a', 'kept']);
    report = await sync([], { inventory: report.inventory, ...prune });
    report = await sync([], { inventory: report.inventory, ...prune });
    expect(namesOf(report)).toEqual(['kept']);
    expect([has('a'), has('kept')]).toEqual([false, true]);
  });

  it.each(['PreSinc', 'PostSync'])('prunes no object of others that only a hook names: %s', async (hook) => {
    const annotations = {
      'argocd.argoproj.io/hook': hook,
      'argocd.argoproj.io/hook-delete-policy': 'HookFailed',
    };
    const targets = [configMap('theirs', { annotations })];
    sim.store.create(configMap('theirs', { namespace: 'default' }));
    const plan = await planSync({ targets, writer, ...prune });
    expect(plan.filter(({ action }) => action === 'prune')).toEqual([]);
    await sync(targets, { ...prune, onWarning: () => {} });
    expect([deletions, has('theirs')]).toEqual([[], true]);
  });

  it('prunes an object that has become a hook', async () => {
    const { inventory } = await sync([configMap('a')]);
    const hook = configMap('a', { annotations: { 'argocd.argoproj.io/hook': 'PreDelete' } });
    const { results } = await sync([hook], { inventory, ...prune });
    expect(results).toMatchObject([{ name: 'a', status: 'Pruned' }]);
  });

  it('prunes a definition only if told to, and serves its kind again when it returns', async () => {
    const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
    const definition = (): KubeObject | undefined =>
      sim.store.get('apiextensions.k8s.io', 'CustomResourceDefinition', '', 'widgets.example.com');
    const first = await sync([widgetCrd(), widget, configMap('a')]);
    const inputs = { writer, inventory: first.inventory };
    const kept = await sync([configMap('a')], inputs);
    expect(messagesOf(kept)).toMatchObject({ 'widgets.example.com': 'ignored (requires pruning)' });
    const spared = await sync([configMap('a'), widget], { ...inputs, ...prune });
    expect(messagesOf(spared)).toMatchObject({ 'widgets.example.com': expect.stringContaining('those of others too') });
    expect([namesOf(spared), deletions]).toEqual([expect.arrayContaining(['widgets.example.com']), []]);
    for (const [pruneDefinitions, action] of [
      [false, 'keep'],
      [true, 'prune'],
    ] as const) {
      const plan = await planSync({ targets: [configMap('a')], ...inputs, ...prune, pruneDefinitions });
      expect(plan.map((task) => [task.name, task.action])).toContainEqual(['widgets.example.com', action]);
    }
    let report = await sync([configMap('a')], { ...inputs, ...prune, pruneDefinitions: true });
    expect(messagesOf(report)).toMatchObject({ 'widgets.example.com': 'pruned', one: 'pruned' });
    expect(definition()).toBeUndefined();
    report = await sync([configMap('a')], { inventory: report.inventory, ...prune });
    expect(namesOf(report)).toEqual(['a']);
    expect((await sync([widgetCrd(), widget, configMap('a')])).phase).toBe('Succeeded');
  });

  it('all reports name an object in the same way: cluster-scoped ones have no namespace', async () => {
    const crd = widgetCrd('cluster.example.com');
    const { spec } = crd as KubeObject & { readonly spec: object };
    const scoped: KubeObject = { apiVersion: 'cluster.example.com/v1', kind: 'Widget', metadata: { name: 'scoped' } };
    const targets = [{ ...crd, spec: { ...spec, scope: 'Cluster' } }, scoped, clusterRole, configMap('a')];
    const places = (entries: readonly { readonly name: string; readonly namespace: string }[]): object =>
      Object.fromEntries(entries.map(({ name, namespace }) => [name, namespace]));
    const expected = { 'widgets.cluster.example.com': '', scoped: '', reader: '', a: 'shop' };
    sim.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    const inputs = { targets, writer, namespace: 'shop' };
    const steps: object[] = [];
    expect(places(await planSync(inputs))).toEqual(expected);
    expect(places(await serverSideDiff(inputs))).toEqual(expected);
    const report = await runSync({ ...inputs, onStep: ({ results }) => void steps.push(places(results)) });
    expect([places(report.results), steps.at(-1)]).toEqual([expected, expected]);
    const pruned = await runSync({
      ...inputs,
      targets: [],
      inventory: report.inventory,
      ...prune,
      pruneDefinitions: true,
    });
    expect([pruned.phase, places(pruned.results)]).toEqual(['Succeeded', expected]);
  });

  it('keeps a definition that Prune=false protects, or whose kind is among the targets', async () => {
    const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
    const other = widgetCrd('other.example.com');
    const metadata = { ...other.metadata, annotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' } };
    const first = await sync([widgetCrd(), { ...other, metadata }, widget]);
    const inputs = { inventory: first.inventory, ...prune, pruneDefinitions: true };
    const plan = await planSync({ targets: [widget], writer, ...inputs });
    expect(Object.fromEntries(plan.map(({ name, action }) => [name, action]))).toEqual({
      one: 'unchanged',
      'widgets.example.com': 'keep',
      'widgets.other.example.com': 'keep',
    });
    const report = await sync([widget], inputs);
    expect(messagesOf(report)).toMatchObject({
      'widgets.example.com': 'ignored (objects of its kind are among the targets)',
      'widgets.other.example.com': 'ignored (no prune)',
    });
    expect(namesOf(report)).toEqual(namesOf(first));
    expect(deletions).toEqual([]);
  });

  it('follows a deletion to its end, and spares a new object of the name', async () => {
    let report = await sync([configMap('held', { finalizers: ['example.com/hold'] })]);
    report = await sync([], { inventory: report.inventory, ...prune });
    expect(report.inventory.objects).toMatchObject([{ name: 'held', deletedUid: expect.any(String) }]);
    const held = sim.store.get('', 'ConfigMap', 'default', 'held');
    sim.store.update({ ...held, metadata: { ...held?.metadata, finalizers: [] } } as KubeObject);
    expect(has('held')).toBe(false);
    sim.store.create(configMap('held', { namespace: 'default' }));
    deletions = [];
    report = await sync([], { inventory: report.inventory, ...prune });
    expect([has('held'), deletions]).toEqual([true, []]);
    expect(namesOf(report)).toEqual([]);
  });

  it('does not take over an object that it could not apply', async () => {
    sim.store.create(configMap('foreign', { namespace: 'default' }));
    const denied = { ...configMap('foreign'), data: { 'not a key!': 'x' } };
    let report = await sync([configMap('a'), denied]);
    expect(report.phase).toBe('Failed');
    expect(namesOf(report)).not.toContain('foreign');
    report = await sync([], { inventory: report.inventory, ...prune });
    expect(has('foreign')).toBe(true);
  });

  it('does not take over the objects of a sync that never began', async () => {
    sim.store.create(configMap('foreign', { namespace: 'default' }));
    const unknown = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
    const report = await sync([configMap('foreign'), unknown]);
    expect([report.phase, namesOf(report)]).toEqual(['Failed', []]);
  });

  it('is returned unchanged by a dry run, and after each step', async () => {
    const { inventory } = await sync([configMap('a')]);
    const careful = await openWriter({ kubeConfig: kubeConfigOf(sim), dryRun: true });
    const report = await sync([configMap('b')], { writer: careful, inventory, ...prune });
    await careful.close();
    expect(report.inventory).toEqual(inventory);
    const steps: SyncReport[] = [];
    await sync([configMap('b')], { inventory, onStep: (step) => steps.push(step) });
    expect(steps.map(({ inventory: { objects } }) => objects.map(({ name }) => name))).toContainEqual(['a', 'b']);
  });

  it('does not take over an object that a partial sync leaves out, and keeps what it had', async () => {
    sim.store.create(configMap('foreign', { namespace: 'default' }));
    const isSelected = ({ metadata }: KubeObject): boolean => metadata.name === 'a';
    let report = await sync([configMap('a'), configMap('foreign')], { isSelected });
    expect(namesOf(report)).toEqual(['a']);
    report = await sync([configMap('a'), configMap('b')], { inventory: report.inventory });
    report = await sync([configMap('a')], { inventory: report.inventory, isSelected, ...prune });
    expect([namesOf(report), has('b')]).toEqual([['a', 'b'], true]);
  });

  it('warns once of objects that go to "default" unasked', async () => {
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    await sync([configMap('a'), configMap('b'), clusterRole], { onWarning });
    await sync([configMap('a')], { onWarning, namespace: 'default' });
    await sync([configMap('a', { namespace: 'default' }), clusterRole], { onWarning });
    expect(warnings).toEqual([
      'ConfigMap a and 1 more without a namespace: "default" is used, as namespace is not set',
    ]);
  });

  it('waits for the function between two waves', async () => {
    const seen: boolean[] = [];
    const later = configMap('late', { annotations: { 'argocd.argoproj.io/sync-wave': '1' } });
    await sync([configMap('early'), later], {
      onStep: async ({ phase }) => {
        if (phase !== 'Running') return;
        await new Promise<void>((resolve) => void setImmediate(resolve));
        seen.push(has('early') && !has('late'));
      },
    });
    expect(seen[0]).toBe(true);
  });

  const stored = (inventory: unknown): Partial<SyncInputs> => ({ inventory: inventory as SyncInventory, ...prune });
  const one = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' };
  const valid = { format: 'driftless.inventory/v1', name: '', objects: [one] };

  it.each([
    ['a text', 'INVENTORY_MALFORMED', 'text'],
    ['an array', 'INVENTORY_MALFORMED', []],
    ['null', 'INVENTORY_MALFORMED', null],
    ['another format', 'INVENTORY_MALFORMED', { ...valid, format: 'driftless.inventory/v2' }],
    ['no list', 'INVENTORY_MALFORMED', { ...valid, objects: { one } }],
    ['an object without a name', 'INVENTORY_MALFORMED', { ...valid, objects: [{ ...one, name: undefined }] }],
    ['an object with an empty namespace', 'INVENTORY_MALFORMED', { ...valid, objects: [{ ...one, namespace: '' }] }],
    ['a long name', 'INVENTORY_MALFORMED', { ...valid, objects: [{ ...one, name: 'a'.repeat(400) }] }],
    ['too many objects', 'INVENTORY_MALFORMED', { ...valid, objects: Array.from({ length: 100_001 }, () => one) }],
    ['another name', 'INVENTORY_FOREIGN', { ...valid, name: 'staging' }],
    ['another server', 'INVENTORY_FOREIGN', { ...valid, server: 'https://other.example.com' }],
  ])('is refused if it is or has %s, and nothing is pruned', async (_what, code, inventory) => {
    await sync([configMap('a')]);
    await expect(sync([], stored(inventory))).rejects.toMatchObject({ code });
    expect([has('a'), deletions]).toEqual([true, []]);
  });

  it('prunes by a valid one without a server', async () => {
    await sync([configMap('a')]);
    await sync([], stored(valid));
    expect(has('a')).toBe(false);
  });
});

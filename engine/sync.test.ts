import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { seededRandom } from '#base';
import { eventually, FakeClock, widgetCrd } from '#support';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openWriter, planSync, reconcile, runSync } from './sync.ts';
import type { OpenedSyncWriter, SyncInputs, SyncWriter, WriterOptions } from './sync.ts';
import { SyncRun } from './sync/sync-run.ts';

const argo = (key: string, value: string): Record<string, string> => ({ [`argocd.argoproj.io/${key}`]: value });

const configMap = (name: string, annotations?: Record<string, string>, namespace?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(annotations === undefined ? {} : { annotations }),
  },
  data: { of: name },
});

const deployment = (name: string, annotations: Record<string, string> = {}): KubeObject => {
  const labels = { app: name };
  const spec = { containers: [{ name: 'web', image: 'web:1' }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, annotations },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
};

const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };

describe('@driftless/engine/sync', () => {
  let sim: SimCluster;
  let writes: string[];
  let writer: OpenedSyncWriter;

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
    writes = [];
    writer = await open();
    sim.onRequest(({ verb, resource, name, agent, dryRun }) => {
      if (!agent.startsWith('driftless-sync') || ['get', 'list', 'watch'].includes(verb)) return;
      writes.push(`${verb} ${resource}/${name}${dryRun ? ' (dry run)' : ''}`);
    });
  });

  afterEach(async () => {
    await writer.close();
    await sim.close();
  });

  function open(options: Partial<WriterOptions> = {}): ReturnType<typeof openWriter> {
    const kubeConfig = kubeConfigOf(sim);
    return openWriter({ kubeConfig, ...options });
  }

  const sync = (inputs: Partial<SyncInputs>): ReturnType<typeof runSync> => runSync({ targets: [], writer, ...inputs });
  const has = (name: string, kind = 'ConfigMap', group = ''): boolean =>
    sim.store.get(group, kind, 'default', name) !== undefined;

  it('starts a wave only when the one before is healthy', async () => {
    const order: string[] = [];
    sim.store.subscribe(({ object }) => {
      const { kind, metadata } = object;
      const status = object['status'] as { availableReplicas?: number } | undefined;
      if (metadata.name === 'web' && kind === 'Deployment' && status?.availableReplicas === 1) order.push('healthy');
      if (metadata.name === 'after') order.push('after');
    });
    const targets = [configMap('after', argo('sync-wave', '1')), deployment('web')];
    expect((await planSync({ targets, writer })).map(({ name, wave }) => [name, wave])).toEqual([
      ['web', 0],
      ['after', 1],
    ]);
    const outcome = await sync({ targets });
    expect(outcome.phase).toBe('Succeeded');
    expect(order.indexOf('healthy')).toBeGreaterThanOrEqual(0);
    expect(order.indexOf('healthy')).toBeLessThan(order.indexOf('after'));
  });

  it('writes a status by its subresource, and nothing if it is equal or the object has changed', async () => {
    const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
    const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const { spec, ...crd } = widgetCrd() as KubeObject & { readonly spec: object };
    sim.store.create({ ...crd, spec: { ...spec, versions: [{ ...version, schema: { openAPIV3Schema } }] } });
    const made = sim.store.create({ ...widget, metadata: { name: 'one', namespace: 'default' } });
    const { signal } = new AbortController();
    const stored = await writer.patchStatus(made, { phase: 'Ready', left: 1 }, signal);
    expect(stored['status']).toEqual({ phase: 'Ready', left: 1 });
    expect(await writer.patchStatus(stored, { phase: 'Ready', left: 1 }, signal)).toBe(stored);
    const next = await writer.patchStatus(stored, { phase: 'Gone' }, signal);
    expect(next['status']).toEqual({ phase: 'Gone' });
    await expect(writer.patchStatus(stored, { phase: 'Old' }, signal)).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    const finalizers = ['example.com/a'];
    expect((await writer.patchMetadata(next, { finalizers }, signal)).metadata.finalizers).toEqual(finalizers);
    expect(writes.filter((write) => write.startsWith('patch widgets'))).toHaveLength(4);
  });

  it('plans what it then does: create, update, unchanged, prune, keep', async () => {
    const first = [
      configMap('same'),
      configMap('changed'),
      configMap('gone'),
      configMap('kept', argo('sync-options', 'Prune=false')),
    ];
    await sync({ targets: first });
    const targets = [configMap('same'), { ...configMap('changed'), data: { of: 'other' } }, configMap('new')];
    const inputs = { targets, known: first, options: { prune: true }, writer };
    const plan = await planSync(inputs);
    expect(Object.fromEntries(plan.map(({ name, action }) => [name, action]))).toEqual({
      same: 'unchanged',
      changed: 'update',
      new: 'create',
      gone: 'prune',
      kept: 'keep',
    });
    const { results } = await runSync(inputs);
    expect(Object.fromEntries(results.map(({ name, message }) => [name, message]))).toEqual({
      same: 'configmap/same unchanged',
      changed: 'configmap/changed configured',
      new: 'configmap/new created',
      gone: 'pruned',
      kept: 'ignored (no prune)',
    });
    expect([has('gone'), has('kept'), has('new')]).toEqual([false, true, true]);
  });

  it.each([
    ['client-side', {}],
    ['server-side', { serverSideApply: true }],
  ] as const)('says which objects it changed, or would change in a dry run (%s)', async (_how, how) => {
    const first = [configMap('same'), configMap('changed'), configMap('gone')];
    const hook = configMap('hook', argo('hook', 'PreSync'));
    const options = { ...how, prune: true };
    const changedBy = async (inputs: Partial<SyncInputs>): Promise<readonly string[]> => {
      const { results } = await sync({ known: first, options, ...inputs });
      return results.flatMap(({ name, changed }) => (changed ? [name] : [])).sort();
    };
    expect(await changedBy({ targets: [hook, ...first] })).toEqual(['changed', 'gone', 'hook', 'same']);
    expect(await changedBy({ targets: first })).toEqual([]);
    const targets = [configMap('same'), { ...configMap('changed'), data: { of: 'other' } }, configMap('new')];
    const trial = await open({ dryRun: true });
    expect(await changedBy({ targets, writer: trial })).toEqual(['changed', 'gone', 'new']);
    expect(await changedBy({ targets })).toEqual(['changed', 'gone', 'new']);
    expect(await changedBy({ targets, known: [] })).toEqual([]);
    await trial.close();
  });

  it('prunes nothing without the option, and nothing that is not named', async () => {
    await sync({ targets: [configMap('mine'), configMap('other')] });
    const { results } = await sync({ targets: [], known: [configMap('mine')] });
    expect(results).toMatchObject([{ name: 'mine', status: 'PruneSkipped' }]);
    expect([has('mine'), has('other')]).toEqual([true, true]);
  });

  it('applies a definition and its objects in one sync', async () => {
    const outcome = await sync({ targets: [widget, widgetCrd()] });
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    expect(has('one', 'Widget', 'example.com')).toBe(true);
  });

  it('refuses a kind that the server does not serve, and a denied object, before it writes', async () => {
    const unknown = await sync({ targets: [configMap('a'), widget] });
    expect(unknown.phase).toBe('Failed');
    expect(unknown.message).toContain('failed to discover server resources for group version example.com/v1');
    const [problem] = await planSync({ targets: [widget], writer });
    expect(problem?.problem).toContain('example.com/v1');
    const careful = await open({ denied: ({ kind }) => (kind === 'ConfigMap' ? 'no ConfigMaps here' : undefined) });
    const denied = await runSync({ targets: [configMap('a')], writer: careful });
    await careful.close();
    expect(denied).toMatchObject({ phase: 'Failed', message: expect.stringContaining('no ConfigMaps here') });
    expect(writes).toEqual([]);
  });

  it('refuses a namespace that it may not read before it writes', async () => {
    sim.addFault({ verb: 'get', namespace: 'secret', fault: { kind: 'status', code: 403 } });
    const targets = [configMap('a'), configMap('b', undefined, 'secret')];
    await expect(sync({ targets })).rejects.toMatchObject({
      code: 'LIVE_STATE',
      message: expect.stringContaining('cannot read ConfigMap secret/b: '),
    });
    expect(writes).toEqual([]);
  });

  it.each([
    ['a value that is no object', { targets: ['text' as unknown as KubeObject] }, 'target 0 is no Kubernetes object'],
    ['an object without metadata', { targets: [{ apiVersion: 'v1', kind: 'Pod' } as KubeObject] }, 'target 0 is no'],
    ['two targets of one identity', { targets: [configMap('a'), configMap('a', undefined, 'default')] }, 'are both'],
    [
      'a misspelt input',
      { inventry: {} } as Partial<SyncInputs>,
      'inputs has no member "inventry"; its members are targets, known, inventory',
    ],
    ['a known object without a name', { known: [{ ...widget, metadata: {} }] }, 'known object 0 has no name'],
  ])('refuses %s', async (_what, inputs: Partial<SyncInputs>, message) => {
    await expect(sync(inputs)).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining(message) });
    expect(writes).toEqual([]);
  });

  it('reports an object that the server rejects, and runs the hooks of a failed sync', async () => {
    const invalid = { ...configMap('bad'), data: { 'not a key!': 'x' } };
    const outcome = await sync({ targets: [invalid, configMap('cleanup', argo('hook', 'SyncFail'))] });
    expect(outcome.phase).toBe('Failed');
    expect(outcome.results.find(({ name }) => name === 'bad')).toMatchObject({ status: 'SyncFailed' });
    expect(has('cleanup')).toBe(true);
  });

  it('ends at its deadline beside a writer that never returns', async () => {
    let isApplying = false;
    const hanging: SyncWriter = {
      discovery: writer.discovery,
      get: () => Promise.resolve(null),
      apply: () => {
        isApplying = true;
        return new Promise(() => undefined);
      },
      create: () => new Promise(() => undefined),
      delete: () => new Promise(() => undefined),
      patchMetadata: () => new Promise(() => undefined),
      denied: () => undefined,
    };
    const clock = new FakeClock();
    const inputs = { targets: [configMap('a')], writer: hanging, deadlineMs: 60_000 };
    const running = new SyncRun(inputs, { clock, random: seededRandom(1), warn: () => undefined }).run();
    await eventually(() => expect(isApplying).toBe(true));
    await clock.advance(60_000);
    const outcome = await running;
    expect(outcome.phase).toBe('Failed');
    expect(outcome.message).toMatch(/^Operation terminated: the sync took longer than/);
  });

  it('deletes a running hook at its deadline', async () => {
    const spec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a:1' }] } } };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'slow', annotations: argo('hook', 'Sync') } };
    const idle = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    const kubeConfig = kubeConfigOf(idle);
    const own = await openWriter({ kubeConfig });
    const clock = new FakeClock();
    const inputs = { targets: [{ ...job, spec }], writer: own, deadlineMs: 60_000 };
    const running = new SyncRun(inputs, { clock, random: seededRandom(1), warn: () => undefined }).run();
    await eventually(() => expect(idle.store.get('batch', 'Job', 'default', 'slow')).toBeDefined());
    await eventually(() => expect(clock.pending).toBeGreaterThan(1));
    await clock.advance(60_000);
    const outcome = await running;
    expect(outcome).toMatchObject({ phase: 'Failed', results: [{ name: 'slow', hookPhase: 'Failed' }] });
    await eventually(() => expect(idle.store.get('batch', 'Job', 'default', 'slow')).toBeUndefined());
    await own.close();
    await idle.close();
  });

  it('stops when its signal aborts, and keeps what was applied', async () => {
    const controller = new AbortController();
    const pending = sync({
      targets: [
        configMap('early'),
        deployment('web', argo('sync-wave', '1')),
        configMap('late', argo('sync-wave', '2')),
      ],
      onStep: ({ results }) => {
        if (results.some(({ name }) => name === 'early')) controller.abort(new Error('enough'));
        throw new Error('bug');
      },
      onWarning: () => undefined,
      signal: controller.signal,
    });
    await expect(pending).rejects.toThrow('enough');
    expect([has('early'), has('late')]).toEqual([true, false]);
  });

  it('writes nothing in a dry run, and creates the namespace if requested', async () => {
    const careful = await open({ dryRun: true });
    const outcome = await runSync({ targets: [configMap('a')], writer: careful });
    await careful.close();
    expect(outcome.phase).toBe('Succeeded');
    expect(writes.filter((write) => !write.endsWith('(dry run)'))).toEqual([]);
    expect(has('a')).toBe(false);
    const made = await sync({ targets: [configMap('a')], namespace: 'fresh', options: { createNamespace: true } });
    expect(made.phase).toBe('Succeeded');
    expect(sim.store.get('', 'ConfigMap', 'fresh', 'a')).toMatchObject({ data: configMap('a')['data'] });
  });

  it('puts an object without a namespace into the given one, and drops that of a cluster-scoped object', async () => {
    sim.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    const group = 'rbac.authorization.k8s.io';
    const metadata = { name: 'viewer', namespace: 'shop' };
    const role: KubeObject = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules: [] };
    expect(await sync({ targets: [configMap('a'), role], namespace: 'shop' })).toMatchObject({ phase: 'Succeeded' });
    expect(sim.store.get('', 'ConfigMap', 'shop', 'a')).toMatchObject({ data: configMap('a')['data'] });
    expect(sim.store.get(group, 'ClusterRole', '', 'viewer')?.metadata).not.toHaveProperty('namespace');
  });

  it.each([
    ['client-side', {}],
    ['server-side', { serverSideApply: true }],
  ])('begins the next wave at once after one that changes nothing (%s)', async (_how, options) => {
    const targets = [...Array(6).keys()].map((i) => configMap(`wave-${i}`, argo('sync-wave', String(i))));
    await sync({ targets, options });
    const run = (clock: FakeClock): ReturnType<SyncRun['run']> =>
      new SyncRun({ targets, writer, options }, { clock, random: seededRandom(1), warn: () => undefined }).run();
    // Its time stands still.
    expect(await run(new FakeClock())).toMatchObject({ phase: 'Succeeded' });
    sim.store.update({ ...sim.store.get('', 'ConfigMap', 'default', 'wave-2')!, data: { of: 'drift' } });
    const clock = new FakeClock();
    const repaired = run(clock);
    await eventually(() =>
      expect(sim.store.get('', 'ConfigMap', 'default', 'wave-2')).toMatchObject({ data: { of: 'wave-2' } }),
    );
    // The deadline, and the pause after the wave that has changed something.
    await eventually(() => expect(clock.pending).toBe(2));
    await clock.advance(200);
    expect(await repaired).toMatchObject({ phase: 'Succeeded' });
  });

  it('pairs targets with live objects by identity, and tells hooks apart', () => {
    const [one, two, hook] = [configMap('one'), configMap('two'), configMap('check', argo('hook', 'PreSync'))];
    const live = [configMap('two', {}, 'shop'), configMap('gone', {}, 'shop')];
    expect(reconcile([one, hook, two], live, 'shop', () => true)).toEqual({
      pairs: [
        { target: one, live: null },
        { target: two, live: live[0] },
        { target: null, live: live[1] },
      ],
      hooks: [hook],
      liveHooks: [],
    });
  });

  it('runs against any writer', async () => {
    const objects = new Map<string, KubeObject>();
    const memory: SyncWriter = {
      discovery: writer.discovery,
      get: ({ metadata }) => Promise.resolve(objects.get(metadata.name ?? '') ?? null),
      apply: (object) => {
        objects.set(object.metadata.name ?? '', object);
        return Promise.resolve({ object, message: 'stored' });
      },
      create: (object) => memory.apply(object, null, {} as never, new AbortController().signal),
      delete: ({ metadata }) => {
        objects.delete(metadata.name ?? '');
        return Promise.resolve('accepted');
      },
      patchMetadata: (live) => Promise.resolve(live),
      denied: () => undefined,
    };
    expect(await runSync({ targets: [configMap('a')], writer: memory })).toMatchObject({ phase: 'Succeeded' });
    expect([...objects.values()]).toMatchObject([{ metadata: { name: 'a', namespace: 'default' } }]);
    await runSync({ targets: [], known: [configMap('a')], options: { prune: true }, writer: memory });
    expect(objects.size).toBe(0);
    expect(writes).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { openCache } from './live.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openWriter, planSync, runSync, serverSideDiff } from './sync.ts';
import type { OpenedSyncWriter, SyncInputs, SyncOwner, SyncReport } from './sync.ts';

const label = 'example.com/owner';
const owner: SyncOwner = { label, value: 'a' };
const other: SyncOwner = { label, value: 'b' };

const configMap = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data: { of: name },
});
const hook = configMap('hook', { annotations: { 'argocd.argoproj.io/hook': 'PreSync' } });
const modes = [
  ['client-side', {}],
  ['server-side', { serverSideApply: true }],
] as const;

describe('a sync with an owner', () => {
  let sim: SimCluster;
  let writer: OpenedSyncWriter;
  let writes: string[];

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim) });
    writes = [];
    sim.onRequest(({ verb, resource, name, dryRun }) => {
      if (!dryRun && !['get', 'list', 'watch'].includes(verb)) writes.push(`${verb} ${resource}/${name}`);
    });
  });

  afterEach(async () => {
    await writer.close();
    await sim.close();
  });

  const sync = (inputs: Partial<SyncInputs>): Promise<SyncReport> =>
    runSync({ targets: [], writer, namespace: 'default', owner, ...inputs });
  const stored = (name: string): KubeObject => {
    const object = sim.store.get('', 'ConfigMap', 'default', name);
    if (object === undefined) throw new Error(`there is no ConfigMap ${name}`);
    return object;
  };
  const labelOf = (name: string): string | undefined =>
    sim.store.get('', 'ConfigMap', 'default', name)?.metadata.labels?.[label];
  const namesIn = ({ inventory }: SyncReport): readonly string[] => inventory.objects.map(({ name }) => name);
  const messagesOf = ({ results }: SyncReport): Readonly<Record<string, string>> =>
    Object.fromEntries(results.map(({ name, status, message }) => [name, `${status ?? ''}: ${message}`]));

  it.each(modes)('labels what it applies, hooks included, and repairs the label (%s)', async (_mode, options) => {
    const targets = [configMap('one', { labels: { team: 'shop' } }), configMap('two'), hook];
    expect((await sync({ targets, options })).phase).toBe('Succeeded');
    expect(['one', 'two', 'hook'].map(labelOf)).toEqual(['a', 'a', 'a']);
    const live = stored('one');
    expect(live.metadata.labels).toEqual({ team: 'shop', [label]: 'a' });
    sim.store.update({ ...live, metadata: { ...live.metadata, labels: { team: 'shop' } } });
    await sync({ targets, options });
    expect(labelOf('one')).toBe('a');
    const cache = await openCache({ kubeConfig: kubeConfigOf(sim), include: [{ groups: [''], kinds: ['ConfigMap'] }] });
    const found = await cache.list({ matchExpressions: [{ key: label, operator: 'In', values: ['a', 'c'] }] });
    expect(found.objects.map(({ name }) => name).sort()).toEqual(['hook', 'one', 'two']);
    await cache.close();
  });

  it.each(modes)(
    'refuses an object of another owner before it writes, and says whose it is (%s)',
    async (_, options) => {
      await sync({ targets: [configMap('theirs')], owner: other, options });
      writes = [];
      const inputs = { targets: [configMap('mine'), configMap('theirs')], options };
      const why = 'it belongs to owner "b" (label example.com/owner): set owner.adopt to take it over';
      const plan = await planSync({ writer, namespace: 'default', owner, ...inputs });
      expect(plan.map(({ name, problem }) => [name, problem])).toEqual([
        ['mine', undefined],
        ['theirs', why],
      ]);
      const report = await sync(inputs);
      expect(report.phase).toBe('Failed');
      expect(messagesOf(report)).toEqual({ theirs: `SyncFailed: ${why}` });
      expect([writes, namesIn(report), labelOf('theirs')]).toEqual([[], [], 'b']);
      const adopted = await sync({ ...inputs, owner: { ...owner, adopt: true } });
      expect([adopted.phase, namesIn(adopted), labelOf('theirs')]).toEqual(['Succeeded', ['mine', 'theirs'], 'a']);
    },
  );

  it('takes an object without the label, as any apply', async () => {
    sim.store.create(configMap('free', { namespace: 'default' }));
    expect(namesIn(await sync({ targets: [configMap('free')] }))).toEqual(['free']);
    expect(labelOf('free')).toBe('a');
  });

  it('refuses an object that another owner has created while the sync runs', async () => {
    const late = configMap('late', { annotations: { 'argocd.argoproj.io/sync-wave': '1' } });
    const report = await sync({
      targets: [configMap('early'), late],
      onStep: ({ results }) => {
        const isEarlyApplied = results.some(({ name, status }) => name === 'early' && status === 'Synced');
        if (isEarlyApplied && labelOf('late') === undefined)
          sim.store.create(configMap('late', { namespace: 'default', labels: { [label]: 'b' } }));
      },
    });
    expect([report.phase, labelOf('early'), labelOf('late'), namesIn(report)]).toEqual(['Failed', 'a', 'b', ['early']]);
    expect(messagesOf(report)['late']).toMatch(/^SyncFailed: it belongs to owner "b"/);
  });

  it('hands an object over: the former owner does not prune it, and forgets it', async () => {
    const first = await sync({ targets: [configMap('kept'), configMap('moved')] });
    expect(namesIn(first)).toEqual(['kept', 'moved']);
    await sync({ targets: [configMap('moved')], owner: { ...other, adopt: true } });
    writes = [];
    const inputs = { targets: [configMap('kept')], inventory: first.inventory, options: { prune: true } };
    const plan = await planSync({ writer, namespace: 'default', owner, ...inputs });
    expect(plan.map(({ name, action }) => [name, action])).toEqual([
      ['kept', 'unchanged'],
      ['moved', 'keep'],
    ]);
    const second = await sync(inputs);
    expect(messagesOf(second)).toMatchObject({
      moved: 'PruneSkipped: ignored (owner "b" (label example.com/owner) manages it)',
    });
    expect([second.phase, writes, namesIn(second), labelOf('moved')]).toEqual(['Succeeded', [], ['kept'], 'b']);
  });

  it('prunes an object that lost the label: the inventory says what is ours', async () => {
    const { inventory } = await sync({ targets: [configMap('bare')] });
    const live = stored('bare');
    sim.store.update({ ...live, metadata: { ...live.metadata, labels: {} } });
    await sync({ targets: [], inventory, options: { prune: true } });
    expect(sim.store.get('', 'ConfigMap', 'default', 'bare')).toBeUndefined();
  });

  it('the server-side diff names the owner, too', async () => {
    await sync({ targets: [configMap('theirs')], owner: other });
    const inputs = { targets: [configMap('theirs')], writer, namespace: 'default' };
    const why = expect.stringContaining('it belongs to owner "b"');
    expect(await serverSideDiff({ ...inputs, owner })).toMatchObject([{ change: 'refused', message: why }]);
    const [adopted] = await serverSideDiff({ ...inputs, owner: { ...owner, adopt: true } });
    expect(adopted).toMatchObject({ change: 'changed', diff: { paths: ['/metadata/labels/example.com~1owner'] } });
  });

  it('neither deletes nor replaces an object that another owner has taken over since it was read', async () => {
    const { signal } = new AbortController();
    const compared: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'taken' } };
    for (const object of [compared, configMap('taken', { namespace: 'default', labels: { [label]: 'a' } })]) {
      const read = sim.store.create(object);
      sim.store.update({ ...read, metadata: { ...read.metadata, labels: { [label]: 'b' } } });
      expect(await writer.delete(read, 'Background', signal)).toBe('changed');
    }
    const live = { ...compared, metadata: { ...compared.metadata, resourceVersion: '1' } };
    const how = { serverSide: false, force: false, replace: true, validate: true };
    await expect(writer.apply(compared, live, how, signal)).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    expect(labelOf('taken')).toBe('b');
  });

  it.each([
    ['a key that is none', { label: 'a b', value: 'a' }, 'owner.label'],
    ['a value that is none', { label, value: 'a/b' }, 'owner.value'],
    ['an empty value', { label, value: '' }, 'owner.value'],
    ['no text', { label, value: 7 as unknown as string }, 'owner.value'],
  ])('refuses %s', async (_what, wrong, message) => {
    await expect(sync({ targets: [configMap('x')], owner: wrong })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(message),
    });
    expect(writes).toEqual([]);
  });

  it('refuses a target that names another owner', async () => {
    const target = configMap('x', { labels: { [label]: 'b' } });
    await expect(sync({ targets: [target] })).rejects.toMatchObject({
      code: 'USAGE',
      message: 'target 0 has the label example.com/owner of "b": this sync is "a"',
    });
    expect(writes).toEqual([]);
  });
});

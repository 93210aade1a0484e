import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubeObject } from '#model';
import { eventually, makePackageUser, widgetCrd } from '#support';
import { openCache } from '../../engine/live.ts';
import { openWriter, runSync, serverSideDiff } from '../../engine/sync.ts';
import type { OpenedSyncWriter, SyncInputs } from '../../engine/sync.ts';
import { isBy, startDouble, startServers, toolPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

/** Stands in for the door `sim`: the examples then run unchanged against a real API server. */
const realCluster = `
import { spawnSync } from 'node:child_process';

const kubectl = (args, object) => {
  const { stdout, stderr, status } = spawnSync(process.env.KUBECTL, args, { input: JSON.stringify(object) });
  if (status !== 0 && !args.includes('--ignore-not-found')) throw new Error(String(stderr));
  return String(stdout);
};
export const kubeConfigOf = () => process.env.KUBECONFIG;
export const startCluster = () => Promise.resolve({
  store: {
    create: (object) => {
      kubectl(['create', '-f', '-'], object);
      if (object.kind === 'CustomResourceDefinition')
        kubectl(['wait', '--for=condition=Established', 'crd/' + object.metadata.name]);
    },
    update: (object) => kubectl(['replace', '-f', '-'], object),
    get: (group, kind, namespace, name) => {
      const found = kubectl(['get', kind + '.' + group, name, '-n', namespace, '-o', 'json', '--ignore-not-found']);
      return found === '' ? undefined : JSON.parse(found);
    },
    delete: (group, kind, namespace, name) => kubectl(['delete', kind + '.' + group, name, '-n', namespace, '--wait=false']),
  },
  close: () => Promise.resolve(),
});
`;

describe('the engine as a package, on a real API server', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let folder: string;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    folder = join(world.folder, 'user');
    makePackageUser(folder);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'real-cluster.js'), realCluster);
  }, 120_000);

  afterAll(async () => {
    await double.stop();
    await world.close();
  }, 60_000);

  it.each(['live', 'sync', 'operator'])(
    'examples/engine/%s.mjs prints what it prints on the simulator',
    async (name) => {
      const code = readFileSync(join('examples', 'engine', `${name}.mjs`), 'utf8');
      const used = code.replace("'@driftless/engine/sim'", "'./real-cluster.js'");
      expect(used).not.toBe(code);
      writeFileSync(join(folder, `${name}.mjs`), used);
      const env = { ...process.env, KUBECONFIG: target.kubeconfig, KUBECTL: toolPath('kubectl') };
      const { stdout } = await promisify(execFile)(process.execPath, [`${name}.mjs`], {
        cwd: folder,
        env,
        timeout: 90_000,
      });
      expect(stdout).toBe(readFileSync(join('examples', 'engine', `${name}.txt`), 'utf8'));
    },
  );

  describe('with an account of one namespace', () => {
    let kubeConfig: KubeConfig;

    beforeAll(async () => {
      for (const namespace of ['team', 'other']) await target.kubectl(['create', 'namespace', namespace]);
      await target.kubectl(['create', 'serviceaccount', 'limited', '-n', 'team']);
      const rights = ['--verb=get,list,watch,create,patch,delete', '--resource=configmaps'];
      await target.kubectl(['create', 'role', 'limited', '-n', 'team', ...rights]);
      await target.kubectl([
        ...['create', 'rolebinding', 'limited', '-n', 'team'],
        ...['--role=limited', '--serviceaccount=team:limited'],
      ]);
      await target.kubectl(['create', 'configmap', 'secretive', '-n', 'other']);
      kubeConfig = new KubeConfig();
      kubeConfig.loadFromFile(target.kubeconfigFor(await target.as('team', 'limited')));
    }, 60_000);

    it('the cache has its namespace, and names what it may not read', async () => {
      const cache = await openCache({ kubeConfig, namespaces: ['team', 'other'], include: [{ groups: [''] }] });
      const created: string[] = [];
      cache.subscribe({ created: ({ namespace, name }) => created.push(`${namespace}/${name}`) });
      await target.kubectl(['create', 'configmap', 'new', '-n', 'team']);
      await eventually(() => expect(created).toContain('team/new'));
      const kinds = [
        { group: '', kind: 'ConfigMap' },
        { group: '', kind: 'Secret' },
      ];
      const { objects, incomplete } = await cache.list({ kinds });
      expect(objects.map(({ namespace }) => namespace)).not.toContain('other');
      expect(incomplete.map(({ kind, reason }) => [kind, reason.includes('is forbidden')])).toEqual([
        ['ConfigMap', true],
        ['Secret', true],
      ]);
      await cache.close();
    });

    it('one request lists and watches a kind of a namespace', async () => {
      const requests = (): string[] =>
        target
          .audit()
          .filter((event) => isBy(event, 'team', 'limited') && event.objectRef?.resource === 'configmaps')
          .filter(({ verb, stage }) => verb === 'list' || (verb === 'watch' && stage === 'ResponseStarted'))
          .map(({ verb, requestURI }) => `${verb} ${/sendInitialEvents=true/.exec(requestURI)?.[0] ?? ''}`);
      for (const name of ['stays', 'leaves']) await target.kubectl(['create', 'configmap', name, '-n', 'team']);
      const before = requests().length;
      const include = [{ groups: [''], kinds: ['ConfigMap'] }];
      const cache = await openCache({ kubeConfig, namespaces: ['team'], include });
      const deleted: string[] = [];
      cache.subscribe({ deleted: ({ name }) => deleted.push(name) });
      const { objects, incomplete } = await cache.list();
      expect(objects.map(({ name }) => name)).toEqual(expect.arrayContaining(['stays', 'leaves']));
      expect(incomplete).toEqual([]);
      await target.kubectl(['delete', 'configmap', 'leaves', '-n', 'team']);
      await eventually(() => expect(deleted).toEqual(['leaves']));
      expect(requests().slice(before)).toEqual(['watch sendInitialEvents=true']);
      await cache.close();
    });

    it('a sync applies and prunes there, and refuses another namespace before it writes', async () => {
      const configMap = (name: string, namespace: string): Parameters<typeof runSync>[0]['targets'][number] => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { a: 'b' },
      });
      const writer = await openWriter({ kubeConfig });
      const both = [configMap('mine', 'team'), configMap('secretive', 'other')];
      await expect(runSync({ targets: both, writer })).rejects.toMatchObject({ code: 'LIVE_STATE' });
      expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeUndefined();
      for (const serverSideApply of [false, true]) {
        const own = [configMap('mine', 'team')];
        const applied = await runSync({ targets: own, writer, options: { serverSideApply } });
        expect(applied.phase).toBe('Succeeded');
        expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeDefined();
        await runSync({ targets: [], known: own, writer, options: { prune: true } });
        // The prune is in the foreground: the object leaves after the collection of garbage.
        await eventually(async () =>
          expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeUndefined(),
        );
      }
      await writer.close();
    });
  });

  it('a sync applies objects whose definition another sync has just created', async () => {
    const writer = await openWriter({ kubeConfig: target.kubeconfig });
    for (const group of ['a', 'b', 'c'].map((name) => `${name}.just-created.example.com`)) {
      const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: {} };
      expect(await runSync({ targets: [widgetCrd(group)], writer })).toMatchObject({ phase: 'Succeeded' });
      expect(await runSync({ targets: [widget], namespace: 'default', writer })).toMatchObject({ phase: 'Succeeded' });
    }
    await writer.close();
  });

  it('a sync prunes a definition, if told to, after the objects of its kind', async () => {
    const writer = await openWriter({ kubeConfig: target.kubeconfig });
    const group = 'pruned.example.com';
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: {} };
    const inputs = { writer, namespace: 'default', options: { prune: true }, pruneDefinitions: true };
    const targets = [widgetCrd(group), widget];
    expect(
      (await serverSideDiff({ ...inputs, targets })).map(({ change, unvalidated }) => [change, unvalidated]),
    ).toEqual([
      ['created', undefined],
      ['created', true],
    ]);
    const { inventory } = await runSync({ ...inputs, targets });
    const kept = await runSync({ ...inputs, targets: [widget], inventory });
    expect(kept.results.map(({ kind, status }) => [kind, status])).toContainEqual([
      'CustomResourceDefinition',
      'PruneSkipped',
    ]);
    const pruned = await runSync({ ...inputs, targets: [], inventory });
    expect(pruned.results.map(({ status, namespace }) => [status, namespace]).sort()).toEqual([
      ['Pruned', ''],
      ['Pruned', 'default'],
    ]);
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`;
    await eventually(async () => expect(await target.api.get(path)).toBeUndefined());
    expect(await runSync({ ...inputs, targets })).toMatchObject({ phase: 'Succeeded' });
    await writer.close();
  });

  it.each([
    ['server-side apply', { serverSideApply: true }],
    ['a switch to server-side apply', {}],
  ])('the diff has the refusal of the server where other writes precede the apply: %s', async (what, first) => {
    const writer = await openWriter({ kubeConfig: target.kubeconfig, fieldManager: 'team-agent' });
    const service = (port: number): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: what.replaceAll(' ', '-') },
      spec: { selector: { app: 'web' }, ports: [{ port }] },
    });
    const inputs = { writer, namespace: 'default', options: { serverSideApply: true } };
    await runSync({ ...inputs, targets: [service(80)], options: first });
    const [valid] = await serverSideDiff({ ...inputs, targets: [service(81)] });
    const [invalid] = await serverSideDiff({ ...inputs, targets: [service(70_000)] });
    expect([valid?.change, invalid?.change]).toEqual(['changed', 'refused']);
    expect(await runSync({ ...inputs, targets: [service(70_000)] })).toMatchObject({ phase: 'Failed' });
    expect(await runSync({ ...inputs, targets: [service(81)] })).toMatchObject({ phase: 'Succeeded' });
    const lost = { ...service(80), metadata: { name: 'lost', namespace: 'missing' } };
    const [refused] = await serverSideDiff({ ...inputs, targets: [lost] });
    expect(refused).toMatchObject({ change: 'refused', message: 'namespaces "missing" not found' });
    await writer.close();
  });

  describe('under a field manager and an owner of its own', () => {
    const label = 'example.com/owner';
    const namespace = 'managed';
    const properties = { size: { type: 'integer', default: 3 }, color: { type: 'string' } };
    const schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
    const widget = (spec: object): KubeObject => ({
      apiVersion: 'managed.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'one' },
      spec,
    });
    const configMap = (name: string, ...keys: readonly string[]): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: Object.fromEntries(keys.map((key) => [key, key])),
    });
    const deployment = (image: string, extra: object = {}): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { ...extra, containers: [{ name: 'web', image }] },
        },
      },
    });
    const modes = { 'client-side': {}, 'server-side': { serverSideApply: true }, Replace: { replace: true } };
    type Mode = keyof typeof modes;
    const names = Object.keys(modes) as Mode[];
    let writer: OpenedSyncWriter;
    let argo: OpenedSyncWriter;

    beforeAll(async () => {
      await target.kubectl(['create', 'namespace', namespace]);
      const kubeConfig = target.kubeconfig;
      writer = await openWriter({ kubeConfig, fieldManager: 'team-agent' });
      argo = await openWriter({ kubeConfig });
      // In one sync, which waits until the kind is served.
      const targets = [widgetCrd('managed.example.com', schema), widget({ size: 1 })];
      expect((await runSync({ targets, namespace, writer })).phase).toBe('Succeeded');
    }, 60_000);

    afterAll(async () => {
      await writer.close();
      await argo.close();
    });

    const sync = (targets: readonly KubeObject[], inputs: Partial<SyncInputs> = {}): ReturnType<typeof runSync> =>
      runSync({ targets, writer, namespace, ...inputs });
    const keysOf = async (name: string): Promise<readonly string[]> => {
      const stored = await target.api.get(`/api/v1/namespaces/${namespace}/configmaps/${name}`);
      return Object.keys(stored?.['data'] ?? {}).sort();
    };

    it.each(names.flatMap((from) => names.map((to) => [from, to] as const)))(
      'removes what the targets drop, and keeps what argocd-controller set: %s, then %s',
      async (from, to) => {
        const name = `${from}-${to}`.toLowerCase();
        const remove = ['delete', 'widgets/one', 'deployments/web', '-n', namespace, '--ignore-not-found'];
        await target.kubectl(remove);
        // A replacement sends the whole object: nothing of others would stay.
        const [isAppliedFirst, isKept] = [from !== 'Replace', to !== 'Replace'];
        const applyOther = (): ReturnType<typeof runSync> =>
          sync([configMap(name, 'applied')], { writer: argo, options: modes['server-side'] });
        if (isKept && isAppliedFirst) await applyOther();
        const first = [configMap(name, 'kept', 'dropped'), deployment('web:1', { hostNetwork: true })];
        const before = await sync([...first, widget({ size: 1, color: 'red' })], { options: modes[from] });
        expect([before.phase, before.results.filter(({ status }) => status !== 'Synced')]).toEqual(['Succeeded', []]);
        if (isKept && !isAppliedFirst) await applyOther();
        const patch = ['patch', 'configmap', name, '-n', namespace, '--type=merge', '-p', '{"data":{"written":"x"}}'];
        if (isKept) await target.kubectl([...patch, '--field-manager=argocd-controller']);
        expect(await keysOf(name)).toEqual([
          ...(isKept ? ['applied'] : []),
          'dropped',
          'kept',
          ...(isKept ? ['written'] : []),
        ]);
        const targets = [configMap(name, 'kept'), deployment('web:1'), widget({ size: 1 })];
        const inputs = { targets, writer, namespace, options: modes[to] };
        const unchanged = ['unchanged', 'unchanged', 'unchanged'];
        expect((await serverSideDiff(inputs)).map(({ change }) => change)).toEqual(['changed', 'changed', 'changed']);
        const after = await runSync(inputs);
        expect([after.phase, after.results.filter(({ status }) => status !== 'Synced')]).toEqual(['Succeeded', []]);
        expect(await keysOf(name)).toEqual(isKept ? ['applied', 'kept', 'written'] : ['kept']);
        const [site, web] = await Promise.all([
          target.api.get(`/apis/managed.example.com/v1/namespaces/${namespace}/widgets/one`),
          target.api.get(`/apis/apps/v1/namespaces/${namespace}/deployments/web`),
        ]);
        expect(site).toMatchObject({ spec: { size: 1 } });
        expect(JSON.stringify([site, web])).not.toMatch(/"hostNetwork":true|"color":"red"/);
        expect((await serverSideDiff(inputs)).map(({ change }) => change)).toEqual(unchanged);
      },
      60_000,
    );

    it.each(['client-side', 'server-side'] as const)(
      'finds, refuses and hands over by the label (%s)',
      async (mode) => {
        const [mine, moved] = [`mine-${mode}`, `moved-${mode}`];
        const [a, b] = [
          { label, value: `a-${mode}` },
          { label, value: `b-${mode}` },
        ];
        const options = { ...modes[mode], prune: true };
        const { inventory } = await sync([configMap(mine, 'x'), configMap(moved, 'x')], { owner: a, options });
        const list = ['get', 'configmaps', '-n', namespace, '-o', 'name', '-l', `${label} in (a-${mode},c)`];
        const found = async (): Promise<readonly string[]> => (await target.kubectl(list)).trim().split('\n').sort();
        expect(await found()).toEqual([`configmap/${mine}`, `configmap/${moved}`]);
        const refused = await sync([configMap(moved, 'y')], { owner: b, options });
        expect(refused).toMatchObject({
          phase: 'Failed',
          results: [{ message: `it belongs to owner "a-${mode}" (label ${label}): set owner.adopt to take it over` }],
        });
        expect(await keysOf(moved)).toEqual(['x']);
        const owner = { ...b, adopt: true };
        expect((await sync([configMap(moved, 'y')], { owner, options })).phase).toBe('Succeeded');
        const left = await sync([configMap(mine, 'x')], { owner: a, inventory, options });
        expect(left.results).toContainEqual(expect.objectContaining({ name: moved, status: 'PruneSkipped' }));
        expect(left.inventory.objects.map(({ name }) => name)).toEqual([mine]);
        expect([await keysOf(moved), await found()]).toEqual([['y'], [`configmap/${mine}`]]);
      },
    );

    it.each(names)('the server-side diff has the words of the server (%s)', async (mode) => {
      const job = (image: string): KubeObject => ({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: `diffed-${mode.toLowerCase()}` },
        spec: { suspend: true, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image }] } } },
      });
      const options = modes[mode];
      await sync([job('a:1')], { options });
      const targets = [job('a:2'), configMap(`new-${mode.toLowerCase()}`, 'a'), configMap('Bad Name', 'a')];
      const [changed, created, bad] = await serverSideDiff({ targets, writer, namespace, options });
      expect(changed).toMatchObject({ change: 'refused', message: expect.stringContaining('field is immutable') });
      expect(created).toMatchObject({
        change: 'created',
        diff: { predictedLive: { metadata: { uid: expect.any(String) } } },
      });
      expect(bad).toMatchObject({ change: 'refused', message: expect.stringContaining('Bad Name') });
      const path = `/api/v1/namespaces/${namespace}/configmaps/new-${mode.toLowerCase()}`;
      expect(await target.api.get(path)).toBeUndefined();
    });

    it('the cache reads the OpenAPI documents that the server publishes', async () => {
      const cache = await openCache({ kubeConfig: target.kubeconfig, include: [{ groups: ['apps'] }] });
      await eventually(async () =>
        expect(JSON.stringify(await cache.openApi('managed.example.com/v1'))).toContain('"color"'),
      );
      expect(await cache.openApi('apps/v1')).toHaveProperty('components.schemas');
      expect(await cache.openApi('apps/v0')).toBeUndefined();
      await cache.close();
    });
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { eventually, widgetCrd } from '#support';
import { openCache } from './live.ts';
import { healthScripts } from './health.ts';
import type { CachedObject, CacheOptions, CacheProblem, ClusterCache, LabelRequirement } from './live.ts';
import { kubeConfigOf, kubeconfigFor, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';

const configMaps = { group: '', kind: 'ConfigMap' };
const secrets = { group: '', kind: 'Secret' };

const configMap = (name: string, namespace = 'default', labels?: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
  data: { size: name },
});

describe('@driftless/engine/live', () => {
  let sim: SimCluster;
  let problems: CacheProblem[];
  const caches: ClusterCache[] = [];

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    problems = [];
    for (const name of ['shop', 'other']) sim.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    sim.store.create(configMap('a', 'shop', { team: 'one' }));
    sim.store.create(configMap('b', 'other'));
  });

  afterEach(async () => {
    for (const cache of caches.splice(0)) await cache.close();
    await sim.close();
  });

  async function open(options: Partial<CacheOptions> = {}): Promise<ClusterCache> {
    const kubeConfig = kubeConfigOf(sim);
    const cache = await openCache({ kubeConfig, onProblem: (problem) => problems.push(problem), ...options });
    caches.push(cache);
    return cache;
  }

  const namesOf = async (cache: ClusterCache, options: Parameters<ClusterCache['list']>[0]): Promise<string[]> =>
    (await cache.list(options)).objects.map(({ name }) => name).sort();

  it('lists by kind, namespace, label and scope', async () => {
    const cache = await open({ keep: ({ data }): unknown => data });
    expect(await namesOf(cache, { kinds: [configMaps], namespaces: ['shop'] })).toContain('a');
    expect(await namesOf(cache, { matchLabels: { team: 'one' } })).toEqual(['a']);
    expect(await namesOf(cache, { matchLabels: { team: 'two' } })).toEqual([]);
    expect(await namesOf(cache, { scope: 'cluster', kinds: [{ group: '', kind: 'Namespace' }] })).toContain('shop');
    expect(await namesOf(cache, { scope: 'cluster', kinds: [configMaps] })).toEqual([]);
    const { objects, incomplete } = await cache.list({ matchLabels: { team: 'one' } });
    expect(objects).toMatchObject([{ kind: 'ConfigMap', version: 'v1', namespace: 'shop', kept: { size: 'a' } }]);
    expect(incomplete).toEqual([]);
  });

  it('selects by sets of labels', async () => {
    const cache = await open();
    const named = (matchExpressions: readonly LabelRequirement[]): Promise<string[]> =>
      namesOf(cache, { kinds: [configMaps], namespaces: ['shop', 'other'], matchExpressions });
    expect(await named([{ key: 'team', operator: 'In', values: ['one', 'two'] }])).toEqual(['a']);
    expect(await named([{ key: 'team', operator: 'NotIn', values: ['one'] }])).toContain('b');
    expect(await named([{ key: 'team', operator: 'Exists' }])).toEqual(['a']);
    expect(await named([{ key: 'team', operator: 'DoesNotExist' }])).not.toContain('a');
    const bad = [{ key: 'team', operator: 'in', values: ['one'] }] as unknown as readonly LabelRequirement[];
    await expect(named(bad)).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('NotIn') });
    await expect(named([{ key: 'team', operator: 'In' }])).rejects.toMatchObject({ code: 'USAGE' });
    await expect(named([{ key: 'team', operator: 'Exists', values: ['x'] }])).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('knows the kinds and the version of the server', async () => {
    const cache = await open({ include: [{ groups: [''] }] });
    expect(cache.kinds()).toContainEqual(
      expect.objectContaining({ group: 'apps', kind: 'Deployment', namespaced: true }),
    );
    const { kubeVersion, apiVersions } = cache.capabilities();
    expect(kubeVersion).toMatch(/^v?1[.][0-9]+/);
    expect(apiVersions).toContain('apps/v1/Deployment');
  });

  it('reads the published OpenAPI document of an API version', async () => {
    const cache = await open();
    const kindsIn = async (apiVersion: string): Promise<readonly string[]> => {
      const document = (await cache.openApi(apiVersion)) as { components: { schemas: Record<string, object> } };
      return Object.keys(document.components.schemas);
    };
    expect(await kindsIn('apps/v1')).toContain('io.k8s.api.apps.v1.Deployment');
    expect(await kindsIn('v1')).toContain('io.k8s.api.core.v1.ConfigMap');
    expect(await cache.openApi('example.com/v1')).toBeUndefined();
    sim.store.create(widgetCrd());
    expect(await kindsIn('example.com/v1')).toContain('com.example.v1.Widget');
    await cache.close();
    await expect(cache.openApi('v1')).rejects.toThrow('closed');
  });

  it('waits until an object is healthy, gone, or as a function says', async () => {
    const cache = await open();
    const ref = { ...configMaps, namespace: 'shop', name: 'late' };
    const healthy = cache.waitFor(ref, 'healthy');
    const stored = sim.store.create(configMap('late', 'shop'));
    expect(await healthy).toMatchObject({ uid: stored.metadata.uid });
    const changed = cache.waitFor(ref, (object) => object?.labels['team'] === 'two');
    sim.store.update(configMap('late', 'shop', { team: 'two' }));
    expect(await changed).toMatchObject({ name: 'late' });
    const gone = cache.waitFor(ref, 'gone');
    sim.store.delete('', 'ConfigMap', 'shop', 'late');
    expect(await gone).toBeUndefined();
    await expect(cache.waitFor(ref, 'healthy', { deadlineMs: 20 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    await expect(cache.waitFor(ref, 'helthy' as never)).rejects.toMatchObject({ code: 'USAGE' });
    const { signal } = new AbortController();
    const closed = expect(cache.waitFor(ref, 'healthy', { signal })).rejects.toThrow('closed');
    await cache.close();
    await closed;
  });

  it('judges health by scripts of the caller', async () => {
    const health = await healthScripts({ ConfigMap: 'return { status = "Degraded", message = obj.data.size }' });
    const cache = await open({ health });
    const { objects } = await cache.list({ kinds: [configMaps], matchLabels: { team: 'one' } });
    expect(objects[0]?.health).toEqual({ status: 'Degraded', message: 'a' });
  });

  it('tells the URL, the scope and the verbs of a kind', async () => {
    const cache = await open();
    const verbs: unknown = expect.arrayContaining(['get', 'list', 'watch', 'patch']);
    const deployments = { version: 'v1', resource: 'deployments', namespaced: true, verbs };
    expect(cache.apiMetadata({ group: 'apps', kind: 'Deployment' })).toMatchObject(deployments);
    const namespaces = { version: 'v1', resource: 'namespaces', namespaced: false };
    expect(cache.apiMetadata({ group: '', kind: 'Namespace' })).toMatchObject(namespaces);
  });

  it('hands what was selected of each object to handlers, such as credentials of registries', async () => {
    const type = 'kubernetes.io/dockerconfigjson';
    const pullSecret = (auths: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'registry', namespace: 'shop' },
      type,
      data: { '.dockerconfigjson': Buffer.from(auths).toString('base64') },
    });
    sim.store.create(pullSecret('{"auths":{"one":{}}}'));
    const cache = await open({
      include: [{ groups: [''] }],
      keep: (object): unknown => object.type === type && object.data,
    });
    const known = new Map<string, unknown>();
    const learn = ({ namespace, name, kept }: CachedObject): void => {
      if (kept !== false) known.set(`${namespace}/${name}`, kept);
    };
    cache.subscribe({
      created: learn,
      updated: learn,
      deleted: ({ namespace, name }) => known.delete(`${namespace}/${name}`),
    });
    for (const auths of ['{"auths":{"one":{}}}', '{"auths":{"two":{}}}']) {
      sim.store.update(pullSecret(auths));
      await eventually(() => expect([...known]).toEqual([['shop/registry', pullSecret(auths)['data']]]));
    }
    sim.store.delete('', 'Secret', 'shop', 'registry');
    await eventually(() => expect([...known]).toEqual([]));
  });

  it('names the kinds that filters, rights, namespaced mode or the server withhold', async () => {
    for (const verb of ['list', 'watch'] as const)
      sim.addFault({ verb, resource: 'secrets', namespace: 'other', fault: { kind: 'status', code: 403 } });
    const cache = await open({ namespaces: ['shop', 'other'], exclude: [{ groups: ['apps'] }] });
    const kinds = [
      configMaps,
      secrets,
      { group: 'apps', kind: 'Deployment' },
      { group: '', kind: 'Namespace' },
      { group: 'example.com', kind: 'Gone' },
    ];
    const { objects, incomplete } = await cache.list({ kinds });
    expect(objects.map(({ name }) => name)).toEqual(expect.arrayContaining(['a', 'b']));
    expect(incomplete.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['Secret', expect.stringContaining('secrets is forbidden')],
      ['Deployment', 'excluded by the filters of the cache'],
      ['Namespace', 'cluster-scoped, and the cache is limited to namespaces'],
      ['Gone', 'the server does not serve example.com/Gone'],
    ]);
    expect(cache.apiMetadata({ group: 'example.com', kind: 'Gone' })).toBeUndefined();
  });

  it('watches only the included kinds', async () => {
    const cache = await open({ include: [{ groups: [''], kinds: ['ConfigMap'] }] });
    const { objects } = await cache.list();
    expect(new Set(objects.map(({ kind }) => kind))).toEqual(new Set(['ConfigMap']));
  });

  it('reports what exists as created, then each change, until the handlers are removed', async () => {
    const cache = await open({ include: [{ groups: [''], kinds: ['ConfigMap'] }] });
    const seen: string[] = [];
    const remove = cache.subscribe({
      created: ({ name }) => seen.push(`created ${name}`),
      updated: ({ name }) => seen.push(`updated ${name}`),
      deleted: ({ name }) => seen.push(`deleted ${name}`),
    });
    await eventually(() => expect(seen).toEqual(expect.arrayContaining(['created a', 'created b'])));
    seen.length = 0;
    sim.store.update({ ...configMap('a', 'shop'), data: { size: '2' } });
    await eventually(() => expect(seen).toEqual(['updated a']));
    sim.store.create(configMap('c'));
    await eventually(() => expect(seen).toEqual(['updated a', 'created c']));
    sim.store.delete('', 'ConfigMap', 'default', 'c');
    await eventually(() => expect(seen.at(-1)).toBe('deleted c'));
    seen.length = 0;
    remove();
    sim.store.create(configMap('d'));
    await eventually(async () => expect(await namesOf(cache, { kinds: [configMaps] })).toContain('d'));
    expect(seen).toEqual([]);
  });

  it('keeps working beside handlers that throw or never return, and beside a keep that throws', async () => {
    const cache = await open({
      keep: () => {
        throw new Error('no facts');
      },
      handlerDeadlineMs: 5,
    });
    const seen = new Set<string>();
    cache.subscribe({
      created: () => {
        throw new Error('bug');
      },
    });
    cache.subscribe({ created: () => new Promise(() => undefined) });
    cache.subscribe({ created: ({ name }) => seen.add(name) });
    sim.store.create(configMap('late'));
    await eventually(() => expect(seen).toContain('late'));
    await eventually(() => expect(new Set(problems.map(({ kind }) => kind))).toContain('closed'));
    const messages = problems.map(({ message }) => message);
    const fill = /^keep of \/\S+ and of \d+ other objects failed: no facts$/;
    expect(messages.filter((message) => fill.test(message))).toHaveLength(1);
    await eventually(() =>
      expect(problems.map(({ message }) => message)).toContain('keep of /ConfigMap/default/late failed: no facts'),
    );
    expect(messages).toContain('handler created of /ConfigMap/shop/a failed: bug');
    expect(await namesOf(cache, { kinds: [configMaps], namespaces: ['shop'] })).toContain('a');
  });

  it('walks owners before what they own, and ends at a cycle', async () => {
    const owned = (name: string, ...owners: KubeObject[]): KubeObject => {
      const ownerReferences = owners.map(({ apiVersion, kind, metadata }) => ({
        apiVersion,
        kind,
        name: metadata.name ?? '',
        uid: metadata.uid ?? '',
      }));
      const { metadata, ...rest } = configMap(name, 'shop');
      return sim.store.create({ ...rest, metadata: { ...metadata, ownerReferences } });
    };
    const root = owned('root');
    const left = owned('left', root);
    const deep = owned('deep', left);
    owned('both', root, deep);
    const cache = await open();
    const names: string[] = [];
    for await (const { name } of cache.iterateTree([{ ...configMaps, namespace: 'shop', name: 'root' }]))
      names.push(name);
    expect(names).toEqual(['root', 'left', 'deep', 'both']);
    const namespaces = ['shop'];
    const roots = await namesOf(cache, { kinds: [configMaps], namespaces, topLevelOnly: true });
    expect(roots.filter((name) => name !== 'kube-root-ca.crt')).toEqual(['a', 'root']);
    const gone: string[] = [];
    for await (const { name } of cache.iterateTree([{ ...configMaps, namespace: 'shop', name: 'gone' }]))
      gone.push(name);
    expect(gone).toEqual([]);
  });

  it('lists every kind again after the resync interval', async () => {
    await open({ include: [{ groups: [''], kinds: ['ConfigMap'] }], resyncMs: 20 });
    let lists = 0;
    sim.onRequest(({ verb, resource }) => {
      if (verb === 'list' && resource === 'configmaps') lists += 1;
    });
    await eventually(() => expect(lists).toBeGreaterThan(1));
  });

  it('lists everything again when it is invalidated, with other filters and namespaces', async () => {
    const cache = await open({ exclude: [{ groups: [''], kinds: ['Secret'] }], namespaces: ['shop'] });
    let lists = 0;
    sim.onRequest(({ verb, resource }) => {
      if (verb === 'list' && resource === 'configmaps') lists += 1;
    });
    const deleted: string[] = [];
    cache.subscribe({ deleted: ({ namespace, name }) => deleted.push(`${namespace}/${name}`) });
    cache.invalidate();
    await eventually(() => expect(lists).toBe(1));
    expect(await namesOf(cache, { kinds: [configMaps], namespaces: ['other'] })).toEqual([]);
    cache.invalidate({ exclude: [], namespaces: ['other'] });
    await eventually(async () => {
      expect(await namesOf(cache, { kinds: [configMaps] })).toContain('b');
      expect((await cache.list({ kinds: [secrets] })).incomplete).toEqual([]);
    });
    await eventually(() => expect(deleted).toContain('shop/a'));
    expect(await namesOf(cache, { kinds: [configMaps], namespaces: ['shop'] })).toEqual([]);
  });

  it('announces the kinds of the server, and those that come and go', async () => {
    const cache = await open();
    const announced: boolean[] = [];
    cache.subscribe({ kinds: (served) => announced.push(served.some(({ kind }) => kind === 'Widget')) });
    await eventually(() => expect(announced).toEqual([false]));
    sim.store.create(widgetCrd());
    await eventually(() => expect(announced.at(-1)).toBe(true));
    sim.store.delete('apiextensions.k8s.io', 'CustomResourceDefinition', '', 'widgets.example.com');
    await eventually(() => expect(announced.at(-1)).toBe(false));
  });

  it('reads a kubeconfig by its path, and refuses none outside of a pod', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'driftless-live-')), 'config');
    writeFileSync(path, kubeconfigFor([sim]));
    const cache = await open({ kubeConfig: path });
    expect(cache.server).toBe(sim.url);
    await expect(open({ kubeConfig: `${path}-gone` })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(open({ kubeConfig: undefined })).rejects.toMatchObject({ code: 'USAGE' });
    rmSync(dirname(path), { recursive: true });
  });

  it('refuses a server that does not answer, a context that does not exist, and use after close', async () => {
    await expect(open({ context: 'gone' })).rejects.toMatchObject({ code: 'USAGE' });
    const cache = await open();
    await cache.close();
    await cache.close();
    await expect(cache.list()).rejects.toThrow('is closed: use it before close');
    expect(() => cache.subscribe({})).toThrow('is closed: use it before close');
    const kubeConfig = kubeConfigOf({ ...sim, url: 'http://127.0.0.1:1' });
    await expect(openCache({ kubeConfig })).rejects.toMatchObject({ code: 'CLUSTER_UNAVAILABLE' });
  });
});

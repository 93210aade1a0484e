import { describe, expect, it } from '@jest/globals';
import { DeadlineExceeded } from '#base';
import type { Json } from '#base';
import { discover } from './discovery.ts';
import { findResource } from './find-resource.ts';
import type { KubeClient } from '../index.ts';
import { clientFor, closedAfterEach, noSignal, ScriptedServer } from '../testing/index.ts';
import type { Turn } from '../testing/index.ts';

const open = closedAfterEach();

async function connect(play: (turn: Turn) => void): Promise<{ client: KubeClient; server: ScriptedServer }> {
  const server = await ScriptedServer.start(play);
  const client = clientFor(server, { limits: { attempts: 1 } });
  open.push(server, client);
  return { client, server };
}

const resource = (name: string, kind: string, subresources: string[] = [], scope = 'Namespaced'): Json => ({
  resource: name,
  responseKind: { group: '', version: '', kind },
  scope,
  singularResource: '',
  verbs: ['get', 'list', 'watch'],
  shortNames: [name.slice(0, 2)],
  subresources: subresources.map((subresource) => ({ subresource, responseKind: { kind }, verbs: ['get'] })),
});
const list = (...items: Json[]): Json => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  items,
});
const group = (name: string, ...versions: Json[]): Json => ({ metadata: { name }, versions });

const core = list(
  group('', {
    version: 'v1',
    freshness: 'Current',
    resources: [
      resource('pods', 'Pod', ['status', 'log', 'eviction']),
      resource('nodes', 'Node', [], 'Cluster'),
      { ...(resource('bindings', 'Binding') as object), verbs: ['create'] },
    ],
  }),
);
const groups = list(
  group('apps', { version: 'v1', freshness: 'Current', resources: [resource('deployments', 'Deployment', ['scale'])] }),
  group(
    'autoscaling',
    {
      version: 'v2',
      freshness: 'Current',
      resources: [resource('horizontalpodautoscalers', 'HorizontalPodAutoscaler')],
    },
    {
      version: 'v1beta1',
      freshness: 'Current',
      resources: [resource('horizontalpodautoscalers', 'HorizontalPodAutoscaler'), resource('oldies', 'Oldie')],
    },
  ),
  group('metrics.k8s.io', { version: 'v1beta1', freshness: 'Stale', resources: [] }),
);

const old: Record<string, Json> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    kind: 'APIGroupList',
    groups: [
      { name: 'apps', preferredVersion: { version: 'v1' }, versions: [{ version: 'v1' }] },
      {
        name: 'autoscaling',
        preferredVersion: { version: 'v2' },
        versions: [{ version: 'v1beta1' }, { version: 'v2' }],
      },
      { name: 'metrics.k8s.io', preferredVersion: { version: 'v1beta1' }, versions: [{ version: 'v1beta1' }] },
    ],
  },
  '/api/v1': {
    kind: 'APIResourceList',
    resources: [
      { name: 'pods', kind: 'Pod', namespaced: true, verbs: ['get', 'list', 'watch'], shortNames: ['po'] },
      { name: 'pods/status', kind: 'Pod', namespaced: true, verbs: ['get'] },
      { name: 'pods/log', kind: 'Pod', namespaced: true, verbs: ['get'] },
      { name: 'pods/eviction', kind: 'Eviction', namespaced: true, verbs: ['create'] },
      { name: 'nodes', kind: 'Node', namespaced: false, verbs: ['get', 'list', 'watch'], shortNames: ['no'] },
      { name: 'bindings', kind: 'Binding', namespaced: true, verbs: ['create'] },
    ],
  },
  '/apis/apps/v1': {
    resources: [
      {
        name: 'deployments',
        kind: 'Deployment',
        namespaced: true,
        verbs: ['get', 'list', 'watch'],
        shortNames: ['de'],
      },
      { name: 'deployments/scale', kind: 'Scale', namespaced: true, verbs: ['get'] },
    ],
  },
  '/apis/autoscaling/v2': {
    resources: [
      {
        name: 'horizontalpodautoscalers',
        kind: 'HorizontalPodAutoscaler',
        namespaced: true,
        verbs: ['get', 'list', 'watch'],
        shortNames: ['ho'],
      },
    ],
  },
  '/apis/autoscaling/v1beta1': {
    resources: [
      {
        name: 'horizontalpodautoscalers',
        kind: 'HorizontalPodAutoscaler',
        namespaced: true,
        verbs: ['get', 'list', 'watch'],
        shortNames: ['ho'],
      },
      { name: 'oldies', kind: 'Oldie', namespaced: true, verbs: ['get', 'list', 'watch'], shortNames: ['ol'] },
    ],
  },
};

const wayIn: Record<string, (turn: Turn) => void> = {
  aggregated: (turn) => turn.reply(200, turn.path === '/api' ? core : groups),
  'old-style': (turn) => {
    const body = old[turn.path];
    if (body === undefined) turn.status(503, 'ServiceUnavailable', 'metrics server is down');
    else turn.reply(200, body);
  },
  'old-style behind a proxy that answers 406': (turn) => {
    if (String(turn.headers['accept']).includes('APIGroupDiscoveryList')) turn.status(406, 'NotAcceptable', 'no');
    else wayIn['old-style']?.(turn);
  },
};

describe.each(Object.keys(wayIn))('%s discovery', (name) => {
  it('finds every resource in its preferred version, with subresources folded in', async () => {
    const { client } = await connect(wayIn[name]!);
    const discovery = await client.discover({ signal: noSignal });
    expect(discovery.preferred.map((r) => `${r.group}/${r.version}/${r.resource}`)).toEqual([
      '/v1/pods',
      '/v1/nodes',
      '/v1/bindings',
      'apps/v1/deployments',
      'autoscaling/v2/horizontalpodautoscalers',
      'autoscaling/v1beta1/oldies',
    ]);
    expect(findResource(discovery, { group: '', kind: 'Pod' })).toEqual({
      group: '',
      version: 'v1',
      kind: 'Pod',
      resource: 'pods',
      namespaced: true,
      verbs: ['get', 'list', 'watch'],
      subresources: ['status', 'log', 'eviction'],
      shortNames: ['po'],
    });
    expect(findResource(discovery, { group: '', kind: 'Node' })?.namespaced).toBe(false);
    const hpa = { group: 'autoscaling', kind: 'HorizontalPodAutoscaler' };
    expect(findResource(discovery, hpa)?.version).toBe('v2');
    expect(findResource(discovery, hpa, 'v1beta1')?.version).toBe('v1beta1');
    expect(findResource(discovery, hpa, 'v3')).toBeUndefined();
    expect(findResource(discovery, { group: 'apps', kind: 'Pod' })).toBeUndefined();
    // Without kinds that cannot be listed and watched, as Argo CD passes them to charts.
    expect(discovery.apiVersions).toEqual([
      'apps/v1',
      'apps/v1/Deployment',
      'autoscaling/v1beta1',
      'autoscaling/v1beta1/HorizontalPodAutoscaler',
      'autoscaling/v1beta1/Oldie',
      'autoscaling/v2',
      'autoscaling/v2/HorizontalPodAutoscaler',
      'v1',
      'v1/Node',
      'v1/Pod',
    ]);
  });

  it('is plain data: a copy gives the same results', async () => {
    const { client } = await connect(wayIn[name]!);
    const discovery = await client.discover({ signal: noSignal });
    const copy = structuredClone(discovery);
    expect(copy).toStrictEqual(discovery);
    const hpa = { group: 'autoscaling', kind: 'HorizontalPodAutoscaler' };
    for (const version of [undefined, 'v1beta1', 'v2', 'v3'])
      expect([version, findResource(copy, hpa, version)?.version]).toEqual([
        version,
        version === 'v3' ? undefined : (version ?? 'v2'),
      ]);
  });

  it('names the group that cannot be read, and returns the rest', async () => {
    const { client } = await connect(wayIn[name]!);
    const { failedGroups } = await client.discover({ signal: noSignal });
    expect([...failedGroups.keys()]).toEqual(['metrics.k8s.io']);
    expect([...failedGroups.values()][0]).toMatch(/metrics server is down|does not answer/);
  });
});

describe('discovery', () => {
  // T-JS-1
  it('sends one request for concurrent callers', async () => {
    const { client, server } = await connect(wayIn['aggregated']!);
    const discoveries = await Promise.all(Array.from({ length: 20 }, () => client.discover({ signal: noSignal })));
    expect(new Set(discoveries).size).toBe(1);
    expect(server.turns.map((turn) => turn.path)).toEqual(['/api', '/apis']);
    await client.discover({ signal: noSignal });
    expect(server.turns).toHaveLength(4);
  });

  it('continues for the other callers when one aborts', async () => {
    const { client, server } = await connect((turn) => setImmediate(() => wayIn['aggregated']?.(turn)));
    const stop = new AbortController();
    const first = client.discover({ signal: stop.signal });
    first.catch(() => undefined);
    const second = client.discover({ signal: noSignal });
    stop.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    expect((await second).preferred).toHaveLength(6);
    expect(server.turns.length).toBe(2);
  });

  it('returns core if the groups are forbidden, and fails if nothing can be read', async () => {
    const { client } = await connect((turn) =>
      turn.path === '/api' ? turn.reply(200, core) : turn.status(403, 'Forbidden', 'not for you'),
    );
    const discovery = await client.discover({ signal: noSignal });
    expect(discovery.preferred.map((r) => r.kind)).toEqual(['Pod', 'Node', 'Binding']);
    expect(discovery.failedGroups.get('*')).toBe('not for you');
    const { client: outside } = await connect((turn) => turn.status(403, 'Forbidden', 'not for you'));
    await expect(outside.discover({ signal: noSignal })).rejects.toMatchObject({ code: 'KUBE_FORBIDDEN' });
  });

  it('returns all other groups if the server of one hangs', async () => {
    const get = (path: string): Promise<Json> => {
      const body = old[path];
      return body === undefined ? Promise.reject(new DeadlineExceeded(`GET ${path}`, 30_000)) : Promise.resolve(body);
    };
    const { preferred, failedGroups } = await discover(get);
    expect(preferred.map(({ kind }) => kind)).toContain('Deployment');
    expect([...failedGroups]).toEqual([['metrics.k8s.io', 'GET /apis/metrics.k8s.io/v1beta1 took longer than 30 s']]);
  });
});

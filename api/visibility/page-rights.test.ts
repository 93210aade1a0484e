import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { inClusterServer } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { pageRights } from '../access/page-rights.ts';
import type { PageName } from '../access/page-rights.ts';
import { alternativesOf, applicationsRight, rightsText, rightText } from '../access/rights.ts';
import type { ResourceRight, RightName } from '../access/rights.ts';
import type { Viewer } from '../access/viewer.ts';
import type { ReplicaFacts } from '../facts.ts';
import { ReadApi } from '../read-api.ts';
import { parseApiRequest } from '../request.ts';

const signal = new AbortController().signal;
const remote = 'https://clu5ter.example';
const clusterName = 'clu5ter-name';
const liveValue = 'l1ve-value';
const ownedPod = 'p0d-child';

/** Where each page is found; the Application `team/shop` is on the cluster that it names. */
const targets: Readonly<Record<PageName, string>> = {
  replica: '/replica',
  ownership: '/ownership',
  clusters: '/clusters',
  cluster: `/clusters/${clusterName}`,
  queues: '/queues',
  applications: '/applications',
  application: '/applications/team/shop',
  tree: '/applications/team/shop/tree',
  object: `/applications/team/shop/object?kind=ConfigMap&namespace=apps&name=settings`,
  'object/events': `/applications/team/shop/object/events?kind=ConfigMap&namespace=apps&name=settings`,
  'object/log': `/applications/team/shop/object/log?kind=Pod&namespace=apps&name=p`,
  recording: '/applications/team/shop/recording?recording=abcdefgh',
  plan: '/plan?replicas=2',
  history: '/history',
  repositories: '/repositories',
  events: '/events',
  stream: '/stream',
  'costs/apps': '/costs/apps',
  'costs/clusters': '/costs/clusters',
  'costs/kinds': '/costs/kinds',
  'costs/repositories': '/costs/repositories',
  'costs/projects': '/costs/projects',
};

/** The text that a page shows only to callers with an optional right. */
const shownBy: Partial<Record<PageName, Partial<Record<RightName, string>>>> = {
  replica: { clusters: remote, repositories: 'https://rep0.example' },
  cluster: { objects: 'n0isy' },
  queues: { applications: 'team/shop' },
  applications: { applications: '"shop"', clusters: remote },
  application: { clusters: remote, objects: liveValue },
  tree: { objects: ownedPod },
  object: { objects: liveValue },
  events: { applications: '"shop"', control: 'moved', clusters: 'moved' },
  'costs/apps': { applications: 'team/shop' },
};

const shop: KubeObject = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { namespace: 'team', name: 'shop', resourceVersion: '1' },
  spec: { project: 'pr0ject', source: { repoURL: 'https://git/x' }, destination: { name: clusterName } },
};

const node = { group: '', version: 'v1', namespace: 'apps', isHook: false, isMissing: false, images: [], details: [] };
const deployment = { ...node, group: 'apps', kind: 'Deployment', name: 'web', parents: [], sync: 'Synced' };
const set = { ...node, group: 'apps', kind: 'ReplicaSet', name: 'web-1', parents: [0] };
const pod = { ...node, kind: 'Pod', name: ownedPod, parents: [1] };
const nodes = [deployment, set, pod, { ...pod, kind: 'Secret', name: 'orphan', parents: [] }];
const ref = { group: '', kind: 'ConfigMap', namespace: 'apps', name: 'settings' };
const costs = { cpuMs: 1, passes: 1, renders: 0, apiRequests: 0, watchEvents: 0, bytes: 0 };

function details(): object {
  return {
    since: '',
    reason: '',
    resources: {},
    differences: [
      { ...ref, state: 'modified', fields: [{ path: '/data/a', live: liveValue }], faults: [], ignored: [] },
      { ...ref, state: 'extra', fields: [], manifest: `data:\n  a: ${liveValue}\n`, faults: [], ignored: [] },
    ],
    healthDetails: {
      status: 'Degraded',
      message: '',
      decidedBy: { ...deployment, status: 'Degraded', message: '', culprit: { ...pod, message: liveValue } },
    },
    lastPass: { cause: { type: 'object', message: '', objects: [pod], objectsTotal: 1 } },
    automatedSync: { checks: [] },
    sources: [],
  };
}

function factsOf(server = remote): ReplicaFacts {
  const clock = new FakeClock();
  const rows = new Map([['team/shop', costs]]);
  const book = { coveredMs: () => 1, rows: () => rows, row: () => costs };
  const kind = {
    group: '',
    version: 'v1',
    kind: 'Pod',
    state: 'degraded',
    message: 'away',
    objects: 1,
    events: 1,
    bytes: 1,
  };
  const watched = {
    name: clusterName,
    info: { server, state: 'failed', message: `cannot reach ${remote}`, resourcesCount: 1, eventsCount: 1 },
    kinds: [kind],
    noisiest: [{ key: '/Pod/apps/n0isy', changes: 3 }],
    changed: [],
    eventsPerSecond: 1,
  };
  const repository = {
    url: 'https://rep0.example',
    lastFetch: { at: 0, durationMs: 1, ok: false, message: 'away' },
    failuresInRow: 2,
    paused: [],
    fetches: 1,
    renders: 1,
  };
  const item = { key: 'team/shop', since: 0, priority: 'user' };
  const pool = {
    name: 'refresh',
    progress: () => ({ workers: 1, running: 1, waiting: 0, takenTotal: 1, sinceTakenMs: 0 }),
    contents: () => ({ oldest: item, inProgress: [item], depthByPriority: {} }),
    delayed: () => 0,
    rates: { coveredMs: () => 1, rows: () => new Map() },
  };
  return {
    name: 'replica-0',
    version: '1',
    namespace: 'argocd',
    clock,
    controller: {
      applications: () => [shop],
      application: (key: string) => (key === 'team/shop' ? shop : undefined),
      isWatched: () => true,
      clusterOf: () => ({ server, name: clusterName }),
      isMine: () => true,
      owned: () => new Set(['team/shop']),
      resyncMs: 0,
      state: () => details(),
      details: () => Promise.resolve(details()),
      tree: () => Promise.resolve({ nodes, total: nodes.length }),
      object: () => Promise.resolve({ ...ref, version: 'v1', live: `data:\n  a: ${liveValue}\n` }),
      events: () => Promise.resolve({ items: [] }),
      log: () => Promise.resolve({ container: 'c', containers: ['c'], text: '' }),
      pools: () => [pool],
      activity: () => ({
        passes: [{ key: 'team/shop', at: 0, durationMs: 1, result: 'completed', reason: 'x', level: 1 }],
        syncs: [],
        faults: [],
      }),
      costs: { apps: book, clusters: { ...book, rows: () => new Map() }, kinds: { ...book, rows: () => new Map() } },
      recordings: { read: () => Promise.resolve({ lines: ['recorded'], next: '1' }) },
    },
    ownership: {
      identity: () => ({ shard: 0, replicas: 1 }),
      ownsCluster: () => true,
      conditions: () => [],
      placeOf: () => undefined,
      facts: () => ({
        algorithm: 'legacy',
        shards: 1,
        holders: new Map(),
        entries: new Map([[server, { names: [clusterName], shards: [0], homes: [0] }]]),
        handOvers: [{ at: clock.now(), server: 'https://moved', part: 0, from: 0, to: 0, epoch: 1, reason: 'new' }],
        unowned: new Map(),
      }),
    },
    hubKinds: ({ kind: wanted }: { kind: string }) => Promise.resolve(`${wanted.toLowerCase()}s`),
    clusters: () => [{ server, name: clusterName }],
    watched: () => [watched],
    repositories: () => [repository],
    process: () => ({ startedAt: 0, ready: true, heapBytes: 1, heapLimitBytes: 2, rssBytes: 3, cpuMs: 4 }),
  } as unknown as ReplicaFacts;
}

const scope = { controller: 'argocd', application: 'team', isHub: false };
const isSame = (a: ResourceRight, b: ResourceRight): boolean => rightText(a) === rightText(b);

/** A viewer with every right but some. */
function without(...rights: readonly ResourceRight[]): Viewer {
  return { may: (right) => Promise.resolve(!rights.some((one) => isSame(one, right))) };
}

/** On its page, the Application's right is that to the namespace that the page lists. */
function rightsOf(page: PageName, right: RightName): readonly ResourceRight[] {
  if (right === 'applications' && !pageRights[page].needs.includes(right)) return ['', 'team'].map(applicationsRight);
  if (right === 'control') return ['', 'argocd'].map(applicationsRight);
  const application = targets[page].startsWith('/applications/') ? 'team' : 'argocd';
  return alternativesOf(right, { ...scope, application });
}

async function read(page: PageName, viewer: Viewer, facts = factsOf()): Promise<string> {
  const api = new ReadApi({ facts, clock: facts.clock as FakeClock, peers: () => [] });
  return JSON.stringify(
    await api.answer(parseApiRequest(`/api/v1${targets[page]}`), { viewer, isPeer: false }, signal),
  );
}

const pages = (Object.keys(pageRights) as readonly PageName[]).filter((page) => page !== 'stream');
const needed = pages.flatMap((page) => pageRights[page].needs.map((right) => [page, right] as const));
const optional = pages.flatMap((page) => pageRights[page].leavesOut.map((right) => [page, right] as const));

describe('a page with one right missing', () => {
  it.each(needed)('%s without the right to %s is 403, which names the right', async (page, right) => {
    const statusOf = (error: unknown): unknown => (error as { readonly status?: number }).status;
    expect(await read(page, without()).catch(statusOf)).not.toBe(403);
    const rights = rightsOf(page, right);
    await expect(read(page, without(...rights))).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(rightText(rights.at(-1)!)),
    });
  });

  it.each(optional)('%s without the right to %s is shown without what it covers', async (page, right) => {
    const canary = shownBy[page]?.[right] ?? 'no canary';
    expect(await read(page, without())).toContain(canary);
    const body = await read(page, without(...rightsOf(page, right)));
    expect(body).not.toContain(canary);
    // Applications of other namespaces are not counted: their number is theirs.
    if (right === 'clusters' && page !== 'applications')
      expect(body).toContain(JSON.stringify(rightsText(rightsOf(page, right))));
  });

  it.each(['clusters', 'repositories', 'objects'] as const)(
    'shows %s to a viewer with the right of Driftless and without the one to Secrets',
    async (right) => {
      const page = right === 'repositories' ? 'repositories' : right === 'clusters' ? 'clusters' : 'tree';
      const [secrets] = alternativesOf(right, scope);
      expect(await read(page, without(secrets!))).not.toContain('"hidden"');
    },
  );
});

describe('live objects in the cluster that answers the reviews', () => {
  const pods: ResourceRight = { verb: 'get', group: '', resource: 'pods', namespace: 'apps' };
  const everywhere: ResourceRight = { ...pods, namespace: '' };
  const hub = (): ReplicaFacts => factsOf(inClusterServer);

  it('are shown by kind and namespace, and the rest is counted with its right', async () => {
    const body = JSON.parse(await read('tree', without(pods), hub())) as {
      readonly nodes: readonly { readonly name: string; readonly parents: readonly number[] }[];
      readonly hidden: unknown;
    };
    expect(body.nodes.map(({ name }) => name)).toEqual(['web', 'web-1', 'orphan']);
    expect(body.hidden).toEqual([{ needs: 'get pods in namespace "apps"', count: 1 }]);
  });

  it('keep their place below the nearest object that is shown', async () => {
    const sets: ResourceRight = { verb: 'get', group: 'apps', resource: 'replicasets', namespace: 'apps' };
    const body = JSON.parse(await read('tree', without(sets), hub())) as {
      readonly nodes: readonly { readonly name: string; readonly parents: readonly number[] }[];
    };
    expect(body.nodes.map(({ name, parents }) => [name, parents])).toEqual([
      ['web', []],
      [ownedPod, [0]],
      ['orphan', []],
    ]);
  });

  it('show no live value, writer and culprit without the right, whatever page has them', async () => {
    const maps: ResourceRight = { verb: 'get', group: '', resource: 'configmaps', namespace: 'apps' };
    const body = await read('application', without(maps, pods, everywhere), hub());
    expect(body).not.toContain(liveValue);
    expect(body).not.toContain(ownedPod);
    expect(body).toContain('"differences":[{"group":"","kind":"ConfigMap"');
  });

  it('of a kind that the API server does not serve need the right to everything', async () => {
    const facts = { ...hub(), hubKinds: () => Promise.resolve(undefined) };
    const body = await read('tree', without({ verb: 'get', group: '*', resource: '*', namespace: '' }), facts);
    expect(body).not.toContain(ownedPod);
  });

  it('cost a bounded number of reviews, whatever the tree has', async () => {
    const facts = hub();
    const many = Array.from({ length: 5000 }, (_, i) => ({ ...pod, namespace: `n${i}`, name: `p${i}` }));
    const tree = (): Promise<unknown> => Promise.resolve({ nodes: many, total: many.length });
    let reviews = 0;
    const viewer: Viewer = {
      may: () => {
        reviews += 1;
        return Promise.resolve(true);
      },
    };
    const controller = { ...facts.controller, tree } as ReplicaFacts['controller'];
    const body = await read('tree', viewer, { ...facts, controller });
    expect(reviews).toBeLessThan(110);
    expect(JSON.parse(body)).toMatchObject({ hidden: [{ count: 4900 }] });
  });

  it('are not those of a cluster whose Secret has the name of the own one', async () => {
    const facts = { ...factsOf(), clusters: () => [{ server: remote, name: 'in-cluster' }] } as unknown as ReplicaFacts;
    const renamed = { ...facts.watched()[0]!, name: 'in-cluster' };
    const api = new ReadApi({
      facts: { ...facts, watched: () => [renamed] },
      clock: facts.clock as FakeClock,
      peers: () => [],
    });
    const viewer = without(...rightsOf('cluster', 'objects').filter(({ resource }) => resource === 'objects'));
    const secrets = alternativesOf('clusters', scope)[0]!;
    const asViewer: Viewer = {
      may: (right) => (isSame(right, secrets) ? Promise.resolve(false) : viewer.may(right, signal)),
    };
    const request = parseApiRequest('/api/v1/clusters/in-cluster');
    expect(JSON.stringify(await api.answer(request, { viewer: asViewer, isPeer: false }, signal))).not.toContain(
      'n0isy',
    );
  });

  it.each<[PageName, ResourceRight]>([
    ['object/events', { verb: 'list', group: '', resource: 'events', namespace: 'apps' }],
    ['object/log', { verb: 'get', group: '', resource: 'pods', subresource: 'log', namespace: 'apps' }],
  ])('have %s for those who may read it in the namespace of the object', async (page, right) => {
    const message = `this page needs the right to ${rightText(right)}`;
    await expect(read(page, without(right), hub())).rejects.toMatchObject({ status: 403, message });
    const all = alternativesOf('log', scope).concat(alternativesOf('objects', scope));
    expect(await read(page, without(...all), hub())).toMatch(/"kind":"(ObjectEvents|Log)"/);
  });

  it('are recorded only for those who may read everything', async () => {
    await expect(
      read('recording', without({ verb: 'get', group: '*', resource: '*', namespace: '' }), hub()),
    ).rejects.toMatchObject({ status: 403, message: 'this page needs the right to get *.* in all namespaces' });
  });
});

describe('the cluster of an Application', () => {
  it('is what its spec has, for viewers who may list no clusters, and no filter finds more', async () => {
    const viewer = without(...rightsOf('applications', 'clusters'));
    expect(await read('applications', viewer)).toContain(`"server":"","clusterName":"${clusterName}"`);
    const facts = factsOf();
    const api = new ReadApi({ facts, clock: facts.clock as FakeClock, peers: () => [] });
    const found = async (cluster: string, by: Viewer): Promise<unknown> =>
      api.answer(parseApiRequest(`/api/v1/applications?cluster=${cluster}`), { viewer: by, isPeer: false }, signal);
    expect(await found(remote, without())).toMatchObject({ total: 1 });
    expect(await found(remote, viewer)).toMatchObject({ total: 0 });
    expect(await found(clusterName, viewer)).toMatchObject({ total: 1 });
  });
});

const words: Readonly<Record<RightName, string>> = {
  control: "`get applications` in the controller's namespace",
  applications: '`get applications` in the namespace of the Application',
  settings: "`get configmaps` (`argocd-cm`) in the controller's namespace",
  projects: "`get appprojects` in the controller's namespace",
  clusters: '*clusters*',
  repositories: '*repositories*',
  objects: '*objects*',
  everyObject: '*every object*',
  objectEvents: '*events of the object*',
  log: '*log*',
};

describe('docs/api.md', () => {
  it('has the rights of each page as the code asks them', () => {
    const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api.md'), 'utf8');
    const cell = (rights: readonly RightName[]): string =>
      rights.length === 0 ? '–' : rights.map((right) => words[right]).join(', ');
    const rows = Object.entries(pageRights).map(
      ([page, { needs, leavesOut }]) => `| \`${page}\` | ${cell(needs)} | ${cell(leavesOut)} |`,
    );
    expect(text).toContain(rows.join('\n'));
  });
});

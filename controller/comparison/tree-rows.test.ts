import { beforeEach, describe, expect, it } from '@jest/globals';
import { buildTree } from '#compare';
import type { BuiltTree } from '#compare';
import type { LiveMachine, LiveRow } from '#live';
import { resourceKey } from '#model';
import type { Application, AppProject, ResourceKey } from '#model';
import { readTree } from './tree-rows.ts';
import type { TreeRowsQuery } from './tree-rows.ts';

const key = (kind: string, name: string): ResourceKey => resourceKey('', kind, 'apps', name);

function node(kind: string, name: string, over: Partial<LiveRow> = {}): LiveRow {
  return {
    key: key(kind, name),
    group: '',
    version: 'v1',
    kind,
    namespace: 'apps',
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    createdAt: '2026-01-01T00:00:00Z',
    owners: [],
    parents: [],
    health: null,
    deleting: false,
    images: [],
    ...over,
  };
}

const children: Readonly<Record<string, readonly LiveRow[]>> = {
  web: [node('ReplicaSet', 'web-1')],
  'web-1': [node('Pod', 'web-1-a', { images: ['nginx:1'] }), node('Pod', 'web-1-b', { images: ['nginx:1', 'side:2'] })],
};
const ownedBy = (owner: LiveRow, child: LiveRow): LiveRow => ({
  ...child,
  owners: [{ key: owner.key, version: owner.version, uid: owner.uid }],
  parents: [owner.key],
});
const all = [node('Deployment', 'web'), node('ConfigMap', 'orphan'), ...Object.values(children).flat()];

const app: Application = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'demo', annotations: { 'link.argocd.argoproj.io/x': 'https://x', other: 'y' } },
  spec: { destination: { namespace: 'apps' } },
};

const machine: LiveMachine = {
  name: 'n1',
  capacity: { memory: 8000, cpu: 4000 },
  requestedByPods: { cpu: 250 },
  requestedByOthers: { cpu: 500, memory: 100, storage: 7 },
  system: { kubeletVersion: 'v1.36.3' },
  labels: { zone: 'a', secret: 'b' },
};

/** The pods for which machines were requested. */
let machinesAsked: (readonly ResourceKey[])[];

/** The keys to leave out, for each tree request. */
let asked: (readonly ResourceKey[])[];
beforeEach(() => {
  asked = [];
  machinesAsked = [];
});

async function built(
  over: Partial<TreeRowsQuery> = {},
  orphanedResources?: AppProject['spec']['orphanedResources'],
): Promise<BuiltTree> {
  const query: TreeRowsQuery = {
    app,
    project: {
      apiVersion: '',
      kind: '',
      metadata: {},
      spec: orphanedResources === undefined ? {} : { orphanedResources },
    },
    roots: [
      { key: key('Deployment', 'web'), version: 'v1', live: true },
      { key: key('Secret', 'gone'), version: 'v1', live: false },
    ],
    cluster: {
      tree: ({ roots, excluded }) => {
        asked.push(excluded);
        const below = (one: LiveRow): readonly LiveRow[] =>
          excluded.includes(one.key)
            ? []
            : [one, ...(children[one.name] ?? []).flatMap((child) => below(ownedBy(one, child)))];
        return Promise.resolve(all.filter(({ key: root }) => roots.includes(root)).flatMap(below));
      },
      list: () =>
        Promise.resolve([
          node('Deployment', 'web', { app: 'demo' }),
          node('ConfigMap', 'orphan'),
          node('ConfigMap', 'kube-root-ca.crt'),
        ]),
      machines: (pods) => {
        machinesAsked.push(pods);
        return Promise.resolve([machine]);
      },
    },
    permitted: () => true,
    isApplication: () => true,
    ...over,
  };
  const rows = await readTree(query, new AbortController().signal);
  return buildTree({ ...query, rows, nodeLabels: ['zone', 'none'] });
}

describe('buildTree', () => {
  it('shows managed resources, missing ones, and everything below them', async () => {
    const { tree, summary, conditions } = await built();
    expect(
      tree.nodes.map((n) => `${n.kind}/${n.name} < ${(n.parentRefs ?? []).map((p) => p.uid ?? '').join()}`),
    ).toEqual([
      'Deployment/web < ',
      'Pod/web-1-a < uid-web-1',
      'Pod/web-1-b < uid-web-1',
      'ReplicaSet/web-1 < uid-web',
      'Secret/gone < ',
    ]);
    expect(tree.nodes.at(-1)?.health).toEqual({ status: 'Missing' });
    expect(tree.orphanedNodes).toEqual([]);
    expect(summary).toEqual({ externalURLs: ['https://x'], images: ['nginx:1', 'side:2'] });
    expect(conditions).toEqual([]);
  });

  it('shows the nodes of its pods with the capacity of each resource and the allowed labels', async () => {
    const { tree } = await built();
    expect(machinesAsked).toEqual([[key('Pod', 'web-1-a'), key('Pod', 'web-1-b')]]);
    expect(tree.hosts).toEqual([
      {
        name: 'n1',
        resourcesInfo: [
          { resourceName: 'cpu', requestedByApp: 250, requestedByNeighbors: 500, capacity: 4000 },
          { resourceName: 'memory', requestedByApp: 0, requestedByNeighbors: 100, capacity: 8000 },
        ],
        systemInfo: { kubeletVersion: 'v1.36.3' },
        labels: { zone: 'a' },
      },
    ]);
  });

  it('requests no nodes for an application without permitted pods', async () => {
    const { tree } = await built({ permitted: (ref) => ref.kind !== 'Pod' });
    expect(machinesAsked).toEqual([]);
    expect(tree).not.toHaveProperty('hosts');
  });

  it('leaves out resources that the project forbids, with their subtrees', async () => {
    const { tree } = await built({ permitted: (ref) => ref.kind !== 'ReplicaSet' });
    expect(tree.nodes.map((n) => n.name)).toEqual(['web', 'gone']);
  });

  it('passes forbidden keys to the cluster, and makes one request if there are none', async () => {
    await built();
    expect(asked).toEqual([[]]);
    asked = [];
    await built({ permitted: (ref) => ref.kind !== 'ReplicaSet' });
    expect(asked).toEqual([[], [key('ReplicaSet', 'web-1')]]);
    asked = [];
    const { tree } = await built({ permitted: (ref) => ref.kind !== 'ConfigMap' }, {});
    expect([asked, tree.orphanedNodes]).toEqual([[[]], []]);
  });

  it('finds orphans where the project watches them, and warns only if it asks for warnings', async () => {
    const quiet = await built({}, {});
    expect(quiet.tree.orphanedNodes.map((n) => n.name)).toEqual(['orphan']);
    expect(quiet.conditions).toEqual([]);
    expect((await built({}, { warn: true })).conditions).toEqual([
      { type: 'OrphanedResourceWarning', message: 'Application has 1 orphaned resources' },
    ]);
    const ignoring = await built({}, { ignore: [{ kind: 'ConfigMap', name: 'orph*' }] });
    expect(ignoring.tree.orphanedNodes).toEqual([]);
  });

  it('shows resources left behind by a deleted Application as orphans, with their subtrees', async () => {
    const warned = (count: number): unknown => [
      { type: 'OrphanedResourceWarning', message: `Application has ${count} orphaned resources` },
    ];
    const others = await built({ roots: [], isApplication: (instance) => instance === 'demo' }, { warn: true });
    expect(others.conditions).toEqual(warned(1));
    const left = await built({ roots: [], isApplication: () => false }, { warn: true });
    expect(left.tree.orphanedNodes.map((n) => n.name)).toEqual(['orphan', 'web', 'web-1-a', 'web-1-b', 'web-1']);
    expect(left.conditions).toEqual(warned(5));
  });

  it('lists owner references as in the object, with their version, even if the owner is missing', async () => {
    const set = { key: resourceKey('apps', 'ReplicaSet', 'apps', 'web-1'), version: 'v1', uid: 'uid-set' };
    const gone = { key: resourceKey('example.com', 'Claim', 'apps', 'gone'), version: 'v1beta1', uid: 'uid-gone' };
    const named = { key: key('Service', 'web'), version: 'v1', uid: '' };
    const pod = node('Pod', 'web-1-a', { owners: [set, gone, named], parents: [set.key, named.key] });
    const service = node('Service', 'web');
    const cluster = {
      tree: () => Promise.resolve([service, pod]),
      list: () => Promise.resolve([]),
      machines: () => Promise.resolve([]),
    };
    const { tree } = await built({ cluster, roots: [{ key: service.key, version: 'v1', live: true }] });
    expect(tree.nodes.find(({ kind }) => kind === 'Pod')?.parentRefs).toEqual([
      { group: 'apps', namespace: 'apps', version: 'v1', kind: 'ReplicaSet', name: 'web-1', uid: 'uid-set' },
      // Its kind is unknown, so it cannot be located.
      { group: 'example.com', version: 'v1beta1', kind: 'Claim', name: 'gone', uid: 'uid-gone' },
      { namespace: 'apps', version: 'v1', kind: 'Service', name: 'web', uid: 'uid-web' },
    ]);
  });
});

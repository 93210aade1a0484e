import { describe, expect, it } from '@jest/globals';
import type { ApplicationTree, ClusterReport, ManagedResource, TreeNode } from '../types.ts';
import { clusterInfoPart, managedResourcesPart, treeParts } from './json.ts';
import type { DocumentPart } from './runs.ts';

const textOf = (part: DocumentPart | undefined): string =>
  (part?.runs ?? [])
    .map(
      ({ lists, after }) => lists.map(({ before, items, json }) => before + items.map(json).join(',')).join('') + after,
    )
    .join('');
const textsOf = (tree: ApplicationTree, size: number): string[] => treeParts(tree, size).map(textOf);
const map = (name: string): TreeNode => ({ version: 'v1', kind: 'ConfigMap', namespace: 'prod', name });
const tree: ApplicationTree = {
  nodes: [map('a'), map('b'), map('c')],
  orphanedNodes: [map('o')],
  hosts: [{ name: 'h', systemInfo: { machineID: 'm' } }],
};

describe('treeParts', () => {
  it("writes every field with Argo CD's name and order", () => {
    const node: TreeNode = {
      group: 'apps',
      version: 'v1',
      kind: 'ReplicaSet',
      namespace: 'prod',
      name: 'web-1',
      uid: 'u1',
      parentRefs: [{ group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'prod', name: 'web', uid: 'u0' }],
      info: [{ name: 'Revision', value: 'Rev:1' }],
      networkingInfo: {
        targetLabels: { app: 'web' },
        targetRefs: [{ kind: 'Service', namespace: 'prod', name: 'web' }],
        labels: { app: 'web' },
        ingress: [{ ip: '10.0.0.1' }, { hostname: 'lb' }],
        externalURLs: ['https://web/?a=1&b=2'],
      },
      resourceVersion: '7',
      images: ['nginx:1'],
      health: { status: 'Degraded', message: 'a < b' },
      createdAt: '2026-01-01T00:00:00Z',
    };
    const host = {
      name: 'node-1',
      resourcesInfo: [{ resourceName: 'cpu', requestedByApp: 100, requestedByNeighbors: 200, capacity: 4000 }],
      systemInfo: { architecture: 'amd64' },
      labels: { zone: 'a' },
    };
    expect(textsOf({ nodes: [node], orphanedNodes: [], hosts: [host] }, 0)).toEqual([
      '{"nodes":[{"group":"apps","version":"v1","kind":"ReplicaSet","namespace":"prod","name":"web-1","uid":"u1",' +
        '"parentRefs":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"prod","name":"web","uid":"u0"}],' +
        '"info":[{"name":"Revision","value":"Rev:1"}],' +
        '"networkingInfo":{"targetLabels":{"app":"web"},"targetRefs":[{"kind":"Service","namespace":"prod","name":"web"}],' +
        '"labels":{"app":"web"},"ingress":[{"ip":"10.0.0.1"},{"hostname":"lb"}],' +
        '"externalURLs":["https://web/?a=1\\u0026b=2"]},"resourceVersion":"7","images":["nginx:1"],' +
        '"health":{"status":"Degraded","message":"a \\u003c b"},"createdAt":"2026-01-01T00:00:00Z"}],' +
        '"hosts":[{"name":"node-1","resourcesInfo":[{"resourceName":"cpu","requestedByApp":100,' +
        '"requestedByNeighbors":200,"capacity":4000}],"systemInfo":{"architecture":"amd64"},"labels":{"zone":"a"}}]}\n',
    ]);
  });

  it('omits empty fields', () => {
    expect(textsOf({ nodes: [], orphanedNodes: [], hosts: [] }, 0)).toEqual(['{}\n']);
    expect(textsOf({ nodes: [], orphanedNodes: [map('o')] }, 0)).toEqual([
      '{"orphanedNodes":[{"version":"v1","kind":"ConfigMap","namespace":"prod","name":"o"}]}\n',
    ]);
  });

  it('cuts a tree into parts of a given size: nodes, orphans, hosts; the first part has their number', () => {
    const parts = textsOf(tree, 2).map((text) => JSON.parse(text) as Partial<ApplicationTree>);
    const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    expect(parts).toEqual([
      { nodes: json([map('a'), map('b')]), shardsCount: 3 },
      { nodes: json([map('c')]), orphanedNodes: json([map('o')]) },
      { hosts: json(tree.hosts) },
    ]);
    expect(textsOf({ nodes: [], orphanedNodes: [] }, 2)).toEqual(['{"shardsCount":1}\n']);
  });
});

describe('managedResourcesPart', () => {
  const resource: ManagedResource = {
    group: 'apps',
    kind: 'Deployment',
    namespace: 'prod',
    name: 'web',
    targetState: { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'web' }, spec: { text: '<&>' } },
    liveState: null,
    normalizedLiveState: null,
    predictedLiveState: null,
    hook: false,
    resourceVersion: '',
    modified: true,
  };

  it('writes states as JSON texts, and missing ones as the text null', () => {
    expect(textOf(managedResourcesPart([resource]))).toBe(
      '[{"group":"apps","kind":"Deployment","namespace":"prod","name":"web","targetState":' +
        '"{\\"apiVersion\\":\\"apps/v1\\",\\"kind\\":\\"Deployment\\",\\"metadata\\":{\\"name\\":\\"web\\"},' +
        '\\"spec\\":{\\"text\\":\\"\\\\u003c\\\\u0026\\\\u003e\\"}}","liveState":"null","normalizedLiveState":"null",' +
        '"predictedLiveState":"null","modified":true}]\n',
    );
    expect(textOf(managedResourcesPart([]))).toBe('[]\n');
  });

  it('preserves an integer beyond 2^53', () => {
    const big = { ...resource, liveState: { ...resource.targetState, n: 9007199254740993n } };
    const [read] = JSON.parse(textOf(managedResourcesPart([big as ManagedResource]))) as [{ liveState: string }];
    expect(read.liveState).toContain('"n":9007199254740993');
  });
});

describe('clusterInfoPart', () => {
  const report: ClusterReport = {
    connectionState: { status: 'Unknown', message: '', attemptedAt: '2026-01-01T00:00:00Z' },
    cacheInfo: {},
    applicationsCount: 0,
  };

  it('includes connection state, cache info and count even when they are empty', () => {
    expect(textOf(clusterInfoPart(report))).toBe(
      '{"connectionState":{"status":"Unknown","message":"","attemptedAt":"2026-01-01T00:00:00Z"},"cacheInfo":{},' +
        '"applicationsCount":0}\n',
    );
  });

  it('includes every field of a connected cluster', () => {
    const cacheInfo = { resourcesCount: 12, apisCount: 3, lastCacheSyncTime: '2026-01-01T00:00:00Z' };
    const whole = {
      ...report,
      serverVersion: 'v1.36.3',
      cacheInfo,
      applicationsCount: 2,
      apiVersions: ['v1', 'v1/Pod'],
    };
    expect(textOf(clusterInfoPart(whole))).toContain(
      '"serverVersion":"v1.36.3","cacheInfo":{"resourcesCount":12,"apisCount":3,"lastCacheSyncTime":"2026-01-01T00:00:00Z"},' +
        '"applicationsCount":2,"apiVersions":["v1","v1/Pod"]}',
    );
  });
});

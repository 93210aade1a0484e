import { describe, expect, it } from '@jest/globals';
import type { LiveNode } from '#live';
import { resourceKey } from '#model';
import type { Application, AppProject, ResourceKey } from '#model';
import { buildTree } from './tree.ts';
import type { TreeFacts } from './tree.ts';

const key = (kind: string, name: string): ResourceKey => resourceKey('', kind, 'apps', name);

function node(kind: string, name: string, over: Partial<LiveNode> = {}): LiveNode {
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
    health: null,
    deleting: false,
    images: [],
    ...over,
  };
}

const children: Readonly<Record<string, readonly LiveNode[]>> = {
  web: [node('ReplicaSet', 'web-1')],
  'web-1': [node('Pod', 'web-1-a', { images: ['nginx:1'] }), node('Pod', 'web-1-b', { images: ['nginx:1', 'side:2'] })],
};
const all = [node('Deployment', 'web'), node('ConfigMap', 'orphan'), ...Object.values(children).flat()];

const app: Application = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'demo', annotations: { 'link.argocd.argoproj.io/x': 'https://x', other: 'y' } },
  spec: { destination: { namespace: 'apps' } },
};

function facts(over: Partial<TreeFacts> = {}, orphanedResources?: AppProject['spec']['orphanedResources']): TreeFacts {
  return {
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
      walk: (roots, visit) => {
        const go = (one: LiveNode, parents: readonly ResourceKey[]): void => {
          if (!visit(one, parents)) return;
          for (const child of children[one.name] ?? []) go(child, [one.key]);
        };
        for (const root of roots)
          go(
            all.find((one) => one.key === root)!,
            [],
          );
      },
      topLevel: () => [
        node('Deployment', 'web', { app: 'demo' }),
        node('ConfigMap', 'orphan'),
        node('ConfigMap', 'kube-root-ca.crt'),
      ],
    },
    permitted: () => true,
    ...over,
  };
}

describe('buildTree', () => {
  it('shows what is managed, what is missing, and everything below', () => {
    const { tree, summary, conditions } = buildTree(facts());
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

  it('leaves out what the project forbids, with everything below it', () => {
    const { tree } = buildTree(facts({ permitted: (ref) => ref.kind !== 'ReplicaSet' }));
    expect(tree.nodes.map((n) => n.name)).toEqual(['web', 'gone']);
  });

  it('finds orphans where the project watches them, and warns only when it says so', () => {
    const quiet = buildTree(facts({}, {}));
    expect(quiet.tree.orphanedNodes.map((n) => n.name)).toEqual(['orphan']);
    expect(quiet.conditions).toEqual([]);
    expect(buildTree(facts({}, { warn: true })).conditions).toEqual([
      { type: 'OrphanedResourceWarning', message: 'Application has 1 orphaned resources' },
    ]);
    expect(buildTree(facts({}, { ignore: [{ kind: 'ConfigMap', name: 'orph*' }] })).tree.orphanedNodes).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import type { TreeNode } from '#publish';
import { eventually } from '#support';
import { automated, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const service = `apiVersion: v1
kind: Service
metadata: { name: web, annotations: { link.argocd.argoproj.io/site: "https://web.example.com" } }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;
const secret = `apiVersion: v1
kind: Secret
metadata: { name: key }
stringData: { password: hunter2 }
`;

describe('what clients of Argo CD read', () => {
  it('the tree has parents, info lines, networking, images, health and versions', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/svc.yaml': service });
    const { publisher } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    const nodes = await eventually((): readonly TreeNode[] => {
      const tree = publisher.tree('demo')?.nodes ?? [];
      expect(
        tree.filter(({ kind, info }) => kind === 'Pod' && info?.some((line) => line.value === '1/1')),
      ).toHaveLength(2);
      return tree;
    });
    const of = (kind: string): TreeNode | undefined => nodes.find((node) => node.kind === kind);
    const [web, set] = [of('Deployment'), of('ReplicaSet')];
    const parent = {
      group: 'apps',
      version: 'v1',
      kind: 'ReplicaSet',
      namespace: 'apps',
      name: set?.name,
      uid: set?.uid,
    };
    expect(web).toMatchObject({
      group: 'apps',
      version: 'v1',
      namespace: 'apps',
      name: 'web',
      health: { status: 'Healthy' },
    });
    expect([web?.createdAt, web?.resourceVersion, web?.uid].every((text) => text !== undefined && text !== '')).toBe(
      true,
    );
    expect(of('Pod')).toMatchObject({
      parentRefs: [parent],
      networkingInfo: { labels: { app: 'web' } },
      images: ['nginx:1'],
      info: expect.arrayContaining([{ name: 'Containers', value: '1/1' }]) as unknown,
    });
    expect(of('Service')?.networkingInfo).toEqual({
      targetLabels: { app: 'web' },
      externalURLs: ['https://web.example.com'],
    });
    expect(world.app('demo')?.status?.summary?.externalURLs).toEqual(['https://web.example.com']);
  });

  it('managed resources have all four states, without values of Secrets', async () => {
    repo.commit({ 'app/key.yaml': secret });
    const { publisher } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    await eventually(() => {
      const [key] = publisher.managedResources('demo') ?? [];
      expect([key?.targetState, key?.liveState, key?.normalizedLiveState, key?.predictedLiveState]).toEqual(
        Array.from({ length: 4 }, () => expect.objectContaining({ kind: 'Secret' }) as unknown),
      );
      expect(key?.resourceVersion).toBe(world.live('', 'Secret', 'key')?.metadata.resourceVersion);
    });
    const text = JSON.stringify(publisher.managedResources('demo'));
    expect(text).not.toMatch(new RegExp(`hunter2|${Buffer.from('hunter2').toString('base64')}`));
  });

  it('an invalid spec has no managed resources and an empty tree', async () => {
    repo.commit({ 'app/web.yaml': deployment() });
    const { publisher } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    expect(publisher.managedResources('demo')).toHaveLength(1);
    world.edit('demo', (app) => Object.assign(app, { spec: { ...(app['spec'] as object), project: 'missing' } }));
    world.refresh('demo');
    await eventually(() => {
      expect([publisher.managedResources('demo'), publisher.tree('demo')?.nodes]).toEqual([undefined, []]);
    });
  });

  it('the info of a cluster has its version, its API versions and its number of Applications', async () => {
    repo.commit({ 'app/web.yaml': deployment() });
    world.application('demo', { ...repo.source(), ...automated });
    const { publisher } = await world.replica({ clusterInfoMs: 50 });
    await eventually(() => {
      const info = publisher.clusterInfo(world.cluster.url);
      expect(info).toMatchObject({
        connectionState: { status: 'Successful', message: '' },
        serverVersion: expect.stringMatching(/^v1\.\d+\.\d+$/) as unknown,
        applicationsCount: 1,
      });
      expect(info?.cacheInfo.resourcesCount).toBeGreaterThan(0);
      expect(info?.apiVersions).toEqual(expect.arrayContaining(['v1', 'v1/Pod', 'apps/v1/Deployment']));
    });
  });

  it('a cluster Secret that requests it is labelled with the version of the cluster', async () => {
    repo.commit({ 'app/web.yaml': deployment() });
    world.application('demo', { ...repo.source(), ...automated });
    const secretOfCluster = (): KubeObject | undefined => world.hub.store.get('', 'Secret', 'argocd', 'cluster-dest');
    const asking = structuredClone(secretOfCluster());
    if (asking === undefined) throw new Error('the cluster has no Secret');
    Object.assign(asking.metadata, {
      labels: { ...asking.metadata.labels, 'argocd.argoproj.io/auto-label-cluster-info': 'true' },
    });
    world.hub.store.update(asking, { manager: 'kubectl' });
    const { publisher } = await world.replica({ clusterInfoMs: 50 });
    await eventually(() => {
      const { serverVersion } = publisher.clusterInfo(world.cluster.url) ?? {};
      expect(serverVersion).toMatch(/^v1/);
      expect(secretOfCluster()?.metadata.labels).toMatchObject({
        'argocd.argoproj.io/secret-type': 'cluster',
        'argocd.argoproj.io/kubernetes-version': serverVersion,
      });
    });
    await world.until('demo', synced);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { TestApplication } from './applications.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

const limitMs = 90_000;

const values = {
  rbac: { clusterWrite: true },
  controller: { heartbeatTime: 2 },
  configs: { params: { 'controller.self.heal.backoff.timeout.seconds': '0' } },
};
const syncPolicy = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };

const map = (name: string, colour: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {colour: ${colour}}\n`;
const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
`;
const first = { 'web.yaml': web, 'changes.yaml': map('changes', 'blue'), 'goes.yaml': map('goes', 'blue') };
const second = { 'changes.yaml': map('changes', 'green'), 'goes.yaml': null, 'comes.yaml': map('comes', 'green') };

/**
 * etcd is restored from an older snapshot while the controller runs: resourceVersions go back, and
 * other objects have the same names.
 */
describe('a cluster whose resourceVersions went back', () => {
  let world: Servers<'hub' | 'managed'>;
  let hub: Server;
  let managed: Server;
  let doubles: ClusterDouble[] = [];
  let controller: UnderTest;

  const tail = (): string => controller.pods.tail();
  const options = { withinMs: limitMs, tail };
  const to = (server: Server, namespace: string): object => ({
    syncPolicy,
    destination: { server: server === hub ? 'https://kubernetes.default.svc' : server.url, namespace },
  });
  const create = (name: string, server: Server, files: Readonly<Record<string, string>>): Promise<TestApplication> =>
    TestApplication.create({ hub, folder: world.folder }, name, { files, spec: to(server, name) });

  beforeAll(async () => {
    world = await startServers({ names: ['hub', 'managed'] });
    ({ hub, managed } = world.servers);
    await startDoubles();
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
    await register();
  }, 120_000);
  afterAll(async () => {
    await controller.stop();
    await stopDoubles();
    await world.close();
  });

  /** Restores a server, and restarts the test double of Kubernetes' own controllers with it. */
  async function restored(server: Server, snapshot: string | undefined): Promise<void> {
    await stopDoubles();
    await server.restore(snapshot);
    await startDoubles();
  }
  async function startDoubles(): Promise<void> {
    doubles = await Promise.all([hub, managed].map((server) => startDouble(server.access)));
  }
  async function stopDoubles(): Promise<void> {
    await Promise.all(doubles.splice(0).map((double) => double.stop()));
  }

  /**
   * Registers the cluster with a client certificate: a rebuilt cluster does not know former tokens.
   */
  function register(): Promise<unknown> {
    const { ca = '', cert = '', key = '' } = managed.access;
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const tlsClientConfig = { caData: base64(ca), certData: base64(cert), keyData: base64(key) };
    return hub.api.create('/api/v1/namespaces/argocd/secrets', {
      metadata: { name: 'cluster-managed', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
      stringData: { name: 'managed', server: managed.url, config: JSON.stringify({ tlsClientConfig }) },
    });
  }

  /**
   * Raises the resourceVersion far, so that writes after the restore stay below the former values.
   */
  async function manyWrites(server: Server): Promise<void> {
    const path = '/api/v1/namespaces/default/configmaps';
    const { metadata } = await server.api.create<{ metadata: { name: string } }>(path, {
      metadata: { generateName: 'noise-' },
    });
    for (let n = 0; n < 500; n += 1) await server.api.patch(`${path}/${metadata.name}`, { data: { n: String(n) } });
  }

  /** Colours of the ConfigMaps of a namespace by name, without those of the cluster itself. */
  async function colours(server: Server, namespace: string): Promise<Record<string, string>> {
    const maps = await server.api.list<{ metadata: { name: string }; data: { colour?: string } }>(
      `/api/v1/namespaces/${namespace}/configmaps`,
    );
    const ours = maps.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
    return Object.fromEntries(ours.map(({ metadata, data }) => [metadata.name, data.colour ?? '']));
  }
  const isAsGitSays = (server: Server, namespace: string): Promise<void> =>
    eventually(async () => {
      const found = await colours(server, namespace);
      if (JSON.stringify(found) !== '{"changes":"green","comes":"green"}')
        throw new Error(`${namespace}: ${JSON.stringify(found)}\n${tail()}`);
    }, limitMs);
  /** Checks that the controller still receives watch events and heals. */
  async function heals(server: Server, namespace: string): Promise<void> {
    for (const path of [
      `/api/v1/namespaces/${namespace}/configmaps/comes`,
      `/apis/apps/v1/namespaces/${namespace}/deployments/web`,
    ]) {
      const uid = async (): Promise<string | undefined> =>
        (await server.api.get<{ metadata: { uid: string } }>(path))?.metadata.uid;
      const before = await uid();
      await server.api.delete(path);
      await eventually(async () => {
        const now = await uid();
        if (now === undefined || now === before) throw new Error(`${path} is not back\n${tail()}`);
      }, limitMs);
    }
    await server.kubectl([
      'patch',
      'configmap/changes',
      '-n',
      namespace,
      '--type=merge',
      '-p',
      '{"data":{"colour":"red"}}',
    ]);
    await isAsGitSays(server, namespace);
  }
  const pid = (): number | undefined => controller.pods.all()[0]?.pid;

  it('as the hub: all Applications are repaired without a restart', async () => {
    const stays = await create('stays', hub, first);
    const deleted = await create('deleted', hub, first);
    const edited = await create('edited', hub, first);
    for (const app of [stays, deleted, edited]) await app.isGood(undefined, options);
    const before = pid();
    const snapshot = await hub.snapshot();

    await manyWrites(hub);
    const commits = [stays, deleted, edited].map(({ git }) => git.commit(second));
    await refreshed(hub, stays.path, 'normal');
    await stays.isGood(commits[0], options);
    await hub.kubectl(['delete', 'application/deleted', '-n', 'argocd', '--timeout=60s']);
    await hub.api.patch(edited.path, { spec: { destination: { namespace: 'edited-elsewhere' } } });
    await refreshed(hub, edited.path, 'normal');
    await edited.isGood(commits[2], options);
    const newcomer = await create('newcomer', hub, first);
    await newcomer.isGood(undefined, options);
    await restored(hub, snapshot);

    for (const [i, app] of [stays, deleted, edited].entries()) {
      await refreshed(hub, app.path, 'normal', limitMs);
      await app.isGood(commits[i], options);
      await isAsGitSays(hub, app.name);
      await heals(hub, app.name);
      await app.isGood(commits[i], options);
    }
    await eventually(async () => {
      const known = [...(await controller.metrics()).matchAll(/argocd_app_info{[^}]*?\bname="([^"]+)"/g)].map(
        ([, name]) => name,
      );
      if (known.sort().join(' ') !== 'deleted edited stays') throw new Error(`it knows ${known.join(', ')}\n${tail()}`);
    }, limitMs);
    expect([pid(), controller.pods.all()[0]?.isRunning]).toEqual([before, true]);
  }, 400_000);

  it('as a managed cluster: all objects are repaired without a restart', async () => {
    const app = await create('far', managed, first);
    await app.isGood(undefined, options);
    const before = pid();
    const snapshot = await managed.snapshot();
    await manyWrites(managed);
    const commit = app.git.commit(second);
    await refreshed(hub, app.path, 'normal');
    await app.isGood(commit, options);
    await isAsGitSays(managed, 'far');
    await restored(managed, snapshot);

    await isAsGitSays(managed, 'far');
    await heals(managed, 'far');
    await app.isGood(commit, options);
    expect([pid(), controller.pods.all()[0]?.isRunning]).toEqual([before, true]);
  }, 400_000);

  it('as a managed cluster that was rebuilt empty behind the same URL: all objects are created again', async () => {
    const before = pid();
    const files = { 'web.yaml': web, 'changes.yaml': map('changes', 'green'), 'comes.yaml': map('comes', 'green') };
    const app = await create('again', managed, files);
    await app.isGood(undefined, options);
    await restored(managed, undefined);

    await isAsGitSays(managed, 'again');
    await heals(managed, 'again');
    await app.isGood(undefined, options);
    expect([pid(), controller.pods.all()[0]?.isRunning]).toEqual([before, true]);
  }, 400_000);
});

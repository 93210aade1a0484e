/** @seconds 180 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { eventually } from '#support';
import { WorkloadPods } from './pods.ts';
import { chartFolder, renderedController } from './rendered-controller.ts';
import type { RenderedController } from './rendered-controller.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { UnderTest } from './under-test.ts';

const limitMs = 60_000;
const applications = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';
const web = '/apis/apps/v1/namespaces/shop/deployments/web';

interface Application {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly sync?: { readonly status?: string };
    readonly health?: { readonly status?: string };
    readonly operationState?: { readonly message?: string };
    readonly conditions?: unknown;
  };
}

const manifests = {
  'web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations: {argocd.argoproj.io/sync-options: Replace=true}
data: {colour: blue}
`,
};

/** Creates a repository in a folder; returns its URL. */
function repositoryIn(folder: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, 'repository');
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  const git = (...args: string[]): void => void execFileSync('git', ['-C', path, ...args], { stdio: 'pipe' });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('-c', 'user.name=e2e', '-c', 'user.email=e2e@example.com', 'commit', '--quiet', '--message', 'first');
  return `file://${path}`;
}

function application(name: string, repoURL: string, destination: object): object {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    spec: {
      project: 'default',
      source: { repoURL, path: '.', targetRevision: 'main' },
      destination: { ...destination, namespace: 'shop' },
      syncPolicy: { automated: { selfHeal: true, prune: true }, syncOptions: ['CreateNamespace=true'] },
    },
  };
}

/** Gives the hub access to another cluster, as `argocd cluster add` does. */
async function register(hub: Server, managed: Server): Promise<void> {
  await managed.kubectl(['create', 'serviceaccount', 'argocd-manager', '-n', 'kube-system']);
  const binding = ['create', 'clusterrolebinding', 'argocd-manager', '--clusterrole=cluster-admin'];
  await managed.kubectl([...binding, '--serviceaccount=kube-system:argocd-manager']);
  const { token, ca = '' } = await managed.as('kube-system', 'argocd-manager');
  const config = { bearerToken: token, tlsClientConfig: { caData: Buffer.from(ca).toString('base64') } };
  await hub.api.create('/api/v1/namespaces/argocd/secrets', {
    metadata: { name: 'cluster-managed', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: { name: 'managed', server: managed.url, config: JSON.stringify(config) },
  });
}

describe.each([
  ['StatefulSet', false],
  ['Deployment', true],
])('the controller as the chart runs it, as a %s', (kind, dynamic) => {
  let world: Servers<'hub' | 'managed'>;
  let hub: Server;
  let managed: Server;
  let doubles: ClusterDouble[] = [];
  let rendered: RenderedController;
  let pods: WorkloadPods;
  const values = {
    controller: { dynamicClusterDistribution: dynamic, heartbeatTime: 2, sharding: { algorithm: 'round-robin' } },
    rbac: { clusterWrite: true },
    configs: {
      params: { 'controller.self.heal.backoff.timeout.seconds': '0', 'controller.sync.wave.delay.seconds': '0' },
    },
  };

  beforeAll(async () => {
    world = await startServers({ names: ['hub', 'managed'] });
    ({ hub, managed } = world.servers);
    doubles = await Promise.all([hub, managed].map((server) => startDouble(server.access)));
    rendered = await renderedController(values);
    pods = new WorkloadPods(hub, rendered, world.folder);
  }, 120_000);
  afterAll(async () => {
    await pods.stop();
    await Promise.all(doubles.map((double) => double.stop()));
    await world.close();
  });

  const helm = (...args: string[]): Promise<string> =>
    hub.helm([...args, 'driftless', chartFolder, '--namespace', 'argocd', '--values', '-'], {
      input: JSON.stringify(values),
    });
  const app = async (name: string): Promise<Application | undefined> => hub.api.get(`${applications}/${name}`);
  const isGood = async (name: string): Promise<void> => {
    const { status } = (await app(name)) ?? {};
    const got = [status?.sync?.status, status?.health?.status];
    if (got.join() !== 'Synced,Healthy') throw new Error(`${name}: ${JSON.stringify(status)}\n${pods.tail()}`);
  };
  const bothGood = async (): Promise<void> => {
    await eventually(async () => {
      await Promise.all(['here', 'there'].map(isGood));
    }, limitMs);
  };
  /** Deletes applied objects in both clusters and waits until they are recreated. */
  const heals = async (): Promise<void> => {
    for (const server of [hub, managed]) {
      const uid = async (): Promise<string | undefined> =>
        (await server.api.get<{ metadata: { uid: string } }>(web))?.metadata.uid;
      const before = await uid();
      await server.api.delete(web);
      await eventually(async () => {
        const now = await uid();
        if (now === undefined || now === before) throw new Error(`${server.name}: not back\n${pods.tail()}`);
      }, limitMs);
    }
    await bothGood();
  };
  const pids = (): (number | undefined)[] => pods.all().map(({ pid }) => pid);
  const oneOwnerEach = (): Promise<void> =>
    eventually(async () => {
      const counts = [...(await pods.owners())].map(([name, owners]) => `${name} ${owners.length}`).sort();
      expect(counts).toEqual(['in-cluster 1', 'managed 1']);
    }, limitMs);
  /** Polls the owners of clusters until stopped; returns clusters that had two owners at once. */
  const watchOwners = (): (() => Promise<string[]>) => {
    const stop = new AbortController();
    const watching = (async () => {
      const doubled: string[] = [];
      while (!stop.signal.aborted) {
        const seen = [...(await pods.owners())].filter(([, owners]) => owners.length > 1);
        // Replicas are asked in sequence, and a hand-over may happen meanwhile: two owners count
        // only if a second look confirms them.
        const again = seen.length === 0 ? new Map<string, readonly string[]>() : await pods.owners();
        for (const [name, owners] of seen)
          if (again.get(name)?.includes(owners[0] ?? '') === true) doubled.push(`${name}: ${owners.join(' and ')}`);
        await systemClock.sleep(20);
      }
      return doubled;
    })();
    return () => {
      stop.abort();
      return watching;
    };
  };

  /** Collects every status of the Applications until stopped. */
  const watchStatuses = (): (() => Promise<ReadonlySet<string>>) => {
    const stop = new AbortController();
    const seen = new Set<string>();
    const watching = (async () => {
      for await (const { object } of hub.api.watch(`${applications}?watch=true`, stop.signal)) {
        const { metadata, status } = object as unknown as Application;
        seen.add(`${metadata.name} sync ${status?.sync?.status ?? ''}`);
        seen.add(`${metadata.name} health ${status?.health?.status ?? ''}`);
      }
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    return async () => {
      stop.abort();
      await watching;
      return seen;
    };
  };

  it('is installed by helm and syncs to its own cluster and to another one', async () => {
    await helm('install', '--create-namespace', '--wait=false');
    await register(hub, managed);
    await pods.match();
    await pods.ready();
    const url = repositoryIn(world.folder, manifests);
    await hub.api.create(applications, application('here', url, { server: 'https://kubernetes.default.svc' }));
    await hub.api.create(applications, application('there', url, { name: 'managed' }));
    await bothGood();
    expect(await pods.all()[0]?.probe('/livez')).toBe(200);
  }, 180_000);

  it('heals deleted and edited objects', async () => {
    await heals();
    await managed.kubectl(['scale', 'deployment/web', '-n', 'shop', '--replicas=5']);
    await hub.kubectl(['patch', 'configmap/settings', '-n', 'shop', '--type=merge', '-p', '{"data":{"colour":"red"}}']);
    await eventually(async () => {
      const replicas = (await managed.api.get<{ spec: { replicas: number } }>(web))?.spec.replicas;
      const colour = (await hub.api.get<{ data: { colour: string } }>('/api/v1/namespaces/shop/configmaps/settings'))
        ?.data;
      expect([replicas, colour]).toEqual([2, { colour: 'blue' }]);
    }, limitMs);
    await bothGood();
  }, 180_000);

  it('survives restarts of the API server and etcd of both clusters', async () => {
    const before = pids();
    for (const server of [hub, managed])
      for (const part of ['apiserver', 'etcd'] as const) {
        await server.restart(part);
        await heals();
      }
    expect(pids()).toEqual(before);
    expect(pods.all().every(({ isRunning }) => isRunning)).toBe(true);
  }, 400_000);

  it('scales to three replicas by helm upgrade and to two by kubectl, with one owner per cluster and no restart', async () => {
    await oneOwnerEach();
    const stop = watchOwners();
    const [first] = pids();
    await helm('upgrade', '--set', 'controller.replicas=3');
    await pods.match();
    await pods.ready();
    await oneOwnerEach();
    // Two clusters on three shards: two of the replicas own one each.
    await eventually(async () => expect(new Set([...(await pods.owners()).values()].flat()).size).toBe(2), limitMs);
    await oneOwnerEach();
    await heals();
    const three = pids();
    await hub.kubectl([
      'scale',
      `${kind.toLowerCase()}/${rendered.workload.metadata.name}`,
      '-n',
      'argocd',
      '--replicas=2',
    ]);
    await pods.match();
    await oneOwnerEach();
    await heals();
    expect(await stop()).toEqual([]);
    expect(pids()).toEqual(three.slice(0, 2));
    expect(three[0]).toBe(first);
  }, 300_000);

  it('is replaced pod by pod without a status that turns Unknown, or a second owner', async () => {
    const [owners, statuses] = [watchOwners(), watchStatuses()];
    await heals();
    await pods.roll();
    await oneOwnerEach();
    await heals();
    expect(await owners()).toEqual([]);
    const seen = await statuses();
    expect([...seen].filter((status) => status.endsWith('Unknown'))).toEqual([]);
    expect(seen).toContain('there sync OutOfSync');
  }, 300_000);

  it('takes over from a replica that was killed', async () => {
    const [, second] = pods.all();
    await second?.stop('SIGKILL');
    await eventually(async () => {
      const counts = [...(await pods.owners())].map(([name, owners]) => `${name} ${owners.length}`).sort();
      expect(counts).toEqual(['in-cluster 1', 'managed 1']);
    }, limitMs);
    await heals();
  }, 180_000);

  it('deletes an Application with its resources', async () => {
    await hub.kubectl(['delete', 'application/there', '-n', 'argocd', '--timeout=60s']);
    expect(await managed.api.get(web)).toBeUndefined();
  }, 120_000);
});

interface WrittenEvent {
  readonly reason: string;
  readonly involvedObject: { readonly kind: string };
}

describe('Events about Applications on a real API server', () => {
  let world: Servers<'none' | 'one'>;
  const running: UnderTest[] = [];

  beforeAll(async () => {
    world = await startServers({ names: ['none', 'one'] });
  }, 120_000);
  afterAll(async () => {
    for (const one of running) await one.stop();
    await world.close();
  });

  it.each([
    ['none', 'none', []],
    ['one', 'OperationCompleted', ['OperationCompleted']],
  ] as const)(
    'server %s with ARGOCD_ENABLE_K8S_EVENT=%s gets the Events %j',
    async (name, value, reasons) => {
      const server = world.servers[name];
      const folder = join(world.folder, `events-${name}`);
      mkdirSync(folder);
      const env = [{ name: 'ARGOCD_ENABLE_K8S_EVENT', value }];
      const values = { controller: { env }, rbac: { clusterWrite: true } };
      const underTest = await UnderTest.install({ server, folder, values });
      running.push(underTest);
      const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n';
      const url = repositoryIn(folder, { 'config.yaml': config });
      await server.api.create(applications, application('here', url, { server: 'https://kubernetes.default.svc' }));
      const events = async (): Promise<readonly string[]> => {
        const list = await server.api.get<{ items: readonly WrittenEvent[] }>('/api/v1/namespaces/argocd/events');
        const about = (list?.items ?? []).filter(({ involvedObject }) => involvedObject.kind === 'Application');
        return [...new Set(about.map(({ reason }) => reason))];
      };
      await eventually(async () => {
        const { status } = (await server.api.get<Application>(`${applications}/here`)) ?? {};
        if (status?.sync?.status !== 'Synced') throw new Error(`not synced\n${underTest.pods.tail()}`);
        expect(await events()).toEqual(reasons);
      }, limitMs);
      // The audit log also has Events that were refused or are gone.
      const sent = underTest.writes(server).filter(({ objectRef }) => objectRef?.resource === 'events');
      expect(sent.length > 0).toBe(reasons.length > 0);
    },
    240_000,
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isObject, seededRandom, systemClock } from '#base';
import type { Json, JsonObject } from '#base';
import { timingOf } from '#sharding';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually } from '#support';
import { GitFixture } from '../acceptance/world.ts';
import { AutoscalerDouble } from './support/autoscaler.ts';
import type { AutoscalerSpec, PodMetric } from './support/autoscaler.ts';
import { startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';
import { sumOf, UnderTest } from './under-test.ts';

const limitMs = 180_000;
const clusterCount = 6;
const heartbeatMs = 2000;
/**
 * Maximum number of Applications per cluster. With one each, the load is below the target of one
 * replica; with all of them it needs three replicas.
 */
const appsPerCluster = 5;
const argocd = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';
const table = '/api/v1/namespaces/argocd/configmaps/driftless-ownership';
const workload = '/apis/apps/v1/namespaces/argocd/statefulsets/driftless';

const spec = (behavior: Partial<AutoscalerSpec['behavior']> = {}): AutoscalerSpec => ({
  minReplicas: 1,
  maxReplicas: 5,
  metrics: [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } }],
  behavior: { scaleUp: {}, scaleDown: { stabilizationWindowSeconds: 0 }, ...behavior },
});

describe('the double of the autoscaler decides as Kubernetes documents', () => {
  it.each([
    ['as many as bring the average to the target, rounded up', 1, [31], 4],
    ['fewer replicas by the same rule', 4, [3, 3, 3, 3], 2],
    ['no change within a tolerance of 10 %', 2, [10.9, 10.9], 2],
    ['no more than maxReplicas', 2, [90, 90], 5],
    ['no fewer than minReplicas', 2, [0, 0], 1],
    ['pods without a metric count as idle when scaling up', 3, [20, undefined, undefined], 3],
    ['pods without a metric count as on target when scaling down', 3, [2, 2, undefined], 2],
    ['no change without any metric', 3, [undefined, undefined, undefined], 3],
  ] satisfies [string, number, PodMetric[], number][])('%s', (_what, current, pods, wanted) => {
    expect(new AutoscalerDouble(spec()).decide(0, current, pods)).toBe(wanted);
  });

  it('the most conservative recommendation within the window, limited by the policies per period', () => {
    const slow = spec({
      scaleUp: { stabilizationWindowSeconds: 10, policies: [{ type: 'Pods', value: 1, periodSeconds: 20 }] },
      scaleDown: { stabilizationWindowSeconds: 30 },
    });
    const double = new AutoscalerDouble(slow);
    expect(double.decide(0, 1, [10])).toBe(1);
    expect(double.decide(5, 1, [40])).toBe(1);
    expect(double.decide(11, 1, [40])).toBe(2);
    expect(double.decide(22, 2, [20, 20])).toBe(2);
    expect(double.decide(32, 2, [20, 20])).toBe(3);
    expect(double.decide(40, 3, [1, 1, 1])).toBe(3);
    expect(double.decide(71, 3, [1, 1, 1])).toBe(1);
  });
});

describe('the chart scaled by the load of its shards', () => {
  let world: Servers<'hub'>;
  let hub: Server;
  let clusters: readonly SimCluster[] = [];
  let git: GitFixture;
  let driftless: UnderTest;
  const values = {
    controller: {
      heartbeatTime: heartbeatMs / 1000,
      sharding: { algorithm: 'round-robin' },
      autoscaling: {
        enabled: true,
        maxReplicas: 4,
        targetAverageValue: 10,
        behavior: {
          scaleUp: { stabilizationWindowSeconds: 3, policies: [{ type: 'Pods', value: 4, periodSeconds: 5 }] },
          scaleDown: { stabilizationWindowSeconds: 8, policies: [{ type: 'Pods', value: 1, periodSeconds: 5 }] },
        },
      },
    },
    rbac: { clusterWrite: true },
    configs: {
      params: { 'controller.self.heal.backoff.timeout.seconds': '0', 'controller.sync.wave.delay.seconds': '0' },
    },
  };
  /** The sequence of pods that wrote to each cluster. */
  const writers = new Map<string, string[]>();
  /** The sequence of shards of each cluster, by the tables. */
  const shards = new Map<string, number[]>();
  const replicas: number[] = [];
  /** The longest time in which no replica reported to own a cluster. */
  const alone = new Map<string, number>();
  const stop = new AbortController();
  let watching: readonly Promise<void>[] = [];

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    ({ hub } = world.servers);
    git = new GitFixture(world.folder, 'repository');
    const common = { clock: systemClock, random: seededRandom(1), workloads: { enabled: false, delayMs: 0 } };
    const names = Array.from({ length: clusterCount }, (_, i) => `c${i}`);
    clusters = await Promise.all(names.map((name) => startSimCluster({ ...common, name })));
    driftless = await UnderTest.install({ server: hub, folder: world.folder, values });
    for (const cluster of clusters) {
      cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
      cluster.onRequest(({ verb, resource, agent, dryRun }) => {
        if (!dryRun && resource === 'configmaps' && ['create', 'update', 'patch', 'delete'].includes(verb))
          next(writers, cluster.name, /driftless (driftless-\d+)\)/.exec(agent)?.[1] ?? agent);
      });
      await hub.api.create('/api/v1/namespaces/argocd/secrets', {
        metadata: { name: cluster.name, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
        stringData: { name: cluster.name, server: cluster.url, config: '{}' },
      });
    }
  }, limitMs);
  afterAll(async () => {
    stop.abort();
    await Promise.all(watching);
    await driftless.stop();
    await Promise.all(clusters.map((cluster) => cluster.close()));
    await world.close();
  });

  const nameOf = (cluster: SimCluster, i: number): string => `${cluster.name}-${i}`;
  const addApps = async (from: number, to: number): Promise<void> => {
    for (const cluster of clusters)
      for (let i = from; i < to; i += 1) {
        const name = nameOf(cluster, i);
        const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { key: 'value' } };
        git.commit({ [`${name}/cm.yaml`]: JSON.stringify(manifest) });
        await hub.api.create(argocd, {
          apiVersion: 'argoproj.io/v1alpha1',
          kind: 'Application',
          metadata: { name, namespace: 'argocd' },
          spec: {
            project: 'default',
            source: { repoURL: git.url, path: name, targetRevision: 'main' },
            destination: { server: cluster.url, namespace: 'apps' },
            syncPolicy: { automated: { selfHeal: true } },
          },
        });
      }
  };
  const removeApps = async (from: number, to: number): Promise<void> => {
    for (const cluster of clusters)
      for (let i = from; i < to; i += 1) await hub.api.delete(`${argocd}/${nameOf(cluster, i)}`);
  };
  /**
   * Does the work of kube-controller-manager, continuously instead of every 15 s, with the real
   * HorizontalPodAutoscaler, metric and scale subresource.
   */
  const autoscale = async (): Promise<void> => {
    const autoscalers = '/apis/autoscaling/v2/namespaces/argocd/horizontalpodautoscalers/driftless';
    const found = await hub.api.get<{ spec: AutoscalerSpec }>(autoscalers);
    if (found === undefined) throw new Error('the chart has installed no HorizontalPodAutoscaler');
    const double = new AutoscalerDouble(found.spec);
    const { name } = found.spec.metrics[0].pods.metric;
    while (!stop.signal.aborted) {
      const pods = await Promise.all(
        driftless.pods.all().map(async (pod): Promise<PodMetric> => {
          if ((await pod.probe('/readyz')) !== 200) return undefined;
          const text = await pod.metrics();
          return text.includes(`\n${name}`) ? sumOf(text, name) : undefined;
        }),
      );
      const current = (await hub.api.get<{ spec: { replicas: number } }>(`${workload}/scale`))?.spec.replicas ?? 1;
      if (replicas.length === 0) replicas.push(current);
      const wanted = double.decide(systemClock.monotonic() / 1000, current, pods);
      if (wanted !== current) {
        replicas.push(wanted);
        await hub.api.patch(`${workload}/scale`, { spec: { replicas: wanted } });
        await driftless.pods.match();
      }
      await systemClock.sleep(500);
    }
  };
  const watchTables = async (): Promise<void> => {
    const list = '/api/v1/namespaces/argocd/configmaps?watch=true&fieldSelector=metadata.name%3Ddriftless-ownership';
    try {
      for await (const { object } of hub.api.watch(list, stop.signal)) noteTable(object as Json);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  };
  const noteTable = (object: Json | undefined): void => {
    const data = isObject(object) ? object['data'] : undefined;
    const text = isObject(data) ? data['table'] : undefined;
    const parsed = typeof text === 'string' ? (JSON.parse(text) as Json) : undefined;
    const entries = isObject(parsed) ? parsed['clusters'] : undefined;
    for (const cluster of clusters) {
      const entry = isObject(entries) ? entries[cluster.url] : undefined;
      const list = isObject(entry) ? entry['shards'] : undefined;
      if (Array.isArray(list)) next(shards, cluster.name, Number(list[0]));
    }
  };
  const watchOwners = async (): Promise<void> => {
    const since = new Map<string, number>();
    while (!stop.signal.aborted) {
      const owners = await driftless.pods.owners();
      const now = systemClock.monotonic();
      for (const { name } of clusters) {
        if (owners.has(name)) since.delete(name);
        else since.set(name, since.get(name) ?? now);
        alone.set(name, Math.max(alone.get(name) ?? 0, now - (since.get(name) ?? now)));
      }
      await systemClock.sleep(20);
    }
  };
  /** Deletes applied objects continuously, so that owners always have something to write. */
  const disturb = async (): Promise<void> => {
    for (let i = 0; !stop.signal.aborted; i += 1) {
      for (const { name, store } of clusters)
        if (store.get('', 'ConfigMap', 'apps', `${name}-0`) !== undefined)
          store.delete('', 'ConfigMap', 'apps', `${name}-0`);
      await systemClock.sleep(200);
    }
  };
  const hasReplicas = (count: number): Promise<void> =>
    eventually(async () => {
      expect(replicas.at(-1)).toBe(count);
      const owners = await driftless.pods.owners();
      const counts = clusters.map(({ name }) => owners.get(name)?.length ?? 0);
      expect(counts).toEqual(clusters.map(() => 1));
      expect(new Set([...owners.values()].flat()).size).toBe(count);
    }, limitMs);
  /** Waits for two windows and periods: long enough for flapping to show. */
  const staysSo = async (): Promise<void> => {
    const before = [...replicas];
    await systemClock.sleep(20_000);
    expect(replicas).toEqual(before);
  };

  it('scales up under load and down afterwards without flapping; each cluster has one owner, and only the owner writes', async () => {
    await addApps(0, 1);
    await eventually(async () => {
      const owners = await driftless.pods.owners();
      expect(clusters.map(({ name }) => owners.get(name)?.length ?? 0)).toEqual(clusters.map(() => 1));
    }, limitMs);
    noteTable(await hub.api.get<JsonObject>(table));
    watching = [watchTables(), watchOwners(), disturb(), autoscale()];
    const first = driftless.pods.all()[0]?.pid;
    await eventually(() => expect(replicas).toEqual([1]), limitMs);
    await addApps(1, appsPerCluster);
    await hasReplicas(3);
    await staysSo();
    await removeApps(1, appsPerCluster);
    await hasReplicas(1);
    await staysSo();
    stop.abort();
    await Promise.all(watching);
    // The number of replicas only rises until its peak and only falls after it.
    const peak = replicas.indexOf(Math.max(...replicas));
    expect(replicas.slice(0, peak + 1)).toEqual([...replicas.slice(0, peak + 1)].sort((a, b) => a - b));
    expect(replicas.slice(peak)).toEqual([...replicas.slice(peak)].sort((a, b) => b - a));
    expect(replicas[peak]).toBe(3);
    expect(driftless.pods.all()[0]?.pid).toBe(first);
    // The sequence of writers of a cluster equals the sequence of its owners.
    for (const { name } of clusters) {
      const owned = (shards.get(name) ?? []).map((shard) => `driftless-${shard}`);
      const wrote = writers.get(name) ?? [];
      expect({ name, wrote, owned, isOrdered: isSubsequence(wrote, owned) }).toMatchObject({ isOrdered: true });
      expect(wrote.length).toBeGreaterThan(0);
    }
    expect([...shards.values()].filter((list) => list.length > 1).length).toBeGreaterThan(0);
    // A lost owner would leave a gap of a lease. A hand-over is shorter, but its measurement takes
    // as long as this machine needs to ask all replicas.
    for (const { name } of clusters) expect(alone.get(name)).toBeLessThan(timingOf(heartbeatMs).leaseMs);
    process.stdout.write(
      `replicas ${replicas.join(' ')}; longest time without an owner as seen from outside: ${Math.round(Math.max(...alone.values()))} ms\n`,
    );
  }, 900_000);
});

/** Appends a value to a list unless it is the last one already. */
function next<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  if (list.at(-1) !== value) list.push(value);
}

function isSubsequence<T>(part: readonly T[], whole: readonly T[]): boolean {
  let at = 0;
  for (const item of whole) if (part[at] === item) at += 1;
  return at === part.length;
}

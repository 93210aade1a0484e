import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import { ClusterCaches } from '#controller';
import { createKubeClient, SharedClients } from '#kube';
import { createLiveClusters } from '#live';
import { defaultSettings } from '#model';
import type { Cluster } from '#model';
import { createOwnership } from '#sharding';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { PromMetrics, silentLogger } from '#telemetry';
import type { BenchContext, BenchMetrics } from './harness.ts';

const workloadName = 'argocd-application-controller';
const replicaDeps = { clock: systemClock, random: systemRandom, logger: silentLogger };

/** A replica reduced to ownership and live caches; it has no Applications. */
interface CacheReplica {
  /** When the replica gained each cluster, filled its cache, and lost it. */
  readonly rights: ReadonlyMap<string, number>;
  readonly fillings: ReadonlyMap<string, number>;
  readonly lost: ReadonlyMap<string, number>;
  readonly stop: () => Promise<void>;
}

function startCacheReplica(
  name: string,
  hub: SimCluster,
  clusters: readonly Cluster[],
  prepares: boolean,
): CacheReplica {
  const [rights, fillings, lost] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  const limits = { qps: 10_000, burst: 10_000 };
  const client = createKubeClient(
    { server: hub.url, insecure: false, credentials: {} },
    { ...replicaDeps, userAgent: `bench ${name}`, limits },
  );
  const ownership = createOwnership({
    ...{ ...replicaDeps, client, namespace: 'argocd', metrics: new PromMetrics(), prepares },
    ...{ algorithm: 'round-robin', dynamic: false, hostname: name, replicas: 0, controllerName: workloadName },
    heartbeatMs: 1000,
  });
  const live = createLiveClusters({
    ...replicaDeps,
    metrics: new PromMetrics(),
    clients: new SharedClients((connection) =>
      createKubeClient(connection, { ...replicaDeps, userAgent: 'bench', limits }),
    ),
  });
  const settings = { clusters: () => clusters, settings: () => defaultSettings };
  const caches = new ClusterCaches({ live, ownership, settings, namespace: 'argocd', clock: systemClock });
  const end = newAbortController();
  ownership.onChange((change) => {
    caches.update();
    const now = systemClock.monotonic();
    for (const server of change.lost) lost.set(server, now);
    for (const server of change.gained) {
      rights.set(server, now);
      const filled = (): void => void fillings.set(server, systemClock.monotonic());
      live.cluster(server, end.signal).then(filled, () => undefined);
    }
  });
  caches.start(end.signal);
  const ended = Promise.all([ownership.run(end.signal), live.run(end.signal)]);
  ownership.update(clusters, []);
  const stop = async (): Promise<void> => {
    caches.stop();
    end.abort(new Shutdown());
    await ended;
    await client.close();
  };
  return { rights, fillings, lost, stop };
}

function workloadOf(replicas: number): Parameters<SimCluster['store']['create']>[0] {
  const labels = { app: workloadName };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'c' }] } };
  const spec = { replicas, serviceName: workloadName, selector: { matchLabels: labels }, template };
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: workloadName, namespace: 'argocd' }, spec };
}

/**
 * The longest times from the former owner's release to the new ownership, and to the filled cache,
 * of any cluster when one replica becomes two.
 */
async function measureMove({ smoke, random }: BenchContext, prepares: boolean): Promise<readonly [number, number]> {
  const common = { clock: systemClock, random, workloads: { enabled: false, delayMs: 0 } };
  const hub = await startSimCluster({ ...common, name: 'hub' });
  hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
  const names = Array.from({ length: smoke ? 2 : 8 }, (_, i) => `c${i}`);
  const sims = await Promise.all(names.map((name) => startSimCluster({ ...common, name })));
  for (const { store } of sims)
    for (let i = 0; i < (smoke ? 20 : 3000); i += 1)
      store.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `m${i}`, namespace: 'default' },
        data: {},
      });
  const clusters = sims.map(({ name, url }): Cluster => {
    const connection = { server: url, insecure: false, credentials: {} };
    const rest = { namespaces: [], clusterResources: false, labels: {}, annotations: {}, connection };
    return { id: name, name, server: url, ...rest };
  });
  hub.store.create(workloadOf(1));
  const first = startCacheReplica(`${workloadName}-0`, hub, clusters, prepares);
  while (first.fillings.size < clusters.length) await systemClock.sleep(10);
  const old = hub.store.get('apps', 'StatefulSet', 'argocd', workloadName);
  hub.store.update({ ...old, ...workloadOf(2), metadata: { ...old?.metadata, name: workloadName } });
  const second = startCacheReplica(`${workloadName}-1`, hub, clusters, prepares);
  const isOver = (): boolean =>
    second.rights.size >= clusters.length / 2 && second.fillings.size === second.rights.size;
  while (!isOver()) await systemClock.sleep(5);
  const longest = (ends: ReadonlyMap<string, number>): number =>
    Math.max(...[...ends].map(([server, at]) => at - (first.lost.get(server) ?? at)));
  const times = [longest(second.rights), longest(second.fillings)] as const;
  hub.disconnect();
  await Promise.all([first.stop(), second.stop()]);
  await Promise.all([hub, ...sims].map((sim) => sim.close()));
  return times;
}

/**
 * How long a moving cluster has no owner, and how long its drift goes unnoticed: with and without
 * prefilled caches.
 */
export async function measureCacheFilling(context: BenchContext): Promise<BenchMetrics> {
  const [, cold] = await measureMove(context, false);
  const [rights, warm] = await measureMove(context, true);
  return {
    handover_planned_rights_ms: rights,
    handover_planned_cache_filled_ms: warm,
    handover_planned_cache_filled_not_prepared_ms: cold,
  };
}

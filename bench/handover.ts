import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import { createKubeClient } from '#kube';
import type { Application, Cluster, KubeObject } from '#model';
import { createOwnership, timingOf } from '#sharding';
import type { Ownership } from '#sharding';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { PromMetrics, silentLogger } from '#telemetry';
import { measureCacheFilling } from './cache-filled.ts';
import type { BenchContext, BenchMetrics } from './harness.ts';

const heartbeatMs = 1000;
/** How long a silent replica keeps its shard. */
const { leaseMs } = timingOf(heartbeatMs);
const workloadName = 'argocd-application-controller';

interface HandoverReplica {
  readonly name: string;
  readonly ownership: Ownership;
  readonly stop: () => Promise<void>;
}

/**
 * Replicas with separate connections to one simulated hub, and when each cluster last lost and
 * gained its owner.
 */
class HandoverFleet {
  readonly #hub: SimCluster;
  readonly #clusters: readonly Cluster[];
  readonly replicas: HandoverReplica[] = [];
  readonly lostAt = new Map<string, number>();
  readonly gainedAt = new Map<string, number>();

  constructor(hub: SimCluster, clusters: readonly Cluster[]) {
    this.#hub = hub;
    this.#clusters = clusters;
  }

  scale(replicas: number): void {
    const metadata = { name: workloadName, namespace: 'argocd' };
    const object = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: specOf(replicas) } as KubeObject;
    const old = this.#hub.store.get('apps', 'StatefulSet', 'argocd', workloadName);
    if (old === undefined) this.#hub.store.create(object);
    else this.#hub.store.update({ ...old, spec: specOf(replicas) });
  }

  start(ordinal: number): void {
    const name = `${workloadName}-${ordinal}`;
    const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
    const connection = { server: this.#hub.url, insecure: false, credentials: {} };
    const client = createKubeClient(connection, { ...surroundings, userAgent: `bench ${name})` });
    const ownership = createOwnership({
      ...surroundings,
      client,
      namespace: 'argocd',
      metrics: new PromMetrics(),
      ...{
        algorithm: 'round-robin',
        dynamic: false,
        hostname: name,
        replicas: 0,
        controllerName: workloadName,
        heartbeatMs,
      },
    });
    ownership.onChange(({ gained, lost }) => {
      const now = systemClock.monotonic();
      for (const server of lost) this.lostAt.set(server, now);
      for (const server of gained) this.gainedAt.set(server, now);
    });
    const end = newAbortController();
    const ended = ownership.run(end.signal);
    ownership.update(this.#clusters, [] as Application[]);
    const stop = async (): Promise<void> => {
      end.abort(new Shutdown());
      await ended;
      await client.close();
    };
    this.replicas.push({ name, ownership, stop });
  }

  /** Waits until there are `shards` shards and every cluster has one owner among `replicas`. */
  async settled(replicas: readonly HandoverReplica[], shards: number): Promise<void> {
    const isScaled = (): boolean => replicas.every(({ ownership }) => ownership.identity().replicas === shards);
    const owners = (server: string): number => replicas.filter(({ ownership }) => ownership.ownsCluster(server)).length;
    while (!isScaled() || !this.#clusters.every(({ server }) => owners(server) === 1)) await systemClock.sleep(5);
  }

  /** Like SIGKILL and the loss of the node: nothing from it reaches the hub any more. */
  kill({ name }: HandoverReplica): number {
    this.#hub.addFault({ agent: `bench ${name})`, fault: { kind: 'hang' } });
    return systemClock.monotonic();
  }
}

function specOf(replicas: number): Readonly<Record<string, string | number | object>> {
  const labels = { app: workloadName };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'c' }] } };
  return { replicas, serviceName: workloadName, selector: { matchLabels: labels }, template };
}

/**
 * How long clusters have no owner, with real replicas and hub traffic: when the workload scales
 * from 3 to 5 and to 2, and, beyond the lease, when a replica dies without replacement.
 */
export async function handOverTimes(context: BenchContext): Promise<BenchMetrics> {
  const { smoke, random } = context;
  const hub = await startSimCluster({
    name: 'hub',
    clock: systemClock,
    random,
    workloads: { enabled: false, delayMs: 0 },
  });
  hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
  const fleet = new HandoverFleet(hub, numberedClusters(smoke ? 10 : 500));
  try {
    fleet.scale(3);
    for (let i = 0; i < 3; i += 1) fleet.start(i);
    await fleet.settled(fleet.replicas, 3);
    fleet.lostAt.clear();
    fleet.scale(5);
    for (let i = 3; i < 5; i += 1) fleet.start(i);
    await fleet.settled(fleet.replicas, 5);
    const up = longestGap(fleet);
    fleet.scale(2);
    await fleet.settled(fleet.replicas.slice(0, 2), 2);
    const down = longestGap(fleet);
    const [survivor, victim] = fleet.replicas;
    if (survivor === undefined || victim === undefined) throw new Error('two replicas were started');
    const killedAt = fleet.kill(victim);
    await fleet.settled([survivor], 2);
    const beyondLease = systemClock.monotonic() - killedAt - leaseMs;
    return {
      handover_planned_3_to_5_longest_unowned_ms: up,
      handover_planned_5_to_2_longest_unowned_ms: down,
      handover_after_kill_beyond_lease_ms: beyondLease,
      ...(await latePods({ smoke, random })),
      ...(await measureCacheFilling(context)),
    };
  } finally {
    hub.disconnect();
    await Promise.all(fleet.replicas.map(({ stop }) => stop()));
    await hub.close();
  }
}

/** A longer gap is noticeable to users. */
const noticeableGapMs = 500;

/**
 * From 3 to 5 replicas whose pods start some time after scaling: the share of clusters without an
 * owner for a noticeable time.
 */
async function latePods({ smoke, random }: Pick<BenchContext, 'smoke' | 'random'>): Promise<BenchMetrics> {
  const shares: Record<string, number> = {};
  for (const afterMs of smoke ? [0] : [0, 20_000, 60_000]) {
    const workloads = { enabled: false, delayMs: 0 };
    const hub = await startSimCluster({ name: 'hub', clock: systemClock, random, workloads });
    hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
    const all = numberedClusters(smoke ? 10 : 200);
    const fleet = new HandoverFleet(hub, all);
    try {
      fleet.scale(3);
      for (let i = 0; i < 3; i += 1) fleet.start(i);
      await fleet.settled(fleet.replicas, 3);
      const alone = new Map<string, number>();
      const startedAt = systemClock.monotonic();
      const look = async (untilMs: number): Promise<void> => {
        for (let last = systemClock.monotonic(); systemClock.monotonic() < startedAt + untilMs;) {
          await systemClock.sleep(20);
          const now = systemClock.monotonic();
          for (const { server } of all)
            if (!fleet.replicas.some(({ ownership }) => ownership.ownsCluster(server)))
              alone.set(server, (alone.get(server) ?? 0) + now - last);
          last = now;
        }
      };
      fleet.scale(5);
      await look(afterMs);
      for (let i = 3; i < 5; i += 1) fleet.start(i);
      await look(afterMs + (smoke ? 500 : 5000));
      await fleet.settled(fleet.replicas, 5);
      const gaps = [...alone.values()].filter((ms) => ms > noticeableGapMs).length;
      shares[`handover_pods_after_${afterMs / 1000}_s_share_alone_percent`] = (100 * gaps) / all.length;
    } finally {
      hub.disconnect();
      await Promise.all(fleet.replicas.map(({ stop }) => stop()));
      await hub.close();
    }
  }
  return shares;
}

function longestGap({ lostAt, gainedAt }: HandoverFleet): number {
  return Math.max(0, ...[...lostAt].map(([server, at]) => (gainedAt.get(server) ?? at) - at));
}

function numberedClusters(count: number): readonly Cluster[] {
  return Array.from({ length: count }, (_, i) => {
    const server = `https://c${i}`;
    const identity = { id: `id-${i}`, name: `c${i}`, server };
    const connection = { server, insecure: false, credentials: {} };
    return { ...identity, namespaces: [], clusterResources: false, labels: {}, annotations: {}, connection };
  });
}

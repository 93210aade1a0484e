import { withDeadline } from '#base';
import type { Clock, Runnable } from '#base';
import { KubeApiError } from '#kube';
import { inClusterServer, isReconcileSkipped } from '#model';
import type { Cluster } from '#model';
import { clusterKey } from '#sharding';
import type { Ownership } from '#sharding';

export interface ClusterReachDeps {
  readonly ownership: Pick<Ownership, 'ownsCluster' | 'gaining' | 'offered' | 'reportReach'>;
  readonly clusters: () => readonly Cluster[];
  /** URL of the hub, which is no witness for the network to other clusters. */
  readonly hubServer: string;
  /** Requests the version of a cluster over a new connection. */
  readonly probe: (cluster: Cluster, signal: AbortSignal) => Promise<unknown>;
  /** How long no cluster answers before they are offered. */
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** Clusters that are probed at a time while they answer: one answer is enough. */
const sampleSize = 1;
const probeTimeoutMs = 5000;
/** Probes at a time; more clusters are probed one after the other. */
const maxProbes = 20;

/**
 * Detects that this replica reaches the hub, but none of its clusters: then it offers them to
 * replicas that reach them. Replicas probe the clusters that others offer. An offered cluster stays
 * offered until it answers here again, also after another replica took it over. A cluster that this
 * replica would get is offered at once, so that it stays where it is: after a restart, too.
 */
export class ClusterReachWatch implements Runnable {
  readonly name = 'reach of clusters';
  readonly #deps: ClusterReachDeps;
  readonly #answered = new Map<string, number>();
  #anyAnswerAt: number;
  #isSilent = false;
  #unreached: ReadonlySet<string> = new Set();
  #next = 0;
  #confirming: Promise<void> | undefined;

  constructor(deps: ClusterReachDeps) {
    this.#deps = deps;
    this.#anyAnswerAt = deps.clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#deps.clock.sleep(this.#deps.leaseMs / 3, signal);
        await this.#look(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Probes all clusters now, and reports which do not answer. Never rejects. */
  confirm(signal: AbortSignal): Promise<void> {
    this.#confirming ??= this.#look(signal, true)
      .catch(() => undefined)
      .finally(() => (this.#confirming = undefined));
    return this.#confirming;
  }

  async #look(signal: AbortSignal, all = false): Promise<void> {
    const { ownership, clusters, clock, leaseMs } = this.#deps;
    const known = clusters().filter(({ annotations }) => !isReconcileSkipped(annotations));
    const own = known.filter((cluster) => this.#isOwn(cluster));
    if (own.length === 0) this.#anyAnswerAt = clock.monotonic();
    const keysOffered = ownership.offered?.() ?? new Set<string>();
    // Also our own ones: other parts of a split cluster may be offered.
    const offered = known.filter(({ server }) => keysOffered.has(clusterKey(server))).slice(0, maxProbes);
    const sample = all ? own : this.#sample(own);
    await this.#probe([...new Set([...sample, ...offered])], signal);
    const now = clock.monotonic();
    const answeredAt = (server: string): number => this.#answered.get(server) ?? Number.NEGATIVE_INFINITY;
    const answersSince = (server: string): boolean => now - answeredAt(server) < leaseMs;
    const keys = own.map(({ server }) => clusterKey(server)).sort();
    const before = this.#anyAnswerAt;
    this.#anyAnswerAt = Math.max(before, ...keys.map(answeredAt));
    this.#isSilent = this.#anyAnswerAt === before;
    if (keys.length > 0 && now - this.#anyAnswerAt >= leaseMs) this.#unreached = new Set(keys);
    else if (sample.length === own.length && !keys.some(answersSince)) {
      const gained = own.filter(({ server }) => !ownership.ownsCluster(server));
      this.#unreached = new Set([...this.#unreached, ...gained.map(({ server }) => clusterKey(server))]);
    }
    this.#unreached = new Set([...this.#unreached].filter((key) => keys.includes(key) && !answersSince(key)));
    const reaches = offered.map(({ server }) => clusterKey(server)).filter(answersSince);
    ownership.reportReach?.({ unreached: [...this.#unreached], reaches: reaches.sort() });
  }

  #isOwn({ server }: Cluster): boolean {
    const { ownership, hubServer } = this.#deps;
    if (server === inClusterServer || clusterKey(server) === clusterKey(hubServer)) return false;
    return ownership.ownsCluster(server) || ownership.gaining().has(clusterKey(server));
  }

  /** In turn; all of them once the last sample did not answer. */
  #sample(own: readonly Cluster[]): readonly Cluster[] {
    if (own.length <= sampleSize || this.#isSilent || this.#unreached.size > 0) return own;
    this.#next = (this.#next + sampleSize) % own.length;
    return [...own, ...own].slice(this.#next, this.#next + sampleSize);
  }

  async #probe(clusters: readonly Cluster[], signal: AbortSignal): Promise<void> {
    const left = [...clusters];
    const work = async (): Promise<void> => {
      for (let cluster = left.shift(); cluster !== undefined; cluster = left.shift()) await this.#ask(cluster, signal);
    };
    await Promise.all(Array.from({ length: Math.min(maxProbes, left.length) }, work));
  }

  /** Any response counts: it came over the network. */
  async #ask(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { clock, probe } = this.#deps;
    const limit = { clock, limitMs: probeTimeoutMs, what: `probing ${cluster.server}` };
    const isAnswered = await withDeadline(signal, limit, (inner) => probe(cluster, inner)).then(
      () => true,
      (error: unknown) => error instanceof KubeApiError,
    );
    signal.throwIfAborted();
    if (isAnswered) this.#answered.set(clusterKey(cluster.server), clock.monotonic());
  }
}

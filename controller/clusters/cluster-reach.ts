import { repeatUntilAborted, Superseded, withChild, withDeadline } from '#base';
import type { Clock, Runnable } from '#base';
import { KubeApiError } from '#kube';
import { inClusterServer, isReconcileSkipped } from '#model';
import type { Cluster } from '#model';
import { clusterKey } from '#sharding';
import type { Ownership } from '#sharding';

export interface ClusterReachDeps {
  readonly ownership: Pick<Ownership, 'ownsCluster' | 'gaining' | 'offered' | 'reportReach' | 'identity'>;
  readonly clusters: () => readonly Cluster[];
  /** URL of the hub, which is no witness for the network to other clusters. */
  readonly hubServer: string;
  /** Requests the version of a cluster over a new connection. */
  readonly probe: (cluster: Cluster, signal: AbortSignal) => Promise<unknown>;
  /** Requests the version of the hub. */
  readonly probeHub: (signal: AbortSignal) => Promise<unknown>;
  /** How long no cluster answers before they are offered. */
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** Clusters that are probed at a time while they answer: one answer is enough. */
const sampleSize = 1;
const probeTimeoutMs = 5000;
/** Probes at a time while clusters answer: each answer costs a TLS handshake. */
const maxProbes = 20;
/** Probes at a time once none of the first has answered: they only wait. */
const maxSilentProbes = 500;
const silentProbesAfterMs = 1000;
/** Clusters of others that are probed at each look. */
const maxOfferedProbes = 50;
const hubProbeIntervalMs = 1000;
/** A longer delay of the hub, or of this process, leaves it open why no cluster answered. */
const maxDelayMs = probeTimeoutMs / 2;

/**
 * Detects that this replica reaches the hub, but none of its clusters: then it offers them to
 * replicas that reach them. While it probes all of them, the hub must answer in time: otherwise the
 * replica itself may be starved or cut off, and the silence begins anew. Replicas probe the
 * clusters that others offer. An offered cluster stays offered until it answers here again. One
 * that this replica would get is offered at once, so that it stays where it is after a restart.
 */
export class ClusterReachWatch implements Runnable {
  readonly name = 'reach of clusters';
  readonly #deps: ClusterReachDeps;
  readonly #answered = new Map<string, number>();
  /** Since when no cluster has answered, as far as this replica can tell. */
  #silentSince: number;
  #isSilent = false;
  #unreached: ReadonlySet<string> = new Set();
  #next = 0;
  #nextOffered = 0;
  #confirming: Promise<void> | undefined;

  constructor(deps: ClusterReachDeps) {
    this.#deps = deps;
    this.#silentSince = deps.clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, leaseMs } = this.#deps;
    await repeatUntilAborted(signal, async () => {
      const pauseMs = leaseMs / (this.#isSilent && this.#unreached.size === 0 ? 30 : 3);
      const before = clock.monotonic();
      await clock.sleep(pauseMs, signal);
      // This process was stopped: it does not know whether clusters would have answered.
      if (clock.monotonic() - before > pauseMs + maxDelayMs) this.#silentSince = clock.monotonic();
      await this.#look(signal);
    });
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
    if (own.length === 0) this.#silentSince = clock.monotonic();
    const keysOffered = ownership.offered?.() ?? new Set<string>();
    // Also our own ones: other parts of a split cluster may be offered.
    const offered = known.filter(({ server }) => keysOffered.has(clusterKey(server)));
    const sample = all ? own : this.#sample(own);
    const isLast = all || this.#isSilent || this.#unreached.size > 0;
    const [isConclusive] = await Promise.all([
      isLast ? this.#probeBesideHub(sample, signal) : this.#probeSample(sample, signal),
      this.#probeOffered(offered, signal),
    ]);
    const now = clock.monotonic();
    const answeredAt = (server: string): number => this.#answered.get(server) ?? Number.NEGATIVE_INFINITY;
    const answersSince = (server: string): boolean => now - answeredAt(server) < leaseMs;
    const keys = own.map(({ server }) => clusterKey(server)).sort();
    const lastAnswer = Math.max(Number.NEGATIVE_INFINITY, ...keys.map(answeredAt));
    this.#isSilent = keys.length > 0 && lastAnswer <= this.#silentSince;
    this.#silentSince = Math.max(lastAnswer, isConclusive === false ? now : this.#silentSince);
    if (isConclusive === true && this.#isSilent) {
      const gained = own.filter(({ server }) => !ownership.ownsCluster(server));
      if (now - this.#silentSince >= leaseMs) this.#unreached = new Set(keys);
      else if (!keys.some(answersSince))
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

  /** Returns false if this process stood still meanwhile; else undefined: others may answer. */
  async #probeSample(clusters: readonly Cluster[], signal: AbortSignal): Promise<false | undefined> {
    const before = this.#deps.clock.monotonic();
    await this.#probe(clusters, false, signal);
    return this.#deps.clock.monotonic() - before > probeTimeoutMs + maxDelayMs ? false : undefined;
  }

  /** Returns false if this replica, or its way to the hub, may be why clusters did not answer. */
  async #probeBesideHub(clusters: readonly Cluster[], signal: AbortSignal): Promise<boolean> {
    const { clock, probeHub } = this.#deps;
    let [isOver, isInTime] = [false, true];
    const askHub = async (): Promise<void> => {
      do {
        const before = clock.monotonic();
        const isAnswered = await this.#isAnswered('the hub', probeHub, signal);
        await clock.sleep(hubProbeIntervalMs, signal);
        isInTime &&= isAnswered && clock.monotonic() - before <= hubProbeIntervalMs + maxDelayMs;
      } while (!isOver);
    };
    const probing = this.#probe(clusters, this.#unreached.size > 0, signal).finally(() => (isOver = true));
    await Promise.all([probing, askHub()]);
    return isInTime;
  }

  /** Those whose last answer is old; each replica begins at another one. */
  async #probeOffered(offered: readonly Cluster[], signal: AbortSignal): Promise<void> {
    const { clock, leaseMs, ownership } = this.#deps;
    const recent = clock.monotonic() - leaseMs / 2;
    const due = offered.filter(({ server }) => (this.#answered.get(clusterKey(server)) ?? -Infinity) < recent);
    const { shard = 0, replicas } = ownership.identity();
    const first = Math.floor((shard * due.length) / replicas) + this.#nextOffered;
    this.#nextOffered += maxOfferedProbes;
    const turn = Array.from(
      { length: Math.min(maxOfferedProbes, due.length) },
      (_, i) => due[(first + i) % due.length],
    );
    await this.#probe(
      turn.filter((cluster) => cluster !== undefined),
      true,
      signal,
    );
  }

  /** Probes until one cluster answers, or each of them. */
  async #probe(clusters: readonly Cluster[], needsEach: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const left = clusters.values();
    let answers = 0;
    await withChild(signal, async (inner, abort) => {
      const work = async (isExtra: boolean): Promise<void> => {
        while (answers === 0 || (needsEach && !isExtra)) {
          const next = left.next();
          if (next.done === true) return;
          const isAnswered = await this.#ask(next.value, inner);
          if (!isAnswered) continue;
          answers += 1;
          if (!needsEach) abort(new Superseded('another cluster answered'));
        }
      };
      const begin = (workers: number, isExtra: boolean): Promise<unknown> =>
        Promise.all(Array.from({ length: Math.min(workers, clusters.length) }, () => work(isExtra)));
      let more: Promise<unknown> | undefined;
      const timer = clock.timer(silentProbesAfterMs, () => {
        if (answers === 0) more = begin(maxSilentProbes - maxProbes, true);
      });
      await begin(maxProbes, false).finally(() => timer.cancel());
      await more;
    });
    signal.throwIfAborted();
  }

  async #ask(cluster: Cluster, signal: AbortSignal): Promise<boolean> {
    const { clock, probe } = this.#deps;
    const isAnswered = await this.#isAnswered(cluster.server, (inner) => probe(cluster, inner), signal);
    if (isAnswered) this.#answered.set(clusterKey(cluster.server), clock.monotonic());
    return isAnswered;
  }

  /** Any response counts: it came over the network. */
  async #isAnswered(
    server: string,
    probe: (signal: AbortSignal) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const limit = { clock: this.#deps.clock, limitMs: probeTimeoutMs, what: `probing ${server}` };
    return withDeadline(signal, limit, probe).then(
      () => true,
      (error: unknown) => error instanceof KubeApiError,
    );
  }
}

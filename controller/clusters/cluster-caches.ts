import type { Clock, ClockTimer } from '#base';
import type { BodyFilter, LiveClusters } from '#live';
import { isReconcileSkipped } from '#model';
import type { Cluster } from '#model';
import type { SettingsStore } from '#settings';
import { clusterKey } from '#sharding';
import type { OwnedParts, Ownership } from '#sharding';
import type { MetricRegistry } from '#telemetry';

export interface ClusterCachesDeps {
  readonly live: Pick<LiveClusters, 'setClusters' | 'cluster'>;
  readonly ownership: Pick<Ownership, 'ownsCluster' | 'ownedParts' | 'gaining' | 'prepared'>;
  readonly settings: Pick<SettingsStore, 'clusters' | 'settings'>;
  /** The controller's namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  /** How long a lost cluster stays watched (--lost-cluster-cache-seconds); default: not at all. */
  readonly keepLostMs?: number;
  /** Receives the time from owning a cluster to its filled cache or failed discovery. */
  readonly onCacheFilled?: (ms: number) => void;
  /** Finds out, after a failed discovery, whether any cluster answers this replica. */
  readonly confirmReach?: (signal: AbortSignal) => Promise<void>;
}

/**
 * Decides which clusters are watched: owned ones; those that will be gained once their caches are
 * filled, while another replica still writes to them; and, for some minutes, lost ones, so that a
 * hub outage beyond the lease does not make every replica list every cluster at once. Watching a
 * cluster gives no right to write to it.
 */
export class ClusterCaches {
  readonly #deps: ClusterCachesDeps;
  #signal: AbortSignal | undefined;
  #owned: ReadonlySet<string> = new Set();
  /** By server URL: when a lost cluster is dropped. */
  readonly #lostUntil = new Map<string, number>();
  /** Clusters that this replica will gain, by `clusterKey`; true: the cache is filled. */
  readonly #filled = new Map<string, boolean>();
  #bodyFilters: ReadonlyMap<string, BodyFilter> = new Map();
  /** The owned clusters that had a Secret at the last update, and those whose Secret is gone. */
  #present: ReadonlyMap<string, Cluster> = new Map();
  readonly #gone = new Map<string, { readonly cluster: Cluster; readonly until: number }>();
  #dropTimer: ClockTimer | undefined;

  constructor(deps: ClusterCachesDeps) {
    this.#deps = deps;
  }

  /** Cache fills are awaited only after this call and until `signal` aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  stop(): void {
    this.#dropTimer?.cancel();
  }

  /** Applies the current ownership. */
  update(): void {
    const { live, ownership, settings } = this.#deps;
    const gaining = ownership.gaining();
    const [owned, others] = partition(settings.clusters(), ({ server }) => ownership.ownsCluster(server));
    const gained = this.#noteLost(owned);
    const spare = others.filter(
      (cluster) =>
        !isReconcileSkipped(cluster.annotations) &&
        (gaining.has(clusterKey(cluster.server)) || this.#lostUntil.has(cluster.server)),
    );
    spare.push(...this.#noteGone(owned));
    this.#bodyFilters = this.#bodyFiltersOf([...owned, ...spare], gaining);
    live.setClusters(owned, settings.settings(), this.#bodyFilters, spare);
    for (const server of gained) this.#timeFilling(server);
    this.#awaitFills(gaining);
    this.#scheduleDrop();
  }

  /**
   * Keeps lost clusters for a while; a regained or removed cluster is no longer lost. Returns newly
   * owned servers.
   */
  #noteLost(owned: readonly Cluster[]): readonly string[] {
    const { clock, settings, keepLostMs = 0 } = this.#deps;
    const now = clock.monotonic();
    const before = this.#owned;
    this.#owned = new Set(owned.map(({ server }) => server));
    for (const server of before) if (!this.#owned.has(server)) this.#lostUntil.set(server, now + keepLostMs);
    const known = new Set(settings.clusters().map(({ server }) => server));
    for (const [server, until] of this.#lostUntil)
      if (until <= now || this.#owned.has(server) || !known.has(server)) this.#lostUntil.delete(server);
    return [...this.#owned].filter((server) => !before.has(server));
  }

  /**
   * Keeps the caches of clusters whose Secret is gone for a moment: a Secret that is deleted and
   * created again costs no relist.
   */
  #noteGone(owned: readonly Cluster[]): readonly Cluster[] {
    const { clock, settings } = this.#deps;
    const now = clock.monotonic();
    const known = new Set(settings.clusters().map(({ server }) => server));
    for (const [server, cluster] of this.#present)
      if (!known.has(server)) this.#gone.set(server, { cluster, until: now + goneSecretMs });
    for (const [server, { until }] of this.#gone) if (known.has(server) || until <= now) this.#gone.delete(server);
    this.#present = new Map(owned.map((cluster) => [cluster.server, cluster]));
    return [...this.#gone.values()].map(({ cluster }) => cluster);
  }

  #scheduleDrop(): void {
    this.#dropTimer?.cancel();
    const first = Math.min(...this.#lostUntil.values(), ...[...this.#gone.values()].map(({ until }) => until));
    const { clock } = this.#deps;
    this.#dropTimer = Number.isFinite(first) ? clock.timer(first - clock.monotonic(), () => this.update()) : undefined;
  }

  /**
   * For a split cluster, keeps whole objects only for the Applications that are or will be ours
   * (D4).
   */
  #bodyFiltersOf(
    clusters: readonly Cluster[],
    gaining: ReadonlyMap<string, OwnedParts>,
  ): ReadonlyMap<string, BodyFilter> {
    const { ownership, namespace } = this.#deps;
    const bodies = new Map<string, BodyFilter>();
    for (const { server } of clusters) {
      const known = [ownership.ownedParts(server), gaining.get(clusterKey(server))].filter(
        (each) => each !== undefined,
      );
      const [parts] = known;
      const owned = [...new Set(known.flatMap((each) => each.owned))].sort((a, b) => a - b);
      // A lost cluster keeps its filter: which of its parts will return is unknown.
      const filter = parts === undefined ? this.#bodyFilters.get(server) : { of: parts.of, owned, namespace };
      if (filter !== undefined && filter.owned.length < filter.of) bodies.set(server, filter);
    }
    return bodies;
  }

  /**
   * Reports each cluster to be gained when its cache is filled or its discovery has failed: waiting
   * longer for the latter is useless. If no cluster answers, it is offered in the same write, and
   * so stays where it is.
   */
  #awaitFills(gaining: ReadonlyMap<string, OwnedParts>): void {
    for (const key of this.#filled.keys()) if (!gaining.has(key)) this.#filled.delete(key);
    for (const { server } of this.#deps.settings.clusters()) {
      const key = clusterKey(server);
      if (!gaining.has(key) || this.#filled.has(key)) continue;
      this.#filled.set(key, false);
      this.#whenFilled(server, (isFilled) => {
        if (isFilled && this.#filled.has(key)) this.#filled.set(key, true);
        else this.#filled.delete(key);
        this.#reportPrepared();
      });
    }
    this.#reportPrepared();
  }

  #reportPrepared(): void {
    this.#deps.ownership.prepared([...this.#filled].flatMap(([key, isFilled]) => (isFilled ? [key] : [])));
  }

  #timeFilling(server: string): void {
    const { clock, onCacheFilled } = this.#deps;
    if (onCacheFilled === undefined) return;
    const since = clock.monotonic();
    this.#whenFilled(server, (isFilled) => {
      if (isFilled) onCacheFilled(clock.monotonic() - since);
    });
  }

  /** `then(false)`: the cluster is no longer watched, or the replica is shutting down. */
  #whenFilled(server: string, then: (isFilled: boolean) => void): void {
    if (this.#signal === undefined) return;
    this.#fill(server, this.#signal).then(
      () => then(true),
      () => then(false),
    );
  }

  async #fill(server: string, signal: AbortSignal): Promise<void> {
    const { live, confirmReach } = this.#deps;
    const found = await live.cluster(server, signal);
    if (confirmReach !== undefined && found.info().state === 'failed') await confirmReach(signal);
  }
}

/** How long the cache of a cluster without a Secret is kept. */
const goneSecretMs = 30_000;

/** Histogram of the time from owning a cluster to its filled cache, or to its failed discovery. */
export function cacheFillRecorder(metrics: MetricRegistry): (ms: number) => void {
  const seconds = metrics.histogram(
    'driftless_shard_cache_filled_seconds',
    'Time from owning a cluster to its filled cache; near 0 if it was filled before.',
    [0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  );
  return (ms) => seconds.observe(ms / 1000);
}

function partition(
  clusters: readonly Cluster[],
  isFirst: (cluster: Cluster) => boolean,
): readonly [readonly Cluster[], readonly Cluster[]] {
  return [clusters.filter(isFirst), clusters.filter((cluster) => !isFirst(cluster))];
}

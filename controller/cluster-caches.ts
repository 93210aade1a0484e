import { parseGoBool } from '#base';
import type { Clock, Timer } from '#base';
import type { BodyFilter, LiveClusters } from '#live';
import { annotations } from '#model';
import type { Cluster } from '#model';
import type { SettingsStore } from '#settings';
import { clusterKey } from '#sharding';
import type { OwnedParts, Ownership } from '#sharding';
import type { Metrics } from '#telemetry';

export interface ClusterCachesDeps {
  readonly live: Pick<LiveClusters, 'setClusters' | 'cluster'>;
  readonly ownership: Pick<Ownership, 'ownsCluster' | 'ownedParts' | 'gaining' | 'prepared'>;
  readonly settings: Pick<SettingsStore, 'clusters' | 'settings'>;
  /** The controller's own. */
  readonly namespace: string;
  readonly clock: Clock;
  /** How long a cluster stays watched that this replica has lost. */
  readonly keepLostMs?: number;
  /** A cluster became this replica's, and its cache was filled so much later. */
  readonly onCacheFilled?: (ms: number) => void;
}

/**
 * Which clusters are watched: those of this replica; those that it will get as soon as their caches are filled, while another replica still
 * writes to them; and for some minutes those that it has lost, so that an outage of the hub beyond the lease does not end in every replica
 * listing every cluster at once. To watch a cluster gives no right to write to it.
 */
export class ClusterCaches {
  readonly #deps: ClusterCachesDeps;
  #signal: AbortSignal | undefined;
  #owned: ReadonlySet<string> = new Set();
  /** Until when a cluster that was lost is kept. */
  readonly #lostUntil = new Map<string, number>();
  /** Clusters to come, by URL as the table has it, whose caches are being filled; true: they are. */
  readonly #filled = new Map<string, boolean>();
  #bodies: ReadonlyMap<string, BodyFilter> = new Map();
  #next: Timer | undefined;

  constructor(deps: ClusterCachesDeps) {
    this.#deps = deps;
  }

  /** Nothing is waited for before, nor when `signal` has aborted. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  stop(): void {
    this.#next?.cancel();
  }

  /** Goes by what this replica owns and will get at this moment. */
  update(): void {
    const { live, ownership, settings } = this.#deps;
    const gaining = ownership.gaining();
    const [owned, others] = parted(settings.clusters(), ({ server }) => ownership.ownsCluster(server));
    const gained = this.#noteLost(owned);
    const spare = others.filter(
      (cluster) =>
        !isSkipped(cluster) && (gaining.has(clusterKey(cluster.server)) || this.#lostUntil.has(cluster.server)),
    );
    this.#bodies = this.#bodiesOf([...owned, ...spare], gaining);
    live.setClusters(owned, settings.settings(), this.#bodies, spare);
    for (const server of gained) this.#timeFilling(server);
    this.#fill(gaining);
    this.#forgetLater();
  }

  /** What was lost is kept for a while; what came back, or is no cluster any more, is not lost. Returns what is owned anew. */
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

  #forgetLater(): void {
    this.#next?.cancel();
    const first = Math.min(...this.#lostUntil.values());
    const { clock } = this.#deps;
    this.#next = Number.isFinite(first) ? clock.timer(first - clock.monotonic(), () => this.update()) : undefined;
  }

  /** Of a split cluster, whole objects are kept for the applications only that are this replica's, or will be (D4). */
  #bodiesOf(clusters: readonly Cluster[], gaining: ReadonlyMap<string, OwnedParts>): ReadonlyMap<string, BodyFilter> {
    const { ownership, namespace } = this.#deps;
    const bodies = new Map<string, BodyFilter>();
    for (const { server } of clusters) {
      const known = [ownership.ownedParts(server), gaining.get(clusterKey(server))].filter(
        (each) => each !== undefined,
      );
      const [parts] = known;
      const owned = [...new Set(known.flatMap((each) => each.owned))].sort((a, b) => a - b);
      // A cluster that was lost stays as it was: nobody knows what of it comes back.
      const filter = parts === undefined ? this.#bodies.get(server) : { of: parts.of, owned, namespace };
      if (filter !== undefined && filter.owned.length < filter.of) bodies.set(server, filter);
    }
    return bodies;
  }

  /** Tells of each cluster to come when its cache is filled, or cannot be: then to wait longer would help nobody. */
  #fill(gaining: ReadonlyMap<string, OwnedParts>): void {
    for (const key of this.#filled.keys()) if (!gaining.has(key)) this.#filled.delete(key);
    for (const { server } of this.#deps.settings.clusters()) {
      const key = clusterKey(server);
      if (!gaining.has(key) || this.#filled.has(key)) continue;
      this.#filled.set(key, false);
      this.#whenFilled(server, (isFilled) => {
        if (isFilled && this.#filled.has(key)) this.#filled.set(key, true);
        else this.#filled.delete(key);
        this.#tell();
      });
    }
    this.#tell();
  }

  #tell(): void {
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

  /** False: the cluster is not watched any more, or the replica ends. */
  #whenFilled(server: string, then: (isFilled: boolean) => void): void {
    if (this.#signal === undefined) return;
    this.#deps.live.cluster(server, this.#signal).then(
      () => then(true),
      () => then(false),
    );
  }
}

/** From owning a cluster to having its cache filled. */
export function cacheFillings(metrics: Metrics): (ms: number) => void {
  const seconds = metrics.histogram(
    'driftless_shard_cache_filled_seconds',
    'From getting a cluster to having its cache filled; near 0 when it was filled before.',
    [0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  );
  return (ms) => seconds.observe(ms / 1000);
}

function parted(
  clusters: readonly Cluster[],
  isFirst: (cluster: Cluster) => boolean,
): readonly [readonly Cluster[], readonly Cluster[]] {
  return [clusters.filter(isFirst), clusters.filter((cluster) => !isFirst(cluster))];
}

/** Told to be left alone: not even looked at. */
function isSkipped(cluster: Cluster): boolean {
  return parseGoBool(cluster.annotations[annotations.skipReconcile]) === true;
}

import type { Clock, Json, RandomSource, Runnable } from '#base';
import { Shutdown, withChild } from '#base';
import { Reflector } from '#kube';
import type { ReflectorOptions, SharedClients } from '#kube';
import type { Cluster, KubeObject, Settings } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import { planReconfiguration } from './reconfiguration.ts';
import type { ClusterConfiguration } from './reconfiguration.ts';
import type { ApiVersionLists } from './discovery/capabilities.ts';
import type { KindsInUse } from './discovery/kinds-in-use.ts';
import { defaultTuning } from './watch/cluster-watch.ts';
import type { LiveTuning } from './watch/cluster-watch.ts';
import type { KeepsWhole } from './objects/stored-node.ts';
import { LiveBudget } from './bytes/live-budget.ts';
import type { LiveLimits } from './bytes/live-budget.ts';
import { ClusterIgnored } from './errors.ts';
import { WatchedCluster } from './live-cluster.ts';
import { registerMetrics } from './metrics.ts';
import type { LiveInstruments, MeasuredCluster } from './metrics.ts';
import { SchemaStore } from './queries/cluster-schemas.ts';
import { VersionCounter } from './content-versions.ts';
import type {
  BodyFilter,
  ClusterInfo,
  ClusterReport,
  LiveChange,
  LiveCluster,
  LiveClusters,
  RowChange,
} from './types.ts';

export interface LiveClustersDeps {
  /** Clients are opened once per cluster and connection, and closed when the watches have ended. */
  readonly clients: Pick<SharedClients, 'open' | 'close'>;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  readonly tuning?: Partial<LiveTuning>;
  /** --metrics-cluster-labels: labels of cluster Secrets for `argocd_cluster_labels`. */
  readonly clusterLabels?: readonly string[];
  /** Persists the last complete list of API versions of each cluster; in memory only if absent. */
  readonly apiVersions?: ApiVersionLists;
  /** Limits the watches to some kinds; absent: all kinds are watched. */
  readonly kindsInUse?: KindsInUse | undefined;
  /** Memory limits for live state. The default suits a heap of 2 GiB. */
  readonly limits?: LiveLimits;
  /** Advice for messages: how to make a cluster take less memory. Default: `exclude kinds`. */
  readonly memoryRemedy?: string | undefined;
  /**
   * Facts of an object that its row has as `kept`. Called for every version of every object; must
   * not throw.
   */
  readonly keep?: (object: KubeObject) => Json | undefined;
  /** Objects to keep whole although no Application tracks them. Must not throw. */
  readonly keepsWhole?: KeepsWhole;
  /**
   * Called synchronously for every change of an object after the first fill of its cache, relevant
   * to Applications or not. Must not throw.
   */
  readonly onRow?: (change: RowChange) => void;
  /** Called when a kind's state or a server's kinds may have changed. Must not throw. */
  readonly onState?: () => void;
  /** Watches one kind; the reflector of #kube, except in tests. */
  readonly reflect?: (options: ReflectorOptions) => Runnable;
}

/** Does not start anything; call `run`. `setClusters` may be called before or during `run`. */
export function createLiveClusters(deps: LiveClustersDeps): LiveClusters {
  return new WatchedClusters(deps);
}

interface KeptCluster {
  configuration: ClusterConfiguration;
  /** Watched only so that the cache is filled if this replica becomes the owner. */
  isSpare: boolean;
  readonly live: WatchedCluster;
  stop: () => void;
}

class WatchedClusters implements LiveClusters {
  readonly name = 'live';
  readonly #deps: LiveClustersDeps;
  readonly #kept = new Map<string, KeptCluster>();
  readonly #listeners = new Set<(change: LiveChange) => void>();
  readonly #running = new Set<Promise<void>>();
  readonly #instruments: LiveInstruments;
  /** Shared by all caches, because one that replaces another must not reuse its version numbers. */
  readonly #versions = new VersionCounter();
  readonly #schemas = new SchemaStore();
  readonly #budget: LiveBudget;
  #signal: AbortSignal | undefined;

  constructor(deps: LiveClustersDeps) {
    this.#deps = deps;
    this.#budget = new LiveBudget(deps.limits, deps.memoryRemedy);
    this.#instruments = registerMetrics(deps.metrics, deps.clock, {
      all: () => this.#measured(),
      has: (server) => this.#kept.get(server)?.isSpare === false,
      labels: deps.clusterLabels ?? [],
    });
  }

  /** Runs until `signal` aborts and all watches have ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const kept of this.#kept.values()) this.#start(kept, signal);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.all(this.#running);
  }

  setClusters(
    clusters: readonly Cluster[],
    settings: Settings,
    bodies?: ReadonlyMap<string, BodyFilter>,
    spare: readonly Cluster[] = [],
  ): void {
    const wanted = new Map<string, Cluster>();
    for (const cluster of [...clusters, ...spare]) if (!wanted.has(cluster.server)) wanted.set(cluster.server, cluster);
    for (const server of [...this.#kept.keys()]) if (!wanted.has(server)) this.#drop(server);
    const owned = new Set(clusters.map(({ server }) => server));
    for (const cluster of wanted.values())
      this.#keep({ cluster, settings, bodies: bodies?.get(cluster.server) }, !owned.has(cluster.server));
  }

  async cluster(server: string, signal: AbortSignal): Promise<LiveCluster> {
    for (;;) {
      const live = this.#kept.get(server)?.live;
      if (live === undefined) throw new ClusterIgnored(server);
      await live.settled(signal);
      // The cluster may have been dropped or rebuilt meanwhile.
      if (this.#kept.get(server)?.live === live) return live;
    }
  }

  peek(server: string): LiveCluster | undefined {
    return this.#kept.get(server)?.live;
  }

  infos(): readonly ClusterInfo[] {
    return this.#owned().map(({ live }) => live.info());
  }

  eventCounts(): ReadonlyMap<string, number> {
    return new Map(this.#owned().map(({ live }) => [live.server, live.eventsCount()]));
  }

  reports(): readonly ClusterReport[] {
    return this.#owned().map(({ configuration, live }) => ({ name: configuration.cluster.name, ...live.report() }));
  }

  onChange(listener: (change: LiveChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  *#measured(): Generator<MeasuredCluster> {
    for (const { configuration, live } of this.#owned()) {
      const { name, labels, secretName } = configuration.cluster;
      yield {
        name,
        labels: secretName === undefined ? undefined : labels,
        info: live.info(),
        openWatches: () => live.openWatches(),
        chatty: () => live.chatty(),
        bytes: () => live.bytes,
      };
    }
  }

  #owned(): readonly KeptCluster[] {
    return [...this.#kept.values()].filter(({ isSpare }) => !isSpare);
  }

  #keep(configuration: ClusterConfiguration, isSpare: boolean): void {
    const { cluster } = configuration;
    const kept = this.#kept.get(cluster.server);
    if (kept === undefined) {
      this.#add(configuration, { isSpare });
      return;
    }
    kept.isSpare = isSpare;
    const step = planReconfiguration(kept.configuration, configuration);
    if (step.act === 'rebuild') {
      const earlier = kept.live.tracked();
      this.#drop(cluster.server);
      this.#add(configuration, { isSpare, earlier });
      return;
    }
    kept.configuration = configuration;
    if (step.newCredentials) kept.live.updateCredentials(cluster.connection);
    if (step.reconfigure) kept.live.reconfigure(configuration, step.readAgain);
  }

  #add(
    configuration: ClusterConfiguration,
    { isSpare, earlier }: { readonly isSpare: boolean; readonly earlier?: ReturnType<WatchedCluster['tracked']> },
  ): void {
    const { cluster } = configuration;
    const { clock, random, logger, clients, tuning, reflect, apiVersions, keep, keepsWhole, onRow, onState } =
      this.#deps;
    const { kindsInUse } = this.#deps;
    const client = clients.open(cluster.server, cluster.connection);
    const live = new WatchedCluster(configuration, {
      clock,
      random,
      client,
      disconnect: () => clients.close(cluster.server, client),
      logger: logger.child({ server: cluster.server }),
      tuning: { ...defaultTuning, ...tuning },
      versions: this.#versions,
      schemas: this.#schemas,
      apiVersions,
      kindsInUse,
      budget: this.#budget,
      reflect: reflect ?? ((options) => new Reflector(options)),
      emit: (change) => {
        if (!kept.isSpare) this.#notify(change);
      },
      keep,
      keepsWhole,
      onRow,
      onState,
      onProcessed: (ms, events) => this.#instruments.processed(cluster.server, ms, events),
      onEvent: ({ group, kind }) => this.#instruments.countEvent(cluster.server, group, kind),
      onAudit: ({ group, kind }, differing) => this.#instruments.countAudit(cluster.server, { group, kind }, differing),
      ...(earlier === undefined ? {} : { earlier }),
    });
    // Once the watches run, they close the client when they end. Before that, `stop` closes it.
    const stop = (): void =>
      void clients.close(cluster.server, client).catch((error: unknown) => this.#failed(live, error));
    const kept: KeptCluster = { configuration, isSpare, live, stop };
    this.#kept.set(cluster.server, kept);
    if (this.#signal !== undefined) this.#start(kept, this.#signal);
  }

  #drop(server: string): void {
    const kept = this.#kept.get(server);
    this.#kept.delete(server);
    kept?.live.abandon();
    kept?.stop();
  }

  #start(kept: KeptCluster, parent: AbortSignal): void {
    if (parent.aborted) return;
    const running: Promise<void> = withChild(parent, async (signal, abort) => {
      kept.stop = () => abort(new Shutdown('cluster no longer kept'));
      await kept.live.run(signal);
    })
      .catch((error: unknown) => {
        if (!parent.aborted) this.#failed(kept.live, error);
      })
      .finally(() => void this.#running.delete(running));
    this.#running.add(running);
  }

  #failed({ server }: WatchedCluster, error: unknown): void {
    this.#deps.logger.error('A cluster watch failed', { server, error });
  }

  #notify(change: LiveChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#deps.logger.error('A listener of live changes failed', { server: change.server, error });
      }
    }
  }
}

import type { Clock, Random, Runnable } from '#base';
import { Shutdown, withChild } from '#base';
import { Reflector } from '#kube';
import type { ReflectorOptions, SharedClients } from '#kube';
import type { Cluster, Settings } from '#model';
import type { Logger, Metrics } from '#telemetry';
import { adaptation } from './adapt.ts';
import type { Configuration } from './adapt.ts';
import { defaultTuning } from './cluster-watch.ts';
import type { LiveTuning } from './cluster-watch.ts';
import { ClusterIgnored } from './errors.ts';
import { WatchedCluster } from './live-cluster.ts';
import { registerMetrics } from './metrics.ts';
import type { LiveInstruments } from './metrics.ts';
import { SchemaStore } from './schemas.ts';
import { Versions } from './versioned.ts';
import type { BodyFilter, ClusterInfo, LiveChange, LiveCluster, LiveClusters } from './types.ts';

export interface LiveClustersDeps {
  /** A client is opened once per cluster, and again when the way to its server changes; it is closed when its watches have ended. */
  readonly clients: Pick<SharedClients, 'open' | 'close'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tuning?: Partial<LiveTuning>;
  /** What keeps one kind current; the reflector of #kube unless a test says otherwise. */
  readonly reflect?: (options: ReflectorOptions) => Runnable;
}

/** Starts nothing; `run` does. `setClusters` may come before or while it runs. */
export function createLiveClusters(deps: LiveClustersDeps): LiveClusters {
  return new WatchedClusters(deps);
}

interface Kept {
  configuration: Configuration;
  /** Watched for when it is this replica's; it is not now. */
  isSpare: boolean;
  readonly live: WatchedCluster;
  stop: () => void;
}

class WatchedClusters implements LiveClusters {
  readonly name = 'live';
  readonly #deps: LiveClustersDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(change: LiveChange) => void>();
  readonly #running = new Set<Promise<void>>();
  readonly #instruments: LiveInstruments;
  /** One for all: the cache that replaces another one must not count from the start. */
  readonly #versions = new Versions();
  readonly #schemas = new SchemaStore();
  #signal: AbortSignal | undefined;

  constructor(deps: LiveClustersDeps) {
    this.#deps = deps;
    this.#instruments = registerMetrics(deps.metrics, deps.clock, () =>
      this.#owned().map(({ configuration, live }) => ({
        name: configuration.cluster.name,
        info: live.info(),
        openWatches: () => live.openWatches(),
        chatty: () => live.chatty(),
      })),
    );
  }

  /** Runs until `signal` aborts and every watch has ended. */
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
      // It may have been dropped or rebuilt while we waited.
      if (this.#kept.get(server)?.live === live) return live;
    }
  }

  peek(server: string): LiveCluster | undefined {
    return this.#kept.get(server)?.live;
  }

  infos(): readonly ClusterInfo[] {
    return this.#owned().map(({ live }) => live.info());
  }

  onChange(listener: (change: LiveChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #owned(): readonly Kept[] {
    return [...this.#kept.values()].filter(({ isSpare }) => !isSpare);
  }

  #keep(configuration: Configuration, isSpare: boolean): void {
    const { cluster } = configuration;
    const kept = this.#kept.get(cluster.server);
    if (kept === undefined) {
      this.#add(configuration, { isSpare });
      return;
    }
    kept.isSpare = isSpare;
    const step = adaptation(kept.configuration, configuration);
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
    configuration: Configuration,
    { isSpare, earlier }: { readonly isSpare: boolean; readonly earlier?: ReturnType<WatchedCluster['tracked']> },
  ): void {
    const { cluster } = configuration;
    const { clock, random, logger, clients, tuning, reflect } = this.#deps;
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
      reflect: reflect ?? ((options) => new Reflector(options)),
      emit: (change) => {
        if (!kept.isSpare) this.#emit(change);
      },
      onEvent: ({ group, kind }) => this.#instruments.countEvent(cluster.server, group, kind),
      onAudit: ({ group, kind }, differing) => this.#instruments.countAudit(cluster.server, { group, kind }, differing),
      ...(earlier === undefined ? {} : { earlier }),
    });
    // Until its watches run, and close the client at their end, nobody else would.
    const stop = (): void =>
      void clients.close(cluster.server, client).catch((error: unknown) => this.#failed(live, error));
    const kept: Kept = { configuration, isSpare, live, stop };
    this.#kept.set(cluster.server, kept);
    if (this.#signal !== undefined) this.#start(kept, this.#signal);
  }

  #drop(server: string): void {
    const kept = this.#kept.get(server);
    this.#kept.delete(server);
    kept?.live.abandon();
    kept?.stop();
  }

  #start(kept: Kept, parent: AbortSignal): void {
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

  #emit(change: LiveChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#deps.logger.error('A listener of live changes failed', { server: change.server, error });
      }
    }
  }
}

import type { Clock, ConcurrencyLimiter, RandomSource, Runnable } from '#base';
import { messageOf, outsideText, Shutdown, withChild, withDeadline } from '#base';
import { WatchListSupport } from '#kube';
import type { ApiDiscovery, KubeClient, ReflectorOptions, VersionRegression } from '#kube';
import type { ApiResource, Cluster, GroupKind, KubeObject, ObjectName, Settings } from '#model';
import type { StoredNode } from '../objects/stored-node.ts';
import { groupKindName, groupOf, jsonOf } from '#model';
import type { Logger } from '#telemetry';
import { ClusterCapabilities } from '../discovery/capabilities.ts';
import type { ApiVersionLists } from '../discovery/capabilities.ts';
import { KindWatch } from './kind-watch.ts';
import type { ClusterCache } from '../store/cluster-cache.ts';
import { DiscoveryRounds, NewKinds } from '../discovery/new-kinds.ts';
import { DiscoveryMemory, failureOf, kindText, plainVersion } from '../discovery/discovery.ts';
import type { WatchPlan } from '../discovery/discovery.ts';
import type { LiveCapabilities, LiveDiscovery } from '../types.ts';
import { removalGraceMs, UndiscoveredKinds } from '../discovery/undiscovered-kinds.ts';
import type { KindsInUse } from '../discovery/kinds-in-use.ts';
import { WatchTable } from './watch-table.ts';
import { reflectTracked, WatchedKinds } from './watched-kinds.ts';
import { ContentVersions } from '../content-versions.ts';
import type { VersionCounter } from '../content-versions.ts';

/** Durations are in milliseconds; see `defaultTuning` for the defaults. */
export interface LiveTuning {
  /** Changes are collected for this long before they are emitted. */
  readonly batchMs: number;
  /** Interval of discovery; it also runs after changes of CRDs and APIServices. */
  readonly discoveryMs: number;
  readonly discoveryDeadlineMs: number;
  /**
   * Interval of comparing and repairing the cache of each kind
   * (ARGOCD_CLUSTER_CACHE_WATCH_RESYNC_DURATION); 0 disables it.
   */
  readonly auditMs: number;
  /**
   * Interval of relisting each kind, whatever audits find (ARGOCD_CLUSTER_CACHE_RESYNC_DURATION); 0
   * disables it.
   */
  readonly relistMs: number;
  /** Concurrent lists of one cluster (ARGOCD_CLUSTER_CACHE_LIST_SEMAPHORE). */
  readonly lists: number;
  /** Objects per page of a list (ARGOCD_CLUSTER_CACHE_LIST_PAGE_SIZE); 0: lists in one piece. */
  readonly pageSize: number;
  /** Attempts of one page (ARGOCD_CLUSTER_CACHE_ATTEMPT_LIMIT). */
  readonly pageAttempts: number;
  /**
   * Longest delay between attempts to discover a cluster that fails, without its jitter
   * (ARGOCD_CLUSTER_SYNC_RETRY_TIMEOUT_DURATION).
   */
  readonly discoveryRetryMs: number;
}

export const defaultTuning: LiveTuning = {
  batchMs: 50,
  discoveryMs: 300_000,
  discoveryDeadlineMs: 60_000,
  auditMs: 600_000,
  relistMs: 43_200_000,
  lists: 12,
  pageSize: 500,
  pageAttempts: 5,
  discoveryRetryMs: 30_000,
};

export interface ClusterWatchDeps {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly lists: ConcurrencyLimiter;
  readonly apiVersions?: ApiVersionLists | undefined;
  /** Absent: all kinds are watched. */
  readonly kindsInUse?: KindsInUse | undefined;
  readonly tuning: LiveTuning;
  readonly versions: VersionCounter;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  /** State or discovery may have changed. */
  readonly onState: () => void;
  readonly onEvent: (resource: ApiResource, object: KubeObject) => void;
  /** An event that counts for an Application, after the cache has it. */
  readonly onChange: (node: StoredNode, object: KubeObject) => void;
  readonly onProcessed: (durationMs: number) => void;
  readonly onAudit: (resource: ApiResource, differing: number) => void;
  /** Limit of watched kinds, because each takes a connection and memory. */
  readonly maxKinds: number;
  readonly memoryRemedy: string;
}

/**
 * Discovery runs after these delays when a CRD or APIService changes: servers take seconds to serve
 * an accepted definition.
 */
const followUpMs = [1000, 4000, 15_000] as const;
/**
 * A server that has just started may report too few kinds, so discovery runs again soon after the
 * first success, and after each recovery.
 */
const afterStartMs = 15_000;
/** Interval of discovery while it may be incomplete. */
const incompleteRetryMs = 50_000;
const firstRetryMs = 1000;
/** A cluster whose kinds fail gets about three retries a second. */
const crowdShareMs = 250;
/** All kinds of a namespace are permitted at about the same time: try the others once. */
const permittedPauseMs = 1000;
/** Lower bound of `discoveryRetryMs`. */
const minRetryMs = 100;
/** Longer than any watch lives: the last kind detects the regression when its watch ends. */
const regressionLogMs = 600_000;

interface RunningWatch {
  readonly watch: KindWatch;
  readonly stop: () => void;
}

/**
 * Supervises the watches of one cluster. Discovers the served kinds, starts a watch for each, and
 * stops watches of removed kinds and drops their rows. Groups that discovery cannot read keep their
 * watches: a broken aggregated API was not deleted. Kinds do not affect each other.
 */
export class ClusterWatch {
  readonly #deps: ClusterWatchDeps;
  #cluster: Cluster;
  #settings: Settings;
  readonly #memory = new DiscoveryMemory();
  readonly #undiscovered: UndiscoveredKinds;
  readonly #newKinds: NewKinds;
  readonly #capabilities: ClusterCapabilities;
  readonly #discoveryVersions: ContentVersions<ApiDiscovery>;
  #discovery: LiveDiscovery | undefined;
  #serverVersion: string | undefined;
  #failure: string | undefined;
  /** Watches were started for the first discovery. */
  #applied = false;
  readonly #running = new Map<string, RunningWatch>();
  readonly #table = new WatchTable();
  readonly #kinds: WatchedKinds;
  readonly #watchList: WatchListSupport;
  readonly #ended = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;
  /** When discovery began to leave out kinds that are still served. */
  #incompleteSince: number | undefined;
  /** When a kind last detected that the server's versions went back. */
  #wentBackAt: number | undefined;
  /** When kinds of a namespace were last tried again because one of them was permitted. */
  readonly #permittedAt = new Map<string, number>();
  #followUps: number[] = [];
  readonly #rounds = new DiscoveryRounds();
  #shortenPause: ((withinMs: number) => void) | undefined;

  constructor(cluster: Cluster, settings: Settings, deps: ClusterWatchDeps) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#deps = deps;
    this.#undiscovered = new UndiscoveredKinds(deps);
    this.#kinds = new WatchedKinds({ table: this.#table, store: deps.cache.store, inUse: deps.kindsInUse });
    const discoverNow = (signal: AbortSignal): Promise<void> => this.#discoverNow(signal);
    this.#newKinds = new NewKinds({ clock: deps.clock, discovery: () => this.#discovery, discoverNow });
    this.#capabilities = new ClusterCapabilities({ ...deps, server: cluster.server, lists: deps.apiVersions });
    const { clock, logger } = deps;
    const serverVersion = (): string | undefined => this.#serverVersion;
    this.#watchList = new WatchListSupport({ clock, logger: logger.child({ server: cluster.server }), serverVersion });
    this.#discoveryVersions = new ContentVersions(deps.versions, ({ failedGroups, ...lists }) =>
      jsonOf([lists, ...failedGroups]),
    );
  }

  discovery(): LiveDiscovery | undefined {
    return this.#discovery;
  }

  serverVersion(): string | undefined {
    return this.#serverVersion;
  }

  /** The error of the last discovery. */
  failure(): string | undefined {
    return this.#failure;
  }

  watches(): readonly KindWatch[] {
    return this.#table.all();
  }

  /** The watches by kind and namespace. */
  table(): Omit<WatchTable, 'add' | 'delete' | 'noteState' | 'noteAllStates'> {
    return this.#table;
  }

  /**
   * Suspends the watches of `group/kind`, because it takes too much memory. The returned function
   * reports whether they are still suspended.
   */
  suspendKind(kind: string, why: string): (() => boolean) | undefined {
    const watches = this.watches().filter(({ resource }) => kindText(resource) === kind);
    for (const watch of watches) watch.suspend(why);
    return watches.length === 0 ? undefined : () => watches.some((watch) => watch.isSuspended());
  }

  /** Why kinds outside of failed groups may be undiscovered. */
  discoveryDoubt(): string | undefined {
    return this.#undiscovered.doubt();
  }

  /** The API versions reported to charts. */
  capabilities(discovery: LiveDiscovery): LiveCapabilities {
    return this.#capabilities.of(discovery, this.discoveryDoubt());
  }

  /**
   * Discovery has succeeded, every kind was listed or has failed once, and no kind is expected to
   * appear soon.
   */
  settled(): boolean {
    return this.#applied && this.#table.areSettled() && !this.#undiscovered.delaysReadiness();
  }

  /** Runs until `signal` aborts and every watch has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    let attempt = 0;
    while (!signal.aborted) {
      const isStart = attempt > 0 || this.#discovery === undefined;
      const worked = await this.#rounds.run(() => this.#discover(signal));
      if (worked && isStart && this.#followUps.length === 0) this.#followUps = [afterStartMs];
      attempt = worked ? 0 : attempt + 1;
      await this.#pause(worked ? this.#nextDelay() : this.#retryDelay(attempt), signal);
    }
    this.#rounds.end();
    for (const { stop } of this.#running.values()) stop();
    await Promise.all(this.#ended);
  }

  /** Starts and stops watches for changed namespaces, scope or filters. */
  reconfigure(cluster: Cluster, settings: Settings): void {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#table.noteAllStates();
    if (this.#discovery !== undefined) this.#apply(this.#discovery);
  }

  /** Relists and reads every object again, because settings for reading objects have changed. */
  readAgain(): void {
    for (const { watch } of this.#running.values()) watch.relist(true);
  }

  /**
   * Must be called for every object. Returns true for CRDs and APIServices, which change the served
   * kinds.
   */
  noteObject(object: KubeObject): boolean {
    const definesKinds =
      (object.kind === 'CustomResourceDefinition' && groupOf(object.apiVersion) === 'apiextensions.k8s.io') ||
      (object.kind === 'APIService' && groupOf(object.apiVersion) === 'apiregistration.k8s.io');
    if (!definesKinds) return false;
    this.#newKinds.noteDefinition(object);
    this.#discoverSoon();
    return true;
  }

  /** Must be called for every object that a write returned. */
  noteWritten(object: KubeObject): void {
    if (!this.noteObject(object)) this.#newKinds.noteWritten(object);
  }

  /** See `knowKinds` of LiveCluster. */
  knowKinds(objects: readonly ObjectName[], isFresh: boolean, signal: AbortSignal): Promise<void> {
    return this.#newKinds.known(objects, isFresh, signal);
  }

  /** Begins to watch kinds of which an Application has objects, if they are not watched anyway. */
  use(kinds: readonly GroupKind[]): void {
    const discovery = this.#discovery;
    if (discovery !== undefined && this.#kinds.use(kinds, discovery)) this.#apply(discovery);
  }

  #discoverSoon(): void {
    this.#followUps = [...followUpMs];
    // Keep an earlier due time, or a stream of definition changes would postpone discovery forever.
    if (this.#shortenPause !== undefined) this.#shortenPause(this.#followUps.shift() ?? 0);
  }

  async #discoverNow(signal: AbortSignal): Promise<void> {
    if (this.#signal === undefined || this.#signal.aborted) return;
    const next = this.#rounds.next(signal);
    if (this.#shortenPause === undefined) this.#followUps.unshift(0);
    else this.#shortenPause(0);
    await next;
  }

  #onKindState(watch: KindWatch): void {
    this.#table.noteState(watch);
    const discovery = this.#discovery;
    if (discovery !== undefined && this.#undiscovered.compare([watch], discovery)) this.#discoverSoon();
    this.#saveCapabilities();
    this.#deps.onState();
  }

  /** Rights usually change for all kinds of a namespace, or of the cluster, at once. */
  #retryForbidden({ namespace }: KindWatch): void {
    const [now, scope] = [this.#deps.clock.monotonic(), namespace ?? ''];
    if (now - (this.#permittedAt.get(scope) ?? -Infinity) < permittedPauseMs) return;
    this.#permittedAt.set(scope, now);
    for (const other of this.#table.unsynced())
      if (namespace === undefined || other.namespace === namespace) other.retryForbidden();
  }

  #saveCapabilities(): void {
    const [discovery, signal] = [this.#discovery, this.#signal];
    if (discovery === undefined || signal === undefined || signal.aborted) return;
    const noted = this.#capabilities
      .note(discovery, this.discoveryDoubt(), signal)
      .finally(() => void this.#ended.delete(noted));
    this.#ended.add(noted);
  }

  async #discover(signal: AbortSignal): Promise<boolean> {
    const { client, clock, tuning, logger } = this.#deps;
    const askedAt = clock.monotonic();
    const limit = { clock, limitMs: tuning.discoveryDeadlineMs, what: `discovery of ${this.#cluster.server}` };
    try {
      const [discovery, serverVersion] = await withDeadline(signal, limit, async (child) => {
        const running = await client.version({ signal: child });
        const [found] = await Promise.all([client.discover({ signal: child }), this.#capabilities.load(child)]);
        await this.#checkVanished(found, child);
        const failedGroups = new Map([
          ...(await this.#undiscovered.incompleteGroups(found, child)),
          ...found.failedGroups,
        ]);
        return [this.#memory.complete({ ...found, failedGroups }), running] as const;
      });
      this.#checkKinds(discovery);
      if (this.#discovery === undefined && discovery.preferred.length === 0)
        throw new Error('failed to discover server resources, zero resources returned');
      this.#serverVersion = plainVersion(serverVersion);
      this.#failure = undefined;
      this.#undiscovered.discovered(askedAt);
      this.#newKinds.discovered(askedAt, discovery);
      const version = this.#discoveryVersions.of(discovery);
      // Keep the value if nothing changed, because callers cache indexes of it.
      if (this.#discovery?.version !== version) this.#discovery = { ...discovery, version };
      this.#saveCapabilities();
      this.#apply(discovery);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.#failure = outsideText('server', messageOf(error));
      logger.warn('Discovery failed; keeping the last result', { server: this.#cluster.server, error });
      this.#deps.onState();
      return false;
    }
  }

  /**
   * Probes watched kinds that discovery does not list: a server that has just started lists no
   * kinds of CustomResourceDefinitions yet (`removalGraceMs`).
   * @throws Error if such a kind may still be served; this discovery must not be used.
   */
  async #checkVanished(found: ApiDiscovery, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const known = new Set(found.served.map(kindText));
    for (const { resource, namespace } of this.watches()) {
      const kind = kindText(resource);
      if (known.has(kind) || failureOf(found, resource.group) !== undefined) continue;
      known.add(kind);
      const doubtMs = await removalGraceMs(this.#deps.client, resource, namespace, signal);
      const since = this.#incompleteSince ?? clock.monotonic();
      if (clock.monotonic() - since >= doubtMs) continue;
      this.#incompleteSince = since;
      throw new Error(
        `discovery does not list ${groupKindName(resource)}, which was served before and has not been removed`,
      );
    }
    this.#incompleteSince = undefined;
  }

  #checkKinds({ preferred }: ApiDiscovery): void {
    const { maxKinds, memoryRemedy } = this.#deps;
    if (preferred.length <= maxKinds) return;
    throw new Error(
      `the cluster serves ${preferred.length} kinds, more than the limit of ${maxKinds}; ${memoryRemedy}`,
    );
  }

  #apply(discovery: ApiDiscovery): void {
    const scope = { cluster: this.#cluster, settings: this.#settings };
    const plan = this.#kinds.plan(discovery, scope, this.settled() && this.discoveryDoubt() === undefined);
    for (const [key, { watch, stop }] of [...this.#running]) {
      if (plan.has(key) || failureOf(discovery, watch.resource.group) !== undefined) continue;
      stop();
      this.#running.delete(key);
      this.#table.delete(watch);
      this.#dropRows(watch, plan);
    }
    for (const [key, planned] of plan) if (!this.#running.has(key)) this.#start(key, planned);
    this.#applied = true;
    this.#deps.onState();
  }

  /**
   * Drops the rows of a kind that is no longer watched. If it is watched in another version, they
   * stay until its list is complete.
   */
  #dropRows(watch: KindWatch, plan: ReadonlyMap<string, WatchPlan>): void {
    const { cache } = this.#deps;
    const { group, kind } = watch.resource;
    const covers = new Set(
      [...plan.values()]
        .filter(({ resource }) => resource.group === group && resource.kind === kind)
        .map(({ namespace }) => namespace ?? '*'),
    );
    if (covers.has('*')) return;
    for (const node of [...cache.store.ofKind(group, kind)]) {
      const mine = watch.namespace === undefined || node.namespace === watch.namespace;
      if (mine && !covers.has(node.namespace)) cache.forget(node.key);
    }
  }

  #start(key: string, { resource, namespace, onlyTracked = false }: WatchPlan): void {
    const parent = this.#signal;
    if (parent === undefined || parent.aborted) return;
    const { client, cache, clock, random, logger, lists, tuning, reflect, onAudit } = this.#deps;
    const { onEvent, onChange, onProcessed } = this.#deps;
    const watch: KindWatch = new KindWatch(resource, namespace, {
      client,
      cache,
      clock,
      random,
      lists,
      reflect: onlyTracked ? reflectTracked(reflect, cache.store, () => this.#settings) : reflect,
      watchList: this.#watchList,
      crowdRetryMs: () => crowdShareMs * this.#table.unsynced().size,
      onState: () => this.#onKindState(watch),
      onPermitted: () => this.#retryForbidden(watch),
      onEvent,
      onChange,
      onProcessed,
      onAudit,
      respectRBAC: () => this.#settings.respectRBAC,
      onWentBack: (found) => this.#wentBack(found),
      logger: logger.child({ group: resource.group, kind: resource.kind }),
      pageSize: tuning.pageSize,
      pageAttempts: tuning.pageAttempts,
      auditMs: onlyTracked ? 0 : tuning.auditMs,
      relistMs: tuning.relistMs,
    });
    this.#table.add(watch);
    const { started, stop } = startChild(parent, (signal) => watch.run(signal));
    this.#running.set(key, { watch, stop });
    const ended = started.finally(() => void this.#ended.delete(ended));
    this.#ended.add(ended);
  }

  /** Every kind detects the regression by itself, within the life of a watch; log it once. */
  #wentBack(found: VersionRegression): void {
    const { clock, logger } = this.#deps;
    const now = clock.monotonic();
    const isNews = this.#wentBackAt === undefined || now - this.#wentBackAt > regressionLogMs;
    this.#wentBackAt = now;
    const log = isNews ? logger.warn.bind(logger) : logger.debug.bind(logger);
    log('The resource versions of the API server went back; reading everything again', { ...found });
  }

  #nextDelay(): number {
    const followUp = this.#followUps.shift();
    // Jitter of 10 %, so that replicas and clusters do not run discovery at the same time.
    const usual = this.#deps.tuning.discoveryMs * (0.95 + 0.1 * this.#deps.random.next());
    return (
      followUp ??
      (this.#undiscovered.shouldRetrySoon() || this.#lacksCompleteList() ? Math.min(incompleteRetryMs, usual) : usual)
    );
  }

  /** Without a complete list of API versions, charts may render fewer objects. */
  #lacksCompleteList(): boolean {
    return this.#discovery !== undefined && !this.capabilities(this.#discovery).hasCompleteList;
  }

  #retryDelay(attempt: number): number {
    const capMs = Math.max(minRetryMs, this.#deps.tuning.discoveryRetryMs);
    const base = Math.min(capMs, firstRetryMs * 2 ** Math.min(attempt - 1, 10));
    return base * (1 + this.#deps.random.next());
  }

  /** Sleeps; `#shortenPause` ends the pause within the given time. */
  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#shortenPause = undefined;
        resolve();
      };
      let dueAt = clock.monotonic() + delayMs;
      let timer = clock.timer(delayMs, end);
      this.#shortenPause = (withinMs) => {
        const soonest = clock.monotonic() + withinMs;
        if (dueAt <= soonest) return;
        timer.cancel();
        dueAt = soonest;
        timer = clock.timer(withinMs, end);
      };
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
  }
}

/**
 * Runs `body` in the background until the parent aborts or `stop` is called. `started` never
 * rejects.
 */
function startChild(
  parent: AbortSignal,
  body: (signal: AbortSignal) => Promise<void>,
): { readonly started: Promise<void>; readonly stop: () => void } {
  let stop = (): void => undefined;
  const started = withChild(parent, async (signal, abort) => {
    stop = () => abort(new Shutdown('no longer watched'));
    await body(signal);
  }).catch(() => undefined);
  return { started, stop: () => stop() };
}

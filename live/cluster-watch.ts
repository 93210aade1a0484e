import type { Clock, Limiter, Random, Runnable } from '#base';
import { messageOf, outsideText, Shutdown, withChild, withDeadline } from '#base';
import type { ApiDiscovery, KubeClient, ReflectorOptions, WentBack } from '#kube';
import type { ApiResource, Cluster, KubeObject, Settings } from '#model';
import { groupKindName, groupOf, jsonOf } from '#model';
import type { Logger } from '#telemetry';
import { KindWatch } from './kind-watch.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { DiscoveryMemory, failureOf, kindText, plainVersion, planWatches } from './discovery.ts';
import type { WatchPlan } from './discovery.ts';
import type { LiveDiscovery } from './types.ts';
import { doubtOf, UnnamedKinds } from './unnamed.ts';
import { Versioned } from './versioned.ts';
import type { Versions } from './versioned.ts';

/** Durations in milliseconds; every member has a default in `defaultTuning`. */
export interface LiveTuning {
  /** Changes are gathered this long before they are told. */
  readonly batchMs: number;
  /** What a server can serve is looked up again this often, besides after changes of CRDs and APIServices. */
  readonly discoveryMs: number;
  /** Deadline of one discovery. */
  readonly discoveryDeadlineMs: number;
  /** The cache of each kind is compared with the server this often, and repaired (ARGOCD_CLUSTER_CACHE_WATCH_RESYNC_DURATION); 0: never. */
  readonly auditMs: number;
  /** Each kind is listed anew this often, whatever the audits say (ARGOCD_CLUSTER_CACHE_RESYNC_DURATION); 0: never. */
  readonly relistMs: number;
  /** Lists of one cluster that run at once (ARGOCD_CLUSTER_CACHE_LIST_SEMAPHORE). */
  readonly lists: number;
  /** ARGOCD_CLUSTER_CACHE_LIST_PAGE_SIZE. */
  readonly pageSize: number;
}

export const defaultTuning: LiveTuning = {
  batchMs: 50,
  discoveryMs: 300_000,
  discoveryDeadlineMs: 60_000,
  auditMs: 600_000,
  relistMs: 43_200_000,
  lists: 12,
  pageSize: 500,
};

export interface ClusterWatchDeps {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lists: Limiter;
  readonly tuning: LiveTuning;
  readonly versions: Versions;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  /** State or discovery may have changed. */
  readonly onState: () => void;
  readonly onEvent: (resource: ApiResource, object: KubeObject) => void;
  readonly onAudit: (resource: ApiResource, differing: number) => void;
}

/** After a change of a CRD or APIService, discovery runs soon, then again: servers take seconds to serve what they have just accepted. */
const followUpMs = [1000, 4000, 15_000] as const;
/** A server that has just started may name less than it serves: it is asked once more soon after it could be read for the first time, or again. */
const afterStartMs = 15_000;
/** Discovery that may not name everything yet is made again this soon. */
const openMs = 50_000;
const firstRetryMs = 1000;
const retryCapMs = 30_000;
/** Longer than any watch lives: the last kind notices when its watch ends. */
const sameWentBackMs = 600_000;

interface Running {
  readonly watch: KindWatch;
  readonly stop: () => void;
}

/**
 * Supervises the watches of one cluster: finds out what the server serves, starts a watch for each kind, stops those whose kind is gone
 * and drops their rows. Groups that discovery cannot read this time keep their watches (a broken aggregated API is not a deleted one).
 * Nothing that one kind does reaches another.
 */
export class ClusterWatch {
  readonly #deps: ClusterWatchDeps;
  #cluster: Cluster;
  #settings: Settings;
  readonly #memory = new DiscoveryMemory();
  readonly #unnamed: UnnamedKinds;
  readonly #served: Versioned<ApiDiscovery>;
  #discovery: LiveDiscovery | undefined;
  #serverVersion: string | undefined;
  #failure: string | undefined;
  /** Watches were started for everything that the first discovery found. */
  #applied = false;
  readonly #running = new Map<string, Running>();
  readonly #ended = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;
  /** Since when discovery leaves out kinds that are served. */
  #doubtedSince: number | undefined;
  /** When the last kind found the server at an earlier version. */
  #wentBackAt: number | undefined;
  #followUps: number[] = [];
  #hasten: ((withinMs: number) => void) | undefined;

  constructor(cluster: Cluster, settings: Settings, deps: ClusterWatchDeps) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#deps = deps;
    this.#unnamed = new UnnamedKinds(deps);
    this.#served = new Versioned(deps.versions, ({ failedGroups, ...lists }) => jsonOf([lists, ...failedGroups]));
  }

  discovery(): LiveDiscovery | undefined {
    return this.#discovery;
  }

  serverVersion(): string | undefined {
    return this.#serverVersion;
  }

  /** Why the last discovery failed. */
  failure(): string | undefined {
    return this.#failure;
  }

  watches(): readonly KindWatch[] {
    return [...this.#running.values()].map(({ watch }) => watch);
  }

  /** Why a kind may be served that discovery does not name, beside those of groups that it could not read. */
  unsure(): string | undefined {
    return this.#unnamed.unsure();
  }

  /** Discovery has worked, every kind has been listed or has failed once, and none is expected to be named in a moment. */
  settled(): boolean {
    return this.#applied && this.watches().every((watch) => watch.settled()) && !this.#unnamed.holds();
  }

  /** Runs until `signal` aborts and every watch has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    let attempt = 0;
    while (!signal.aborted) {
      const isStart = attempt > 0 || this.#discovery === undefined;
      const worked = await this.#discover(signal);
      if (worked && isStart && this.#followUps.length === 0) this.#followUps = [afterStartMs];
      attempt = worked ? 0 : attempt + 1;
      await this.#pause(worked ? this.#nextDelay() : this.#retryDelay(attempt), signal);
    }
    for (const { stop } of this.#running.values()) stop();
    await Promise.all(this.#ended);
  }

  /** Namespaces, scope or filters may differ: starts and stops watches accordingly, now. */
  reconfigure(cluster: Cluster, settings: Settings): void {
    this.#cluster = cluster;
    this.#settings = settings;
    if (this.#discovery !== undefined) this.#apply(this.#discovery);
  }

  /** Lists everything again and reads every object again, for settings that decide how objects are read. */
  readAgain(): void {
    for (const { watch } of this.#running.values()) watch.relist(true);
  }

  /** To be told of every object: notices those that change what the server serves, and says whether this one does. */
  notice(object: KubeObject): boolean {
    const definesKinds =
      (object.kind === 'CustomResourceDefinition' && groupOf(object.apiVersion) === 'apiextensions.k8s.io') ||
      (object.kind === 'APIService' && groupOf(object.apiVersion) === 'apiregistration.k8s.io');
    if (definesKinds) this.#discoverSoon();
    return definesKinds;
  }

  #discoverSoon(): void {
    this.#followUps = [...followUpMs];
    // What is due sooner stays due: a stream of such changes must not put discovery off.
    if (this.#hasten !== undefined) this.#hasten(this.#followUps.shift() ?? 0);
  }

  #onKindState(): void {
    const discovery = this.#discovery;
    if (discovery !== undefined && this.#unnamed.look(this.watches(), discovery)) this.#discoverSoon();
    this.#deps.onState();
  }

  async #discover(signal: AbortSignal): Promise<boolean> {
    const { client, clock, tuning, logger } = this.#deps;
    const askedAt = clock.monotonic();
    const limit = { clock, limitMs: tuning.discoveryDeadlineMs, what: `discovery of ${this.#cluster.server}` };
    try {
      const [discovery, serverVersion] = await withDeadline(signal, limit, async (child) => {
        const running = await client.version({ signal: child });
        const found = await client.discover({ signal: child });
        await this.#lookForVanished(found, child);
        const failedGroups = new Map([...(await this.#unnamed.groups(found, child)), ...found.failedGroups]);
        return [this.#memory.complete({ ...found, failedGroups }), running] as const;
      });
      if (this.#discovery === undefined && discovery.preferred.length === 0)
        throw new Error('failed to discover server resources, zero resources returned');
      this.#serverVersion = plainVersion(serverVersion);
      this.#failure = undefined;
      this.#unnamed.discovered(askedAt);
      const version = this.#served.of(discovery);
      // What has not changed stays the same value: whoever keeps an index for it need not make another one.
      if (this.#discovery?.version !== version) this.#discovery = { ...discovery, version };
      this.#apply(discovery);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.#failure = outsideText('server', messageOf(error));
      logger.warn('Discovery failed; what is known stays', { server: this.#cluster.server, error });
      this.#deps.onState();
      return false;
    }
  }

  /**
   * An API server that has just started answers discovery before it has read its CustomResourceDefinitions, and names none of their kinds. What has been
   * watched is asked for at its own address, whose word counts (`doubtOf`).
   * @throws Error when a watched kind is served all the same: then this discovery is none to go by.
   */
  async #lookForVanished(found: ApiDiscovery, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const known = new Set(found.served.map(kindText));
    for (const { resource, namespace } of this.watches()) {
      const kind = kindText(resource);
      if (known.has(kind) || failureOf(found, resource.group) !== undefined) continue;
      known.add(kind);
      const doubtMs = await doubtOf(this.#deps.client, resource, namespace, signal);
      const since = this.#doubtedSince ?? clock.monotonic();
      if (clock.monotonic() - since >= doubtMs) continue;
      this.#doubtedSince = since;
      throw new Error(
        `discovery does not name ${groupKindName(resource)}, which was served before and has not been removed`,
      );
    }
    this.#doubtedSince = undefined;
  }

  #apply(discovery: ApiDiscovery): void {
    const plan = planWatches(discovery, this.#cluster, this.#settings);
    for (const [key, { watch, stop }] of [...this.#running]) {
      if (plan.has(key) || failureOf(discovery, watch.resource.group) !== undefined) continue;
      stop();
      this.#running.delete(key);
      this.#dropRows(watch, plan);
    }
    for (const [key, planned] of plan) if (!this.#running.has(key)) this.#start(key, planned);
    this.#applied = true;
    this.#deps.onState();
  }

  /** Rows go when nobody watches them any more; a kind that is watched in another version keeps them until its new list is complete. */
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

  #start(key: string, { resource, namespace }: WatchPlan): void {
    const parent = this.#signal;
    if (parent === undefined || parent.aborted) return;
    const { client, cache, clock, random, logger, lists, tuning, reflect, onEvent, onAudit } = this.#deps;
    const watch = new KindWatch(resource, namespace, {
      client,
      cache,
      clock,
      random,
      lists,
      reflect,
      onState: () => this.#onKindState(),
      onEvent,
      onAudit,
      respectRBAC: () => this.#settings.respectRBAC,
      onWentBack: (found) => this.#wentBack(found),
      logger: logger.child({ group: resource.group, kind: resource.kind }),
      pageSize: tuning.pageSize,
      auditMs: tuning.auditMs,
      relistMs: tuning.relistMs,
    });
    const { started, stop } = startChild(parent, (signal) => watch.run(signal));
    this.#running.set(key, { watch, stop });
    const ended = started.finally(() => void this.#ended.delete(ended));
    this.#ended.add(ended);
  }

  /** Each kind finds out for itself, within the life of a watch: one line for all of them. */
  #wentBack(found: WentBack): void {
    const { clock, logger } = this.#deps;
    const now = clock.monotonic();
    const isNews = this.#wentBackAt === undefined || now - this.#wentBackAt > sameWentBackMs;
    this.#wentBackAt = now;
    const log = isNews ? logger.warn.bind(logger) : logger.debug.bind(logger);
    log('The resource versions of the API server went back; reading everything again', { ...found });
  }

  #nextDelay(): number {
    const followUp = this.#followUps.shift();
    // A tenth of spread, or all replicas would ask all clusters in the same second.
    const usual = this.#deps.tuning.discoveryMs * (0.95 + 0.1 * this.#deps.random.next());
    return followUp ?? (this.#unnamed.isOpen() ? Math.min(openMs, usual) : usual);
  }

  #retryDelay(attempt: number): number {
    const base = Math.min(retryCapMs, firstRetryMs * 2 ** Math.min(attempt - 1, 10));
    return base * (1 + this.#deps.random.next());
  }

  /** Waits; `#hasten` makes the wait end within the given time. */
  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#hasten = undefined;
        resolve();
      };
      let dueAt = clock.monotonic() + delayMs;
      let timer = clock.timer(delayMs, end);
      this.#hasten = (withinMs) => {
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

/** Runs `body` beside the caller until the parent aborts or `stop` is called. `started` never rejects. */
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

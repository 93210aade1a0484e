import { untilAborted, deepEqual } from '#base';
import type { Json, Runnable, ClockTimer } from '#base';
import { equalLoosely, writesNamespaceMetadata } from '#compare';
import type { Informer, InformerEvent } from '#kube';
import type { LiveChange, LiveClusters } from '#live';
import {
  annotations,
  appKeyOf,
  appKeyOfInstance,
  asApplication,
  destinationNamespaceOf,
  isErrorCondition,
  jsonOf,
  parseResourceKey,
  projectOf,
  resourceKey,
} from '#model';
import type { AppKey, Application, ConditionType, KubeObject } from '#model';
import type { Priority, WorkQueue } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';
import { ClusterCaches } from '../clusters/cluster-caches.ts';
import type { ClusterCachesDeps } from '../clusters/cluster-caches.ts';
import { compareLevel } from '../application/freshness.ts';
import type { CompareLevel, RefreshRequest } from '../application/freshness.ts';
import { hasWork, isNeverSynced } from '../application/operation-state.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import { ChangePace } from './change-pace.ts';
import { ForeignStatusWrites } from './foreign-status.ts';
import { Takeovers } from './takeovers.ts';

export interface TriggerDeps extends ClusterCachesDeps {
  readonly apps: Informer;
  readonly projects: Informer;
  readonly settings: SettingsStore;
  readonly ownership: Ownership;
  readonly live: LiveClusters;
  readonly refreshQueue: WorkQueue<AppKey, RefreshRequest>;
  readonly operationQueue: Pick<WorkQueue<AppKey, undefined>, 'add' | 'addRateLimited' | 'drop'>;
  readonly projectQueue: Pick<WorkQueue<string, undefined>, 'add'>;
  readonly isMine: (app: Application) => boolean;
  /** Whether Applications are watched in a namespace. */
  readonly isWatched: (namespace: string) => boolean;
  /** Whether the Application's project watches orphans. */
  readonly watchesOrphans: (app: Application) => boolean;
  /** The Application was handed over or deleted; if deleted, `deleted` is its last version. */
  readonly forget: (key: AppKey, deleted: Application | undefined) => void;
  /**
   * The Application changed or appeared: a refresh request in it is not newer than this moment.
   */
  readonly seen: (key: AppKey) => void;
  /**
   * The version produced by our write in flight (undefined if it fails); undefined: no write in
   * flight.
   */
  readonly written?: (key: AppKey) => Promise<string | undefined> | undefined;
  /** This replica took up an Application. */
  readonly takenUp?: (key: AppKey, reason: string) => void;
  /** The server of the Application's cluster; undefined if its destination cannot be resolved. */
  readonly serverOf: (app: Application) => string | undefined;
  /** A live object of an Application changed. */
  readonly changed?: (key: AppKey, managed: boolean) => void;
}

/**
 * Changes to child resources come in bursts, and each rebuilds a tree. Changes to managed objects
 * are not delayed.
 */
const childRefreshDelayMs = 200;
/** A running operation continues soon after one of its objects changed. */
const operationWakeDelayMs = 100;
/** Debounces the ownership inputs, which change in bursts (startup, mass creation). */
const ownershipDebounceMs = 20;
/**
 * Pause between ownership updates, as a multiple of their duration: they use a tenth of the time.
 */
const ownershipPauseFactor = 9;
/**
 * How late the former owner's writes may arrive: we may have been disconnected from the hub until
 * now.
 */
const formerOwnerWindowMs = 60_000;
/** A watch that catches up replays older versions: after a takeover, decide by the last one. */
const catchUpMs = 100;
/** After its first late write, the former owner's other writes arrive within this time. */
const formerOwnerSettleMs = 1000;
const takeoverReason = 'this replica became the owner';
/** Event rates change all the time and rebalancing is rare, so measure them rarely. */
const reweighMs = 300_000;

/**
 * Routes every event to the queues. Source: Argo CD appcontroller.go
 * newApplicationInformerAndLister, handleObjectUpdated.
 *
 *   event                          refresh queue                       operation queue
 *   Application appears            check                               if busy (restarts too)
 *   Application changes            check; level 2 when auto-sync or    if busy
 *                                  self-heal was switched on; level 1
 *                                  for a late write after a takeover
 *   managed object changes         level 1, at once                    if busy, soon
 *   child of a managed object      level 0, soon
 *   untracked object changes       level 0 of its namespace's orphan
 *                                  watchers
 *   AppProject created, changed,   level 1 of its Applications         (project queue: the project)
 *     deleted
 *   settings change                level 1 of all
 *   repository Secrets change      level 2 after spec or source errors
 *   cluster Secrets change         check after spec or source errors
 *   cluster Secrets, ownership     level 1 of those gained, once the   if busy
 *                                  cache is filled; lost ones are
 *                                  dropped
 *
 * Busy: an operation or a deletion is in progress. Differences to Argo CD: operations resume when
 * the Application appears, not at its next change; a takeover compares when the cache is filled,
 * first where drift since the handover is probable; a changed project or repository reaches its
 * Applications at once, not at their next resync; the echo of our own write triggers nothing.
 */
export class EventTriggers implements Runnable {
  readonly name = 'triggers';
  readonly #deps: TriggerDeps;
  readonly #caches: ClusterCaches;
  readonly #takeovers: Takeovers;
  /** Undefined: other controllers are expected. */
  readonly #foreign: ForeignStatusWrites | undefined;
  readonly #mine = new Set<AppKey>();
  readonly #pace = new ChangePace();
  /** By key: until when a taken-over Application's status may still be the former owner's. */
  readonly #takenOver = new Map<AppKey, number>();
  #orphanWatchers: ReadonlyMap<string, readonly AppKey[]> | undefined;
  #updateTimer: ClockTimer | undefined;
  #reweighTimer: ClockTimer | undefined;
  #lastUpdateMs = 0;

  constructor(deps: TriggerDeps) {
    this.#deps = deps;
    this.#caches = new ClusterCaches(deps);
    const { ownership, written, clock } = deps;
    const onForeignWrite = ownership.noteForeignWrite?.bind(ownership);
    this.#foreign = onForeignWrite && new ForeignStatusWrites({ onForeignWrite, written, clock });
    this.#takeovers = new Takeovers({
      ...deps,
      own: (key) => (this.#mine.has(key) ? this.#app(key) : undefined),
      compare: (app, priority) => this.#compareTakenOver(app, priority),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { apps, projects, settings, ownership, live } = this.#deps;
    this.#caches.start(signal);
    this.#takeovers.start(signal);
    this.#updateOwnership();
    const stops = [
      apps.onEvent((event) => this.#onApp(event)),
      projects.onEvent((event) => this.#onProject(event)),
      settings.onChange((change) => this.#onSettings(change)),
      ownership.onChange(() => this.#updateOwnedApps()),
      live.onChange((change) => this.#onLive(change)),
    ];
    this.#scheduleReweigh();
    await untilAborted(signal);
    this.#updateTimer?.cancel();
    this.#reweighTimer?.cancel();
    this.#caches.stop();
    this.#takeovers.stop();
    for (const stop of stops) stop();
  }

  /** Refreshes an Application after a change that no event reports. */
  look(key: AppKey, reason: string): void {
    const app = this.#app(key);
    if (app !== undefined && this.#deps.isMine(app)) this.#enqueue(app, undefined, reason);
  }

  /** Keys of all Applications that this replica owns. */
  mine(): ReadonlySet<AppKey> {
    return this.#mine;
  }

  #onApp(event: InformerEvent): void {
    const app = asApplication(event.object);
    if (!this.#deps.isWatched(app.metadata.namespace ?? '')) return;
    const key = appKeyOf(app);
    if (event.type === 'updated' && event.old.metadata.resourceVersion === event.object.metadata.resourceVersion)
      return;
    const old = event.type === 'updated' ? asApplication(event.old) : undefined;
    if (old === undefined || !equalLoosely(old.spec.destination, app.spec.destination)) this.#scheduleOwnershipUpdate();
    this.#unpaceRequest(key, old, app);
    if (event.type === 'deleted') {
      this.#drop(key, app);
      return;
    }
    if (!this.#deps.isMine(app)) {
      this.#drop(key);
      return;
    }
    if (!this.#mine.has(key)) {
      this.#deps.takenUp?.(key, 'the application appeared');
      this.#foreign?.own(key);
    }
    this.#mine.add(key);
    if (old === undefined) this.#enqueue(app, undefined, 'the application appeared');
    else if (hasNewPolicy(old, app)) this.#enqueue(app, compareLevel.latest, 'its sync policy changed');
    else if (this.#mayBeFormerOwners(old, app)) void this.#onFormerOwnerWrite(app);
    else this.#onUpdate(old, app);
  }

  /** Users wait for a new operation or deletion, so it is not delayed. */
  #unpaceRequest(key: AppKey, old: Application | undefined, app: Application): void {
    const isSync = old?.operation === undefined && app.operation !== undefined;
    const isDeletion = old?.metadata.deletionTimestamp === undefined && app.metadata.deletionTimestamp !== undefined;
    if (isSync || isDeletion) this.#pace.forget(key);
  }

  #onUpdate(old: Application, app: Application): void {
    // Otherwise the event is older than the store, and `old` lacks writes of ours.
    const isNewest = this.#app(appKeyOf(app)) === app;
    if (isNewest) void this.#foreign?.observe(old, app);
    this.#enqueue(app, undefined, 'the application changed');
  }

  /**
   * A status change soon after a takeover may be the former owner's: decisions based on the older
   * one (a finished operation, a reported difference) may be wrong.
   */
  #mayBeFormerOwners(old: Application, app: Application): boolean {
    const key = appKeyOf(app);
    const until = this.#takenOver.get(key);
    if (until === undefined || equalLoosely(old.status, app.status)) return false;
    const isOver = this.#deps.clock.monotonic() > until;
    if (isOver) this.#takenOver.delete(key);
    return !isOver;
  }

  /** The watch event may arrive before the response to our own write; ignore the echo. */
  async #onFormerOwnerWrite(app: Application): Promise<void> {
    const key = appKeyOf(app);
    const writing = this.#deps.written?.(key);
    const isOwn = writing !== undefined && (await writing) === app.metadata.resourceVersion;
    const until = this.#takenOver.get(key);
    if (!this.#mine.has(key)) return;
    if (isOwn || until === undefined) {
      this.#enqueue(app, undefined, 'the application changed');
      return;
    }
    this.#takenOver.set(key, Math.min(until, this.#deps.clock.monotonic() + formerOwnerSettleMs));
    this.#enqueue(app, compareLevel.recent, 'the former owner wrote its status late');
  }

  #enqueue(app: Application, level: CompareLevel | undefined, reason: string): void {
    const key = appKeyOf(app);
    this.#deps.seen(key);
    const isAsked = refreshAnnotation(app) !== undefined;
    const cause = isAsked ? 'user' : 'application';
    const payload: RefreshRequest = level === undefined ? { reason, cause } : { level, reason, cause };
    const priority = isAsked ? 'user' : isNeverSynced(app) ? 'resync' : 'live';
    const { clock, refreshQueue, operationQueue } = this.#deps;
    const now = clock.monotonic();
    const catchUp = now <= (this.#takenOver.get(key) ?? -1) && !isAsked ? catchUpMs : 0;
    const paceMs = isAsked ? 0 : this.#pace.delayMs(key, now);
    const delayMs = Math.max(catchUp, paceMs);
    if (delayMs > 0) refreshQueue.add(key, { payload, priority, delayMs });
    else refreshQueue.addRateLimited(key, { payload, priority });
    if (!hasWork(app)) return;
    if (paceMs > 0) operationQueue.add(key, { priority: operationPriority(app), delayMs: paceMs });
    else operationQueue.addRateLimited(key, { priority: operationPriority(app) });
  }

  #takeOver(app: Application): void {
    const key = appKeyOf(app);
    this.#deps.takenUp?.(key, takeoverReason);
    this.#foreign?.own(key);
    this.#takenOver.set(key, this.#deps.clock.monotonic() + formerOwnerWindowMs);
    this.#deps.seen(key);
    if (refreshAnnotation(app) === undefined) this.#takeovers.add(app);
    else this.#compareTakenOver(app, 'user');
    if (hasWork(app)) this.#deps.operationQueue.addRateLimited(key, { priority: operationPriority(app) });
  }

  /**
   * Changes before the takeover produce no events: compare at least with the last compared
   * revision.
   */
  #compareTakenOver(app: Application, priority: Priority): void {
    const payload = { level: compareLevel.recent, reason: takeoverReason, cause: 'ownership' } as const;
    this.#deps.refreshQueue.add(appKeyOf(app), { payload, priority });
  }

  #onLive(change: LiveChange): void {
    for (const [instance, { managed }] of change.apps) {
      const app = this.#app(appKeyOfInstance(instance, this.#deps.namespace));
      if (app === undefined || isItself(app, change) || !this.#deps.isMine(app)) continue;
      this.#deps.changed?.(appKeyOf(app), managed);
      const { kind, namespace, name } = parseResourceKey(change.key);
      const isKind = name === '';
      const changed = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name} changed`;
      const reason = isKind ? `the live state of ${kind} is up to date` : changed;
      const level = managed ? compareLevel.recent : compareLevel.nothing;
      const resources = isKind ? {} : { resources: new Set([change.key]) };
      this.#enqueueLive(app, { level, reason, cause: 'object', ...resources });
    }
    if (change.orphanNamespace === undefined) return;
    if (change.key === resourceKey('', 'Namespace', '', change.orphanNamespace)) {
      this.#onNamespace(change, change.orphanNamespace);
      return;
    }
    for (const key of this.#watchersOf(change.orphanNamespace)) {
      const app = this.#app(key);
      const reason = 'an orphaned resource changed';
      if (app !== undefined)
        this.#enqueueLive(app, {
          level: compareLevel.nothing,
          reason,
          cause: 'object',
          resources: new Set([change.key]),
        });
    }
  }

  /** Applications that manage the metadata of a Namespace do not track it. */
  #onNamespace(change: LiveChange, name: string): void {
    for (const key of this.#mine) {
      const app = this.#app(key);
      if (app === undefined || !writesNamespaceMetadata(app) || destinationNamespaceOf(app) !== name) continue;
      if (this.#deps.serverOf(app) !== change.server) continue;
      const reason = `Namespace ${name} changed`;
      this.#enqueueLive(app, { level: compareLevel.recent, reason, cause: 'object', resources: new Set([change.key]) });
    }
  }

  #enqueueLive(app: Application, payload: RefreshRequest & { readonly level: CompareLevel }): void {
    const key = appKeyOf(app);
    const { level } = payload;
    const soon = level === compareLevel.nothing ? { delayMs: childRefreshDelayMs } : {};
    this.#deps.refreshQueue.add(key, { payload, priority: 'live', ...soon });
    if (level !== compareLevel.nothing && hasWork(app))
      this.#deps.operationQueue.add(key, { delayMs: operationWakeDelayMs, priority: operationPriority(app) });
  }

  #onProject(event: InformerEvent): void {
    this.#orphanWatchers = undefined;
    const { name = '', namespace = '' } = event.object.metadata;
    this.#deps.projectQueue.add(`${namespace}/${name}`);
    // Compare strictly: an empty list of kinds permits none, an absent one permits all.
    if (event.type === 'updated' && deepEqual(projectRules(event.old), projectRules(event.object))) return;
    const request = { level: compareLevel.recent, reason: `project ${name} changed`, cause: 'project' } as const;
    this.#refreshAll(request, (app) => projectOf(app) === name);
  }

  #onSettings(change: {
    readonly settings: boolean;
    readonly clusters: boolean;
    readonly repositories: boolean;
  }): void {
    if (change.settings || change.clusters) this.#updateOwnership();
    const cause = 'settings';
    if (change.settings)
      this.#refreshAll({ level: compareLevel.recent, reason: 'settings changed', cause }, () => true);
    if (change.clusters)
      this.#refreshAll({ reason: 'clusters changed', cause }, (app) =>
        hasCondition(app, ['InvalidSpecError', 'ComparisonError']),
      );
    if (change.repositories)
      this.#refreshAll({ level: compareLevel.latest, reason: 'repositories changed', cause }, (app) =>
        hasCondition(app, ['ComparisonError', 'InvalidSpecError']),
      );
  }

  #refreshAll(payload: RefreshRequest, which: (app: Application) => boolean): void {
    for (const key of this.#mine) {
      const app = this.#app(key);
      if (app !== undefined && which(app)) this.#deps.refreshQueue.add(key, { payload, priority: 'resync' });
    }
  }

  #scheduleOwnershipUpdate(): void {
    this.#orphanWatchers = undefined;
    const delayMs = Math.max(ownershipDebounceMs, ownershipPauseFactor * this.#lastUpdateMs);
    this.#updateTimer ??= this.#deps.clock.timer(delayMs, () => {
      this.#updateTimer = undefined;
      this.#updateOwnership();
    });
  }

  #scheduleReweigh(): void {
    this.#reweighTimer = this.#deps.clock.timer(reweighMs, () => {
      const { ownership, live } = this.#deps;
      ownership.measure(live.eventCounts());
      this.#updateOwnership();
      this.#scheduleReweigh();
    });
  }

  /** Updates the ownership table, the watched clusters, and the set of owned Applications. */
  #updateOwnership(): void {
    const { ownership, settings, apps, clock } = this.#deps;
    const begin = clock.monotonic();
    const watched = apps.list().filter((object) => this.#deps.isWatched(object.metadata.namespace ?? ''));
    ownership.update(settings.clusters(), watched.map(asApplication));
    this.#updateOwnedApps();
    this.#lastUpdateMs = clock.monotonic() - begin;
  }

  #updateOwnedApps(): void {
    const { apps, isMine } = this.#deps;
    this.#caches.update();
    for (const object of apps.list()) {
      const app = asApplication(object);
      const key = appKeyOf(app);
      if (!isMine(app)) this.#drop(key);
      else if (!this.#mine.has(key)) {
        this.#mine.add(key);
        this.#takeOver(app);
      }
    }
  }

  #drop(key: AppKey, deleted?: Application): void {
    if (deleted !== undefined) this.#deps.projectQueue.add(`${this.#deps.namespace}/${projectOf(deleted)}`);
    this.#takenOver.delete(key);
    this.#pace.forget(key);
    this.#foreign?.forget(key);
    if (!this.#mine.delete(key)) return;
    this.#orphanWatchers = undefined;
    this.#deps.refreshQueue.drop(key);
    this.#deps.operationQueue.drop(key);
    this.#deps.forget(key, deleted);
  }

  #watchersOf(namespace: string): readonly AppKey[] {
    this.#orphanWatchers ??= this.#findWatchers();
    return this.#orphanWatchers.get(namespace) ?? [];
  }

  #findWatchers(): ReadonlyMap<string, readonly AppKey[]> {
    const found = new Map<string, AppKey[]>();
    for (const key of this.#mine) {
      const app = this.#app(key);
      const namespace = app === undefined ? '' : destinationNamespaceOf(app);
      if (app === undefined || namespace === '' || !this.#deps.watchesOrphans(app)) continue;
      found.set(namespace, [...(found.get(namespace) ?? []), key]);
    }
    return found;
  }

  #app(key: AppKey): Application | undefined {
    const object = this.#deps.apps.get(key);
    return object === undefined ? undefined : asApplication(object);
  }
}

/** A user waits for every operation that is not automated, and for a deletion. */
function operationPriority(app: Application): Priority {
  if (app.operation?.initiatedBy?.automated !== true) return 'user';
  return isNeverSynced(app) ? 'resync' : 'live';
}

function hasNewPolicy({ spec: old }: Application, { spec }: Application): boolean {
  return !deepEqual(jsonOf(old.syncPolicy ?? {}), jsonOf(spec.syncPolicy ?? {}));
}

function hasCondition(app: Application, types: readonly ConditionType[]): boolean {
  return app.status?.conditions?.some((c) => isErrorCondition(c) && types.includes(c.type)) ?? false;
}

/** An Application may manage itself: its own changes, including its status, must not trigger it. */
function isItself(app: Application, change: LiveChange): boolean {
  const { group, kind, namespace, name } = parseResourceKey(change.key);
  return (
    group === 'argoproj.io' &&
    kind === 'Application' &&
    namespace === app.metadata.namespace &&
    name === app.metadata.name
  );
}

/** What a project decides about its Applications. */
function projectRules(project: KubeObject): Json {
  return [jsonOf(project['spec']), project.metadata.annotations?.[annotations.decryption] ?? null];
}

import { aborted, deepEqual } from '#base';
import type { Clock, Runnable, Timer } from '#base';
import { equalLoosely } from '#compare';
import type { Informer, InformerEvent } from '#kube';
import type { LiveChange, LiveClusters } from '#live';
import {
  annotationOf,
  annotations,
  appKeyOf,
  appKeyOfInstance,
  asApplication,
  asObject,
  destinationNamespaceOf,
  isAutomated,
  isErrorCondition,
  jsonOf,
  parseResourceKey,
  projectOf,
} from '#model';
import type { AppKey, Application, ConditionType } from '#model';
import type { Priority, WorkQueue } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';
import { ClusterCaches } from './cluster-caches.ts';
import { compareLevel } from './freshness.ts';
import type { CompareLevel, RefreshRequest } from './freshness.ts';

export interface TriggerDeps {
  readonly apps: Informer;
  readonly projects: Informer;
  readonly settings: SettingsStore;
  readonly ownership: Ownership;
  readonly live: LiveClusters;
  readonly refreshQueue: WorkQueue<AppKey, RefreshRequest>;
  readonly operationQueue: Pick<WorkQueue<AppKey, undefined>, 'add' | 'addRateLimited' | 'drop'>;
  readonly projectQueue: Pick<WorkQueue<string, undefined>, 'add'>;
  readonly isMine: (app: Application) => boolean;
  /** Namespaces that Applications may live in. */
  readonly isWatched: (namespace: string) => boolean;
  /** Whether the project of an application watches orphans. */
  readonly watchesOrphans: (app: Application) => boolean;
  /** The application is another replica's, or gone: then it comes along as it was last. */
  readonly forget: (key: AppKey, deleted: Application | undefined) => void;
  /** Something is new in the application itself: what it asks for, it asks for now. */
  readonly seen: (key: AppKey) => void;
  /** The version that the write of this replica makes that is under way (undefined: none); undefined: there is no such write. */
  readonly written?: (key: AppKey) => Promise<string | undefined> | undefined;
  /** The controller's own. */
  readonly namespace: string;
  readonly clock: Clock;
  /** --lost-cluster-cache-seconds; default: clusters that were lost are forgotten at once. */
  readonly keepLostMs?: number;
  readonly onCacheFilled?: (ms: number) => void;
}

/** Changes of children come in bursts and cost a tree each; changes of managed objects are acted on at once. */
const childDelayMs = 200;
/** A running operation looks again soon after one of its objects moved. */
const movedDelayMs = 100;
/** Ownership inputs change in bursts (start, mass creation) ... */
const ownershipDelayMs = 20;
/** ... and sharing out takes the longer the more Applications there are: not more than a tenth of the time goes into it. */
const ownershipRest = 9;
/** How late a replica may hear what the owner before it wrote: it may have been cut off from the hub until a moment ago. */
const lateMs = 60_000;
/** What that wrote comes in one go, or nearly. */
const settleMs = 1000;
/** What clusters weigh changes with every status: looked at now and then, moves for it are rare anyway. */
const reweighMs = 300_000;

/**
 * Every event to every queue, on one page. Source: Argo CD appcontroller.go newApplicationInformerAndLister, handleObjectUpdated.
 *
 *   event                                        refresh queue                 operation queue
 *   Application appears                          look                          if an operation or deletion is on (also after a restart)
 *   Application changes                          look; level 2 when auto-sync  if an operation or deletion is on
 *                                                or self-heal was switched on;
 *                                                level 1 once when its status
 *                                                changes after it was taken up
 *   managed object changes                       level 1, at once              soon, if an operation or deletion is on
 *   child of a managed object changes            level 0, soon
 *   object that nobody tracks changes            level 0 of the orphan watchers of its namespace
 *   project appears, changes, goes               level 1 of its applications   (project queue: the project)
 *   settings change                              level 1 of all
 *   repository Secrets change                    level 2 of those whose source could not be read
 *   cluster Secrets, ownership change            level 1 of all that became    if an operation or deletion is on
 *                                                ours (what was lost is dropped)
 *
 * Differences to Argo CD: running operations are taken up when the Application appears, not at its next change; what moved to this replica
 * is compared at once, drift that nobody saw meanwhile included, not at the next resync; a changed project or
 * repository reaches its applications at once, not at their next resync; the echo of an own write wakes nobody.
 */
export class Triggers implements Runnable {
  readonly name = 'triggers';
  readonly #deps: TriggerDeps;
  readonly #caches: ClusterCaches;
  readonly #mine = new Set<AppKey>();
  /** Until when the status of an Application that was taken up may still be the former owner's. */
  readonly #takenUp = new Map<AppKey, number>();
  #orphanWatchers: ReadonlyMap<string, readonly AppKey[]> | undefined;
  #pending: Timer | undefined;
  #reweigh: Timer | undefined;
  #lastShareMs = 0;

  constructor(deps: TriggerDeps) {
    this.#deps = deps;
    this.#caches = new ClusterCaches(deps);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { apps, projects, settings, ownership, live } = this.#deps;
    this.#caches.start(signal);
    this.#shareOut();
    const stops = [
      apps.onEvent((event) => this.#onApp(event)),
      projects.onEvent((event) => this.#onProject(event)),
      settings.onChange((change) => this.#onSettings(change)),
      ownership.onChange(() => this.#recount()),
      live.onChange((change) => this.#onLive(change)),
    ];
    this.#reweighLater();
    await aborted(signal);
    this.#pending?.cancel();
    this.#reweigh?.cancel();
    this.#caches.stop();
    for (const stop of stops) stop();
  }

  /** Looks at an application again, because something that no event tells has changed. */
  look(key: AppKey, reason: string): void {
    const app = this.#app(key);
    if (app !== undefined && this.#deps.isMine(app)) this.#enqueue(app, undefined, reason);
  }

  /** Keys of all applications that this replica looks after. */
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
    if (old === undefined || !equalLoosely(old.spec.destination, app.spec.destination)) this.#inputsChanged();
    if (event.type === 'deleted') {
      this.#lose(key, app);
      return;
    }
    if (!this.#deps.isMine(app)) {
      this.#lose(key);
      return;
    }
    this.#mine.add(key);
    if (old === undefined) this.#enqueue(app, undefined, 'the application appeared');
    else if (automationStarted(old, app)) this.#enqueue(app, compareLevel.latest, 'the application changed');
    else if (this.#knewTooLittle(old, app)) void this.#afterOwnerBefore(app);
    else this.#enqueue(app, undefined, 'the application changed');
  }

  /**
   * A status that changes right after its Application was taken up may be the former owner's, and what was decided upon an older one wrong: an
   * operation that had ended, a difference that had been reported already.
   */
  #knewTooLittle(old: Application, app: Application): boolean {
    const key = appKeyOf(app);
    const until = this.#takenUp.get(key);
    if (until === undefined || equalLoosely(old.status, app.status)) return false;
    const isOver = this.#deps.clock.monotonic() > until;
    if (isOver) this.#takenUp.delete(key);
    return !isOver;
  }

  /** The watch may be faster than the answer to our own write: what that wrote is nobody else's, and tells nothing new. */
  async #afterOwnerBefore(app: Application): Promise<void> {
    const key = appKeyOf(app);
    const writing = this.#deps.written?.(key);
    const isOwn = writing !== undefined && (await writing) === app.metadata.resourceVersion;
    const until = this.#takenUp.get(key);
    if (!this.#mine.has(key)) return;
    if (isOwn || until === undefined) {
      this.#enqueue(app, undefined, 'the application changed');
      return;
    }
    this.#takenUp.set(key, Math.min(until, this.#deps.clock.monotonic() + settleMs));
    this.#enqueue(app, compareLevel.recent, 'the owner before had written its status');
  }

  #enqueue(app: Application, level: CompareLevel | undefined, reason: string): void {
    const key = appKeyOf(app);
    this.#deps.seen(key);
    const asked = annotationOf(asObject(app), annotations.refresh) !== undefined;
    const payload: RefreshRequest = level === undefined ? { reason } : { level, reason };
    this.#deps.refreshQueue.addRateLimited(key, { payload, priority: asked ? 'asked' : 'live' });
    if (hasWork(app)) this.#deps.operationQueue.addRateLimited(key, { priority: operationPriority(app) });
  }

  /** Whatever happened to its objects before, no event will tell: compared with the revision that was compared last, at least. */
  #takeUp(app: Application): void {
    const payload = { level: compareLevel.recent, reason: 'this replica became the owner' };
    this.#takenUp.set(appKeyOf(app), this.#deps.clock.monotonic() + lateMs);
    this.#deps.seen(appKeyOf(app));
    const asked = annotationOf(asObject(app), annotations.refresh) !== undefined;
    this.#deps.refreshQueue.add(appKeyOf(app), { payload, priority: asked ? 'asked' : 'resync' });
    if (hasWork(app)) this.#deps.operationQueue.addRateLimited(appKeyOf(app), { priority: operationPriority(app) });
  }

  #onLive(change: LiveChange): void {
    for (const [instance, { managed }] of change.apps) {
      const app = this.#app(appKeyOfInstance(instance, this.#deps.namespace));
      if (app === undefined || isItself(app, change) || !this.#deps.isMine(app)) continue;
      const { kind, namespace, name } = parseResourceKey(change.key);
      const reason = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name} changed`;
      const level = managed ? compareLevel.recent : compareLevel.nothing;
      this.#touch(app, { level, reason, resources: new Set([change.key]) });
    }
    if (change.orphanNamespace === undefined) return;
    for (const key of this.#watchersOf(change.orphanNamespace)) {
      const app = this.#app(key);
      const reason = 'an orphaned resource changed';
      if (app !== undefined)
        this.#touch(app, { level: compareLevel.nothing, reason, resources: new Set([change.key]) });
    }
  }

  #touch(app: Application, payload: RefreshRequest & { readonly level: CompareLevel }): void {
    const key = appKeyOf(app);
    const { level } = payload;
    const soon = level === compareLevel.nothing ? { delayMs: childDelayMs } : {};
    this.#deps.refreshQueue.add(key, { payload, priority: 'live', ...soon });
    if (level !== compareLevel.nothing && hasWork(app))
      this.#deps.operationQueue.add(key, { delayMs: movedDelayMs, priority: operationPriority(app) });
  }

  #onProject(event: InformerEvent): void {
    this.#orphanWatchers = undefined;
    const { name = '', namespace = '' } = event.object.metadata;
    this.#deps.projectQueue.add(`${namespace}/${name}`);
    // A list of kinds that is empty allows none, one that is absent all.
    if (event.type === 'updated' && deepEqual(jsonOf(event.old['spec']), jsonOf(event.object['spec']))) return;
    this.#all(compareLevel.recent, `project ${name} changed`, (app) => projectOf(app) === name);
  }

  #onSettings(change: {
    readonly settings: boolean;
    readonly clusters: boolean;
    readonly repositories: boolean;
  }): void {
    if (change.settings || change.clusters) this.#shareOut();
    if (change.settings) this.#all(compareLevel.recent, 'settings changed', () => true);
    if (change.clusters)
      this.#all(undefined, 'clusters changed', (app) => hasCondition(app, ['InvalidSpecError', 'ComparisonError']));
    if (change.repositories)
      this.#all(compareLevel.latest, 'repositories changed', (app) =>
        hasCondition(app, ['ComparisonError', 'InvalidSpecError']),
      );
  }

  #all(level: CompareLevel | undefined, reason: string, which: (app: Application) => boolean): void {
    const payload: RefreshRequest = level === undefined ? { reason } : { level, reason };
    for (const key of this.#mine) {
      const app = this.#app(key);
      if (app !== undefined && which(app)) this.#deps.refreshQueue.add(key, { payload, priority: 'resync' });
    }
  }

  #inputsChanged(): void {
    this.#orphanWatchers = undefined;
    const delayMs = Math.max(ownershipDelayMs, ownershipRest * this.#lastShareMs);
    this.#pending ??= this.#deps.clock.timer(delayMs, () => {
      this.#pending = undefined;
      this.#shareOut();
    });
  }

  #reweighLater(): void {
    this.#reweigh = this.#deps.clock.timer(reweighMs, () => {
      const { ownership, live } = this.#deps;
      ownership.measure(new Map(live.infos().map(({ server, eventsCount }) => [server, eventsCount])));
      this.#shareOut();
      this.#reweighLater();
    });
  }

  /** Feeds the ownership table; tells `live` which clusters to keep; takes up and drops applications accordingly. */
  #shareOut(): void {
    const { ownership, settings, apps, clock } = this.#deps;
    const begin = clock.monotonic();
    const watched = apps.list().filter((object) => this.#deps.isWatched(object.metadata.namespace ?? ''));
    ownership.update(settings.clusters(), watched.map(asApplication));
    this.#recount();
    this.#lastShareMs = clock.monotonic() - begin;
  }

  #recount(): void {
    const { apps, isMine } = this.#deps;
    this.#caches.update();
    for (const object of apps.list()) {
      const app = asApplication(object);
      const key = appKeyOf(app);
      if (!isMine(app)) this.#lose(key);
      else if (!this.#mine.has(key)) {
        this.#mine.add(key);
        this.#takeUp(app);
      }
    }
  }

  #lose(key: AppKey, deleted?: Application): void {
    if (deleted !== undefined) this.#deps.projectQueue.add(`${this.#deps.namespace}/${projectOf(deleted)}`);
    this.#takenUp.delete(key);
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

function hasWork(app: Application): boolean {
  return (app.operation ?? undefined) !== undefined || app.metadata.deletionTimestamp !== undefined;
}

/** A person waits for an operation that no automation started, and for a deletion. */
function operationPriority(app: Application): Priority {
  return app.operation?.initiatedBy?.automated === true ? 'live' : 'asked';
}

function automationStarted(old: Application, app: Application): boolean {
  const heals = (a: Application): boolean => isAutomated(a.spec) && a.spec.syncPolicy?.automated?.selfHeal === true;
  return (isAutomated(app.spec) && !isAutomated(old.spec)) || (heals(app) && !heals(old));
}

function hasCondition(app: Application, types: readonly ConditionType[]): boolean {
  return app.status?.conditions?.some((c) => isErrorCondition(c) && types.includes(c.type)) ?? false;
}

/** An application may manage itself: its own changes, status included, must not wake it through its cluster. */
function isItself(app: Application, change: LiveChange): boolean {
  const { group, kind, namespace, name } = parseResourceKey(change.key);
  return (
    group === 'argoproj.io' &&
    kind === 'Application' &&
    namespace === app.metadata.namespace &&
    name === app.metadata.name
  );
}

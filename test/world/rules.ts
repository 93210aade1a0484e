import { appKeyOf, asApplication, isCompleted } from '#model';
import type { Application, KubeObject } from '#model';
import { clusterKey } from '#sharding';
import type { WorldApiServer } from './servers/api-server.ts';
import {
  appOfName,
  hasCanary,
  hasSyncOption,
  isHook,
  isReady,
  ownedOf,
  resourceOf,
  trackedBy,
  valuesOf,
  waveOf,
} from './content.ts';
import { nameOf } from './servers/git.ts';
import type { WorldGit } from './servers/git.ts';
import type { NetworkProcess } from './clock.ts';
import type { ServedRequest } from './servers/network.ts';
import type { SyncManner, WorldPlan } from './plan.ts';
import type { StoreEvent } from './servers/store.ts';
import { appOfKey, treeKeyOf } from './servers/redis.ts';
import type { StoredWrite } from './servers/redis.ts';
import { hubUrl } from './replica.ts';
import type { WorldReplica } from './replica.ts';

/** How far behind a prune may be: the object left Git this long ago, or is in the running sync. */
const pruneWindowMs = 60_000;
/** A restore just before the end of a deletion may be unknown to it. */
const restoreWindowMs = 5000;

/** A state that held since a moment. */
export interface Since<T> {
  readonly at: number;
  readonly value: T;
}

/** The world as the rules see it. */
export interface ObservedWorld {
  readonly plan: WorldPlan;
  readonly time: { readonly now: number };
  readonly hub: WorldApiServer;
  readonly clusters: readonly WorldApiServer[];
  readonly git: Pick<WorldGit, 'branch' | 'get'>;
  readonly appNames: readonly string[];
  /** Commits that Applications were to have, by name. */
  readonly targets: ReadonlyMap<string, readonly Since<string>[]>;
  readonly manners: ReadonlyMap<string, readonly Since<SyncManner>[]>;
  app(name: string): Application | undefined;
  clusterOf(app: string): WorldApiServer;
  alive(): readonly WorldReplica[];
  note(what: string): void;
  break(what: string): void;
}

/**
 * Judges each write when a server carries it out: who wrote, whether the object and the value are
 * those of Git, whether the rules allow a deletion, and what is recorded about operations.
 */
export class JournalRules {
  readonly #world: ObservedWorld;
  /** States of each object of the clusters. */
  readonly #states = new Map<string, Since<KubeObject | undefined>[]>();
  /** When the operation of an Application appeared. */
  readonly #operationSince = new Map<string, number>();
  /** How often the end of each operation was recorded. */
  readonly ends = new Map<string, number>();
  /** When Applications were gone, and clusters restored. */
  readonly goneAt = new Map<string, number>();
  readonly #restoredAt = new Map<string, number>();
  /** Number of writes to clusters by processes. */
  clusterWrites = 0;
  /** Names of the Applications that processes wrote to, also without a change. */
  readonly appWrites: string[] = [];

  constructor(world: ObservedWorld) {
    this.#world = world;
    for (const cluster of world.clusters)
      cluster.store.onEvent((event) => this.#remember(cluster, event.resource, event.object, event.type !== 'DELETED'));
    world.hub.store.onEvent((event) => {
      if (event.resource === 'applications') this.#observeApp(event);
    });
  }

  served(served: ServedRequest): void {
    const { server, process, target, request, changes } = served;
    if (server.url === hubUrl && hasCanary(request.body ?? ''))
      this.#world.break(`${process.name} writes a secret value to the hub: ${request.path} ${request.body ?? ''}`);
    if (server.url !== hubUrl && isWrite(served)) this.#clusterRequest(served);
    if (target.kind?.resource === 'applications' && isWrite(served)) {
      // A version that the server refuses changes nothing.
      if (served.answer.status !== 409) this.appWrites.push(target.name ?? '');
      this.#world.note(`${process.name} ${request.method} ${target.name ?? ''} ${request.body ?? ''}`);
    }
    for (const change of changes) {
      if (server.url !== hubUrl) this.#clusterWrite(served, change);
      else if (change.resource === 'applications') this.#onlyWriter(process, change.object.metadata.name ?? '');
    }
  }

  /** Only the owner publishes, and no secret value. */
  published({ process, key, text = '' }: StoredWrite): void {
    if (hasCanary(text)) this.#world.break(`${process.name} publishes a secret value: ${key} ${text}`);
    const app = appOfKey(key);
    if (app === undefined) return;
    this.#onlyWriter(process, app);
    const since = this.#world.time.now - pruneWindowMs;
    const isGone = this.#world.app(app) === undefined || (this.goneAt.get(app) ?? 0) > since;
    if (text === '' && key === treeKeyOf(app) && !isGone)
      this.#world.break(`${process.name} removes what is published about ${app}, which exists`);
  }

  /** An etcd was restored: objects are again as they were. */
  restored(cluster: WorldApiServer): void {
    this.#restoredAt.set(cluster.url, this.#world.time.now);
    for (const resource of ['configmaps', 'secrets', 'persistentvolumeclaims'])
      for (const object of cluster.store.list(resource)) this.#remember(cluster, resource, object, true);
  }

  /** Objects of a deleted Application came back with an older state of the cluster. */
  mayHaveReturned(app: string): boolean {
    const restoredAt = this.#restoredAt.get(this.#world.clusterOf(app).url) ?? Number.NEGATIVE_INFINITY;
    return restoredAt > (this.goneAt.get(app) ?? 0) - restoreWindowMs;
  }

  #remember(cluster: WorldApiServer, resource: string, object: KubeObject, exists: boolean): void {
    const key = `${cluster.url} ${resource} ${object.metadata.name ?? ''}`;
    const states = this.#states.get(key) ?? [];
    states.push({ at: this.#world.time.now, value: exists ? object : undefined });
    this.#states.set(key, states);
  }

  // ---------------------------------------------------------------- clusters

  /** Every write must be allowed, also one that changes nothing or is refused. */
  #clusterRequest({ process, server, target, request }: ServedRequest): void {
    const { metadata } = JSON.parse(request.body ?? '{}') as Partial<KubeObject>;
    const name = target.name ?? metadata?.name ?? '';
    const what = `${target.kind?.kind ?? ''} ${name}`;
    this.#world.note(`${process.name} ${request.method} ${what} ${request.body ?? ''}`);
    const app = appOfName(name);
    if (app === undefined || !this.#world.appNames.includes(app)) {
      this.#world.break(`${process.name} writes the foreign ${what}`);
      return;
    }
    if (this.#world.clusterOf(app) !== server) this.#world.break(`${process.name} writes ${what} to the wrong cluster`);
    this.#onlyWriter(process, app);
  }

  #clusterWrite(served: ServedRequest, change: StoreEvent): void {
    const { process, request } = served;
    const { object } = change;
    this.clusterWrites += 1;
    const app = appOfName(object.metadata.name);
    if (app === undefined) return;
    if (request.method === 'DELETE') this.#deletion(process, app, change);
    else this.#value(process, app, served, change);
    if (request.method === 'POST') this.#wave(process, app, object);
  }

  /** No other process may write for the Application when this write is carried out. */
  #onlyWriter(process: NetworkProcess, app: string): void {
    const application = this.#world.app(app);
    if (application === undefined) return;
    const server = clusterKey(this.#world.clusterOf(app).url);
    for (const other of this.#world.alive()) {
      if (other === process || other.clock.machine.isStopped()) continue;
      if (!mayWrite(other, server, application)) continue;
      this.#world.break(`${process.name} writes for ${app}, for which ${other.name} may write`);
    }
  }

  #value(process: NetworkProcess, app: string, { request }: ServedRequest, { object, before }: StoreEvent): void {
    if (before !== undefined && ownedOf(before) !== ownedOf(object))
      this.#world.break(`${process.name} overwrites the ignored field of ${nameOf(object)}`);
    if (trackedBy(object) !== app) this.#world.break(`${process.name} leaves ${nameOf(object)} without its tracking`);
    const body = JSON.parse(request.body ?? '{}') as { data?: Record<string, unknown> };
    if (body.data === undefined) return;
    const text = valuesOf(body);
    if (text === '{}') return;
    const known = this.#world.git.branch(app).some(({ objects }) => {
      const wanted = objects.get(nameOf(object));
      return wanted !== undefined && valuesOf(wanted) === text;
    });
    if (!known) this.#world.break(`${process.name} writes ${text} to ${nameOf(object)}, which no commit has`);
  }

  /** The objects of earlier waves were as the commit wants them before. */
  #wave(process: NetworkProcess, app: string, object: KubeObject): void {
    const { operation, status } = this.#world.app(app) ?? {};
    const revision = status?.operationState?.syncResult?.revision ?? operation?.sync?.revision;
    const commit = this.#world.git.get(revision ?? '');
    if (operation?.sync === undefined || operation.sync.resources !== undefined || commit === undefined) return;
    const since = this.#operationStart(app);
    for (const earlier of commit.objects.values()) {
      if (isHook(earlier) || (!isHook(object) && waveOf(earlier) >= waveOf(object))) continue;
      if (!this.#wasLive(app, earlier, since))
        this.#world.break(`${process.name} creates ${nameOf(object)} before ${nameOf(earlier)} of an earlier wave`);
    }
  }

  #deletion(process: NetworkProcess, app: string, { object, before = object }: StoreEvent): void {
    const what = `${process.name} deletes ${nameOf(object)}`;
    if (isHook(before)) return;
    if (trackedBy(before) !== app) this.#world.break(`${what}, which ${app} does not track`);
    const application = this.#world.app(app);
    if (application === undefined) this.#world.break(`${what}, whose Application is gone`);
    else if (application.metadata.deletionTimestamp !== undefined) this.#cascade(what, application, before);
    else this.#prune(what, application, before);
  }

  #cascade(what: string, { metadata }: Application, before: KubeObject): void {
    if ((metadata.finalizers ?? []).length === 0) this.#world.break(`${what} without a cascade`);
    if (hasSyncOption(before, 'Delete=false')) this.#world.break(`${what} despite Delete=false`);
  }

  #prune(what: string, application: Application, before: KubeObject): void {
    const app = application.metadata.name ?? '';
    if (hasSyncOption(before, 'Prune=false')) this.#world.break(`${what} despite Prune=false`);
    const { time, manners, targets, git } = this.#world;
    const since = time.now - pruneWindowMs;
    const { operation, status } = application;
    const asks = [operation, status?.operationState?.operation].some((each) => each?.sync?.prune === true);
    const automated = recent(manners.get(app) ?? [], since).some((manner) => manner === 'automated');
    if (!asks && !automated) this.#world.break(`${what} although pruning is off`);
    const running = [operation?.sync?.revision, status?.operationState?.syncResult?.revision];
    const revisions = [...recent(targets.get(app) ?? [], since), ...running];
    // A sync of a branch takes what the branch has at that moment.
    const heads = git.branch(app).filter(({ at }) => at >= this.#operationStart(app));
    const named = revisions.map((sha) => git.get(sha ?? '')).filter((commit) => commit !== undefined);
    const commits = operation?.sync?.revision === 'main' ? [...named, ...heads] : named;
    if (commits.every(({ objects }) => objects.has(nameOf(before)))) this.#world.break(`${what}, which is in Git`);
  }

  // ---------------------------------------------------------------- operations

  #observeApp({ type, object, before }: StoreEvent): void {
    if (type === 'DELETED') this.goneAt.set(object.metadata.name ?? '', this.#world.time.now);
    if (type === 'DELETED') return;
    const after = asApplication(object);
    const name = object.metadata.name ?? '';
    const old = before === undefined ? undefined : asApplication(before);
    if (old?.operation === undefined && after.operation !== undefined) {
      this.#operationSince.set(name, this.#world.time.now);
      if (after.operation.initiatedBy?.automated === true) this.#automated(name);
      if (old?.metadata.deletionTimestamp !== undefined)
        this.#world.break(`an operation of ${name} begins, which is being deleted`);
    }
    this.#history(name, after);
    const state = after.status?.operationState;
    if (state === undefined || !isCompleted(state.phase)) return;
    const key = operationKey(name, after);
    const was = old?.status?.operationState;
    if (old !== undefined && was !== undefined && isCompleted(was.phase) && operationKey(name, old) === key) return;
    const count = (this.ends.get(key) ?? 0) + 1;
    this.ends.set(key, count);
    this.#world.note(`operation ${key} ends as ${state.phase}: ${state.message ?? ''}`);
    if (count > 1) this.#world.break(`the end of the operation ${key} is recorded ${count} times`);
    if (state.phase === 'Succeeded') this.#success(name, after);
  }

  #automated(name: string): void {
    const manners = recent(this.#world.manners.get(name) ?? [], this.#world.time.now - pruneWindowMs);
    if (manners.every((manner) => manner === 'manual'))
      this.#world.break(`${name} is synced automatically, but should not`);
  }

  #operationStart(name: string): number {
    return (this.#operationSince.get(name) ?? 0) - this.#staleMs();
  }

  #history(name: string, { status }: Application): void {
    const entries = status?.history ?? [];
    const ids = entries.map(({ id }) => id);
    const runs = entries.map((e) => `${e.deployStartedAt ?? ''} ${e.initiatedBy.username ?? ''} ${e.revision ?? ''}`);
    if (ids.some((id, i) => i > 0 && id <= (ids[i - 1] ?? 0)))
      this.#world.break(`the history of ${name} has the ids ${ids.join()}`);
    if (new Set(runs).size !== runs.length)
      this.#world.break(`the history of ${name} has a sync twice: ${runs.join()}`);
  }

  /** A sync that succeeded has applied every object of its revision. */
  #success(name: string, { status }: Application): void {
    const { operation, syncResult } = status?.operationState ?? {};
    const commit = this.#world.git.get(syncResult?.revision ?? '');
    if (operation?.sync === undefined || commit === undefined) {
      this.#world.break(`a sync of ${name} succeeded with the revision ${syncResult?.revision ?? 'none'}`);
      return;
    }
    // A sync of chosen objects proves nothing about the others, and is not in the history.
    if (operation.sync.resources !== undefined) return;
    for (const wanted of commit.objects.values())
      if (isHook(wanted)) this.#ranHook(name, wanted);
      else if (!this.#wasLive(name, wanted, this.#operationStart(name)))
        this.#world.break(`a sync of ${name} succeeded, but ${nameOf(wanted)} never was as in ${commit.sha}`);
    if ((status?.history ?? []).at(-1)?.revision !== commit.sha)
      this.#world.break(`a sync of ${name} succeeded, but its history does not end with it`);
  }

  /**
   * A sync creates its hooks, or takes over one that a terminated sync left behind and that no
   * BeforeHookCreation removes: then it marks it as its own.
   */
  #ranHook(app: string, hook: KubeObject): void {
    const since = this.#operationSince.get(app) ?? 0;
    const states = this.#statesOf(app, hook);
    const isRun = ({ at, value }: Since<KubeObject | undefined>, i: number): boolean =>
      at >= since && value !== undefined && runOf(value) !== runOf(states[i - 1]?.value);
    if (!states.some(isRun)) this.#world.break(`a sync of ${app} succeeded, but its hook ${nameOf(hook)} did not run`);
  }

  #wasLive(app: string, wanted: KubeObject, since: number): boolean {
    return recent(this.#statesOf(app, wanted), since).some(
      (state) => state !== undefined && valuesOf(state) === valuesOf(wanted) && isReady(state),
    );
  }

  #statesOf(app: string, { kind, metadata }: KubeObject): readonly Since<KubeObject | undefined>[] {
    const key = `${this.#world.clusterOf(app).url} ${resourceOf[kind] ?? ''} ${metadata.name ?? ''}`;
    return this.#states.get(key) ?? [];
  }

  /** How old the live state may be that a sync was decided by. */
  #staleMs(): number {
    const stale = ['watch', 'cut', 'restore', 'freeze', 'request'];
    return this.#world.plan.acts.some((act) => stale.includes(act.do)) ? 300_000 : 2000;
  }
}

function isWrite({ target: { verb, kind, query } }: ServedRequest): boolean {
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  return kind !== undefined && !isRead && !query.has('dryRun');
}

/** The values that held at some moment since then. */
export function recent<T>(states: readonly Since<T>[], since: number): readonly T[] {
  return states.filter((_, i) => (states[i + 1]?.at ?? Number.POSITIVE_INFINITY) >= since).map(({ value }) => value);
}

function mayWrite({ ownership }: WorldReplica, server: string, app: Application): boolean {
  try {
    ownership.assertOwns(server, appKeyOf(app));
    return true;
  } catch {
    return false;
  }
}

/** Operations of one second differ in what they sync. */
export function operationKey(name: string, { status }: Application): string {
  const { startedAt = '', operation } = status?.operationState ?? {};
  const by = operation?.initiatedBy?.username ?? 'automated';
  return `${name} ${by} ${startedAt} ${JSON.stringify(operation?.sync ?? {})}`;
}

/** Identifies one run of a hook: the object, and the operation that applied it last. */
function runOf(hook: KubeObject | undefined): string {
  return `${hook?.metadata.uid ?? ''} ${hook?.metadata.annotations?.['driftless.io/operation'] ?? ''}`;
}

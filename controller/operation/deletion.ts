import { isAbort, mapLimit, messageOf } from '#base';
import type { Clock } from '#base';
import { isManagedNamespace } from '#compare';
import { isConflict } from '#kube';
import type { LiveClusters } from '#live';
import {
  appKeyLogFields,
  appKeyOf,
  appLogFields,
  finalizers,
  instanceName,
  keyOf,
  kindFinder,
  refOf,
  refOfStatus,
} from '#model';
import type { AppKey, Application, KubeObject, ObjectName, ResourceKey } from '#model';
import { SlotLoan } from '#queues';
import type { HandlerResult } from '#queues';
import type { UnresolvedDestination } from '#settings';
import { isPreDeleteHook, waveOf } from '#sync';
import type { Logger } from '#telemetry';
import type { BoundApplication } from '../admission/bound.ts';
import type { ManifestClaims } from '../admission/claims.ts';
import type { StepWork, Syncer } from './syncer.ts';
import { filledCluster, namesOf } from '../comparison/comparer.ts';
import type { Comparer } from '../comparison/comparer.ts';
import { ClusterNotReady, DeletionBlocked, FinalizersKept, SettingsUnreadable } from '../shared/errors.ts';
import type { WaitReason } from '../shared/waits.ts';
import { cascadeNames, cleanupFinalizers, ownFinalizers } from '../application/finalizers.ts';
import type { ApplicationStore } from '../application/application-store.ts';
import { groupByMark } from '../application/former-marks.ts';
import { wasSynced } from '../application/operation-state.ts';
import { parseTime } from '../shared/kube-time.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { DeleteHooks, hasFinalizer, ignoreGone, linesAbout, parallelDeletes } from './delete-hooks.ts';
import type { BlockedOn, DeletionContext } from './delete-hooks.ts';
import { deletionBackstopMs, deletionPauseMs, pausedDeletion } from './deletion-pause.ts';
import {
  describeObjects,
  isBlind,
  isDeletable,
  isNeededByHooks,
  isRunByDeletion,
  keptFinalizers,
  lacksApproval,
  logName,
  refuseUnreadKinds,
  refuseUnreadResources,
} from './deletion-rules.ts';
import { isInReach, judgeUnresolved, lastSyncOf, refuseToLeave } from './unresolved-deletion.ts';

export interface DeleterDeps {
  readonly store: ApplicationStore;
  readonly comparer: Comparer;
  readonly live: LiveClusters;
  readonly syncer: Syncer;
  readonly memories: AppMemories;
  readonly claims: Pick<ManifestClaims, 'claimants'>;
  /** Throws if the project is unusable; deletion then waits. */
  readonly bind: (app: Application) => BoundApplication | UnresolvedDestination;
  /** Label keys that have tracked objects since this process started, and until when. */
  readonly labelKeys: () => ReadonlyMap<string, number>;
  /** The last of our finalizers is gone: drop all state of the application. */
  readonly forget: (key: AppKey, app: Application) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface DeleterConfig {
  readonly namespace: string;
  /** How long no Secret may claim a cluster before it is given up; default 33 s. */
  readonly unclaimedMs?: number;
}

const defaultUnclaimedMs = 33_000;
const conflictRetryMs = 500;
/** After this time the Application shows what blocks its deletion. */
const stuckDeletionMs = 300_000;
/** After this time the Application shows why its operation cannot be terminated. */
const terminationLimitMs = 60_000;
const operationEnd: WaitReason = { cause: 'running operation', what: 'waiting for the end of the operation' };
const stuckDeletionAdvice =
  'Removing its finalizers deletes the Application immediately and leaves its remaining resources behind.';

/** Live objects of the last comparison, or tracked. */
interface DeclaredObjects {
  /** The Application's own. */
  readonly objects: readonly KubeObject[];
  /** No mark shows whose they are. */
  readonly unmarked: readonly KubeObject[];
  /** Known objects outside of the namespaces that the cluster is limited to. */
  readonly unreachable: readonly ObjectName[];
}

/**
 * Deletes what an Application with finalizers owns: pre-delete hooks, its resources by descending
 * wave, post-delete hooks, then both kinds of hooks themselves. One call runs one step; progress is
 * in the cluster and the finalizers, so any replica can continue. Source: Argo CD
 * finalizeApplicationDeletion, controller/hook.go, sort_delete.go.
 *
 * Differences: rechecks periodically (Argo CD waits for an event); keeps the finalizer while the
 * live state of a managed kind is stale, because unseen objects would be left behind.
 */
export class Deleter {
  readonly #deps: DeleterDeps;
  readonly #config: DeleterConfig;
  readonly #hooks: DeleteHooks;

  constructor(deps: DeleterDeps, config: DeleterConfig) {
    this.#deps = deps;
    this.#hooks = new DeleteHooks({ ...deps, managed: (...args) => this.#managed(...args) });
    this.#config = config;
  }

  async handle(key: AppKey, app: Application, work: StepWork): Promise<HandlerResult<undefined>> {
    const { signal } = work;
    const { memories } = this.#deps;
    const restMs = deletionPauseMs(memories.of(key), this.#deps.clock.monotonic());
    if (restMs > 0) return { requeueAfterMs: restMs };
    try {
      const left = await this.#step(key, app, work);
      if (left === undefined) return 'done';
      await this.recordBlocked(key, app, left);
      return { requeueAfterMs: deletionBackstopMs };
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof ClusterNotReady) throw error;
      // A write conflict is harmless: read again.
      if (isConflict(error)) return { requeueAfterMs: conflictRetryMs };
      this.#deps.logger.warn('Unable to delete application resources', { ...appKeyLogFields(key), error });
      const message = messageOf(error);
      this.#noteBlocked(key, {
        cause: error instanceof SettingsUnreadable ? 'settings' : 'failed step',
        what: message,
      });
      const condition =
        error instanceof DeletionBlocked ? message : `${message}. It will be retried. ${stuckDeletionAdvice}`;
      const hasWritten = await this.#deps.store.persistDeletionError(app, condition);
      const now = this.#deps.clock.monotonic();
      memories.note(key, pausedDeletion(memories.of(key), now, hasWritten || error instanceof FinalizersKept));
      return { requeueAfterMs: deletionPauseMs(memories.of(key), now) };
    }
  }

  /** Shows what blocks a deletion. If the server drops the condition, it is written again later. */
  async #show(key: AppKey, app: Application, message: string): Promise<void> {
    const { memories, store, clock } = this.#deps;
    const now = clock.monotonic();
    if (deletionPauseMs(memories.of(key), now) > 0) return;
    if (await store.persistDeletionError(app, message)) memories.note(key, pausedDeletion(memories.of(key), now, true));
  }

  /** Records what blocks a deletion. After five minutes a condition shows it, with advice. */
  async recordBlocked(key: AppKey, app: Application, reason: WaitReason | 'continue'): Promise<void> {
    if (reason === 'continue') {
      this.#deps.memories.note(key, { deletionBlockedBy: undefined });
      return;
    }
    const blockedMs = this.#deps.clock.now() - this.#noteBlocked(key, reason);
    // A user may take any time to confirm.
    if (blockedMs >= stuckDeletionMs && reason.cause !== 'confirmation')
      await this.#show(key, app, `${reason.what} for more than five minutes. ${stuckDeletionAdvice}`);
  }

  /** Returns since when this reason blocks the deletion. */
  #noteBlocked(key: AppKey, reason: WaitReason): number {
    const known = this.#deps.memories.of(key).deletionBlockedBy;
    const since = known?.what === reason.what ? known.since : this.#deps.clock.now();
    this.#deps.memories.note(key, { deletionBlockedBy: { ...reason, since } });
    return since;
  }

  /** Notes that a deletion waits for the end of the operation. */
  awaitOperation(key: AppKey, app: Application): void {
    if (app.metadata.deletionTimestamp === undefined) return;
    const { memories, clock } = this.#deps;
    if (memories.of(key).deletionBlockedBy?.cause === operationEnd.cause) return;
    memories.note(key, { deletionBlockedBy: { ...operationEnd, since: clock.now() } });
  }

  /** Shows why the operation has not been terminated for a minute. */
  async recordUnterminated(key: AppKey, app: Application, reason: string): Promise<void> {
    const blocked = this.#deps.memories.of(key).deletionBlockedBy;
    if (app.metadata.deletionTimestamp === undefined || blocked?.cause !== operationEnd.cause) return;
    if (this.#deps.clock.now() - blocked.since < terminationLimitMs) return;
    const message = `the operation that runs cannot be terminated for more than a minute: ${reason}. It will be retried.`;
    await this.#show(key, app, `${message} ${stuckDeletionAdvice}`);
  }

  async #step(key: AppKey, app: Application, work: StepWork): Promise<BlockedOn> {
    const { signal } = work;
    if (!ownFinalizers(app).length) {
      await this.#deps.forget(key, app);
      return undefined;
    }
    refuseUnreadResources(app);
    const bound = this.#deps.bind(app);
    if ('error' in bound) return this.#unresolved(key, app, bound);
    this.#deps.memories.note(key, { unclaimedSince: undefined });
    const context = await this.#context(bound, work);
    if (hasFinalizer(app, finalizers.preDelete)) {
      return (await this.#hooks.run(context, 'PreDelete', signal)) ?? this.#without(app, [finalizers.preDelete]);
    }
    const needsHooks = hasFinalizer(app, finalizers.postDelete) || hasFinalizer(app, cleanupFinalizers.PostDelete);
    if (cascadeFinalizer(app) !== undefined) {
      const { hasPostDeleteBegun = false } = this.#deps.memories.of(key);
      const isHeld = (object: KubeObject): boolean =>
        (isRunByDeletion(app, object) && (hasPostDeleteBegun || !isPreDeleteHook(object))) ||
        (needsHooks && isNeededByHooks(object));
      const left = await this.#cascade(context, isHeld, signal);
      if (left !== undefined || !needsHooks) return left ?? this.#without(app, cascadeNames);
    }
    if (hasFinalizer(app, finalizers.postDelete)) {
      return (await this.#hooks.run(context, 'PostDelete', signal)) ?? this.#without(app, [finalizers.postDelete]);
    }
    const type = hasFinalizer(app, cleanupFinalizers.PreDelete) ? 'PreDelete' : 'PostDelete';
    return (await this.#hooks.cleanUp(context, type, signal)) ?? this.#without(app, [cleanupFinalizers[type]]);
  }

  async #context(bound: BoundApplication, { signal, place }: StepWork): Promise<DeletionContext> {
    this.#deps.syncer.refuseStalled(bound.cluster.server);
    const cluster = await filledCluster(this.#deps, bound.cluster.server, { signal, place });
    cluster.discovery();
    // A missing service account is no reason to refuse a deletion.
    const loan = new SlotLoan(place, this.#deps.clock);
    const writer = this.#deps.syncer.writer(bound, cluster, { user: bound.identity.deletes(), loan });
    return { bound, cluster, writer };
  }

  /** The resources cannot be located: waits, reports why, or gives up. */
  async #unresolved(key: AppKey, app: Application, unresolved: UnresolvedDestination): Promise<BlockedOn> {
    const { memories, clock } = this.#deps;
    const now = clock.monotonic();
    const since = unresolved.claim === undefined ? (memories.of(key).unclaimedSince ?? now) : undefined;
    memories.note(key, { unclaimedSince: since });
    const unclaimedMs = since === undefined ? undefined : now - since;
    const { unclaimedMs: graceMs = defaultUnclaimedMs } = this.#config;
    const verdict = judgeUnresolved(app, unresolved, { unclaimedMs, graceMs });
    if (verdict.do === 'report') throw new DeletionBlocked(verdict.message);
    return verdict.do === 'wait' ? { cause: 'settings', what: verdict.what } : this.#giveUp(app);
  }

  /** The finalizers are removed and the resources stay, as in Argo CD; an Event reports it. */
  async #giveUp(app: Application): Promise<BlockedOn> {
    this.#deps.store.announce(app, {
      type: 'Warning',
      reason: 'StatusRefreshed',
      message:
        'The destination cluster cannot be resolved: the application is deleted and its resources are left behind',
    });
    this.#deps.logger.info('Resource entries removed from undefined cluster', { ...appLogFields(app) });
    return this.#without(app, ownFinalizers(app));
  }

  async #without(app: Application, names: readonly string[]): Promise<BlockedOn> {
    const left = (app.metadata.finalizers ?? []).filter((name) => !names.includes(name));
    const stored = await this.#deps.store.setFinalizers(app, left);
    const { memories } = this.#deps;
    const removed = new Set(memories.of(appKeyOf(app)).removedFinalizers);
    // Added again by this write, or by one in between, for which the steps would run in circles.
    const kept = names.filter((name) => stored?.metadata.finalizers?.includes(name) === true);
    const again = names.filter((name) => removed.has(name) && app.metadata.finalizers?.includes(name) === true);
    memories.note(appKeyOf(app), { removedFinalizers: new Set([...removed, ...names]) });
    if (stored !== undefined && kept.length + again.length > 0)
      throw new FinalizersKept(keptFinalizers([...new Set([...kept, ...again])]));
    return stored === undefined || left.length === 0 ? undefined : 'continue';
  }

  /** Deletes one wave of the resources. */
  async #cascade(
    context: DeletionContext,
    isHeld: (object: KubeObject) => boolean,
    signal: AbortSignal,
  ): Promise<BlockedOn> {
    const { writer } = context;
    const { app } = context.bound;
    const log = linesAbout(context, this.#deps.logger);
    log('Deleting resources');
    const { objects, unmarked, unreachable } = await this.#declared(context, signal);
    const candidates = this.#unclaimed(
      context,
      objects.filter((object) => isDeletable(app, object) && !isHeld(object)),
    );
    const memory = this.#deps.memories.of(context.bound.key);
    if (candidates.length === 0) {
      refuseToLeave(app, describeObjects(this.#unclaimed(context, unmarked)), describeObjects(unreachable));
      log(`Successfully deleted ${memory.deletedObjects ?? 0} resources`);
      return undefined;
    }
    const going = objects.filter((object) => object.metadata.deletionTimestamp !== undefined && !isHeld(object));
    // The sync that created a hook is over, or was lost with a restored etcd: it removes nothing.
    await this.#hooks.release(context, going, signal);
    if (going.length > 0) {
      log(`${objects.length} objects remaining for deletion`);
      return { cause: 'object deletion', what: `waiting for the deletion of ${describeObjects(going)}` };
    }
    const unapproved = candidates.find((object) => lacksApproval(app, object));
    if (unapproved !== undefined) {
      log(`Resource ${logName(unapproved)} requires manual confirmation to delete`);
      return awaitingConfirmation;
    }
    const top = candidates.map(waveOf).reduce((largest, wave) => (wave > largest ? wave : largest));
    const doomed = candidates.filter((object) => waveOf(object) === top);
    const policy = cascadeFinalizer(app) === finalizers.resourcesBackground ? 'Background' : 'Foreground';
    log(`Deleting application's resources with ${policy} propagation policy`);
    await mapLimit(doomed, parallelDeletes, (object) => ignoreGone(writer.delete(object, policy, signal)));
    this.#deps.memories.note(context.bound.key, {
      deletedObjects: (memory.deletedObjects ?? 0) + doomed.length,
      deletedKeys: new Set([...(memory.deletedKeys ?? []), ...doomed.map(keyOf)]),
    });
    return 'continue';
  }

  async #declared(context: DeletionContext, signal: AbortSignal): Promise<DeclaredObjects> {
    const { app, gate, key, settings, cluster } = context.bound;
    const known = namesOf((app.status?.resources ?? []).filter(({ hook }) => hook !== true));
    const [near, far] = [
      known.filter((one) => isInReach(one, cluster)),
      known.filter((one) => !isInReach(one, cluster)),
    ];
    const live = await this.#managed(context, near, signal);
    const instance = instanceName(key, this.#config.namespace);
    const syncedAt = lastSyncOf(app);
    const labelKeys = [...this.#deps.labelKeys()].flatMap(([label, until]) => (syncedAt <= until ? [label] : []));
    const isNamespace = (object: KubeObject): boolean => isManagedNamespace(app, object);
    const marks = { app: instance, tracking: settings.tracking, labelKeys, isManagedNamespace: isNamespace };
    const { own, former, none } = groupByMark(
      [...live.values()].filter((object) => gate.permits(object)),
      marks,
    );
    // Without a sync, former marks may be those of another installation, and the rest is not ours.
    const doubtful = wasSynced(app) ? none : former;
    const { deletedKeys } = this.#deps.memories.of(key);
    const isReplacement = (object: KubeObject): boolean =>
      object.metadata.deletionTimestamp === undefined && deletedKeys?.has(keyOf(object)) === true;
    return {
      objects: wasSynced(app) ? [...own, ...former] : own,
      unmarked: doubtful.filter((object) => isDeletable(app, object) && !isReplacement(object)),
      unreachable: wasSynced(app) ? far : [],
    };
  }

  /** Excludes objects that other Applications also declare. */
  #unclaimed({ bound, cluster }: DeletionContext, objects: readonly KubeObject[]): readonly KubeObject[] {
    const claimed = this.#deps.claims.claimants({ key: bound.key, server: cluster.server, refs: objects.map(refOf) });
    return objects.filter((object) => !claimed.has(keyOf(object)));
  }

  async #managed(
    context: DeletionContext,
    targets: readonly ObjectName[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
    const instance = instanceName(context.bound.key, this.#config.namespace);
    const known = context.bound.app.status?.resources ?? [];
    const { cluster } = context;
    const { objects, degraded, unread } = await cluster.managed(
      { app: instance, targets, lastKnown: namesOf(known) },
      signal,
    );
    if (unread[0] !== undefined) throw new DeletionBlocked(unread[0].message);
    const deletedAt = parseTime(context.bound.app.metadata.deletionTimestamp) ?? 0;
    const staleKindAt = kindFinder(degraded.kinds);
    const blind = known.map((row) => staleKindAt(refOfStatus(row))).find((kind) => isBlind(kind, deletedAt));
    if (blind !== undefined)
      throw new DeletionBlocked(
        `the live state of ${blind.group}/${blind.kind} is not up to date: ${blind.message ?? blind.state}`,
      );
    refuseUnreadKinds(known, cluster);
    return objects;
  }
}

const awaitingConfirmation: WaitReason = {
  cause: 'confirmation',
  what: 'waiting for the deletion to be confirmed (argocd.argoproj.io/deletion-approved)',
};

/** The first one in the list decides how resources are deleted. */
function cascadeFinalizer(app: Application): string | undefined {
  return app.metadata.finalizers?.find((name) => cascadeNames.includes(name));
}

import { isAbort, mapLimit, messageOf } from '#base';
import type { Clock } from '#base';
import { gkOf } from '#compare';
import { healthOf } from '#health';
import { findResource, isAlreadyExists, isConflict, isNotFound } from '#kube';
import { failureOf } from '#live';
import type { LiveCluster, LiveClusters } from '#live';
import {
  annotationOf,
  annotations,
  asObject,
  csvAnnotation,
  finalizers,
  instanceName,
  isTrackable,
  isWorseHealth,
  keyOf,
  refOf,
  sourcesOf,
} from '#model';
import type { AppKey, Application, HealthStatusCode, KubeObject, ResourceKey, ResourceStatus } from '#model';
import type { Outcome } from '#queues';
import { isPostDeleteHook, isPreDeleteHook, optionValue, resourceOption, waveOf } from '#sync';
import type { Logger } from '#telemetry';
import type { BoundApplication } from './bound.ts';
import type { Claims } from './claims.ts';
import type { Syncer } from './syncer.ts';
import { filledCluster, namesOf } from './comparer.ts';
import type { Comparer } from './comparer.ts';
import { ClusterNotReady, DeletionBlocked } from './errors.ts';
import { cleanupOf, hookNames } from './finalizers.ts';
import type { DeleteHook } from './finalizers.ts';
import type { ApplicationStore } from './application-store.ts';
import { parseTime } from './kube-time.ts';
import type { Memories } from './memory.ts';
import type { GuardedWriter } from './writer.ts';

export interface DeleterDeps {
  readonly store: ApplicationStore;
  readonly comparer: Comparer;
  readonly live: LiveClusters;
  readonly syncer: Syncer;
  readonly memories: Memories;
  readonly claims: Pick<Claims, 'claimants'>;
  /** Undefined: the destination cannot be resolved. Throws when the project cannot be used: deletion waits for it. */
  readonly bind: (app: Application) => BoundApplication | undefined;
  /** The application has no more finalizers of ours: forget it everywhere. */
  readonly forget: (key: AppKey, app: Application) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is tried again, at the latest, when nothing moves; changes of managed objects come earlier. */
const backstopMs = 5000;
const soonMs = 500;
/** Whoever deletes is told what holds that up, when it takes this long. */
const longMs = 300_000;
const shownNames = 3;
const advice = 'Without its finalizers the Application goes at once, and what is left stays.';
const width = 20;

const isOfType: Readonly<Record<DeleteHook, (object: KubeObject) => boolean>> = {
  PreDelete: isPreDeleteHook,
  PostDelete: isPostDeleteHook,
};

/** What a step has not come to the end of: what it waits for, "" when it only has to go on. Undefined: it is at its end. */
type Left = string | undefined;

/** One application on its way out. */
interface Leaving {
  readonly bound: BoundApplication;
  readonly cluster: LiveCluster;
  readonly writer: GuardedWriter;
}

/**
 * Deletes what an Application with finalizers owns: pre-delete hooks, then its resources by descending wave, then post-delete hooks, then
 * both kinds of hooks themselves. One call does one step; progress is in the cluster and in the list of finalizers, so any replica may go
 * on. Source: Argo CD finalizeApplicationDeletion, controller/hook.go, sort_delete.go.
 *
 * Differences: deletion looks again by itself (Argo CD waits for an event); a kind of the application whose live state is not up to
 * date holds the finalizer, because what is not seen would be left behind.
 */
export class Deleter {
  readonly #deps: DeleterDeps;
  readonly #namespace: string;

  constructor(deps: DeleterDeps, config: { readonly namespace: string }) {
    this.#deps = deps;
    this.#namespace = config.namespace;
  }

  async handle(key: AppKey, app: Application, signal: AbortSignal): Promise<Outcome<undefined>> {
    try {
      const left = await this.#step(key, app, signal);
      if (left === undefined) return 'done';
      await this.waits(key, app, left);
      return { requeueAfterMs: backstopMs };
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof ClusterNotReady) throw error;
      // Lost a race for the object: nothing is wrong, read it again.
      if (isConflict(error)) return { requeueAfterMs: soonMs };
      this.#deps.logger.warn('Unable to delete application resources', { application: key, error });
      const message = messageOf(error);
      const told = error instanceof DeletionBlocked ? message : `${message}. It is tried again. ${advice}`;
      await this.#deps.store.persistDeletionError(app, told);
      return { requeueAfterMs: backstopMs };
    }
  }

  /** Notes what a deletion waits for; when that has taken long, its Application says so, and what a person may do. */
  async waits(key: AppKey, app: Application, what: string): Promise<void> {
    const memory = this.#deps.memories.of(key);
    if (what === '') {
      delete memory.leaving;
      return;
    }
    const now = this.#deps.clock.now();
    const since = memory.leaving?.what === what ? memory.leaving.since : now;
    memory.leaving = { what, since };
    if (now - since >= longMs && what !== forConfirmation)
      await this.#deps.store.persistDeletionError(app, `${what} for more than five minutes. ${advice}`);
  }

  async #step(key: AppKey, app: Application, signal: AbortSignal): Promise<Left> {
    if (!ownFinalizers(app).length) {
      await this.#deps.forget(key, app);
      return undefined;
    }
    const bound = this.#deps.bind(app);
    if (bound === undefined) return this.#giveUp(app);
    const leaving = await this.#leaving(bound, signal);
    if (has(app, finalizers.preDelete)) {
      return (await this.#runHooks(leaving, 'PreDelete', signal)) ?? this.#without(app, [finalizers.preDelete]);
    }
    if (cascadeFinalizer(app) !== undefined) {
      return (await this.#cascade(leaving, signal)) ?? this.#without(app, cascadeNames);
    }
    if (has(app, finalizers.postDelete)) {
      return (await this.#runHooks(leaving, 'PostDelete', signal)) ?? this.#without(app, [finalizers.postDelete]);
    }
    const type = has(app, cleanupOf.PreDelete) ? 'PreDelete' : 'PostDelete';
    return (await this.#cleanUp(leaving, type, signal)) ?? this.#without(app, [cleanupOf[type]]);
  }

  async #leaving(bound: BoundApplication, signal: AbortSignal): Promise<Leaving> {
    const cluster = await filledCluster(this.#deps, bound.cluster.server, signal);
    cluster.discovery();
    // Nobody being named is no reason not to delete.
    const writer = this.#deps.syncer.writer(bound, cluster, { user: bound.identity.deletes() });
    return { bound, cluster, writer };
  }

  /** Nobody can say where its resources are (Argo CD: the finalizers go, the resources stay). Said aloud, not only done. */
  async #giveUp(app: Application): Promise<Left> {
    this.#deps.store.announce(app, {
      type: 'Warning',
      reason: 'StatusRefreshed',
      message:
        'The destination cluster cannot be resolved: the application is deleted and its resources are left behind',
    });
    return this.#without(app, ownFinalizers(app));
  }

  async #without(app: Application, names: readonly string[]): Promise<Left> {
    const left = (app.metadata.finalizers ?? []).filter((name) => !names.includes(name));
    const stored = await this.#deps.store.setFinalizers(app, left);
    return stored === undefined || left.length === 0 ? undefined : '';
  }

  /** One wave of the resources. */
  async #cascade(leaving: Leaving, signal: AbortSignal): Promise<Left> {
    const { writer } = leaving;
    const { app, gate } = leaving.bound;
    const live = await this.#managed(leaving, [], signal);
    const objects = [...live.values()].filter((object) => gate.permits(object));
    const candidates = this.#unclaimed(
      leaving,
      objects.filter((object) => isDeletable(app, object)),
    );
    if (candidates.length === 0) return undefined;
    const going = objects.filter((object) => object.metadata.deletionTimestamp !== undefined);
    if (going.length > 0) return `waiting for the deletion of ${listed(going)}`;
    if (candidates.some((object) => lacksApproval(app, object))) return forConfirmation;
    const top = Math.max(...candidates.map(waveOf));
    const background = cascadeFinalizer(app) === finalizers.resourcesBackground;
    await mapLimit(
      candidates.filter((object) => waveOf(object) === top),
      width,
      (object) => tolerant(writer.delete(object, background ? 'Background' : 'Foreground', signal)),
    );
    return '';
  }

  /** Without what other Applications have, too. */
  #unclaimed({ bound, cluster }: Leaving, objects: readonly KubeObject[]): readonly KubeObject[] {
    const claimed = this.#deps.claims.claimants({ key: bound.key, server: cluster.server, refs: objects.map(refOf) });
    return objects.filter((object) => !claimed.has(keyOf(object)));
  }

  async #managed(
    leaving: Leaving,
    targets: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
    const instance = instanceName(leaving.bound.key, this.#namespace);
    const known = leaving.bound.app.status?.resources ?? [];
    const { cluster } = leaving;
    const { objects, degraded, unread } = await cluster.managed(
      { app: instance, targets, had: namesOf(known) },
      signal,
    );
    if (unread[0] !== undefined) throw new DeletionBlocked(unread[0].message);
    // Of a kind that is left out all that the application is known to have was read, one by one.
    const blind = degraded.kinds.find(
      (kind) => kind.state !== 'left-out' && known.some((r) => (r.group ?? '') === kind.group && r.kind === kind.kind),
    );
    if (blind !== undefined)
      throw new DeletionBlocked(
        `the live state of ${blind.group}/${blind.kind} is not up to date: ${blind.message ?? blind.state}`,
      );
    refuseUnknown(known, cluster);
    return objects;
  }

  /** Creates the hooks of a type that are not there and waits for them. */
  async #runHooks(leaving: Leaving, type: DeleteHook, signal: AbortSignal): Promise<Left> {
    const hooks = (await this.#targets(leaving, signal))
      .filter(isOfType[type])
      .map((hook) => named(hook, type, leaving.bound));
    const live = await this.#managed(leaving, hooks, signal);
    const missing = hooks.filter((hook) => !live.has(keyOf(hook)));
    const { misplaced } = leaving.bound.gate;
    if (missing.length > 0 && misplaced !== undefined) throw new DeletionBlocked(misplaced);
    for (const hook of missing) {
      await leaving.writer.create(hook, false, signal).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    }
    if (missing.length > 0) return '';
    const present = hooks.flatMap((hook) => live.get(keyOf(hook)) ?? []);
    const degraded = present.filter((hook) => this.#health(hook, leaving) === 'Degraded');
    for (const hook of degraded) await tolerant(leaving.writer.delete(hook, 'Foreground', signal));
    if (degraded.length > 0) {
      const names = degraded.map((hook) => `${hook.metadata.namespace ?? ''}/${hook.metadata.name ?? ''}`);
      throw new DeletionBlocked(`${type} hook(s) failed: ${names.join(', ')}`);
    }
    const running = present.filter((hook) => this.#health(hook, leaving) === 'Progressing');
    return running.length === 0 ? undefined : `waiting for the end of ${type} hook(s) ${listed(running)}`;
  }

  /** Deletes the hooks of a type whose delete policy says so. */
  async #cleanUp(leaving: Leaving, type: DeleteHook, signal: AbortSignal): Promise<Left> {
    const live = [...(await this.#managed(leaving, [], signal)).values()].filter(isOfType[type]);
    const worst = live.map((hook) => this.#health(hook, leaving)).reduce(worseOf, 'Healthy');
    const doomed = live.filter(
      (hook) =>
        (worst === 'Healthy' && declares(hook, 'HookSucceeded', 'hook-succeeded')) ||
        (worst === 'Degraded' && declares(hook, 'HookFailed', 'hook-failed')),
    );
    for (const hook of doomed)
      if (hook.metadata.deletionTimestamp === undefined)
        await tolerant(leaving.writer.delete(hook, 'Foreground', signal));
    return doomed.length === 0 ? undefined : `waiting for the deletion of ${type} hook(s) ${listed(doomed)}`;
  }

  #targets({ bound, cluster }: Leaving, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const revisions = sourcesOf(bound.app.spec).map((source) => source.targetRevision ?? '');
    const request = { bound, revisions, noCache: false, noRevisionCache: false, localManifests: [] };
    return this.#deps.comparer.targets(request, cluster, signal);
  }

  #health(object: KubeObject, { bound }: Leaving): HealthStatusCode {
    return healthOf(object, bound.settings)?.status ?? 'Healthy';
  }
}

/** A kind that discovery has never read, or does not name yet, is not watched: what there is of it would be left behind. */
function refuseUnknown(known: readonly ResourceStatus[], cluster: LiveCluster): void {
  const discovery = cluster.discovery();
  for (const { group = '', kind = '' } of known) {
    const failure = failureOf(discovery, group) ?? cluster.unsure();
    if (failure !== undefined && findResource(discovery, { group, kind }) === undefined)
      throw new DeletionBlocked(`the live state of ${group}/${kind} cannot be read: ${failure}`);
  }
}

/**
 * A hook that has only a prefix gets a name that is the same in each pass over this deletion: otherwise every pass would find it missing and
 * make another one, for ever (as Argo CD does).
 */
function named(hook: KubeObject, type: DeleteHook, { app }: BoundApplication): KubeObject {
  const { generateName, ...metadata } = hook.metadata;
  if (generateName === undefined || (metadata.name ?? '') !== '') return hook;
  const since = Math.floor((parseTime(app.metadata.deletionTimestamp) ?? 0) / 1000);
  return { ...hook, metadata: { ...metadata, name: `${generateName}${type.toLowerCase()}-${since}` } };
}

/** This one waits for a person, and may take as long as it likes. */
const forConfirmation = 'waiting for the deletion to be confirmed (argocd.argoproj.io/deletion-approved)';

/** `ConfigMap apps/a (finalizers: x/y)`: what a person has to look at. */
function listed(objects: readonly KubeObject[]): string {
  const names = objects.slice(0, shownNames).map(({ kind, metadata }) => {
    const place = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
    const held = metadata.deletionTimestamp === undefined ? [] : (metadata.finalizers ?? []);
    return `${kind} ${place}${metadata.name ?? ''}${held.length === 0 ? '' : ` (finalizers: ${held.join(', ')})`}`;
  });
  const more = objects.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const cascadeNames: readonly string[] = [
  finalizers.resources,
  finalizers.resourcesForeground,
  finalizers.resourcesBackground,
];
function has(app: Application, name: string): boolean {
  return app.metadata.finalizers?.includes(name) ?? false;
}

function ownFinalizers(app: Application): readonly string[] {
  return (app.metadata.finalizers ?? []).filter((name) => cascadeNames.includes(name) || hookNames.includes(name));
}

/** The first in the list decides how resources are deleted. */
function cascadeFinalizer(app: Application): string | undefined {
  return app.metadata.finalizers?.find((name) => cascadeNames.includes(name));
}

/** CRDs stay (their instances of other applications would go with them), and what its owner wants to keep. */
function isDeletable(app: Application, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  if (!isTrackable(object)) return false;
  if (group === 'argoproj.io' && kind === 'Application' && object.metadata.uid === app.metadata.uid) return false;
  if (deleteOption(app, object) === 'false') return false;
  return !csvAnnotation(object, annotations.helmResourcePolicy).includes('keep');
}

function deleteOption(app: Application, object: KubeObject): string | undefined {
  return resourceOption(object, 'Delete') ?? optionValue(app.spec.syncPolicy?.syncOptions ?? [], 'Delete');
}

function lacksApproval(app: Application, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  const { name, namespace } = object.metadata;
  const needed = app.status?.resources?.some(
    (r) =>
      r.requiresDeletionConfirmation === true &&
      (r.group ?? '') === group &&
      r.kind === kind &&
      r.name === name &&
      (r.namespace ?? '') === (namespace ?? ''),
  );
  if (needed !== true) return false;
  const approved = parseTime(annotationOf(asObject(app), annotations.deletionApproved));
  const since = parseTime(app.metadata.deletionTimestamp);
  return approved === undefined || (since !== undefined && approved < since);
}

function declares(hook: KubeObject, argo: string, helm: string): boolean {
  return (
    csvAnnotation(hook, annotations.hookDeletePolicy).includes(argo) ||
    csvAnnotation(hook, annotations.helmHookDeletePolicy).includes(helm)
  );
}

function worseOf(a: HealthStatusCode, b: HealthStatusCode): HealthStatusCode {
  return isWorseHealth(a, b) ? b : a;
}

/** Gone, or replaced by a namesake, is as good as deleted. What was marked otherwise meanwhile is looked at again by the next step. */
async function tolerant(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}

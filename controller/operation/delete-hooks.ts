import { mapLimit } from '#base';
import type { Clock } from '#base';
import { healthOf } from '#health';
import { isAlreadyExists, isConflict, isNotFound } from '#kube';
import type { LiveCluster } from '#live';
import { appLogFields, isWorseHealth, keyOf, sourcesOf } from '#model';
import type { Application, HealthStatusCode, KubeObject, ObjectName, ResourceKey } from '#model';
import {
  hasHookFinalizer,
  isLostHook,
  isPostDeleteHook,
  isPreDeleteHook,
  removeHookFinalizer,
  withHookFinalizer,
} from '#sync';
import type { Logger } from '#telemetry';
import type { BoundApplication } from '../admission/bound.ts';
import { cleanupFinalizers } from '../application/finalizers.ts';
import type { DeleteHook } from '../application/finalizers.ts';
import type { Comparer } from '../comparison/comparer.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { DeletionBlocked } from '../shared/errors.ts';
import type { WaitReason } from '../shared/waits.ts';
import type { GuardedWriter } from '../write/writer.ts';
import { describeObjects, hasDeletePolicy, logName, mayVanish, withStableNames } from './deletion-rules.ts';

export interface DeleteHookDeps {
  readonly comparer: Pick<Comparer, 'targets'>;
  readonly memories: Pick<AppMemories, 'note' | 'of'>;
  /** The live objects of the Application, and the named ones; throws if some cannot be seen. */
  readonly managed: (
    context: DeletionContext,
    targets: readonly ObjectName[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<ResourceKey, KubeObject>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long a failed delete hook stays, with its logs, before it is created again. */
const failedHookMs = 60_000;
export const parallelDeletes = 20;

/** Why this step is blocked; `'continue'`: it is not, `undefined`: it is finished. */
export type BlockedOn = WaitReason | 'continue' | undefined;

/** The application, cluster and writer of a deletion step. */
export interface DeletionContext {
  readonly bound: BoundApplication;
  readonly cluster: LiveCluster;
  readonly writer: GuardedWriter;
}

const isOfType: Readonly<Record<DeleteHook, (object: KubeObject) => boolean>> = {
  PreDelete: isPreDeleteHook,
  PostDelete: isPostDeleteHook,
};

/** The hooks that run before and after the resources of an Application are deleted. */
export class DeleteHooks {
  readonly #deps: DeleteHookDeps;

  constructor(deps: DeleteHookDeps) {
    this.#deps = deps;
  }

  /** Creates the missing hooks of a type and waits for all of them. */
  async run(context: DeletionContext, type: DeleteHook, signal: AbortSignal): Promise<BlockedOn> {
    const hooks = withStableNames((await this.#targets(context, signal)).filter(isOfType[type]), type, context.bound);
    const live = await this.#deps.managed(context, hooks, signal);
    let missing = hooks.filter((hook) => !live.has(keyOf(hook)));
    const { misplaced } = context.bound.gate;
    if (missing.length > 0 && misplaced !== undefined) throw new DeletionBlocked(misplaced);
    if (type === 'PostDelete') this.#deps.memories.note(context.bound.key, { hasPostDeleteBegun: true });
    missing = await this.#createHooks(context, missing, signal);
    const log = linesAbout(context, this.#deps.logger);
    for (const hook of missing) log(`Creating ${type} hook resource: ${logName(hook)}`);
    if (missing.length > 0) {
      log(`Created ${missing.length} ${type} hooks`);
      return 'continue';
    }
    const present = hooks.flatMap((hook) => live.get(keyOf(hook)) ?? []);
    const running = present.filter((hook) => this.#health(hook, context) === 'Progressing');
    const lost = running.filter((hook) => isLostHook(hook, this.#deps.clock.now()));
    const degraded = present.filter((hook) => this.#health(hook, context) === 'Degraded');
    if (lost.length + degraded.length > 0) await this.#retryFailed(context, type, [...degraded, ...lost], signal);
    if (running.length > 0) log(`Waiting for ${running.length} ${type} hooks to complete`);
    if (running.length > 0) return hookWait('end', type, running);
    // A later step releases them if there is one: a crash before it would run them again.
    if (!hasFinalizer(context.bound.app, cleanupFinalizers[type])) await this.release(context, present, signal);
    return undefined;
  }

  /** Creates hooks, and returns them without those that are over: gone with their namespace. */
  async #createHooks(
    { bound, writer }: DeletionContext,
    hooks: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<KubeObject[]> {
    const { memories } = this.#deps;
    const created = new Set(memories.of(bound.key).createdHooks);
    const present: KubeObject[] = [];
    for (const hook of hooks) {
      try {
        await writer.create(mayVanish(hook, created) ? withHookFinalizer(hook) : hook, signal);
      } catch (error) {
        if (isNotFound(error) && created.has(keyOf(hook))) continue;
        if (!isAlreadyExists(error)) throw error;
      }
      memories.note(bound.key, { createdHooks: new Set(created.add(keyOf(hook))) });
      present.push(hook);
    }
    return present;
  }

  /** Removes our finalizer from hooks that have ended, or are not waited for. */
  async release({ writer }: DeletionContext, hooks: readonly KubeObject[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const held = hooks.filter(hasHookFinalizer);
    await mapLimit(held, parallelDeletes, (hook) => removeHookFinalizer(hook, { writer, clock, signal }));
  }

  /**
   * Keeps failed hooks for a while, with their logs, and deletes them for the next attempt. In Argo
   * CD they are gone as soon as they have failed.
   * @throws DeletionBlocked
   */
  async #retryFailed(
    context: DeletionContext,
    type: DeleteHook,
    degraded: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<never> {
    const { memories } = this.#deps;
    const { key } = context.bound;
    const now = this.#deps.clock.now();
    const { hooksFailedAt = now, createdHooks } = memories.of(key);
    const isOver = now - hooksFailedAt >= failedHookMs;
    memories.note(key, { hooksFailedAt: isOver ? undefined : hooksFailedAt });
    if (isOver) {
      linesAbout(context, this.#deps.logger)(`Deleting ${degraded.length} failed ${type} hook(s) to allow retry`);
      await this.release(context, degraded, signal);
      const created = new Set(createdHooks);
      for (const hook of degraded) {
        if (!hasHookFinalizer(hook) && created.delete(keyOf(hook)))
          memories.note(key, { createdHooks: new Set(created) });
        await ignoreGone(context.writer.delete(hook, 'Foreground', signal));
      }
    }
    const names = degraded.map((hook) => `${hook.metadata.namespace ?? ''}/${hook.metadata.name ?? ''}`);
    throw new DeletionBlocked(`${type} hook(s) failed: ${names.join(', ')}`);
  }

  /** Deletes the hooks of a type according to their delete policy. */
  async cleanUp(context: DeletionContext, type: DeleteHook, signal: AbortSignal): Promise<BlockedOn> {
    const live = [...(await this.#deps.managed(context, [], signal)).values()].filter(isOfType[type]);
    await this.release(context, live, signal);
    const worst = live.map((hook) => this.#health(hook, context)).reduce(worseOf, 'Healthy');
    const doomed = live.filter(
      (hook) =>
        (worst === 'Healthy' && hasDeletePolicy(hook, 'HookSucceeded', 'hook-succeeded')) ||
        (worst === 'Degraded' && hasDeletePolicy(hook, 'HookFailed', 'hook-failed')),
    );
    const log = linesAbout(context, this.#deps.logger);
    for (const hook of doomed) {
      if (hook.metadata.deletionTimestamp !== undefined) continue;
      log(`Deleting ${type} hook ${hook.metadata.namespace ?? ''}/${hook.metadata.name ?? ''}`);
      await ignoreGone(context.writer.delete(hook, 'Foreground', signal));
    }
    if (doomed.length > 0) log(`Waiting for ${doomed.length} ${type} hooks to be deleted`);
    return doomed.length === 0 ? undefined : hookWait('deletion', type, doomed);
  }

  #targets({ bound, cluster }: DeletionContext, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const revisions = sourcesOf(bound.app.spec).map((source) => source.targetRevision ?? '');
    const cache = { revision: 'cached', manifests: 'cached' } as const;
    const request = { bound, revisions, cache, localManifests: [] };
    return this.#deps.comparer.targets(request, cluster, signal);
  }

  #health(object: KubeObject, { bound }: DeletionContext): HealthStatusCode {
    return healthOf(object, bound.settings)?.status ?? 'Healthy';
  }
}

/** Writes the lines of Argo CD about a deletion. */
export function linesAbout({ bound }: DeletionContext, logger: Logger): (message: string) => void {
  const fields = { ...appLogFields(bound.app) };
  return (message) => logger.info(message, fields);
}

function hookWait(event: 'end' | 'deletion', type: DeleteHook, hooks: readonly KubeObject[]): WaitReason {
  return { cause: 'delete hook', what: `waiting for the ${event} of ${type} hook(s) ${describeObjects(hooks)}` };
}

export function hasFinalizer(app: Application, name: string): boolean {
  return app.metadata.finalizers?.includes(name) ?? false;
}

function worseOf(a: HealthStatusCode, b: HealthStatusCode): HealthStatusCode {
  return isWorseHealth(a, b) ? b : a;
}

/**
 * Treats missing and replaced objects as deleted. The next step rereads objects that changed
 * meanwhile.
 */
export async function ignoreGone(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}

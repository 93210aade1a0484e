import { mapLimit, messageOf } from '#base';
import { groupOf } from '#model';
import type { OperationPhase, ResourceResult, ResultCode } from '#model';
import { applyTask, dryRunSkipped, pruneTask, rethrowPostponed } from './task.ts';
import {
  crdGroupKind,
  hasDeletePolicy,
  isDone,
  isPending,
  isPrune,
  isRunning,
  keyOfResult,
  objectOf,
  planTasks,
  resultOf,
  resultKey,
} from './plan.ts';
import type { SyncTask } from './plan.ts';
import { checkTasks, namelessTasks, namespaceTask } from './prepare.ts';
import { deleteLive, removeHookFinalizer } from './release.ts';
import {
  blockingTasks,
  deletionMessage,
  failureMessage,
  hasFailed,
  isBeingDeleted,
  isDeletionPending,
  isStatusOutdated,
  lacksConfirmation,
  nextWave,
  observeTask,
  waitingMessage,
  withoutSynced,
} from './step.ts';
import { isOwnHook, terminateHook, unplannedHooks } from './terminate.ts';
import type { SyncOutcome, SyncRequest } from './types.ts';

/** Maximum concurrent calls for objects of one kind; the writer's own limit may be lower. */
const maxParallelCalls = 20;

const dryRunFailedMessage = 'one or more objects failed to apply (dry run)';
const pauseMessage = 'waiting for the delay between sync waves';

type WaveState = 'successful' | 'pending' | 'failed';

/**
 * Runs one step of an operation: observes running tasks and starts at most one wave. Call it again
 * with the returned results until the phase is final. Equal inputs lead to equal steps, so any
 * replica can run the next one.
 *
 * Errors of the cluster go into results and phase. Rejects if `signal` aborts, ownership is lost or
 * the cluster is not ready (CLUSTER_NOT_READY); the next step finds what was applied until then.
 * Source: gitops-engine/pkg/sync/sync_context.go
 */
export function syncStep(request: SyncRequest): Promise<SyncOutcome> {
  return new StepRun(request).run();
}

/**
 * Terminates an operation: deletes running hooks and marks them as failed. A hook that has ended
 * keeps its result. The outcome is Failed `Operation terminated`, or Error if the cleanup failed.
 * Source: gitops-engine sync_context.go
 */
export function terminateSync(request: SyncRequest): Promise<SyncOutcome> {
  return new StepRun(request).terminate();
}

class StepRun {
  readonly #request: SyncRequest;
  readonly #results = new Map<string, ResourceResult>();
  #tasks: SyncTask[] = [];

  constructor(request: SyncRequest) {
    this.#request = request;
    for (const result of request.results) this.#results.set(keyOfResult(result), result);
  }

  async run(): Promise<SyncOutcome> {
    const refused = await this.#prepare();
    if (refused !== undefined) return refused;
    // Record a hook's end before removing its finalizer: if this replica dies in between, the next
    // one must not find the hook missing.
    if (this.#observeRunning()) return this.#outcome('Running', 'one or more tasks are running');
    const waiting = await this.#waitForRunning();
    if (waiting !== undefined) return waiting;
    const leaving = this.#tasks.filter(isDeletionPending);
    if (leaving.length > 0) return this.#outcome('Running', deletionMessage(leaving, this.#request.options));
    await this.#removeFinalizers(this.#tasks.filter((task) => task.isHook && isDone(task)));
    const proper = this.#tasks.filter((task) => task.phase !== 'SyncFail');
    if (proper.some(hasFailed)) return this.#fail('one or more synchronization tasks completed unsuccessfully');
    return this.#nextWave(proper);
  }

  async terminate(): Promise<SyncOutcome> {
    // A dry run has created nothing.
    if (this.#request.options.dryRun) return this.#outcome('Failed', 'Operation terminated');
    const planned = planTasks(this.#request, undefined);
    this.#tasks = [...planned, ...unplannedHooks(planned, this.#request)];
    await this.#removeFinalizers(this.#tasks.filter((task) => task.isHook && isDone(task)));
    let isClean = true;
    for (const task of this.#tasks.filter((each) => each.isHook && isRunning(each))) {
      const { clean, phase, message } = await terminateHook(task, this.#request);
      this.#record(task, { operationPhase: phase, message });
      isClean &&= clean;
    }
    return isClean
      ? this.#outcome('Failed', 'Operation terminated')
      : this.#outcome('Error', 'Operation termination had errors');
  }

  /**
   * Plans and checks the tasks; the first step of a dry run also tries them. Returns an outcome if
   * the step ends here.
   */
  async #prepare(): Promise<SyncOutcome | undefined> {
    const request = this.#request;
    const created = await namespaceTask(request);
    if ('error' in created) return this.#outcome('Failed', `namespace auto creation failed: ${created.error}`);
    this.#tasks = planTasks(request, created.task);
    const invalid = checkTasks(this.#tasks, request);
    for (const { task, message } of invalid) this.#record(task, { status: 'SyncFailed', message });
    if (invalid.length > 0) {
      const reasons = [...new Set(invalid.map(({ message }) => message))].sort();
      return this.#outcome('Failed', `one or more synchronization tasks are not valid: ${reasons.join('; ')}`);
    }
    if (request.results.length > 0) return undefined;
    return request.options.dryRun ? this.#dryRunAll() : this.#refuseNameless();
  }

  /** Sends a dry run of each object. */
  async #dryRunAll(): Promise<SyncOutcome | undefined> {
    const tasks = withoutSynced(this.#tasks, this.#request.options);
    const state = await this.#runTasks(tasks);
    return state === 'failed' ? this.#outcome('Failed', dryRunFailedMessage) : undefined;
  }

  /**
   * Refuses objects without a name, as Argo CD's dry run does. A real operation sends no dry run:
   * the server cannot check objects whose namespace or CRD comes with the same sync.
   */
  #refuseNameless(): SyncOutcome | undefined {
    const nameless = namelessTasks(withoutSynced(this.#tasks, this.#request.options), this.#request);
    for (const { task, message } of nameless)
      this.#record(task, { status: 'SyncFailed', operationPhase: 'Failed', message });
    return nameless.length > 0 ? this.#outcome('Failed', dryRunFailedMessage) : undefined;
  }

  /** Updates the running tasks. Returns whether a hook has ended since the last step. */
  #observeRunning(): boolean {
    const { clock, startedAt } = this.#request;
    let ended = false;
    for (const task of this.#tasks) {
      if (!isRunning(task) || task.live === null) continue;
      try {
        const health = this.#request.health(task.live);
        if (health !== null && isStatusOutdated(task, task.live, clock.now() - startedAt)) continue;
        const seen = observeTask(task, task.live, health, clock.now());
        if (seen !== undefined) this.#record(task, { operationPhase: seen.phase, message: seen.message });
      } catch (error) {
        // Like Argo CD, wait for a resource whose health check fails.
        if (!task.isHook) continue;
        this.#record(task, { operationPhase: 'Error', message: `failed to get resource health: ${messageOf(error)}` });
      }
      ended ||= task.isHook && isDone(task);
    }
    return ended;
  }

  /** Waits for blocking tasks. A task whose object is missing from the cluster has failed. */
  async #waitForRunning(): Promise<SyncOutcome | undefined> {
    const running = blockingTasks(this.#tasks);
    if (running.length === 0) return undefined;
    for (const task of running) {
      if (task.live !== null) continue;
      const missing = await this.#whyMissing(task);
      if (missing !== undefined) this.#record(task, { operationPhase: 'Error', ...missing });
    }
    return this.#outcome('Running', waitingMessage(running, this.#request.options));
  }

  /** Undefined: the object is there, only not in the cache yet. */
  async #whyMissing(task: SyncTask): Promise<{ message: string; status?: ResultCode } | undefined> {
    const object = objectOf(task);
    try {
      const live = await this.#request.writer.get(object, this.#request.signal);
      if (live !== null) return undefined;
      const name = `${groupOf(object.apiVersion)}/${object.kind}/${object.metadata.name ?? ''}`;
      return { status: 'SyncFailed', message: `Resource ${name} is missing, it might have been deleted` };
    } catch (error) {
      rethrowPostponed(error, this.#request);
      return { message: `Failed to get live resource ${messageOf(error)}` };
    }
  }

  async #nextWave(proper: readonly SyncTask[]): Promise<SyncOutcome> {
    const { options } = this.#request;
    const pending = withoutSynced(proper.filter(isPending), options);
    if (pending.length === 0) {
      await this.#deleteHooks('HookSucceeded');
      return this.#outcome('Succeeded', 'successfully synced (no more tasks)');
    }
    const { current, remaining } = nextWave(pending);
    const last = lastWave(proper, current);
    if (last !== undefined && this.#pauseMs(last) > 0) return this.#outcome('Running', pauseMessage);
    const state = await this.#runTasks(current);
    if (state === 'failed') return this.#waveFailed(current);
    // Start the pause after this wave; a later step checks that it is over.
    if (state === 'successful' && remaining.length > 0) this.#pauseMs(current[0]);
    if (state === 'pending')
      return this.#outcome(
        'Running',
        deletionMessage(
          current.filter((task) => isStaleHook(task) || (isPrune(task) && isPending(task))),
          options,
        ),
      );
    if (remaining.length === 0 && current.every((task) => !task.isHook)) {
      await this.#deleteHooks('HookSucceeded');
      return this.#outcome('Succeeded', 'successfully synced (all tasks run)');
    }
    return this.#outcome('Running', waitingMessage(current, options));
  }

  /** Remaining pause after the wave of this task. */
  #pauseMs(task: SyncTask | undefined): number {
    const { options, attempt, waveAppliedAt, clock } = this.#request;
    if (task === undefined || options.dryRun || options.waveDelayMs <= 0) return 0;
    return waveAppliedAt(waveName(attempt, task)) + options.waveDelayMs - clock.monotonic();
  }

  /**
   * If tasks of the wave are still running, starts the SyncFail hooks and waits for both. A later
   * step fails the operation.
   */
  async #waveFailed(current: readonly SyncTask[]): Promise<SyncOutcome> {
    const running = current.filter(isRunning);
    if (running.length === 0) return this.#fail('one or more objects failed to apply');
    const handlers = this.#tasks.filter((task) => task.phase === 'SyncFail');
    await this.#runTasks(handlers.filter(isPending));
    return this.#outcome('Running', waitingMessage([...running, ...handlers], this.#request.options));
  }

  /** Runs the SyncFail hooks, then fails the operation. */
  async #fail(message: string): Promise<SyncOutcome> {
    const text = failureMessage(
      message,
      this.#tasks.filter((task) => task.phase !== 'SyncFail' && task.status === 'SyncFailed'),
    );
    const handlers = this.#tasks.filter((task) => task.phase === 'SyncFail');
    const open = handlers.filter(isPending);
    if (open.length > 0) {
      await this.#runTasks(open);
      return this.#outcome('Running', waitingMessage(open, this.#request.options));
    }
    await this.#deleteHooks('HookFailed');
    const failed = handlers.filter((task) => task.status === 'SyncFailed');
    if (failed.length === 0) return this.#outcome('Failed', text);
    return this.#outcome('Failed', `${text}\n${failureMessage('one or more SyncFail hooks failed', failed)}`);
  }

  /**
   * Prunes, then deletes hooks of earlier runs, then applies kind by kind. Starts nothing while a
   * prune needs a confirmation, and does not apply if a prune or hook deletion failed or is
   * pending. A dry-run operation only tries, and needs no confirmation.
   */
  async #runTasks(tasks: readonly SyncTask[]): Promise<WaveState> {
    const { options } = this.#request;
    if (!(await this.#removeStaleFinalizers(tasks.filter((task) => task.isHook && isPending(task))))) return 'failed';
    // A dry run needs no confirmation.
    if (!options.dryRun && tasks.some((task) => lacksConfirmation(task, options))) return 'pending';
    let state = await this.#pruneAll(tasks.filter(isPrune));
    if (state !== 'successful') return state;
    const creates = tasks.filter((task) => !isPrune(task));
    if (!options.dryRun)
      state = worstState(
        await mapLimit(creates.filter(isStaleHook), maxParallelCalls, (task) => this.#deleteBeforeCreation(task)),
      );
    if (state !== 'successful') return state;
    const states: WaveState[] = [];
    for (const group of byKind(creates)) {
      states.push(...(await mapLimit(group, maxParallelCalls, (task) => this.#apply(task))));
    }
    return worstState(states);
  }

  /** Definitions last: the server refuses requests for objects of a kind that it is removing. */
  async #pruneAll(prunes: readonly SyncTask[]): Promise<WaveState> {
    const isDefinition = (task: SyncTask): boolean => crdGroupKind(objectOf(task)) !== undefined;
    const objects = prunes.filter((task) => !isDefinition(task));
    const state = worstState(await mapLimit(objects, maxParallelCalls, (task) => this.#prune(task)));
    if (state !== 'successful') return state;
    return worstState(await mapLimit(prunes.filter(isDefinition), maxParallelCalls, (task) => this.#prune(task)));
  }

  async #prune(task: SyncTask): Promise<WaveState> {
    const result = await pruneTask(task, this.#request);
    const failed = result.status === 'SyncFailed';
    this.#record(task, { ...result, operationPhase: failed ? 'Failed' : 'Succeeded' });
    return failed ? 'failed' : 'successful';
  }

  async #apply(task: SyncTask): Promise<WaveState> {
    const { dryRun } = this.#request.options;
    const result = dryRun && task.skipDryRun ? dryRunSkipped(task) : await applyTask(task, this.#request);
    const failed = result.status === 'SyncFailed';
    if (result.object !== undefined && !dryRun) task.live = result.object;
    const applied: OperationPhase = dryRun ? 'Succeeded' : 'Running';
    this.#record(task, {
      status: result.status,
      message: result.message,
      operationPhase: failed ? 'Failed' : applied,
    });
    return failed ? 'failed' : 'successful';
  }

  async #deleteBeforeCreation(task: SyncTask): Promise<WaveState> {
    const deletion = await this.#deleteHook(task);
    if (deletion === 'missing') task.live = null;
    if (deletion === 'failed') return 'failed';
    return deletion === 'missing' ? 'successful' : 'pending';
  }

  async #deleteHooks(policy: 'HookSucceeded' | 'HookFailed'): Promise<void> {
    if (this.#request.options.dryRun) return;
    const finished = this.#tasks.filter(
      (task) => hasDeletePolicy(task, policy) && task.live !== null && !isBeingDeleted(task.live) && !isRunning(task),
    );
    await mapLimit(finished, maxParallelCalls, (task) => this.#deleteHook(task));
  }

  async #deleteHook(task: SyncTask): Promise<'deleted' | 'missing' | 'failed'> {
    if (task.live === null) return 'missing';
    try {
      const released = await removeHookFinalizer(task.live, this.#request);
      if (released === null) return 'missing';
      // Another controller holds it: a second deletion would change nothing.
      if (isBeingDeleted(released)) return 'deleted';
      return (await deleteLive(released, this.#request)) ? 'deleted' : 'missing';
    } catch (error) {
      rethrowPostponed(error, this.#request);
      this.#record(task, { operationPhase: 'Error', message: `failed to delete resource: ${messageOf(error)}` });
      return 'failed';
    }
  }

  /**
   * Removes the finalizers of completed hooks. Reads a hook that the cache does not have: a
   * finalizer left behind would block its deletion, and that of the Application.
   */
  async #removeFinalizers(tasks: readonly SyncTask[]): Promise<void> {
    if (this.#request.options.dryRun) return;
    const { writer, signal } = this.#request;
    await mapLimit(tasks, maxParallelCalls, (task) =>
      this.#releaseHook(task, 'Failed to remove hook finalizer', async () => {
        const live = task.live ?? (await writer.get(objectOf(task), signal));
        task.live = live !== null && isOwnHook(live, this.#request) ? live : null;
      }),
    );
  }

  /** Removes the finalizers of hooks that an earlier sync left. Returns whether that succeeded. */
  async #removeStaleFinalizers(tasks: readonly SyncTask[]): Promise<boolean> {
    if (this.#request.options.dryRun) return true;
    const released = await mapLimit(tasks, maxParallelCalls, (task) =>
      this.#releaseHook(task, 'failed to remove hook finalizer'),
    );
    return released.every(Boolean);
  }

  async #releaseHook(task: SyncTask, problem: string, find?: () => Promise<void>): Promise<boolean> {
    try {
      await find?.();
      if (task.live !== null) task.live = await removeHookFinalizer(task.live, this.#request);
      return true;
    } catch (error) {
      rethrowPostponed(error, this.#request);
      this.#record(task, { operationPhase: 'Error', message: `${problem}: ${messageOf(error)}` });
      return false;
    }
  }

  /** Changes a task and its recorded result. An empty message keeps the previous one. */
  #record(task: SyncTask, change: { status?: ResultCode; operationPhase?: OperationPhase; message?: string }): void {
    if (change.status !== undefined) task.status = change.status;
    if (change.operationPhase !== undefined) task.operationPhase = change.operationPhase;
    if (change.message !== undefined && change.message !== '') task.message = change.message;
    const key = resultKey(task, this.#request.destinationNamespace);
    const known = this.#results.get(key);
    const fresh = resultOf(task, this.#request.destinationNamespace);
    this.#results.set(key, known === undefined ? fresh : { ...known, ...fresh });
  }

  #outcome(phase: OperationPhase, message: string): SyncOutcome {
    return { phase, message, results: [...this.#results.values()] };
  }
}

/** Identifies a wave on every replica; begins with {@link SyncRequest.attempt}. */
function waveName(attempt: string, { phase, wave }: SyncTask): string {
  return `${attempt} ${phase} ${wave}`;
}

/** A task of the wave that was applied before the wave of `next`; undefined if there is none. */
function lastWave(tasks: readonly SyncTask[], [next]: readonly SyncTask[]): SyncTask | undefined {
  const before = tasks.filter((task) => !isPending(task) && (task.phase !== next?.phase || task.wave !== next.wave));
  return before.at(-1);
}

function isStaleHook(task: SyncTask): boolean {
  return task.isHook && task.live !== null && isPending(task) && hasDeletePolicy(task, 'BeforeHookCreation');
}

/** Groups consecutive tasks of the same kind. */
function byKind(tasks: readonly SyncTask[]): SyncTask[][] {
  const groups: SyncTask[][] = [];
  for (const task of tasks) {
    const group = groups.at(-1);
    const previous = group?.[0];
    if (group !== undefined && previous !== undefined && objectOf(previous).kind === objectOf(task).kind)
      group.push(task);
    else groups.push([task]);
  }
  return groups;
}

function worstState(states: readonly WaveState[]): WaveState {
  if (states.includes('failed')) return 'failed';
  return states.includes('pending') ? 'pending' : 'successful';
}

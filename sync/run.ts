import { mapLimit, messageOf } from '#base';
import { groupOf, isCompleted } from '#model';
import type { OperationPhase, ResourceResult, ResultCode } from '#model';
import { applyTask, notTried, pruneTask } from './task.ts';
import { hookPhase } from './hooks.ts';
import {
  hasPolicy,
  isDone,
  isPending,
  isPrune,
  isRunning,
  keyOfResult,
  objectOf,
  planTasks,
  recordOf,
  resultKey,
} from './plan.ts';
import type { SyncTask } from './plan.ts';
import { checkTasks, namespaceTask } from './prepare.ts';
import { isMissing, releaseHook } from './release.ts';
import {
  awaited,
  failureMessage,
  hasFailed,
  hasHookFinalizer,
  isBeingDeleted,
  isLeaving,
  isOutdated,
  lacksConfirmation,
  nextWave,
  observe,
  waitingFor,
  waitingMessage,
  withoutSynced,
} from './step.ts';
import type { SyncOutcome, SyncRequest } from './types.ts';

/** How many objects of one kind are applied at once; the writer's own limit may be tighter. */
const width = 20;

type WaveState = 'successful' | 'pending' | 'failed';

/**
 * One step of an operation: looks at what runs, and starts at most one wave. Call it again with the results it returned until the phase is
 * final; equal inputs lead to equal steps, so any replica may make the next one.
 *
 * Never rejects for what the cluster answers: that goes into results and phase. Rejects when `signal` aborts or ownership is lost; what was
 * applied until then stays applied and is found again by the next step.
 * Source: gitops-engine/pkg/sync/sync_context.go (Sync).
 */
export function syncStep(request: SyncRequest): Promise<SyncOutcome> {
  return new Step(request).run();
}

/**
 * Ends an operation: running hooks are deleted and count as failed. The outcome is Failed `Operation terminated`, or Error when
 * something could not be cleaned up. Source: gitops-engine sync_context.go (Terminate).
 */
export function terminateSync(request: SyncRequest): Promise<SyncOutcome> {
  return new Step(request).terminate();
}

class Step {
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
    // The end of a hook is recorded before the hook may go: a replica that dies in between must not take it for vanished.
    if (this.#observeRunning()) return this.#outcome('Running', 'one or more tasks are running');
    const waiting = await this.#waitForRunning();
    if (waiting !== undefined) return waiting;
    const leaving = this.#tasks.filter(isLeaving);
    if (leaving.length > 0) return this.#outcome('Running', waitingFor('deletion of', leaving));
    await this.#releaseHooks(this.#tasks.filter((task) => task.hook && isDone(task)));
    const proper = this.#tasks.filter((task) => task.phase !== 'SyncFail');
    if (proper.some(hasFailed)) return this.#fail('one or more synchronization tasks completed unsuccessfully');
    return this.#nextWave(proper);
  }

  async terminate(): Promise<SyncOutcome> {
    this.#tasks = planTasks(this.#request, undefined);
    // Nothing that is there was made by a dry run.
    if (this.#request.options.dryRun) return this.#outcome('Failed', 'Operation terminated');
    let ok = true;
    for (const task of this.#tasks) {
      if (task.hook && isRunning(task)) ok = (await this.#terminateHook(task)) && ok;
    }
    await this.#releaseHooks(this.#tasks.filter((task) => task.hook && isDone(task)));
    return ok
      ? this.#outcome('Failed', 'Operation terminated')
      : this.#outcome('Error', 'Operation termination had errors');
  }

  /** Plans, checks and, at the very start, tries everything without writing. A returned outcome ends the step. */
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
    return request.results.length === 0 ? this.#tryAll() : undefined;
  }

  /**
   * Nothing may be half applied because of a fault that can be seen beforehand. An operation that is itself a dry run asks the server about each
   * object here; a real one was checked without calls, since objects of a namespace or CRD that comes with the sync cannot be asked about.
   */
  async #tryAll(): Promise<SyncOutcome | undefined> {
    if (!this.#request.options.dryRun) return undefined;
    const tasks = withoutSynced(this.#tasks, this.#request.options);
    const state = await this.#runTasks(tasks);
    return state === 'failed' ? this.#outcome('Failed', 'one or more objects failed to apply (dry run)') : undefined;
  }

  /** Looks at what runs; true when a hook came to its end since the last step. */
  #observeRunning(): boolean {
    const { clock, startedAt } = this.#request;
    let ended = false;
    for (const task of this.#tasks) {
      if (!isRunning(task) || task.live === null) continue;
      try {
        const health = this.#request.health(task.live);
        if (health !== null && isOutdated(task, task.live, clock.now() - startedAt)) continue;
        const seen = observe(task, task.live, health);
        this.#record(task, { operationPhase: seen.phase, message: seen.message });
      } catch (error) {
        this.#record(task, { operationPhase: 'Error', message: `failed to get resource health: ${messageOf(error)}` });
      }
      ended ||= task.hook && isDone(task);
    }
    return ended;
  }

  /** Running tasks hold the operation up. One whose object is nowhere to be found has failed. */
  async #waitForRunning(): Promise<SyncOutcome | undefined> {
    const running = awaited(this.#tasks);
    if (running.length === 0) return undefined;
    for (const task of running) {
      if (task.live !== null) continue;
      const missing = await this.#lookFor(task);
      if (missing !== undefined)
        this.#record(task, { status: 'SyncFailed', operationPhase: 'Error', message: missing });
    }
    return this.#outcome('Running', waitingMessage(running, this.#request.options));
  }

  async #lookFor(task: SyncTask): Promise<string | undefined> {
    const object = objectOf(task);
    try {
      const live = await this.#request.writer.get(object, this.#request.signal);
      if (live !== null) return undefined;
      const name = `${groupOf(object.apiVersion)}/${object.kind}/${object.metadata.name ?? ''}`;
      return `Resource ${name} is missing, it might have been deleted`;
    } catch (error) {
      this.#request.signal.throwIfAborted();
      return `Failed to get live resource ${messageOf(error)}`;
    }
  }

  async #nextWave(proper: readonly SyncTask[]): Promise<SyncOutcome> {
    const { options, clock, signal } = this.#request;
    const pending = withoutSynced(proper.filter(isPending), options);
    if (pending.length === 0) {
      await this.#deleteHooks('HookSucceeded');
      return this.#outcome('Succeeded', 'successfully synced (no more tasks)');
    }
    const { current, remaining } = nextWave(pending);
    const state = await this.#runTasks(current);
    if (state === 'failed') return this.#waveFailed(current);
    if (remaining.length > 0 && !options.dryRun) await clock.sleep(options.waveDelayMs, signal);
    if (state === 'pending')
      return this.#outcome(
        'Running',
        waitingMessage(
          current.filter((t) => isPending(t)),
          options,
        ),
      );
    if (remaining.length === 0 && current.every((task) => !task.hook)) {
      await this.#deleteHooks('HookSucceeded');
      return this.#outcome('Succeeded', 'successfully synced (all tasks run)');
    }
    return this.#outcome('Running', waitingMessage(current.filter(isRunning), options));
  }

  /** What already runs is waited for; the failure then surfaces in a later step. */
  async #waveFailed(current: readonly SyncTask[]): Promise<SyncOutcome> {
    const running = current.filter(isRunning);
    if (running.length === 0) return this.#fail('one or more objects failed to apply');
    const handlers = this.#tasks.filter((task) => task.phase === 'SyncFail' && isPending(task));
    await this.#runTasks(handlers);
    return this.#outcome('Running', waitingMessage([...running, ...handlers.filter(isRunning)], this.#request.options));
  }

  /** The failure phase: SyncFail hooks run to their end, then the operation fails. */
  async #fail(message: string): Promise<SyncOutcome> {
    const text = failureMessage(
      message,
      this.#tasks.filter((task) => task.phase !== 'SyncFail' && task.status === 'SyncFailed'),
    );
    const handlers = this.#tasks.filter((task) => task.phase === 'SyncFail');
    const open = handlers.filter(isPending);
    if (open.length > 0) {
      await this.#runTasks(open);
      return this.#outcome('Running', waitingMessage(handlers.filter(isRunning), this.#request.options));
    }
    await this.#deleteHooks('HookFailed');
    const failed = handlers.filter((task) => task.status === 'SyncFailed');
    if (failed.length === 0) return this.#outcome('Failed', text);
    return this.#outcome('Failed', `${text}\n${failureMessage('one or more SyncFail hooks failed', failed)}`);
  }

  /**
   * Prunes, then old hooks, then creates, kind after kind; each part only if the one before was successful. An operation that is a dry run
   * only tries, in every wave: also what its first try left open, because a person has to confirm it or its kind is still to come.
   */
  async #runTasks(tasks: readonly SyncTask[]): Promise<WaveState> {
    const { options } = this.#request;
    await this.#releaseHooks(tasks.filter((task) => task.hook && isPending(task)));
    // Nobody is asked to confirm what is only tried.
    if (!options.dryRun && tasks.some((task) => lacksConfirmation(task, options))) return 'pending';
    let state = worst(await mapLimit(tasks.filter(isPrune), width, (task) => this.#prune(task)));
    if (state !== 'successful') return state;
    const creates = tasks.filter((task) => !isPrune(task));
    if (!options.dryRun)
      state = worst(await mapLimit(creates.filter(isStaleHook), width, (task) => this.#deleteBeforeCreation(task)));
    if (state !== 'successful') return state;
    const states: WaveState[] = [];
    for (const group of byKind(creates)) {
      states.push(...(await mapLimit(group, width, (task) => this.#apply(task))));
    }
    return worst(states);
  }

  async #prune(task: SyncTask): Promise<WaveState> {
    const result = await pruneTask(task, this.#request);
    const failed = result.status === 'SyncFailed';
    this.#record(task, { ...result, operationPhase: failed ? 'Failed' : 'Succeeded' });
    return failed ? 'failed' : 'successful';
  }

  async #apply(task: SyncTask): Promise<WaveState> {
    const { dryRun } = this.#request.options;
    const result = dryRun && task.skipDryRun ? notTried(task) : await applyTask(task, this.#request);
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
    const gone = await this.#deleteHook(task);
    if (gone === 'missing') task.live = null;
    if (gone === 'failed') return 'failed';
    return gone === 'missing' ? 'successful' : 'pending';
  }

  async #deleteHooks(policy: 'HookSucceeded' | 'HookFailed'): Promise<void> {
    if (this.#request.options.dryRun) return;
    const doomed = this.#tasks.filter(
      (task) => hasPolicy(task, policy) && task.live !== null && !isBeingDeleted(task.live) && !isRunning(task),
    );
    await mapLimit(doomed, width, (task) => this.#deleteHook(task));
  }

  async #deleteHook(task: SyncTask): Promise<'deleted' | 'missing' | 'failed'> {
    if (task.live === null) return 'missing';
    try {
      const released = await releaseHook(task.live, this.#request);
      if (released === null) return 'missing';
      const { writer, options, signal } = this.#request;
      const deletion = await writer.delete(released, options.prunePropagationPolicy, signal);
      if (deletion === 'changed') throw new Error('it has been marked otherwise since it was looked at');
      return 'deleted';
    } catch (error) {
      if (isMissing(error)) return 'missing';
      this.#request.signal.throwIfAborted();
      this.#record(task, { operationPhase: 'Error', message: `failed to delete resource: ${messageOf(error)}` });
      return 'failed';
    }
  }

  async #releaseHooks(tasks: readonly SyncTask[]): Promise<void> {
    if (this.#request.options.dryRun) return;
    await mapLimit(tasks, width, async (task) => {
      if (task.live === null || !hasHookFinalizer(task.live)) return;
      try {
        task.live = await releaseHook(task.live, this.#request);
      } catch (error) {
        this.#request.signal.throwIfAborted();
        this.#record(task, {
          operationPhase: 'Error',
          message: `failed to remove hook finalizer: ${messageOf(error)}`,
        });
      }
    });
  }

  async #terminateHook(task: SyncTask): Promise<boolean> {
    const { writer, health, signal } = this.#request;
    try {
      task.live = await writer.get(task.live ?? objectOf(task), signal);
      if (task.live === null) {
        this.#record(task, { operationPhase: 'Succeeded', message: 'Terminated' });
        return true;
      }
      const now = hookPhase(task.live, health(task.live));
      if (isCompleted(now.phase) && !hasPolicy(task, 'HookFailed'))
        this.#record(task, { operationPhase: now.phase, message: now.message });
      else if ((await this.#deleteHook(task)) === 'failed') return false;
      else this.#record(task, { operationPhase: 'Failed', message: 'Terminated' });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#record(task, { operationPhase: 'Error', message: messageOf(error) });
      return false;
    }
  }

  /** Changes a task and its result record. An empty message keeps the one before. */
  #record(task: SyncTask, change: { status?: ResultCode; operationPhase?: OperationPhase; message?: string }): void {
    if (change.status !== undefined) task.status = change.status;
    if (change.operationPhase !== undefined) task.operationPhase = change.operationPhase;
    if (change.message !== undefined && change.message !== '') task.message = change.message;
    const key = resultKey(task, this.#request.destinationNamespace);
    const known = this.#results.get(key);
    const fresh = recordOf(task, this.#request.destinationNamespace);
    this.#results.set(key, known === undefined ? fresh : { ...known, ...fresh });
  }

  #outcome(phase: OperationPhase, message: string): SyncOutcome {
    return { phase, message, results: [...this.#results.values()] };
  }
}

function isStaleHook(task: SyncTask): boolean {
  return task.hook && task.live !== null && isPending(task) && hasPolicy(task, 'BeforeHookCreation');
}

/** Neighbours of the same kind go together; the order of the groups is the order of the tasks. */
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

function worst(states: readonly WaveState[]): WaveState {
  if (states.includes('failed')) return 'failed';
  return states.includes('pending') ? 'pending' : 'successful';
}

import { abortable, newAbortController, withDeadline } from './abort.ts';
import type { Clock } from './clock.ts';
import { isAbort, Shutdown } from './errors.ts';

/**
 * A component with a lifetime. `run` starts it, resolves when it has fully stopped after `signal`
 * aborted, and rejects if it cannot continue. Constructors start nothing.
 */
export interface Runnable {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when others may rely on it (a cache is filled, a port listens). */
  ready?(signal: AbortSignal): Promise<void>;
}

/**
 * The `run` of a component that repeats a step, which waits with `signal`: resolves when it has
 * aborted, and rejects with the error of a step.
 */
export async function repeatUntilAborted(signal: AbortSignal, step: () => Promise<void>): Promise<void> {
  try {
    for (;;) await step();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * Starts `groups` in order: a group starts when all earlier groups are ready. When `signal` aborts
 * or a runnable fails, the groups stop one by one in reverse order, under one deadline for all; at
 * the deadline the remaining groups are aborted at once and not waited for. Rejects with the first
 * failure; later failures become its cause.
 */
export async function runGroups(
  groups: readonly (readonly Runnable[])[],
  signal: AbortSignal,
  options: { readonly clock: Clock; readonly graceMs: number },
): Promise<void> {
  const failures: unknown[] = [];
  const stopping = newAbortController();
  const begin = (): void => stopping.abort(signal.reason ?? new Shutdown());
  signal.addEventListener('abort', begin, { once: true });
  if (signal.aborted) begin();
  const started: RunnableGroup[] = [];
  try {
    for (const runnables of groups) {
      if (stopping.signal.aborted) break;
      const group = new RunnableGroup(runnables, (error) => {
        failures.push(error);
        begin();
      });
      started.push(group);
      await group.ready(stopping.signal);
    }
    await new Promise<void>((resolve) => {
      if (stopping.signal.aborted) resolve();
      else stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  } catch (error) {
    if (!stopping.signal.aborted) failures.push(error);
  } finally {
    signal.removeEventListener('abort', begin);
  }
  await stopAll(started, options).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw combineFailures(failures);
}

async function stopAll(groups: readonly RunnableGroup[], options: { clock: Clock; graceMs: number }): Promise<void> {
  const never = newAbortController().signal;
  try {
    await withDeadline(never, { clock: options.clock, limitMs: options.graceMs, what: 'stopping' }, async () => {
      for (const group of [...groups].reverse()) await group.stop();
    });
  } catch (error) {
    // A hanging group must not keep the others from releasing resources (leases, for example).
    for (const group of [...groups].reverse()) void group.stop();
    throw error;
  }
}

/** The first failure, with all others as its cause. */
function combineFailures([first, ...later]: readonly unknown[]): Error {
  const error = first instanceof Error ? first : new Error(String(first));
  if (later.length === 0) return error;
  const causes = error.cause === undefined ? later : [error.cause, ...later];
  const cause = causes.length === 1 ? causes[0] : new AggregateError(causes, 'several components failed');
  Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true });
  return error;
}

/**
 * Turns a synchronous throw of `run` into a rejection, so that the other runnables are still
 * awaited.
 */
async function startRunnable(runnable: Runnable, signal: AbortSignal): Promise<void> {
  await runnable.run(signal);
}

class RunnableGroup {
  readonly #stop = newAbortController();
  readonly #runnables: readonly Runnable[];
  readonly #ended: Promise<unknown>;

  constructor(runnables: readonly Runnable[], onFailure: (error: unknown) => void) {
    this.#runnables = runnables;
    this.#ended = Promise.all(
      runnables.map((runnable) =>
        startRunnable(runnable, this.#stop.signal).catch((error: unknown) => {
          if (!this.#stop.signal.aborted || !isAbort(error)) onFailure(error);
        }),
      ),
    );
  }

  async ready(signal: AbortSignal): Promise<void> {
    await abortable(Promise.all(this.#runnables.map((r) => r.ready?.(signal) ?? Promise.resolve())), signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Shutdown());
    await this.#ended;
  }
}

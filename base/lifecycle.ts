import { abortable, newAbortController, withDeadline } from './abort.ts';
import type { Clock } from './clock.ts';
import { isAbort, Shutdown } from './errors.ts';

/**
 * Anything with a life. `run` starts it, resolves when it has fully stopped after `signal` aborted, and rejects when it
 * cannot go on. Constructors start nothing.
 */
export interface Runnable {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when others may rely on it (a cache is filled, a port listens). */
  ready?(signal: AbortSignal): Promise<void>;
}

/**
 * Runs `groups` in order: a group starts when all of the group before are ready. When `signal` aborts, or one runnable fails, the
 * groups stop in reverse order, each waited for, with one deadline for everything; when it is over, all groups that are left are told to
 * stop at once and no longer waited for. Rejects with the first failure; later ones are kept as its cause, not lost.
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
  const started: Group[] = [];
  try {
    for (const runnables of groups) {
      if (stopping.signal.aborted) break;
      const group = new Group(runnables, (error) => {
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
  if (failures.length > 0) throw combined(failures);
}

async function stopAll(groups: readonly Group[], options: { clock: Clock; graceMs: number }): Promise<void> {
  const never = new AbortController().signal;
  try {
    await withDeadline(never, { clock: options.clock, limitMs: options.graceMs, what: 'stopping' }, async () => {
      for (const group of [...groups].reverse()) await group.stop();
    });
  } catch (error) {
    // What hangs must not keep the others from letting go (of leases, for one).
    for (const group of [...groups].reverse()) void group.stop();
    throw error;
  }
}

/** The first failure, with all others as its cause. */
function combined([first, ...later]: readonly unknown[]): Error {
  const error = first instanceof Error ? first : new Error(String(first));
  if (later.length === 0) return error;
  const causes = error.cause === undefined ? later : [error.cause, ...later];
  const cause = causes.length === 1 ? causes[0] : new AggregateError(causes, 'more than one thing failed');
  Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true });
  return error;
}

/** `run`, with a synchronous throw turned into a rejection, so that its neighbours are not forgotten. */
async function start(runnable: Runnable, signal: AbortSignal): Promise<void> {
  await runnable.run(signal);
}

class Group {
  readonly #stop = newAbortController();
  readonly #runnables: readonly Runnable[];
  readonly #ended: Promise<unknown>;

  constructor(runnables: readonly Runnable[], onFailure: (error: unknown) => void) {
    this.#runnables = runnables;
    this.#ended = Promise.all(
      runnables.map((runnable) =>
        start(runnable, this.#stop.signal).catch((error: unknown) => {
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

import { abortable, withDeadline } from './abort.ts';
import type { Clock } from './clock.ts';
import { Shutdown } from './errors.ts';

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
 * groups stop in reverse order, each waited for, with one deadline for everything. Rejects with the first failure; an error
 * that arrives during the stop is kept as its cause, not lost.
 */
export async function runGroups(
  groups: readonly (readonly Runnable[])[],
  signal: AbortSignal,
  options: { readonly clock: Clock; readonly graceMs: number },
): Promise<void> {
  const failures: unknown[] = [];
  const stopping = new AbortController();
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
  if (failures.length > 0) throw failures[0] as Error;
}

async function stopAll(groups: readonly Group[], options: { clock: Clock; graceMs: number }): Promise<void> {
  const never = new AbortController().signal;
  await withDeadline(never, { clock: options.clock, limitMs: options.graceMs, what: 'stopping' }, async () => {
    for (const group of [...groups].reverse()) await group.stop();
  });
}

class Group {
  readonly #stop = new AbortController();
  readonly #runnables: readonly Runnable[];
  readonly #ended: Promise<unknown>;

  constructor(runnables: readonly Runnable[], onFailure: (error: unknown) => void) {
    this.#runnables = runnables;
    this.#ended = Promise.all(
      runnables.map((runnable) =>
        runnable.run(this.#stop.signal).catch((error: unknown) => {
          if (error !== this.#stop.signal.reason) onFailure(error);
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

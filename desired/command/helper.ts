import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { untilAborted } from '#base';
import type { Clock, ClockTimer, Runnable } from '#base';
import type { Logger } from '#telemetry';
import { CommandError } from '../errors.ts';
import { allowedEnvironment, requestOf, resultOf } from './in-process.ts';
import type { ProcessOutcome } from './run-process.ts';
import type { CommandOptions, CommandResult, CommandRunner } from './types.ts';

/**
 * Runs commands in the helper process. The helper ends when the signal of `run` aborts, or with
 * this process.
 */
export interface CommandHelper extends CommandRunner, Runnable {
  /** The helper's process ID; undefined while there is no helper. */
  readonly pid: number | undefined;
}

export interface CommandHelperDeps {
  readonly logger: Logger;
  /** The environment of the process. Programs see only the allowed part of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * The helper's program: the built `desired/command-helper-main.js`, unless a test uses its own.
   */
  readonly script?: string;
  /**
   * For a process that stays small: the helper starts with the first command, and ends after it
   * was idle for this long.
   */
  readonly idle?: { readonly clock: Clock; readonly limitMs: number } | undefined;
}

/**
 * Starts the helper process immediately, unless `idle` is set, so call it while this process is
 * still small. If the helper dies, its commands fail with CommandError COMMAND_FAILED and the next
 * command starts a new one.
 */
export function startCommandHelper(deps: CommandHelperDeps): CommandHelper {
  return new ForkedHelper(deps);
}

/** The built program, even if this file runs from source. */
const builtScript = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/desired/command-helper-main.js' : '../command-helper-main.js',
    import.meta.url,
  ),
);

interface Waiter {
  resolve(outcome: ProcessOutcome): void;
  reject(error: Error): void;
}

class ForkedHelper implements CommandHelper {
  readonly name = 'command-helper';
  readonly #deps: CommandHelperDeps;
  readonly #waiting = new Map<number, Waiter>();
  #child: ChildProcess | undefined;
  #lastId = 0;
  #ended = false;
  #idling: ClockTimer | undefined;

  constructor(deps: CommandHelperDeps) {
    this.#deps = deps;
    if (deps.idle === undefined) this.#child = this.#fork();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#ended = true;
    this.#idling?.cancel();
    const child = this.#child;
    if (child?.exitCode !== null) return;
    const gone = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    // Unreferenced so far: without this, the process could exit before the helper.
    child.ref();
    child.disconnect();
    await gone;
  }

  async runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult> {
    options.signal.throwIfAborted();
    if (this.#ended) throw new CommandError('COMMAND_FAILED', 'the command helper has been stopped');
    this.#idling?.cancel();
    this.#child ??= this.#fork();
    const child = this.#child;
    this.#lastId += 1;
    const id = this.#lastId;
    const onAbort = (): void => {
      child.send({ do: 'kill', id }, ignoreSendError);
    };
    const outcome = new Promise<ProcessOutcome>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    options.signal.addEventListener('abort', onAbort, { once: true });
    child.channel?.ref();
    try {
      child.send({ do: 'run', id, request: requestOf(argv, options, {}) }, ignoreSendError);
      const result = await outcome;
      options.signal.throwIfAborted();
      return resultOf(options.program ?? argv[0] ?? '', result);
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#rest(child);
      options.signal.removeEventListener('abort', onAbort);
    }
  }

  /** No command runs: the helper keeps this process no longer alive, and may end. */
  #rest(child: ChildProcess): void {
    child.channel?.unref();
    const { idle } = this.#deps;
    if (idle === undefined || this.#ended) return;
    this.#idling?.cancel();
    this.#idling = idle.clock.timer(idle.limitMs, () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      // The helper exits when the channel closes.
      if (child.connected) child.disconnect();
    });
  }

  #fork(): ChildProcess {
    const script = this.#deps.script ?? builtScript;
    const child = fork(script, [], {
      env: allowedEnvironment(this.#deps.env),
      execArgv: ['--max-old-space-size=256'],
      // Sends bytes as bytes, not as JSON text.
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (answer) => {
      const { id, outcome } = answer as { id: number; outcome: ProcessOutcome };
      this.#waiting.get(id)?.resolve(outcome);
    });
    const onEnd = (): void => {
      if (this.#child === child) this.#lost();
    };
    child.once('exit', onEnd);
    child.once('error', onEnd);
    // An idle helper must not keep this process alive; a running command does.
    child.unref();
    child.channel?.unref();
    return child;
  }

  #lost(): void {
    this.#child = undefined;
    if (!this.#ended) this.#deps.logger.warn('Command helper ended; the next command starts a new one');
    const error = new CommandError('COMMAND_FAILED', 'the command helper process ended while it ran the command');
    for (const waiter of this.#waiting.values()) waiter.reject(error);
    this.#waiting.clear();
  }
}

/**
 * A send fails only if the helper is exiting; its 'exit' event then rejects everything that waits.
 */
function ignoreSendError(): void {
  // Nothing to do here.
}

import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Limiter, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import { CommandError } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import type { CommandResult, CommandRunner } from './types.ts';

export interface ParseProcessDeps {
  readonly commands: CommandRunner;
  readonly limits: DesiredLimits;
  /** The program, {@link parserProgram}. */
  readonly program: string;
}

/** The built program. */
export const parserProgram = fileURLToPath(new URL('../parse-main.js', import.meta.url));

/** What is read on the main thread: at worst a tenth of a second, and starting a process for it would take as long. */
export const ownThreadBytes = 128 * 1024;
/** A merge copies maps: a text with merges may cost a hundred times as much as one without. */
const withMergesBytes = 8 * 1024;
const parallelism = 2;

/** Whether reading it would hold the main thread up. */
export function isBig(content: Uint8Array): boolean {
  if (content.length > ownThreadBytes) return true;
  return content.length > withMergesBytes && Buffer.from(content).includes('<<');
}

/** Has foreign texts read by a short-lived process of their own, with a deadline and limits: a few at once, the others wait. */
export class ParseProcess {
  readonly #deps: ParseProcessDeps;
  readonly #running = new Limiter(parallelism);

  constructor(deps: ParseProcessDeps) {
    this.#deps = deps;
  }

  /**
   * What the program answers about `content`; `head` says what is asked.
   * @throws what `fault` makes of the reason, when the limits are reached or the process fails; the reason of `signal`
   */
  async ask(
    asked: { readonly head: JsonObject; readonly content: Uint8Array },
    fault: (why: string, cause?: unknown) => Error,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { limits } = this.#deps;
    try {
      const { stdout, exitCode } = await this.#running.run(signal, () => this.#run(asked.head, asked.content, signal));
      if (exitCode === 0) return stdout;
      throw fault(`the process that reads it ended with exit status ${exitCode ?? 'none'}`);
    } catch (error) {
      const limit = error instanceof CommandError ? tooMuch(error, limits) : undefined;
      throw limit === undefined ? error : fault(limit, error);
    }
  }

  #run(head: JsonObject, content: Uint8Array, signal: AbortSignal): Promise<CommandResult> {
    const { limits, commands, program } = this.#deps;
    return commands.runCommand([execPath, '--max-old-space-size=1024', program], {
      stdin: Buffer.concat([Buffer.from(`${stringifyJson(head)}\n`), content]),
      timeoutMs: limits.parseTimeoutMs,
      maxBytes: limits.maxToolBytes,
      maxMemoryBytes: limits.maxToolMemoryBytes,
      signal,
    });
  }
}

function tooMuch({ code }: CommandError, limits: DesiredLimits): string | undefined {
  if (code === 'COMMAND_TIMEOUT') return `reading it takes longer than ${limits.parseTimeoutMs / 1000} s`;
  if (code === 'COMMAND_OUTPUT') return `unfolded it has more than ${limits.maxToolBytes} bytes`;
  if (code === 'COMMAND_MEMORY') return `reading it takes more than ${limits.maxToolMemoryBytes} bytes of memory`;
  return undefined;
}

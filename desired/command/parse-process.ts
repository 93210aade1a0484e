import { stringifyJson } from '#base';
import type { Clock, JsonObject } from '#base';
import { CommandError } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { createFairRenderer } from '../render/fair.ts';
import type { FairRenderer } from '../render/fair.ts';
import type { Renderer, RenderShare, RenderStep } from '../render/types.ts';
import type { CommandResult } from './types.ts';

export interface ParseProcessDeps {
  readonly renderer: Renderer;
  readonly clock: Clock;
  readonly limits: DesiredLimits;
}

/**
 * Smaller texts are parsed on the main thread: at worst a tenth of a second, which starting a
 * process takes too.
 */
export const ownThreadBytes = 128 * 1024;
/** A merge copies maps: a text with merges may cost a hundred times as much as one without. */
const withMergesBytes = 8 * 1024;
const parallelism = 2;

/** Whether parsing the text would block the main thread. */
export function isBig(content: Uint8Array): boolean {
  if (content.length > ownThreadBytes) return true;
  return content.length > withMergesBytes && Buffer.from(content).includes('<<');
}

const noShare: RenderShare = { project: '', repository: '' };

/** A text, and the question about it. */
export interface ParseRequest {
  readonly head: JsonObject;
  readonly content: Uint8Array;
  /** The unit of fair scheduling. */
  readonly share?: RenderShare;
}

/**
 * Parses untrusted texts in a short-lived process, with a deadline and limits. A few run at once,
 * others wait.
 */
export class ParseProcess {
  readonly #deps: ParseProcessDeps;
  readonly #renderer: FairRenderer;

  constructor(deps: ParseProcessDeps) {
    this.#deps = deps;
    this.#renderer = createFairRenderer({ ...deps, slots: parallelism });
  }

  /**
   * The answer of the parser process.
   * @param fault creates the error for a reached limit or a failed process
   * @throws the error of `fault`; the reason of `signal`
   */
  async ask(
    asked: ParseRequest,
    fault: (why: string, cause?: unknown) => Error,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { limits } = this.#deps;
    try {
      const { stdout, exitCode } = await this.#run(asked, signal);
      if (exitCode === 0) return stdout;
      throw fault(`the process that reads it ended with exit status ${exitCode ?? 'none'}`);
    } catch (error) {
      const limit = error instanceof CommandError ? tooMuch(error, limits) : undefined;
      throw limit === undefined ? error : fault(limit, error);
    }
  }

  async #run({ head, content, share = noShare }: ParseRequest, signal: AbortSignal): Promise<CommandResult> {
    const { limits } = this.#deps;
    const step: RenderStep = { program: 'parse', args: [], cwd: '' };
    const { steps } = await this.#renderer.render(
      {
        steps: [step],
        share,
        // The caller holds the content already.
        inputBytes: 0,
        readInput: () => {
          const stdin = Buffer.concat([Buffer.from(`${stringifyJson(head)}\n`), content]);
          return Promise.resolve({ files: [], links: [], steps: [{ ...step, stdin }] });
        },
        timeoutMs: limits.parseTimeoutMs,
        maxOutputBytes: limits.maxToolBytes,
        maxMemoryBytes: limits.maxToolMemoryBytes,
      },
      signal,
    );
    const [result] = steps;
    if (result === undefined) throw new CommandError('COMMAND_FAILED', 'the renderer did not run the parser');
    return result;
  }
}

function tooMuch({ code, message }: CommandError, limits: DesiredLimits): string | undefined {
  if (code === 'COMMAND_TIMEOUT') return `reading it takes longer than ${limits.parseTimeoutMs / 1000} s`;
  if (code === 'COMMAND_OUTPUT') return `unfolded it has more than ${limits.maxToolBytes} bytes`;
  if (code === 'COMMAND_MEMORY') return `reading it takes too much memory (${message})`;
  return undefined;
}

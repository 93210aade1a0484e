import { stringifyJson } from '#base';
import type { Clock, JsonObject } from '#base';
import { CommandError } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { createFairRenderer } from '../render/fair.ts';
import type { FairRenderer, RenderTurn } from '../render/fair.ts';
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

/** The share of a text that belongs to no source, such as the index of a chart repository. */
export const noShare: RenderShare = { project: '', repository: '' };

/** A text, and the question about it. */
export interface ParseRequest {
  readonly head: JsonObject;
  readonly content: Uint8Array;
}

/** Creates the error for a reached limit or a failed process. */
export type ParseFault = (why: string, cause?: unknown) => Error;

/** The turn of one share: its texts are parsed one after the other. */
export interface ParseTurn {
  /** The answer of the parser process. @throws the error of `fault`; the reason of `signal` */
  ask(asked: ParseRequest, fault: ParseFault, signal: AbortSignal): Promise<Uint8Array>;
  /** Lets the next one begin. Call it once. */
  end(): void;
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

  /** One text in a turn of its own. */
  async ask(asked: ParseRequest, fault: ParseFault, signal: AbortSignal): Promise<Uint8Array> {
    const turn = await this.begin(noShare, signal);
    try {
      return await turn.ask(asked, fault, signal);
    } finally {
      turn.end();
    }
  }

  /**
   * Waits for the turn of a share. A source keeps its turn for all its texts: if sources took turns
   * text by text, none of many would end before its deadline.
   * @throws the reason of `signal`
   */
  async begin(share: RenderShare, signal: AbortSignal): Promise<ParseTurn> {
    const { limits } = this.#deps;
    const turn = await this.#renderer.begin(share, signal);
    return {
      ask: async (asked, fault, inner) => {
        try {
          const { stdout, exitCode } = await this.#run(turn, { ...asked, share }, inner);
          if (exitCode === 0) return stdout;
          throw fault(`the process that reads it ended with exit status ${exitCode ?? 'none'}`);
        } catch (error) {
          const limit = error instanceof CommandError ? tooMuch(error, limits) : undefined;
          throw limit === undefined ? error : fault(limit, error);
        }
      },
      end: () => turn.end(),
    };
  }

  async #run(
    turn: RenderTurn,
    { head, content, share }: ParseRequest & { readonly share: RenderShare },
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const { limits } = this.#deps;
    const step: RenderStep = { program: 'parse', args: [], cwd: '' };
    const { steps } = await turn.render(
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

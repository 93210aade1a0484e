import { DeadlineExceeded, hashText } from '#base';
import type { Clock } from '#base';
import { CommandError } from '../errors.ts';
import { Lru } from '../fetch/shared/lru.ts';
import type { InputBudget } from '../inputs/input-budget.ts';
import { ScheduledStarts } from '../inputs/scheduled-starts.ts';
import { shortenedLimit, ShareSchedule } from './shares.ts';
import type { Renderer, RenderResult, RenderShare, WaitingRender } from './types.ts';

/** Longer than nearly all charts need, and short enough that another project does not notice. */
const slowAfterMs = 2000;
const rememberMs = 600_000;
/**
 * If the caller's deadline ends a run sooner than this, the run does not count as timed out: most
 * of the time was spent waiting for a slot.
 */
const minTimeOutRunMs = 4000;

/** A limiter that shares its slots fairly between projects and repositories. */
export class FairLimiter {
  readonly #clock: Clock;
  readonly #schedule: ShareSchedule;
  /** Undefined: no limit. */
  readonly #starts: ScheduledStarts | undefined;

  /** `slots` 0: no limit. */
  constructor(clock: Clock, slots: number) {
    this.#clock = clock;
    this.#schedule = new ShareSchedule({ slots, slowAfterMs, rememberMs });
    this.#starts = slots < 1 ? undefined : new ScheduledStarts(clock, this.#schedule);
  }

  /** Runs `body` when it is its share's turn. @throws the reason of `signal` while waiting */
  async run<T>(share: RenderShare, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    const slot = await this.begin(share, signal);
    try {
      return await slot.run(signal, body);
    } finally {
      slot.end();
    }
  }

  /** Resolves when it is the share's turn. @throws the reason of `signal` while waiting */
  async begin(share: RenderShare, signal: AbortSignal): Promise<HeldSlot> {
    signal.throwIfAborted();
    const starts = this.#starts;
    if (starts === undefined) return { run: (_signal, body) => body(), end: () => undefined };
    const id = this.#schedule.add(share);
    await starts.wait(id, signal);
    let timedOut: boolean | undefined = false;
    return {
      run: async (inner, body) => {
        try {
          return await body();
        } catch (error) {
          if (isCommandTimeOut(error)) timedOut = true;
          else if (inner.aborted) timedOut = undefined;
          throw error;
        }
      },
      end: () => {
        this.#schedule.end(id, timedOut, this.#clock.monotonic());
        starts.startNext();
      },
    };
  }
}

/** A slot that is held until `end` is called. */
interface HeldSlot {
  /** Runs `body`, and notes for the schedule whether it timed out. */
  run<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T>;
  end(): void;
}

function isCommandTimeOut(error: unknown): boolean {
  return error instanceof CommandError && error.code === 'COMMAND_TIMEOUT';
}

/** Whether a run used up its time: the program's, or that of the whole answer. */
function isTimeOut(error: unknown, signal: AbortSignal, ranMs: number): boolean {
  if (error instanceof CommandError) return isCommandTimeOut(error);
  return signal.aborted && signal.reason instanceof DeadlineExceeded && ranMs >= minTimeOutRunMs;
}

const rememberedBytes = 1024 * 1024;

/** A renderer whose requests wait for their turn. */
export interface FairRenderer extends Pick<Renderer, 'version'> {
  render(request: WaitingRender, signal: AbortSignal): Promise<RenderResult>;
  /** Waits for a slot, for several requests of one share. @throws the reason of `signal` */
  begin(share: RenderShare, signal: AbortSignal): Promise<RenderTurn>;
}

/** A slot for the requests of one share, one after the other. */
export interface RenderTurn {
  render(request: WaitingRender, signal: AbortSignal): Promise<RenderResult>;
  /** Lets the next one begin. Call it once. */
  end(): void;
}

/**
 * A renderer with fair slots and, with `inputs`, fair memory. A request gets its memory, then its
 * slot, and only then reads its files. Each time-out of a source halves the time of its next
 * attempt, until one succeeds. A run that the answer's deadline ended also counts as timed out, and
 * fails with COMMAND_TIMEOUT.
 */
export function createFairRenderer(deps: {
  readonly renderer: Renderer;
  readonly clock: Clock;
  readonly slots: number;
  readonly inputs?: InputBudget;
}): FairRenderer {
  const { renderer, clock, slots, inputs } = deps;
  const limiter = new FairLimiter(clock, slots);
  const timeOuts = new Lru<number>(rememberedBytes);
  const inSlot = (request: WaitingRender, signal: AbortSignal): (() => Promise<RenderResult>) => {
    const key = sourceKeyOf(request);
    const before = timeOuts.get(key) ?? 0;
    const timeoutMs = shortenedLimit(request.timeoutMs, before);
    const { steps, share, maxOutputBytes, maxMemoryBytes } = request;
    return async () => {
      const input = { steps, ...(await request.readInput(signal)) };
      signal.throwIfAborted();
      const begin = clock.monotonic();
      try {
        const result = await renderer.render({ ...input, share, timeoutMs, maxOutputBytes, maxMemoryBytes }, signal);
        timeOuts.delete(key);
        return result;
      } catch (error) {
        const ranMs = clock.monotonic() - begin;
        if (!isTimeOut(error, signal, ranMs)) throw error;
        timeOuts.set(key, before + 1, 200, request.share.project);
        const program = request.steps[0]?.program ?? 'the program';
        throw error instanceof CommandError ? error : tookTooLong(program, ranMs, error);
      }
    };
  };
  return {
    render: (request, signal) => {
      const run = async (): Promise<RenderResult> => {
        await request.prepare?.(signal);
        return limiter.run(request.share, signal, inSlot(request, signal));
      };
      const { share, inputBytes: bytes } = request;
      return inputs === undefined ? run() : inputs.run({ project: share.project, bytes }, signal, run);
    },
    begin: async (share, signal) => {
      const slot = await limiter.begin(share, signal);
      return {
        render: (request, inner) => slot.run(inner, inSlot(request, inner)),
        end: () => slot.end(),
      };
    },
    version: (...args) => renderer.version(...args),
  };
}

function tookTooLong(program: string, ranMs: number, cause: unknown): CommandError {
  return new CommandError('COMMAND_TIMEOUT', `${program} took longer than ${Math.floor(ranMs / 1000)} s`, { cause });
}

/**
 * Identifies a source across attempts, by share and steps. Its files may have changed in between.
 */
function sourceKeyOf({ share, steps }: WaitingRender): string {
  return hashText(JSON.stringify([share, steps.map(({ program, args, cwd }) => [program, args, cwd])]));
}

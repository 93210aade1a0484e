import { DriftlessError, outsideText, withChild } from '#base';
import type { Clock } from '#base';
import { annotationOf, annotations, asObject, isCompleted } from '#model';
import type { Application, OperationState } from '#model';
import type { CommandOutput } from '../process/output.ts';
import type { ApplicationHub } from './hub.ts';
import { nameOf } from './errors.ts';

/** How a wait for the controller ended. */
export type WaitEnd =
  | { readonly end: 'done'; readonly app: Application; readonly state?: OperationState }
  | { readonly end: 'deleted' }
  /** The operation was removed before a controller began it, or another one has followed it. */
  | { readonly end: 'lost'; readonly why: string }
  | { readonly end: 'timed-out'; readonly app: Application }
  | { readonly end: 'interrupted' };

export interface WaitOptions {
  readonly hub: Pick<ApplicationHub, 'follow'>;
  readonly output: Pick<CommandOutput, 'progress'>;
  readonly clock: Clock;
  /** 0: no limit. */
  readonly timeoutMs: number;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}

class WaitTimeout extends DriftlessError {
  constructor() {
    super('OPERATE_TIMEOUT', 'the time to wait is over', { retry: 'never' });
  }
}

/** Waits for the operation that the Application `from` holds, and shows its phases. */
export function waitForOperation(from: Application, options: WaitOptions): Promise<WaitEnd> {
  let begun: string | undefined;
  return waitUntil(from, options, (app) => {
    const state = app.status?.operationState;
    options.output.progress(`${nameOf(app)}: ${phaseText(state)}`);
    if (state !== undefined && begun !== undefined && state.startedAt !== begun)
      return { end: 'lost', why: 'it ended unseen, and another operation has begun' };
    begun ??= state?.startedAt;
    if (state === undefined)
      return app.operation === undefined
        ? { end: 'lost', why: 'it was removed before a controller began it' }
        : undefined;
    return isCompleted(state.phase) && app.operation === undefined ? { end: 'done', app, state } : undefined;
  });
}

/** Waits until the running operation of the Application `from` has ended. */
export function waitForTermination(from: Application, options: WaitOptions): Promise<WaitEnd> {
  const { startedAt } = from.status?.operationState ?? {};
  return waitUntil(from, options, (app) => {
    const state = app.status?.operationState;
    options.output.progress(`${nameOf(app)}: ${phaseText(state)}`);
    const isOver = state === undefined || state.startedAt !== startedAt || isCompleted(state.phase);
    return isOver
      ? { end: 'done', app, ...(state?.startedAt === startedAt && state !== undefined ? { state } : {}) }
      : undefined;
  });
}

/** Waits until the controller has removed the request for a refresh. */
export function waitForRefresh(from: Application, options: WaitOptions): Promise<WaitEnd> {
  return waitUntil(from, options, (app) => {
    const request = annotationOf(asObject(app), annotations.refresh);
    options.output.progress(`${nameOf(app)}: ${request === undefined ? 'compared' : 'waiting for the comparison'}`);
    return request === undefined ? { end: 'done', app } : undefined;
  });
}

type Judge = (app: Application) => WaitEnd | undefined;

async function waitUntil(from: Application, options: WaitOptions, judge: Judge): Promise<WaitEnd> {
  let last = from;
  try {
    return await limited(options, async (signal) => {
      const first = judge(from);
      if (first !== undefined) return first;
      for await (const app of options.hub.follow(from, signal)) {
        if (app === undefined) return { end: 'deleted' };
        last = app;
        const end = judge(app);
        if (end !== undefined) return end;
      }
      throw new WaitTimeout();
    });
  } catch (error) {
    if (options.signal.aborted) return { end: 'interrupted' };
    if (error instanceof WaitTimeout) return { end: 'timed-out', app: last };
    throw error;
  }
}

/** Runs `body` with a signal that aborts with {@link WaitTimeout} when the time is over. */
function limited<T>(
  { clock, timeoutMs, signal: parent }: WaitOptions,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withChild(parent, async (signal, abort) => {
    const timer = timeoutMs === 0 ? undefined : clock.timer(timeoutMs, () => abort(new WaitTimeout()));
    try {
      return await body(signal);
    } finally {
      timer?.cancel();
    }
  });
}

/** `Running: waiting for healthy state of apps/Deployment/web`. */
export function phaseText(state: OperationState | undefined): string {
  if (state === undefined) return 'waiting for the controller';
  const message = outsideText('field', state.message ?? '');
  return message === '' ? state.phase : `${state.phase}: ${message}`;
}

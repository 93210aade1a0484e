import { isAbort } from '#base';
import type { Clock, Runnable } from '#base';
import { appKeyOf, appLogFields, isCompleted } from '#model';
import type { AppKey, Application, ConditionType, ResourceResult } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import type { ApplicationStore } from '../application/application-store.ts';
import { ownFinalizers } from '../application/finalizers.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import { withConditions } from '../application/status-patch.ts';
import type { AppMemories, AppMemory } from '../comparison/memory.ts';
import { ownedConditions } from '../shared/conditions.ts';
import { kubeTime } from '../shared/kube-time.ts';

export interface WaitWatchDeps {
  /** The Applications of this replica. */
  readonly mine: () => Iterable<Application>;
  readonly memories: Pick<AppMemories, 'peek'>;
  readonly store: Pick<ApplicationStore, 'persistStatus'>;
  readonly metrics: Pick<MetricRegistry, 'family'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type WaitType = 'operation' | 'deletion' | 'refresh' | 'comparison';

/** The event or work that an Application waits for. */
export interface Wait {
  readonly type: WaitType;
  readonly what: string;
  /** Names the work that waits. A wait for other work is a new one. */
  readonly work: string;
  /** Grows as the work goes on. Attempts that repeat the same steps do not count. */
  readonly progress: number;
}

/** A wait, and when its work last made progress. */
interface WatchedWait {
  readonly wait: Wait;
  readonly since: number;
}

const checkMs = 15_000;
/** A wait without progress for this long is shown by a condition. */
export const silentWaitMs = 300_000;
const waitTypes: readonly WaitType[] = ['operation', 'deletion', 'refresh', 'comparison'];
const subjects: Readonly<Record<WaitType, string>> = {
  operation: 'The operation',
  deletion: 'The deletion',
  refresh: 'The requested refresh',
  comparison: 'The comparison',
};
/** Conditions that already say what work of this type waits for. */
const sayingSo: Readonly<Record<WaitType, readonly ConditionType[]>> = {
  operation: ['UnownedClusterWarning'],
  deletion: ['UnownedClusterWarning', 'DeletionError'],
  refresh: ['UnownedClusterWarning', 'SourceUnavailableWarning', 'QuarantineWarning'],
  comparison: [
    'UnownedClusterWarning',
    'SourceUnavailableWarning',
    'QuarantineWarning',
    'ComparisonError',
    'ContestedResourceWarning',
  ],
};

/**
 * Shows what waits for long: looks at all Applications of this replica from outside, so that a wait
 * which no code expects, or a pass that never runs, is shown, too. Argo CD waits without a word.
 */
export class WaitWatch implements Runnable {
  readonly name = 'conditions of long waits';
  readonly #deps: WaitWatchDeps;
  readonly #waits = new Map<AppKey, WatchedWait>();

  constructor(deps: WaitWatchDeps) {
    this.#deps = deps;
    deps.metrics.family({
      name: 'driftless_oldest_wait_seconds',
      help: 'Time without progress of the operation, deletion, refresh or comparison that waits longest.',
      type: 'gauge',
      collect: () => waitTypes.map((type) => ({ labels: { type }, value: this.#oldestMs(type) / 1000 })),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#deps.clock.sleep(checkMs, signal);
        await this.#check(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    const seen = new Set<AppKey>();
    for (const app of this.#deps.mine()) {
      signal.throwIfAborted();
      const key = appKeyOf(app);
      seen.add(key);
      const wait = waitOf(app, this.#deps.memories.peek(key), this.#deps.clock.now());
      await this.#show(app, wait === undefined ? undefined : this.#watched(key, app, wait));
      if (wait === undefined) this.#waits.delete(key);
    }
    for (const key of this.#waits.keys()) if (!seen.has(key)) this.#waits.delete(key);
  }

  #watched(key: AppKey, app: Application, wait: Wait): WatchedWait {
    const now = this.#deps.clock.monotonic();
    const known = this.#waits.get(key);
    const isSame = known?.wait.type === wait.type && known.wait.work === wait.work;
    // The replica before this one has shown it.
    const wasShown = known === undefined && shownMessage(app) === messageOf(wait);
    const began = wasShown ? now - silentWaitMs : now;
    const watched =
      isSame && wait.progress <= known.wait.progress
        ? { wait: { ...wait, progress: known.wait.progress }, since: known.since }
        : { wait, since: began };
    this.#waits.set(key, watched);
    return watched;
  }

  async #show(app: Application, watched: WatchedWait | undefined): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const isLong = watched !== undefined && clock.monotonic() - watched.since >= silentWaitMs;
    const isShown = app.status?.conditions?.some(({ type }) =>
      sayingSo[watched?.wait.type ?? 'operation'].includes(type),
    );
    const message = isLong && isShown !== true ? messageOf(watched.wait) : undefined;
    if (message === shownMessage(app)) return;
    const fresh = message === undefined ? [] : [{ type: 'WaitingWarning', message } as const];
    const time = kubeTime(clock.now());
    try {
      await store.persistStatus(app, withConditions(app.status ?? {}, fresh, ownedConditions.waits, time));
    } catch (error) {
      // The next check tries again.
      if (!isAbort(error)) logger.debug('cannot show what an Application waits for', { ...appLogFields(app), error });
    }
  }

  #oldestMs(type: WaitType): number {
    const now = this.#deps.clock.monotonic();
    const ages = [...this.#waits.values()].filter(({ wait }) => wait.type === type).map(({ since }) => now - since);
    return Math.max(0, ...ages);
  }
}

function shownMessage({ status }: Application): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'WaitingWarning')?.message;
}

function messageOf({ type, what }: Wait): string {
  return `${subjects[type]} has made no progress for five minutes: ${what}`;
}

/** Undefined: it waits for nothing. */
export function waitOf(app: Application, memory: AppMemory | undefined, now: number): Wait | undefined {
  return deletionWait(app, memory) ?? operationWait(app, memory) ?? refreshWait(app, memory, now);
}

function deletionWait(app: Application, memory: AppMemory | undefined): Wait | undefined {
  const { deletionTimestamp, finalizers = [] } = app.metadata;
  if (deletionTimestamp === undefined) return undefined;
  const isOurs = ownFinalizers(app).length > 0;
  const others = `waiting for finalizers of other controllers: ${finalizers.join(', ')}`;
  const what = memory?.deletionBlockedBy?.what ?? 'waiting for its next step';
  return {
    type: 'deletion',
    what: isOurs ? what : others,
    work: deletionTimestamp,
    progress: (memory?.deletedObjects ?? 0) - finalizers.length,
  };
}

function operationWait({ operation, status }: Application, memory: AppMemory | undefined): Wait | undefined {
  const state = status?.operationState;
  const isRunning = state !== undefined && !isCompleted(state.phase);
  if (!isRunning && operation === undefined) return undefined;
  const text = state?.finishedAt === undefined ? memory?.waiting?.what : state.message;
  return {
    type: 'operation',
    what: isRunning ? (text ?? state.message ?? 'waiting for its next step') : 'waiting for its first step',
    work: isRunning ? state.startedAt : 'not begun',
    progress: (state?.syncResult?.resources ?? []).filter(isDone).length,
  };
}

function isDone({ status, hookPhase }: ResourceResult): boolean {
  return hookPhase === 'Succeeded' || (hookPhase === undefined && status !== undefined);
}

function refreshWait(app: Application, memory: AppMemory | undefined, now: number): Wait | undefined {
  const asked = refreshAnnotation(app);
  const { what, since, until = 0 } = memory?.waiting ?? {};
  if (asked !== undefined)
    return { type: 'refresh', what: what ?? 'waiting for its comparison', work: JSON.stringify(asked), progress: 0 };
  // A wait that nothing has renewed is over.
  if (what === undefined || until < now - 2 * checkMs) return undefined;
  return { type: 'comparison', what, work: String(since), progress: 0 };
}

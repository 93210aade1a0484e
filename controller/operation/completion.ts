import { defined, isAbort, omit, withDeadline } from '#base';
import type { Clock } from '#base';
import { appKeyOf } from '#model';
import type { Application, OperationState, ResourceKey, RevisionHistory } from '#model';
import type { Logger } from '#telemetry';
import type { CompareLevel } from '../application/freshness.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import type { PassResult, RefreshEffects } from '../refresh/pass.ts';
import type { RefreshProcessor } from '../refresh/refresh.ts';
import type { ApplicationStore } from '../application/application-store.ts';
import { isSameStep } from '../application/application-writes.ts';

export interface OperationCompleterDeps {
  readonly store: Pick<ApplicationStore, 'get' | 'endOperation'>;
  readonly refresher: Pick<RefreshProcessor, 'evaluate' | 'recordStored'>;
  readonly effects: Pick<RefreshEffects, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How an operation ended, and the level of the comparison that follows. */
export interface OperationEnd {
  readonly state: OperationState;
  readonly history: readonly RevisionHistory[] | undefined;
  readonly level: CompareLevel;
}

/** Upper bound on delaying completion for the final comparison. */
const completionLimitMs = 1000;
/** Attempts: a refresh that started earlier may write its status first and cause a conflict. */
const maxCompletionAttempts = 2;

/**
 * Completes a sync and stores the final comparison in one write (decision D17), so clients see the
 * end of the operation with the state it led to. The comparison starts after the last cluster write
 * was answered. Difference: Argo CD writes the end, compares, and writes again.
 *
 * Crash safety: until that write the operation is Running, and its last step is repeated, exactly
 * as after a crash just before a separate final write.
 */
export class OperationCompleter {
  readonly #deps: OperationCompleterDeps;

  constructor(deps: OperationCompleterDeps) {
    this.#deps = deps;
  }

  /**
   * @param app as the operation pass read it.
   * @returns the stored Application; undefined if nothing was written: the caller then writes the
   * end alone and requests a comparison.
   */
  async complete(app: Application, end: OperationEnd, signal: AbortSignal): Promise<Application | undefined> {
    const { store, refresher, clock } = this.#deps;
    const until = clock.monotonic() + completionLimitMs;
    for (let attempt = 0; attempt < maxCompletionAttempts; attempt += 1) {
      const known = this.#known(app);
      if (known === undefined || signal.aborted) return undefined;
      const result = await this.#evaluate(known, end, { signal, limitMs: until - clock.monotonic() });
      if (result === undefined) return undefined;
      const { state } = end;
      const stored = await store.endOperation(known, { state, status: result.assessment.status });
      if (stored !== undefined) refresher.recordStored(result, stored);
      if (stored !== undefined) return stored;
    }
    return undefined;
  }

  /**
   * The cached Application, since refreshes may have written its status meanwhile. Undefined if it
   * runs another operation, is being deleted, or a user waits for a refresh.
   */
  #known(app: Application): Application | undefined {
    const known = this.#deps.store.get(appKeyOf(app));
    if (known?.status?.operationState === undefined || !isSameStep(known, app)) return undefined;
    const leaves = known.metadata.deletionTimestamp !== undefined;
    return leaves || refreshAnnotation(known) !== undefined ? undefined : known;
  }

  async #evaluate(
    known: Application,
    end: OperationEnd,
    { signal, limitMs: restMs }: { readonly signal: AbortSignal; readonly limitMs: number },
  ): Promise<PassResult | undefined> {
    const { clock, refresher, effects, logger } = this.#deps;
    if (restMs <= 0) return undefined;
    const { level } = end;
    const what = `the comparison after an operation of ${appKeyOf(known)}`;
    try {
      return await withDeadline(signal, { clock, limitMs: restMs, what }, async (inner) => {
        // Reuse valid rows: the steps of the sync compared what they changed.
        const resources = new Set<ResourceKey>();
        const refresh = { level, hard: false, reason: 'an operation ended', cause: 'operation', resources } as const;
        const result = await refresher.evaluate(withOperationEnd(known, end), refresh, inner);
        if (!isFinal(result, end.state)) return undefined;
        await effects.publish(result.pass, result.assessment, inner);
        return result;
      });
    } catch (error) {
      if (!isAbort(error)) logger.debug('Completing an operation without its final comparison', { error });
      return undefined;
    }
  }
}

/** The Application as it will be stored, without the results of the comparison. */
function withOperationEnd(known: Application, { state, history }: OperationEnd): Application {
  const status = { ...known.status, operationState: state, ...defined({ history }) };
  return { ...omit(known, 'operation'), status };
}

/**
 * Whether storing the result is all that is left to do. False if something could not be compared,
 * another operation or finalizer change is due, or the cache still shows pruned objects.
 */
function isFinal({ assessment: { decisions } }: PassResult, state: OperationState): boolean {
  if (decisions === undefined || decisions.finalizers !== undefined) return false;
  const { comparison, decision } = decisions;
  if (comparison.failed || comparison.unread.length > 0) return false;
  if (decision?.do === 'start' || decision?.do === 'wait') return false;
  const pruned = state.syncResult?.resources?.some(({ status }) => status === 'Pruned') ?? false;
  return !(pruned && comparison.syncStatus.status === 'OutOfSync');
}

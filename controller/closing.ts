import { isAbort, withDeadline } from '#base';
import type { Clock } from '#base';
import { appKeyOf } from '#model';
import type { Application, OperationState, ResourceKey, RevisionHistory } from '#model';
import type { Logger } from '#telemetry';
import { refreshAnnotation } from './freshness.ts';
import type { CompareLevel } from './freshness.ts';
import type { Look, RefreshEffects, RefreshProcessor } from './refresh.ts';
import type { ApplicationStore } from './application-store.ts';

export interface ClosingDeps {
  readonly store: Pick<ApplicationStore, 'get' | 'endOperation'>;
  readonly refresher: Pick<RefreshProcessor, 'look' | 'stored'>;
  readonly effects: Pick<RefreshEffects, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How an operation ended, and how deep the comparison after it goes. */
export interface Ending {
  readonly state: OperationState;
  readonly history: readonly RevisionHistory[] | undefined;
  readonly level: CompareLevel;
}

/** For longer than this nobody is left waiting for the end of an operation, because its sources or its cluster are slow. */
const limitMs = 1000;
/** How often it is tried: a pass that began before may store its status meanwhile. */
const most = 2;

/**
 * Ends a sync and compares in one write (decision D17): clients see the end of the operation together with the state that it led to. The comparison
 * begins after the last write to the cluster was answered, so that its time is not before the end. Difference to Argo CD, which writes the end,
 * compares, and writes again.
 *
 * Crash safety: until that write the operation is Running, and its last step is done again. That is the same as for a process that dies before it
 * writes the end alone.
 */
export class Closing {
  readonly #deps: ClosingDeps;

  constructor(deps: ClosingDeps) {
    this.#deps = deps;
  }

  /**
   * @param app as the operation was read.
   * @returns the application as it is stored; undefined when the end is to be written alone, and a comparison has to follow: nothing is written then.
   */
  async end(app: Application, ending: Ending, signal: AbortSignal): Promise<Application | undefined> {
    const { store, refresher, clock } = this.#deps;
    const until = clock.monotonic() + limitMs;
    for (let attempt = 0; attempt < most; attempt += 1) {
      const known = this.#known(app);
      if (known === undefined || signal.aborted) return undefined;
      const look = await this.#look(known, ending, { signal, limitMs: until - clock.monotonic() });
      if (look === undefined) return undefined;
      const { state } = ending;
      const stored = await store.endOperation(known, { state, status: look.assessment.status });
      if (stored !== undefined) refresher.stored(look, stored);
      if (stored !== undefined) return stored;
    }
    return undefined;
  }

  /** The application as it is known now: others write its status while an operation runs. Undefined: it runs another operation, or somebody waits for a refresh. */
  #known(app: Application): Application | undefined {
    const known = this.#deps.store.get(appKeyOf(app));
    const [now, then] = [known?.status?.operationState, app.status?.operationState];
    const same = now !== undefined && now.phase === then?.phase && now.startedAt === then.startedAt;
    const leaves = known?.metadata.deletionTimestamp !== undefined;
    return !same || leaves || known === undefined || refreshAnnotation(known) !== undefined ? undefined : known;
  }

  async #look(
    known: Application,
    ending: Ending,
    { signal, limitMs: restMs }: { readonly signal: AbortSignal; readonly limitMs: number },
  ): Promise<Look | undefined> {
    const { clock, refresher, effects, logger } = this.#deps;
    if (restMs <= 0) return undefined;
    const { level } = ending;
    const what = `the comparison after an operation of ${appKeyOf(known)}`;
    try {
      return await withDeadline(signal, { clock, limitMs: restMs, what }, async (inner) => {
        // Rows that hold are used again: the steps of the sync have just compared what it touched.
        const refresh = { level, hard: false, reason: 'an operation ended', resources: new Set<ResourceKey>() };
        const look = await refresher.look(ended(known, ending), refresh, inner);
        if (!isWhole(look, ending.state)) return undefined;
        await effects.publish(look.pass, look.assessment, inner);
        return look;
      });
    } catch (error) {
      if (!isAbort(error)) logger.debug('The end of an operation does not wait for a comparison', { error });
      return undefined;
    }
  }
}

/** As it will be stored, but for what the comparison adds. */
function ended(known: Application, { state, history }: Ending): Application {
  const status = { ...known.status, operationState: state, ...(history === undefined ? {} : { history }) };
  return { ...known, operation: null, status };
}

/**
 * Whether there is nothing to be done about what was found but to store it. Not whole: what could not be compared, what calls for another operation
 * or other finalizers, and what a prune has just deleted and the cache still shows.
 */
function isWhole({ assessment: { found } }: Look, state: OperationState): boolean {
  if (found === undefined || found.finalizers !== undefined) return false;
  const { comparison, decision } = found;
  if (comparison.failed || comparison.unread.length > 0) return false;
  if (decision?.do === 'start' || decision?.do === 'wait') return false;
  const pruned = state.syncResult?.resources?.some(({ status }) => status === 'Pruned') ?? false;
  return !(pruned && comparison.syncStatus.status === 'OutOfSync');
}

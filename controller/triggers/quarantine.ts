import { defined, DriftlessError, isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import { appKeyLogFields } from '#model';
import type { AppKey, Application, ApplicationCondition, ApplicationStatus, ConditionType } from '#model';
import type { ItemHandler, HandlerResult, WorkerSlot, TakenItem } from '#queues';
import type { Logger } from '#telemetry';
import { ownedConditions } from '../shared/conditions.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import { believedSkewMs, kubeTime, parseTime } from '../shared/kube-time.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { describeHold } from '../comparison/loop-watch.ts';
import type { LoopHold, LoopWatch } from '../comparison/loop-watch.ts';
import { withConditions } from '../application/status-patch.ts';

export interface QuarantineDeps {
  readonly inner: ItemHandler<AppKey, RefreshRequest>;
  readonly loop: LoopWatch;
  readonly memories: Pick<AppMemories, 'note' | 'of'>;
  readonly lookup: (key: AppKey) => Application | undefined;
  /** How long the refresh request in the annotations has to wait. */
  readonly askedDelayMs?: (key: AppKey, app: Application) => number;
  readonly persist: (app: Application, status: ApplicationStatus) => Promise<Application>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Minimum blocking time that counts (--quarantine-after); 0: no quarantine. */
  readonly limitMs: number;
}

/** Consecutive blocking passes before an Application is quarantined. */
const maxConsecutiveHolds = 2;
/**
 * Shorter holds (from one second) are only reported: on a busy machine, a lower limit would
 * quarantine every large Application.
 */
export const quarantineAfterMs = 5000;
/** Duration of a quarantine; then one pass tries the Application again. */
const quarantineMs = 600_000;
/** An unexpected exception usually recurs until something changes, so retry rarely. */
const poisonRetryMs = 300_000;
const quarantineCondition: ConditionType = 'QuarantineWarning';

/**
 * Wraps the refresh handler so that one Application cannot block the others. Argo CD has no
 * equivalent.
 *
 * - An Application that blocks the event loop in two consecutive passes is quarantined for ten
 *   minutes. Its condition records this, so that a restart or another replica respects it. A
 *   refresh request lifts it at once.
 * - An Application whose pass throws a TypeError or RangeError (a number where a string belongs,
 *   for example) gets a condition instead of constant retries.
 */
export class ApplicationQuarantine {
  readonly #deps: QuarantineDeps;

  constructor(deps: QuarantineDeps) {
    this.#deps = deps;
  }

  async handle(
    taken: TakenItem<AppKey, RefreshRequest>,
    signal: AbortSignal,
    place: WorkerSlot,
  ): Promise<HandlerResult<RefreshRequest>> {
    const { key, payload } = taken;
    const leftMs = this.#quarantineLeftMs(key, this.#deps.lookup(key));
    if (leftMs > 0) return { requeueAfterMs: leftMs, ...defined({ payload }) };
    try {
      const outcome = await this.#deps.inner(taken, signal, place);
      await this.#recordHold(key);
      return outcome;
    } catch (error) {
      await this.#recordHold(key);
      if (!isPoison(error) || signal.aborted) throw error;
      await this.#reportPoison(key, error);
      return { requeueAfterMs: poisonRetryMs };
    }
  }

  #quarantineLeftMs(key: AppKey, app: Application | undefined): number {
    const since = parseTime(quarantineConditionOf(app)?.lastTransitionTime);
    if (app === undefined || since === undefined || this.#isRefreshRequested(key, app)) return 0;
    const leftMs = since + quarantineMs - this.#deps.clock.now();
    // The clock that wrote the condition was ahead.
    return leftMs > quarantineMs + believedSkewMs ? 0 : leftMs;
  }

  /** A request that the rate limit delays does not lift the quarantine. */
  #isRefreshRequested(key: AppKey, app: Application): boolean {
    return refreshAnnotation(app) !== undefined && (this.#deps.askedDelayMs?.(key, app) ?? 0) <= 0;
  }

  /** An Application that blocks again after its quarantine is quarantined at once. */
  async #recordHold(key: AppKey): Promise<void> {
    const app = this.#deps.lookup(key);
    const hold = app === undefined ? undefined : this.#deps.loop.take(key);
    if (app === undefined || hold === undefined) return;
    const { memories } = this.#deps;
    const isMarked = quarantineConditionOf(app) !== undefined;
    if (hold === 'none' || this.#deps.limitMs <= 0 || hold.ms < this.#deps.limitMs) {
      memories.note(key, { consecutiveHolds: undefined });
      if (isMarked) await this.#setCondition(app, []);
      return;
    }
    const before = memories.of(key).consecutiveHolds ?? (isMarked ? maxConsecutiveHolds - 1 : 0);
    memories.note(key, { consecutiveHolds: before + 1 });
    if (before + 1 >= maxConsecutiveHolds) await this.#setCondition(app, [this.#condition(hold)]);
  }

  #condition(hold: LoopHold): ApplicationCondition {
    const until = kubeTime(this.#deps.clock.now() + quarantineMs);
    const message = `quarantined until ${until}: ${describeHold(hold)} blocked all other work of the controller, not for the first time. Reduce the size of its manifests or resources; request a refresh to try again at once`;
    return { type: quarantineCondition, message };
  }

  async #setCondition(app: Application, fresh: readonly ApplicationCondition[]): Promise<void> {
    const status = withConditions(app.status ?? {}, fresh, ownedConditions.quarantine, this.#kubeNow());
    await this.#deps.persist(app, status);
  }

  async #reportPoison(key: AppKey, error: Error): Promise<void> {
    const app = this.#deps.lookup(key);
    if (app === undefined) return;
    this.#deps.logger.error('Cannot process an Application', { ...appKeyLogFields(key), error });
    const message = `this Application cannot be processed: ${messageOf(error)}. Check its spec against the schema of Applications`;
    const fresh: readonly ApplicationCondition[] = [{ type: 'UnknownError', message }];
    const status = withConditions(app.status ?? {}, fresh, ownedConditions.spec, this.#kubeNow());
    await this.#deps.persist(app, { ...status, sync: { ...status.sync, status: 'Unknown' } });
  }

  #kubeNow(): string {
    return kubeTime(this.#deps.clock.now());
  }
}

function quarantineConditionOf(app: Application | undefined): ApplicationCondition | undefined {
  const conditions: unknown = app?.status?.conditions;
  return Array.isArray(conditions)
    ? app?.status?.conditions?.find(({ type }) => type === quarantineCondition)
    : undefined;
}

/**
 * A TypeError or RangeError that our code did not throw on purpose: the data has another type than
 * declared.
 */
function isPoison(error: unknown): error is Error {
  return (
    (error instanceof TypeError || error instanceof RangeError) && !(error instanceof DriftlessError) && !isAbort(error)
  );
}

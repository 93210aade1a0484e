import { DriftlessError, isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import type { AppKey, Application, ApplicationCondition, ApplicationStatus, ConditionType } from '#model';
import type { Handler, Outcome, Place, Taken } from '#queues';
import type { Logger } from '#telemetry';
import { ownedConditions } from './conditions.ts';
import { refreshAnnotation } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import { kubeTime, parseTime } from './kube-time.ts';
import { wordsOf } from './loop-watch.ts';
import type { Hold, LoopWatch } from './loop-watch.ts';
import { withConditions } from './status-patch.ts';

export interface QuarantineDeps {
  readonly inner: Handler<AppKey, RefreshRequest>;
  readonly loop: LoopWatch;
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly isMine: (app: Application) => boolean;
  readonly persist: (app: Application, status: ApplicationStatus) => Promise<Application>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long one piece of work must hold everything up to count (--quarantine-after); 0: nobody is left alone. */
  readonly limitMs: number;
}

/** Passes in a row that may hold everything up before the Application is left alone. */
const mostHolds = 2;
/** A second is told; who is left alone for it would be every large Application on a busy machine. */
export const quarantineAfterMs = 5000;
/** For so long. Then one pass tries it again. */
const quarantineMs = 600_000;
/** What throws where nothing of ours may will mostly do so again: until something changes, now and then is enough. */
const poisonMs = 300_000;
const flag: ConditionType = 'QuarantineWarning';

/**
 * Stands before the refresh of Applications, and keeps one of them from taking the others with it. Argo CD has nothing like it.
 *
 * - One that held the event loop up for long in two passes in a row is left alone for ten minutes. The condition that says so is the memory of it: another
 *   replica, or this one after a restart, meets it no sooner. Whoever asks for a refresh has it looked at, at once.
 * - One that makes a pass throw what is no error of ours (numbers where texts belong) gets a condition instead of being tried for ever.
 */
export class Quarantine {
  readonly #deps: QuarantineDeps;
  readonly #holds = new Map<AppKey, number>();

  constructor(deps: QuarantineDeps) {
    this.#deps = deps;
  }

  async handle(
    taken: Taken<AppKey, RefreshRequest>,
    signal: AbortSignal,
    place: Place,
  ): Promise<Outcome<RefreshRequest>> {
    const { key, payload } = taken;
    const leftMs = this.#leftMs(this.#own(key));
    if (leftMs > 0) return { requeueAfterMs: leftMs, ...(payload === undefined ? {} : { payload }) };
    try {
      const outcome = await this.#deps.inner(taken, signal, place);
      await this.#judge(key);
      return outcome;
    } catch (error) {
      await this.#judge(key);
      if (!isPoison(error) || signal.aborted) throw error;
      await this.#blame(key, error);
      return { requeueAfterMs: poisonMs };
    }
  }

  #own(key: AppKey): Application | undefined {
    const app = this.#deps.lookup(key);
    if (app !== undefined && this.#deps.isMine(app)) return app;
    this.#holds.delete(key);
    return undefined;
  }

  #leftMs(app: Application | undefined): number {
    const since = parseTime(flagOf(app)?.lastTransitionTime);
    if (app === undefined || since === undefined || refreshAnnotation(app) !== undefined) return 0;
    return since + quarantineMs - this.#deps.clock.now();
  }

  /** Whoever comes out of quarantine and does it again goes back at once. */
  async #judge(key: AppKey): Promise<void> {
    const app = this.#own(key);
    if (app === undefined) return;
    const hold = this.#deps.loop.take(key);
    if (hold === undefined) return;
    const isMarked = flagOf(app) !== undefined;
    if (hold === 'none' || this.#deps.limitMs <= 0 || hold.ms < this.#deps.limitMs) {
      this.#holds.delete(key);
      if (isMarked) await this.#mark(app, []);
      return;
    }
    const count = (this.#holds.get(key) ?? (isMarked ? mostHolds - 1 : 0)) + 1;
    this.#holds.set(key, count);
    if (count >= mostHolds) await this.#mark(app, [this.#condition(hold)]);
  }

  #condition(hold: Hold): ApplicationCondition {
    const until = kubeTime(this.#deps.clock.now() + quarantineMs);
    const message = `left alone until ${until}: ${wordsOf(hold)} kept everything else of the controller waiting, not for the first time. Make what it reads smaller; a refresh that is asked for tries it at once`;
    return { type: flag, message };
  }

  async #mark(app: Application, fresh: readonly ApplicationCondition[]): Promise<void> {
    const status = withConditions(app.status ?? {}, fresh, ownedConditions.quarantine, this.#time());
    await this.#deps.persist(app, status);
  }

  async #blame(key: AppKey, error: Error): Promise<void> {
    const app = this.#own(key);
    if (app === undefined) return;
    this.#deps.logger.error('An Application cannot be worked with', { application: key, error });
    const message = `this Application cannot be worked with: ${messageOf(error)}. Compare its spec with the schema of Applications`;
    const fresh: readonly ApplicationCondition[] = [{ type: 'UnknownError', message }];
    const status = withConditions(app.status ?? {}, fresh, ownedConditions.spec, this.#time());
    await this.#deps.persist(app, { ...status, sync: { ...status.sync, status: 'Unknown' } });
  }

  #time(): string {
    return kubeTime(this.#deps.clock.now());
  }
}

function flagOf(app: Application | undefined): ApplicationCondition | undefined {
  const conditions: unknown = app?.status?.conditions;
  return Array.isArray(conditions) ? app?.status?.conditions?.find(({ type }) => type === flag) : undefined;
}

/** Thrown by the language, not by us: what was read is not what its type says. */
function isPoison(error: unknown): error is Error {
  return (
    (error instanceof TypeError || error instanceof RangeError) && !(error instanceof DriftlessError) && !isAbort(error)
  );
}

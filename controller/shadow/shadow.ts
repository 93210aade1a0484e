import { hashJson, omit } from '#base';
import { appKeyOf, isErrorCondition, keyOfStatus } from '#model';
import type { AppKey, Application, SyncStatus } from '#model';
import type { AddOptions } from '#queues';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { isSameRequest, refreshAnnotation, withoutRefreshAnnotation } from '../application/refresh-annotation.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import { judge, revisionText } from './judge.ts';
import type { DisagreementLedger } from './ledger.ts';
import type { StatusWrite } from '../application/application-writes.ts';
import { rememberDecided } from '../refresh/pass.ts';
import type { PassAssessment, RefreshPass, PassStart, RefreshEffects } from '../refresh/pass.ts';
import type { ShadowVerdict } from '../application/verdict.ts';

export interface ShadowEffectsDeps {
  /** The cached Application. */
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly ledger: DisagreementLedger;
  readonly requeue: (key: AppKey, options: AddOptions<RefreshRequest>) => void;
  readonly onVerdict: (verdict: ShadowVerdict) => void;
}

/** State that would be in the object if this controller could write. */
interface ShadowState {
  readonly comparedTo: SyncStatus['comparedTo'];
  /** The refresh request answered last. */
  readonly answered: RefreshAnnotation | undefined;
  /** Hash of the status that the last verdict is about. */
  readonly judged: string;
}

/**
 * Effects that write nothing: each pass becomes a {@link ShadowVerdict} on the status that another
 * controller wrote, visible only in logs and metrics. Keeps in memory what the controller in charge
 * keeps in the object (what it compared, which refresh requests it answered).
 */
export class ShadowEffects implements RefreshEffects {
  readonly #deps: ShadowEffectsDeps;
  readonly #own = new Map<AppKey, ShadowState>();

  constructor(deps: ShadowEffectsDeps) {
    this.#deps = deps;
  }

  /** The Application as if its status were ours: with our comparison, without answered requests. */
  lookup(key: AppKey): Application | undefined {
    const app = this.#deps.lookup(key);
    if (app === undefined) return undefined;
    const own = this.#own.get(key);
    const status = omit(app.status ?? {}, 'reconciledAt');
    const isAnswered = own?.answered !== undefined && isSameRequest(own.answered, refreshAnnotation(app));
    return {
      ...(isAnswered ? withoutRefreshAnnotation(app) : app),
      status:
        own?.comparedTo === undefined
          ? status
          : { ...status, sync: { status: 'Unknown', ...status.sync, comparedTo: own.comparedTo } },
    };
  }

  /**
   * Compares again when the other controller changed its status, at the revision in that status.
   */
  request(key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined {
    const app = this.#deps.lookup(key);
    const judged = this.#own.get(key)?.judged;
    if (app === undefined || judged === undefined || judged === judgedStatusHash(app)) return queued;
    if ((queued?.level ?? compareLevel.nothing) >= compareLevel.recent) return queued;
    return { level: compareLevel.recent, reason: 'the other controller changed the status' };
  }

  begin(app: Application): Promise<PassStart> {
    const before = this.#deps.lookup(appKeyOf(app)) ?? app;
    return Promise.resolve({ before, asked: refreshAnnotation(before) });
  }

  publish(): Promise<void> {
    return Promise.resolve();
  }

  /** Each pass is judged. */
  stands(): boolean {
    return false;
  }

  settle(pass: RefreshPass, assessment: PassAssessment): Promise<StatusWrite> {
    pass.note({ waiting: undefined });
    rememberDecided(pass, assessment);
    // A tree-only pass has no comparison to judge.
    if (assessment.managed !== undefined) this.#judge(pass, assessment);
    return Promise.resolve({ app: { ...pass.before, status: assessment.status }, answered: true });
  }

  forget(key: AppKey): void {
    this.#own.delete(key);
    this.#deps.ledger.forget(key);
  }

  #judge({ key, before, refresh }: RefreshPass, assessment: PassAssessment): void {
    const verdict = judge(key, before, assessment);
    this.#own.set(key, {
      comparedTo: assessment.decisions?.comparison.syncStatus.comparedTo ?? this.#own.get(key)?.comparedTo,
      answered: refreshAnnotation(before),
      judged: judgedStatusHash(before),
    });
    const pending = this.#deps.ledger.record(verdict, refresh.level >= compareLevel.latest);
    if (pending !== undefined) {
      const level = pending.revision ? compareLevel.forceResolve : compareLevel.latest;
      const payload = { level, reason: 'to check whether the disagreement lasts' };
      this.#deps.requeue(key, { delayMs: pending.delayMs, priority: 'resync', payload });
    }
    this.#deps.onVerdict(verdict);
  }
}

/** Hash of all parts of a status that are judged. */
function judgedStatusHash({ status = {} }: Application): string {
  const { sync, health, resourceHealthSource = '', resources = [], conditions = [] } = status;
  const lines = resources.map((resource) => {
    const { status: code = '', requiresPruning = false } = resource;
    return [keyOfStatus(resource), code, requiresPruning, resource.health?.status ?? ''].join(' ');
  });
  return hashJson([
    sync?.status ?? '',
    revisionText(status),
    health?.status ?? '',
    resourceHealthSource,
    lines.sort(),
    conditions.filter(isErrorCondition).map(({ type }) => type),
  ]);
}

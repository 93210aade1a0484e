import { hashJson, omit } from '#base';
import { annotations, appKeyOf, isErrorCondition, keyOfStatus } from '#model';
import type { AppKey, Application, SyncStatus } from '#model';
import type { AddOptions } from '#queues';
import { compareLevel, refreshAnnotation } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import { judge, revisionText } from './judge.ts';
import type { Ledger } from './ledger.ts';
import type { Assessment, Begun, Pass, RefreshEffects, Settled } from './refresh.ts';
import type { Verdict } from './verdict.ts';

export interface ShadowHandsDeps {
  /** The last known version of an application, from memory. */
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly ledger: Ledger;
  readonly requeue: (key: AppKey, options: AddOptions<RefreshRequest>) => void;
  readonly onVerdict: (verdict: Verdict) => void;
}

/** What would stand in the object if this controller could write. */
interface Own {
  readonly comparedTo: SyncStatus['comparedTo'];
  /** The refresh request that was answered last. */
  readonly answered: string | undefined;
  /** What the status said that the last verdict is about. */
  readonly judged: string;
}

/**
 * Effects that write nothing: what a pass finds out becomes a {@link Verdict} on the status that another controller wrote, and nothing leaves
 * this process but log lines and metrics. What the controller in charge remembers in the object (what it compared, which refresh requests it
 * answered) is remembered here.
 */
export class ShadowEffects implements RefreshEffects {
  readonly #deps: ShadowHandsDeps;
  readonly #own = new Map<AppKey, Own>();

  constructor(deps: ShadowHandsDeps) {
    this.#deps = deps;
  }

  /** An application as it would be if its status were ours: with what was compared here, and without what was answered here. */
  lookup(key: AppKey): Application | undefined {
    const app = this.#deps.lookup(key);
    if (app === undefined) return undefined;
    const own = this.#own.get(key);
    const status = omit(app.status ?? {}, 'reconciledAt');
    const answered = own?.answered !== undefined && own.answered === requestText(app);
    return {
      ...app,
      metadata: answered
        ? { ...app.metadata, annotations: omit(app.metadata.annotations ?? {}, annotations.refresh) }
        : app.metadata,
      status:
        own?.comparedTo === undefined
          ? status
          : { ...status, sync: { status: 'Unknown', ...status.sync, comparedTo: own.comparedTo } },
    };
  }

  /** When the other has said something else, both have to be looked at again, at the revision that it speaks of. */
  request(key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined {
    const app = this.#deps.lookup(key);
    const judged = this.#own.get(key)?.judged;
    if (app === undefined || judged === undefined || judged === wordOf(app)) return queued;
    if ((queued?.level ?? compareLevel.nothing) >= compareLevel.recent) return queued;
    return { level: compareLevel.recent, reason: 'the status that it is compared with changed' };
  }

  begin(app: Application): Promise<Begun> {
    const before = this.#deps.lookup(appKeyOf(app)) ?? app;
    return Promise.resolve({ before, asked: refreshAnnotation(before) });
  }

  publish(): Promise<void> {
    return Promise.resolve();
  }

  settle(pass: Pass, assessment: Assessment): Promise<Settled> {
    delete pass.memory.waiting;
    // The tree alone says nothing about what both compare.
    if (assessment.managed !== undefined) this.#judge(pass, assessment);
    return Promise.resolve({ app: { ...pass.before, status: assessment.status }, answered: true });
  }

  forget(key: AppKey): void {
    this.#own.delete(key);
    this.#deps.ledger.forget(key);
  }

  #judge({ key, before, refresh }: Pass, assessment: Assessment): void {
    const verdict = judge(key, before, assessment);
    this.#own.set(key, {
      comparedTo: assessment.found?.comparison.syncStatus.comparedTo ?? this.#own.get(key)?.comparedTo,
      answered: requestText(before),
      judged: wordOf(before),
    });
    const pending = this.#deps.ledger.record(verdict, refresh.level >= compareLevel.latest);
    if (pending !== undefined) {
      const level = pending.revision ? compareLevel.forceResolve : compareLevel.latest;
      const payload = { level, reason: 'to see whether the disagreement lasts' };
      this.#deps.requeue(key, { delayMs: pending.delayMs, priority: 'resync', payload });
    }
    this.#deps.onVerdict(verdict);
  }
}

function requestText(app: Application): string | undefined {
  const asked = refreshAnnotation(app);
  return asked === undefined ? undefined : `${asked.value} ${asked.timestamp ?? ''}`;
}

/** Everything of a status that is judged. */
function wordOf({ status = {} }: Application): string {
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

import { isAbort, repeatUntilAborted } from '#base';
import type { Clock, Runnable } from '#base';
import { appKeyOf, appLogFields } from '#model';
import type { AppKey, Application, ApplicationCondition } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import type { ApplicationStore } from '../application/application-store.ts';
import { withConditions } from '../application/status-patch.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { waitOf } from '../report/waits.ts';
import type { Wait } from '../report/waits.ts';
import { ownedConditions } from '../shared/conditions.ts';
import { kubeTime, parseTime } from '../shared/kube-time.ts';
import { waitCauses, waitTypes } from '../shared/waits.ts';
import type { WaitCause, WaitType } from '../shared/waits.ts';

export interface WaitWatchDeps {
  /** The Applications of this replica. */
  readonly mine: () => Iterable<Application>;
  readonly memories: Pick<AppMemories, 'peek'>;
  readonly store: Pick<ApplicationStore, 'persistStatus'>;
  /** For how long the cluster that waits longest has had no owner. */
  readonly unownedMs: () => number;
  readonly metrics: Pick<MetricRegistry, 'family'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A wait, and when its work last made progress, by the monotonic clock. */
interface WatchedWait {
  readonly wait: Wait;
  readonly since: number;
  /** When this process saw it first. */
  readonly seenAt: number;
}

const checkMs = 15_000;
/** A wait without progress for this long is shown by a condition. */
export const silentWaitMs = 300_000;
/** A process watches a wait that began before it for this long, because it may make progress. */
const firstLookMs = 60_000;

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
      help: 'Time without progress of the operation, deletion, refresh, comparison or hand-over that waits longest, by cause.',
      type: 'gauge',
      collect: () => (Object.keys(waitTypes) as WaitType[]).flatMap((type) => this.#oldest(type)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeatUntilAborted(signal, async () => {
      await this.#deps.clock.sleep(checkMs, signal);
      await this.#check(signal);
    });
  }

  async #check(signal: AbortSignal): Promise<void> {
    const seen = new Set<AppKey>();
    for (const app of this.#deps.mine()) {
      signal.throwIfAborted();
      const key = appKeyOf(app);
      seen.add(key);
      try {
        await this.#checkOne(key, app);
      } catch (error) {
        // Its status can be written by hand, with any types; it must not stop the replica.
        signal.throwIfAborted();
        this.#deps.logger.debug('cannot tell what an Application waits for', { ...appLogFields(app), error });
      }
    }
    for (const key of this.#waits.keys()) if (!seen.has(key)) this.#waits.delete(key);
  }

  async #checkOne(key: AppKey, app: Application): Promise<void> {
    const wait = waitOf(app, this.#deps.memories.peek(key), this.#deps.clock.now());
    await this.#show(app, wait === undefined ? undefined : this.#watched(key, app, wait));
    if (wait === undefined) this.#waits.delete(key);
  }

  #watched(key: AppKey, app: Application, wait: Wait): WatchedWait {
    const now = this.#deps.clock.monotonic();
    const known = this.#waits.get(key);
    const isSame = known?.wait.type === wait.type && known.wait.work === wait.work;
    const { since, seenAt } = isSame ? known : { since: now - this.#storedMs(app, wait), seenAt: now };
    const watched =
      isSame && wait.progress > known.wait.progress
        ? { wait, since: now, seenAt }
        : { wait: { ...wait, progress: isSame ? known.wait.progress : wait.progress }, since, seenAt };
    this.#waits.set(key, watched);
    return watched;
  }

  /** For how long it has waited by its status, which outlives a replica. */
  #storedMs(app: Application, wait: Wait): number {
    const now = this.#deps.clock.now();
    const { message, lastTransitionTime } = shownWait(app) ?? {};
    const shownAt = message === messageOf(wait) ? parseTime(lastTransitionTime) : undefined;
    const ages = [wait.storedSince, shownAt === undefined ? undefined : shownAt - silentWaitMs];
    return Math.max(0, ...ages.map((at) => now - (at ?? now)));
  }

  async #show(app: Application, watched: WatchedWait | undefined): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const shown = shownWait(app)?.message;
    const message = watched === undefined ? undefined : this.#textOf(app, watched, shown);
    if (message === shown) return;
    const fresh = message === undefined ? [] : [{ type: 'WaitingWarning', message } as const];
    const time = kubeTime(clock.now());
    try {
      await store.persistStatus(app, withConditions(app.status ?? {}, fresh, ownedConditions.waits, time));
    } catch (error) {
      // The next check tries again.
      if (!isAbort(error)) logger.debug('cannot show what an Application waits for', { ...appLogFields(app), error });
    }
  }

  #textOf(app: Application, { wait, since, seenAt }: WatchedWait, shown: string | undefined): string | undefined {
    const now = this.#deps.clock.monotonic();
    const said = [...waitTypes[wait.type].shownBy, ...waitCauses[wait.cause].shownBy];
    const isSaid = app.status?.conditions?.some(({ type }) => said.includes(type)) === true;
    if (isSaid || now - since < silentWaitMs) return undefined;
    const text = messageOf(wait);
    // The replica before this one may have known more.
    return now - seenAt >= firstLookMs || shown === text ? text : shown;
  }

  /** The oldest wait for each cause; one of 0 without a cause if nothing of the type waits. */
  #oldest(type: WaitType): readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[] {
    const now = this.#deps.clock.monotonic();
    const unownedMs = type === 'hand-over' ? this.#deps.unownedMs() : 0;
    const ages = new Map<WaitCause, number>(unownedMs > 0 ? [['owner', unownedMs]] : []);
    for (const { wait, since } of this.#waits.values())
      if (wait.type === type) ages.set(wait.cause, Math.max(ages.get(wait.cause) ?? 0, now - since));
    if (ages.size === 0) return [{ labels: { type, cause: '' }, value: 0 }];
    return [...ages].map(([cause, ms]) => ({ labels: { type, cause }, value: ms / 1000 }));
  }
}

function shownWait({ status }: Application): ApplicationCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'WaitingWarning');
}

function messageOf({ type, what }: Wait): string {
  return `${waitTypes[type].subject} has made no progress for five minutes: ${what}`;
}

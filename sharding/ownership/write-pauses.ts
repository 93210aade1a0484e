import type { Clock, ClockTimer } from '#base';
import type { ProtocolTiming } from '../timing/timing.ts';
import type { OwnershipConditions } from './conditions.ts';

/** Why a lease ran out although its holder lives. */
export type LapseReason = 'cpu' | 'hub';

export interface WritePausesDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly timing: Pick<ProtocolTiming, 'validMs'>;
  readonly conditions: Pick<OwnershipConditions, 'set' | 'all'>;
  /** Counts a lapse. */
  readonly lapsed: (reason: LapseReason) => void;
}

/** A lease timer that fires this much later found an event loop without CPU. */
const starvedMs = 500;
/** A pause is reported for so long after its end: short ones that return are seen. */
const shownMs = 300_000;

/**
 * Effect: watches the end of the lease, and reports pauses of writes with their reason in the
 * condition WritesPaused. One owner calls it, in turn.
 */
export class WritePauses {
  readonly #deps: WritePausesDeps;
  #end: ClockTimer | undefined;
  #shown: ClockTimer | undefined;
  #paused: { readonly since: number; readonly why: string } | undefined;
  /** Times of the pauses that are shown, the oldest first. */
  #pauses: readonly number[] = [];

  constructor(deps: WritePausesDeps) {
    this.#deps = deps;
  }

  /**
   * Notes that a shard may be written for another `leftMs`; `onEnd` is called once when that is
   * over without another renewal.
   */
  renewed(shard: number | undefined, leftMs: number, onEnd: () => void): void {
    const { clock } = this.#deps;
    this.#end?.cancel();
    if (this.#paused !== undefined) this.#resume(clock.monotonic());
    const until = clock.monotonic() + leftMs;
    this.#end = clock.timer(leftMs + 1, () => {
      this.#pause(shard, until);
      onEnd();
    });
  }

  /** The shard is given up or lost: nothing is watched, and no pause begins. */
  stop(): void {
    this.#end?.cancel();
    this.#end = undefined;
  }

  /** Ends all timers. */
  close(): void {
    this.stop();
    this.#shown?.cancel();
  }

  #pause(shard: number | undefined, until: number): void {
    const { clock, timing, conditions, lapsed } = this.#deps;
    const now = clock.monotonic();
    const lateMs = now - until;
    const reason = lateMs >= starvedMs ? 'cpu' : 'hub';
    const isSilent = conditions.all().some(({ type }) => type === 'HubUnreadable');
    const why = {
      cpu: `this process did not run for ${seconds(lateMs)}: it has too little CPU. Raise its CPU request or limit, or --heartbeat-seconds`,
      hub: isSilent
        ? 'the hub cannot be reached'
        : 'the hub did not answer the renewal in time. Check its API server, and the CPU of this process',
    }[reason];
    lapsed(reason);
    this.#paused = { since: until, why };
    this.#pauses = [...this.#pauses, now];
    this.#shown?.cancel();
    const renewedMs = timing.validMs + lateMs;
    this.#set(
      `writes of shard ${shard ?? '(none)'} are paused: its lease was renewed ${seconds(renewedMs)} ago; ${why}`,
    );
  }

  #resume(now: number): void {
    if (this.#paused === undefined) return;
    const { since, why } = this.#paused;
    this.#paused = undefined;
    const recent = this.#pauses.filter((at) => now - at < shownMs);
    this.#pauses = recent;
    const times = recent.length === 1 ? 'once' : `${recent.length} times`;
    this.#set(`writes were paused ${times} within five minutes, the last time for ${seconds(now - since)}: ${why}`);
    this.#shown = this.#deps.clock.timer(shownMs, () => {
      this.#pauses = [];
      this.#set(undefined);
    });
  }

  #set(message: string | undefined): void {
    this.#deps.conditions.set('WritesPaused', message);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

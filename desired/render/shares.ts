import type { StartSchedule } from '../inputs/scheduled-starts.ts';
import { Turns } from '../inputs/turns.ts';
import type { RenderShare } from './types.ts';

/** The parameters of the schedule. All times are monotonic milliseconds. */
export interface ShareRules {
  /** Concurrent runs, as long as none of them is slow. */
  readonly slots: number;
  /** A longer run is slow. Slow runs occupy at most half of the slots, so that others can start. */
  readonly slowAfterMs: number;
  /** How long a share that timed out is limited to the slots for slow runs. A success ends that. */
  readonly rememberMs: number;
}

/** A share with waiting or running runs. */
interface ShareGroup {
  readonly share: RenderShare;
  readonly projectKey: string;
  readonly key: string;
  /** IDs, first in, first out. */
  readonly waiting: Set<number>;
  running: number;
}

interface RunningEntry {
  readonly group: ShareGroup;
  readonly since: number;
}

const maxRemembered = 1000;

/**
 * Assigns slots to the project with the fewest runs; among equals, to the one that has waited
 * longest for its turn. Repositories inside a project take turns by the same rule. A pure decision:
 * the caller passes the time. Its cost grows with the shares, not with the waiting runs.
 */
export class ShareSchedule implements StartSchedule {
  readonly #rules: ShareRules;
  /** By key. */
  readonly #groups = new Map<string, ShareGroup>();
  readonly #waiting = new Map<number, ShareGroup>();
  readonly #running = new Map<number, RunningEntry>();
  /** Turns of projects and of their repositories. */
  readonly #turns = new Turns();
  readonly #timedOut = new Map<string, number>();
  #lastId = 0;

  constructor(rules: ShareRules) {
    this.#rules = rules;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Queues a run, and returns its ID. */
  add(share: RenderShare): number {
    this.#lastId += 1;
    const group = this.#groupOf(share);
    group.waiting.add(this.#lastId);
    this.#waiting.set(this.#lastId, group);
    return this.#lastId;
  }

  /** Removes a run from the queue. */
  drop(id: number): void {
    const group = this.#waiting.get(id);
    if (group === undefined) return;
    this.#waiting.delete(id);
    group.waiting.delete(id);
    this.#forgetIdle(group);
  }

  /** The run that starts now; undefined if none may start. */
  next(now: number): number | undefined {
    if (this.#waiting.size === 0) return undefined;
    const counts = this.#counts(now);
    const runsOf = this.#runsByProject();
    let best: WaitingHead | undefined;
    for (const group of this.#groups.values()) {
      const [id] = group.waiting;
      if (id === undefined || !this.#mayStart(group, counts, now)) continue;
      const head = { id, group, rank: this.#rank(id, group, runsOf) };
      if (best === undefined || comesBefore(head, best)) best = head;
    }
    if (best === undefined) return undefined;
    const { id, group } = best;
    this.#waiting.delete(id);
    group.waiting.delete(id);
    group.running += 1;
    this.#running.set(id, { group, since: now });
    this.#turns.take([group.projectKey, group.key], () => this.#activeKeys());
    return id;
  }

  /** Ends a run. `timedOut` is undefined if the end is not the share's fault. */
  end(id: number, timedOut: boolean | undefined, now: number): void {
    const entry = this.#running.get(id);
    if (entry === undefined) return;
    const { group } = entry;
    this.#running.delete(id);
    group.running -= 1;
    this.#forgetIdle(group);
    if (timedOut === undefined) return;
    this.#timedOut.delete(group.key);
    if (timedOut) this.#timedOut.set(group.key, now);
    const [oldest] = this.#timedOut.keys();
    if (this.#timedOut.size > maxRemembered && oldest !== undefined) this.#timedOut.delete(oldest);
  }

  /** When the next run becomes slow, which may free a slot. Undefined if nothing waits. */
  nextChangeAt(now: number): number | undefined {
    if (this.#waiting.size === 0) return undefined;
    const times = [...this.#running.values()].map(({ since }) => since + this.#rules.slowAfterMs);
    const coming = times.filter((time) => time > now);
    return coming.length === 0 ? undefined : Math.min(...coming);
  }

  #groupOf(share: RenderShare): ShareGroup {
    const key = JSON.stringify([share.project, share.repository]);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = { share, key, projectKey: JSON.stringify([share.project]), waiting: new Set<number>(), running: 0 };
    this.#groups.set(key, group);
    return group;
  }

  #forgetIdle({ key, waiting, running }: ShareGroup): void {
    if (waiting.size === 0 && running === 0) this.#groups.delete(key);
  }

  #counts(now: number): ShareCounts {
    const { slots, slowAfterMs } = this.#rules;
    const running = [...this.#running.values()];
    const isLong = ({ since }: RunningEntry): boolean => now - since >= slowAfterMs;
    const timedOut = running.filter(({ group }) => this.#isTimedOut(group, now)).length;
    const slow = running.filter((entry) => isLong(entry) || this.#isTimedOut(entry.group, now)).length;
    const busy = new Set(running.filter(isLong).map(({ group }) => group.share.project));
    const counted = running.length - slow + Math.min(slow, Math.floor(slots / 2));
    return { timedOut, busy, counted };
  }

  #mayStart(group: ShareGroup, { timedOut, busy, counted }: ShareCounts, now: number): boolean {
    const { slots } = this.#rules;
    const running = this.#running.size;
    if (this.#isTimedOut(group, now)) return timedOut < Math.max(1, Math.floor(slots / 2)) && counted < slots;
    // A project may not use the slots freed by its own slow runs.
    if (busy.has(group.share.project)) return running < slots;
    return counted < slots && running < 2 * slots;
  }

  #isTimedOut({ key }: ShareGroup, now: number): boolean {
    const since = this.#timedOut.get(key);
    return since !== undefined && now - since < this.#rules.rememberMs;
  }

  #runsByProject(): ReadonlyMap<string, number> {
    const runs = new Map<string, number>();
    for (const { group } of this.#running.values()) runs.set(group.projectKey, (runs.get(group.projectKey) ?? 0) + 1);
    return runs;
  }

  /** The sort key, most significant part first. */
  #rank(id: number, group: ShareGroup, runsOf: ReadonlyMap<string, number>): readonly number[] {
    const { projectKey, key, running } = group;
    return [runsOf.get(projectKey) ?? 0, this.#turns.of(projectKey), running, this.#turns.of(key), id];
  }

  *#activeKeys(): Iterable<string> {
    for (const { projectKey, key } of this.#groups.values()) yield* [projectKey, key];
  }
}

/** The first waiting run of a share. */
interface WaitingHead {
  readonly id: number;
  readonly group: ShareGroup;
  readonly rank: readonly number[];
}

function comesBefore({ rank: a }: WaitingHead, { rank: b }: WaitingHead): boolean {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

interface ShareCounts {
  /** Runs of shares that timed out recently. */
  readonly timedOut: number;
  /** Projects with a slow run. */
  readonly busy: ReadonlySet<string>;
  /** Runs that count against the slots. */
  readonly counted: number;
}

/** The time limit of a source after `timeOuts` in a row: halved for each, with a minimum. */
export function shortenedLimit(limitMs: number, timeOuts: number): number {
  if (timeOuts === 0) return limitMs;
  const full = Math.min(limitMs, firstShortenedMs);
  return Math.min(limitMs, Math.max(floorMs, full / 2 ** timeOuts));
}

/** Halving starts here, because the answer's deadline ends a run before a longer limit does. */
const firstShortenedMs = 60_000;
const floorMs = 5000;

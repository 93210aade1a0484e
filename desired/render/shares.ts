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

interface ShareEntry {
  readonly id: number;
  readonly share: RenderShare;
  readonly since: number;
}

const maxRemembered = 1000;

/**
 * Assigns slots to the project with the fewest runs; among equals, to the one that has waited
 * longest for its turn. Repositories inside a project take turns by the same rule. A pure decision:
 * the caller passes the time.
 */
export class ShareSchedule implements StartSchedule {
  readonly #rules: ShareRules;
  readonly #waiting: ShareEntry[] = [];
  readonly #running = new Map<number, ShareEntry>();
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
    return this.#waiting.length;
  }

  /** Queues a run, and returns its ID. */
  add(share: RenderShare, now: number): number {
    this.#lastId += 1;
    this.#waiting.push({ id: this.#lastId, share, since: now });
    return this.#lastId;
  }

  /** Removes a run from the queue. */
  drop(id: number): void {
    const at = this.#waiting.findIndex((entry) => entry.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** The run that starts now; undefined if none may start. */
  next(now: number): number | undefined {
    const counts = this.#counts(now);
    const allowed = this.#waiting.filter(({ share }) => this.#mayStart(share, counts, now));
    const [first, ...others] = allowed;
    if (first === undefined) return undefined;
    const best = others.reduce((a, b) => (this.#comesBefore(b, a) ? b : a), first);
    this.drop(best.id);
    this.#running.set(best.id, { ...best, since: now });
    this.#turns.take(keysOf(best.share), () => this.#activeKeys());
    return best.id;
  }

  /** Ends a run. `timedOut` is undefined if the end is not the share's fault. */
  end(id: number, timedOut: boolean | undefined, now: number): void {
    const entry = this.#running.get(id);
    if (entry === undefined) return;
    this.#running.delete(id);
    if (timedOut === undefined) return;
    const key = keyOf(entry.share);
    this.#timedOut.delete(key);
    if (timedOut) this.#timedOut.set(key, now);
    const [oldest] = this.#timedOut.keys();
    if (this.#timedOut.size > maxRemembered && oldest !== undefined) this.#timedOut.delete(oldest);
  }

  /** When the next run becomes slow, which may free a slot. Undefined if nothing waits. */
  nextChangeAt(now: number): number | undefined {
    if (this.#waiting.length === 0) return undefined;
    const times = [...this.#running.values()].map(({ since }) => since + this.#rules.slowAfterMs);
    const coming = times.filter((time) => time > now);
    return coming.length === 0 ? undefined : Math.min(...coming);
  }

  #counts(now: number): ShareCounts {
    const { slots, slowAfterMs } = this.#rules;
    const running = [...this.#running.values()];
    const isLong = ({ since }: ShareEntry): boolean => now - since >= slowAfterMs;
    const timedOut = running.filter(({ share }) => this.#isTimedOut(share, now)).length;
    const slow = running.filter((entry) => isLong(entry) || this.#isTimedOut(entry.share, now)).length;
    const busy = new Set(running.filter(isLong).map(({ share }) => share.project));
    const counted = running.length - slow + Math.min(slow, Math.floor(slots / 2));
    return { timedOut, busy, counted };
  }

  #mayStart(share: RenderShare, { timedOut, busy, counted }: ShareCounts, now: number): boolean {
    const { slots } = this.#rules;
    const running = this.#running.size;
    if (this.#isTimedOut(share, now)) return timedOut < Math.max(1, Math.floor(slots / 2)) && counted < slots;
    // A project may not use the slots freed by its own slow runs.
    if (busy.has(share.project)) return running < slots;
    return counted < slots && running < 2 * slots;
  }

  #isTimedOut(share: RenderShare, now: number): boolean {
    const since = this.#timedOut.get(keyOf(share));
    return since !== undefined && now - since < this.#rules.rememberMs;
  }

  #comesBefore(a: ShareEntry, b: ShareEntry): boolean {
    const [x, y] = [this.#rank(a), this.#rank(b)];
    const at = x.findIndex((value, i) => value !== y[i]);
    return at >= 0 && (x[at] ?? 0) < (y[at] ?? 0);
  }

  /** The sort key, most significant part first. */
  #rank({ id, share }: ShareEntry): readonly number[] {
    const [project, repository] = keysOf(share);
    const running = [...this.#running.values()].filter((entry) => entry.share.project === share.project);
    const ofRepository = running.filter((entry) => entry.share.repository === share.repository);
    return [running.length, this.#turns.of(project), ofRepository.length, this.#turns.of(repository), id];
  }

  #activeKeys(): readonly string[] {
    return [...this.#waiting, ...this.#running.values()].flatMap(({ share }) => keysOf(share));
  }
}

interface ShareCounts {
  /** Runs of shares that timed out recently. */
  readonly timedOut: number;
  /** Projects with a slow run. */
  readonly busy: ReadonlySet<string>;
  /** Runs that count against the slots. */
  readonly counted: number;
}

function keysOf(share: RenderShare): readonly [project: string, repository: string] {
  return [JSON.stringify([share.project]), keyOf(share)];
}

function keyOf({ project, repository }: RenderShare): string {
  return JSON.stringify([project, repository]);
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

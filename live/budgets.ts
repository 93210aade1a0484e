import type { ResourceKey } from '#model';

/** An object that changes too often. */
export interface ChattyObject {
  readonly key: ResourceKey;
  /** Since it is told less often. */
  readonly changes: number;
}

interface Account {
  tokens: number;
  at: number;
  /** Changes since it is in the slow lane; undefined: it is not. */
  changes: number | undefined;
  /** When it was told last. */
  toldAt: number;
}

/** An object may change so often at once, a roll-out for example, … */
const burst = 40;
/** … and for a long time every other second. */
const refillMs = 2000;
/** What changes more often is told this often: its Application still sees what it becomes. */
export const slowLaneMs = 10_000;
/** Accounts of objects that have been quiet are closed when there are so many. */
const mostAccounts = 20_000;

/**
 * How often the changes of each object are told. One that exceeds its budget (a leader election in a ConfigMap, a controller that fights) goes to a slow
 * lane, alone: it costs its Application six passes a minute, and others nothing. It comes back when its budget has filled up to a half.
 */
export class Budgets {
  readonly #accounts = new Map<ResourceKey, Account>();

  /**
   * How long the change of an object has to wait until it is told; 0: not at all.
   * @param isMore an earlier change of it waits already: both are told as one, which costs once, unless there are too many of them anyway.
   */
  delayOf(key: ResourceKey, now: number, isMore: boolean): number {
    const account = this.#account(key, now);
    account.tokens = Math.min(burst, account.tokens + (now - account.at) / refillMs);
    account.at = now;
    if (account.changes !== undefined && account.tokens >= burst / 2) account.changes = undefined;
    if (isMore && account.changes === undefined) return 0;
    if (account.tokens < 1) account.changes ??= 0;
    account.tokens = Math.max(0, account.tokens - 1);
    if (account.changes === undefined) return 0;
    account.changes += 1;
    return Math.max(0, account.toldAt + slowLaneMs - now);
  }

  /** Notes that the change of an object is told. */
  told(key: ResourceKey, now: number): void {
    const account = this.#accounts.get(key);
    if (account !== undefined) account.toldAt = now;
  }

  forget(key: ResourceKey): void {
    this.#accounts.delete(key);
  }

  /** The objects in the slow lane, those that change most first. */
  chatty(now: number): readonly ChattyObject[] {
    const found: ChattyObject[] = [];
    for (const [key, { changes, at }] of this.#accounts)
      if (changes !== undefined && now - at < quietMs) found.push({ key, changes });
    return found.sort((a, b) => b.changes - a.changes).slice(0, mostNamed);
  }

  #account(key: ResourceKey, now: number): Account {
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    if (this.#accounts.size >= mostAccounts) this.#close(now);
    const account = { tokens: burst, at: now, changes: undefined, toldAt: -slowLaneMs };
    this.#accounts.set(key, account);
    return account;
  }

  /** Who has been quiet for so long has a full budget anyway; if all are busy, all begin anew. */
  #close(now: number): void {
    for (const [key, { at }] of this.#accounts) if (now - at >= quietMs) this.#accounts.delete(key);
    if (this.#accounts.size >= mostAccounts) this.#accounts.clear();
  }
}

const quietMs = burst * refillMs;
/** In the metric: a label for each. */
const mostNamed = 50;

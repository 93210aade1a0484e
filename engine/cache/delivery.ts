import { defined, messageOf, newAbortController, Shutdown, withDeadline, yieldToLoop } from '#base';
import type { Clock } from '#base';
import { keyOfRef } from '#model';
import type { ResourceKey, ResourceRef } from '#model';
import type { ApiMetadata, CachedObject, CacheHandlers, CacheProblem } from './types.ts';

/** Calls beyond their deadline that have not returned; at this many, the handlers are removed. */
const maxHangingCalls = 10;
/** Calls between two turns of the event loop. */
const callsPerTurn = 50;

/** `replaced`: deleted, and created again under the same name. */
type PendingChange = 'created' | 'updated' | 'deleted' | 'replaced';
type ObjectChange = 'created' | 'updated' | 'deleted';

interface PendingObject {
  readonly ref: ResourceRef;
  readonly change: PendingChange;
  /** The object of `deleted` and `replaced`. */
  readonly last: CachedObject | undefined;
}

export interface DeliveryDeps {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The current row of an object; undefined if it no longer exists. */
  readonly read: (key: ResourceKey, signal: AbortSignal) => Promise<CachedObject | undefined>;
  /** The kinds that the server serves now. */
  readonly kinds: () => readonly ApiMetadata[];
  /** Must not throw. */
  readonly report: (problem: CacheProblem) => void;
}

/**
 * Delivers changes to one set of handlers, apart from the cache. At most one change per object is
 * pending, so a handler that is slow, throws or never returns costs at most one entry per object.
 */
export class ChangeDelivery {
  readonly #handlers: CacheHandlers;
  readonly #deps: DeliveryDeps;
  readonly #pending = new Map<ResourceKey, PendingObject>();
  readonly #controller = newAbortController();
  #hasNewKinds = false;
  #isDelivering = false;
  #hanging = 0;

  constructor(handlers: CacheHandlers, deps: DeliveryDeps) {
    this.#handlers = handlers;
    this.#deps = deps;
  }

  isClosed(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Number of objects with a pending change. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Adds a change. Never calls a handler synchronously. */
  add(ref: ResourceRef, change: 'created' | 'updated'): void {
    this.#add(ref, change, undefined);
  }

  /** Adds a deletion, with what the cache knew of the object. */
  addDeleted(last: CachedObject): void {
    this.#add(last, 'deleted', last);
  }

  #add({ group, kind, namespace, name }: ResourceRef, change: ObjectChange, last: CachedObject | undefined): void {
    if (this.isClosed()) return;
    const ref = { group, kind, namespace, name };
    const key = keyOfRef(ref);
    const pending = this.#pending.get(key);
    const merged = mergeChanges(pending?.change, change);
    if (merged === undefined) this.#pending.delete(key);
    // The first deleted one of several under this name is the one that the handler knows.
    else this.#pending.set(key, { ref, change: merged, last: pending?.last ?? last });
    if (!this.#isDelivering) void this.#deliver();
  }

  /** The server serves other kinds now. */
  addKinds(): void {
    if (this.isClosed() || this.#handlers.kinds === undefined) return;
    this.#hasNewKinds = true;
    if (!this.#isDelivering) void this.#deliver();
  }

  close(): void {
    this.#hasNewKinds = false;
    this.#pending.clear();
    if (!this.isClosed()) this.#controller.abort(new Shutdown('handlers removed'));
  }

  async #deliver(): Promise<void> {
    this.#isDelivering = true;
    for (let calls = 0; ; calls += 1) {
      if (calls % callsPerTurn === 0) await yieldToLoop();
      if (this.#hasNewKinds) await this.#deliverKinds();
      const [next] = this.#pending;
      if (next === undefined) break;
      const [key, pending] = next;
      this.#pending.delete(key);
      await this.#deliverOne(key, pending);
    }
    this.#isDelivering = false;
  }

  #deliverKinds(): Promise<void> {
    this.#hasNewKinds = false;
    return this.#call('kinds', undefined, (signal) => this.#handlers.kinds?.(this.#deps.kinds(), signal));
  }

  async #deliverOne(key: ResourceKey, { ref, change, last }: PendingObject): Promise<void> {
    const handlers = this.#handlers;
    if (handlers.deleted !== undefined && last !== undefined)
      await this.#call('deleted', ref, (signal) => handlers.deleted?.(last, signal));
    if (change === 'deleted' || this.isClosed()) return;
    const name = change === 'updated' ? 'updated' : 'created';
    if (handlers[name] === undefined) return;
    const object = await this.#deps.read(key, this.#controller.signal).catch(() => undefined);
    // A deletion that arrived during the read stays pending: the handler then gets it alone.
    if (object === undefined || this.isClosed()) return;
    await this.#call(name, ref, (signal) => handlers[name]?.(object, signal));
  }

  /** Waits for a call up to its deadline. Never rejects. */
  async #call(
    name: keyof CacheHandlers,
    ref: ResourceRef | undefined,
    call: (signal: AbortSignal) => unknown,
  ): Promise<void> {
    const { clock, deadlineMs, report } = this.#deps;
    const what = ref === undefined ? `handler ${name}` : `handler ${name} of ${keyOfRef(ref)}`;
    const about = defined({ object: ref });
    const state: { hasReturned: boolean; isLate: boolean } = { hasReturned: false, isLate: false };
    try {
      await withDeadline(this.#controller.signal, { clock, limitMs: deadlineMs, what }, async (signal) => {
        try {
          await call(signal);
        } finally {
          state.hasReturned = true;
          if (state.isLate) this.#hanging -= 1;
        }
      });
    } catch (cause) {
      if (this.isClosed()) return;
      if (state.hasReturned) {
        report({ kind: 'threw', message: `${what} failed: ${messageOf(cause)}`, ...about, cause });
        return;
      }
      state.isLate = true;
      this.#hanging += 1;
      report({ kind: 'timed-out', message: `${what} has not returned within ${deadlineMs} ms`, ...about });
      this.#closeIfHanging();
    }
  }

  #closeIfHanging(): void {
    if (this.#hanging < maxHangingCalls) return;
    this.close();
    const message = `${maxHangingCalls} calls of handlers hang: they are removed and get no more changes`;
    this.#deps.report({ kind: 'closed', message });
  }
}

/**
 * Merges a change into the one that the handler has not got yet. Undefined: they cancel each other.
 */
export function mergeChanges(pending: PendingChange | undefined, change: ObjectChange): PendingChange | undefined {
  switch (pending) {
    case undefined:
      return change;
    case 'created':
      return change === 'deleted' ? undefined : 'created';
    case 'updated':
      return change;
    case 'deleted':
      return change === 'deleted' ? 'deleted' : 'replaced';
    case 'replaced':
      return change === 'deleted' ? 'deleted' : 'replaced';
  }
}

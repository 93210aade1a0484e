import { DriftlessError, newAbortController, UsageError, withDeadline } from '#base';
import type { Clock } from '#base';
import type { ResourceKey } from '#model';
import type { UnknownExistence } from './completeness.ts';
import type { CachedObject, WaitCondition } from './types.ts';

/** Reads again after this time even without a change: a kind that is not watched has none. */
const pollMs = 1000;

/** The cache cannot know whether an object exists, and waiting does not change that. */
class KindIncomplete extends DriftlessError {
  constructor(key: ResourceKey, reason: string) {
    super('KIND_INCOMPLETE', `cannot wait for ${key}, which the cache does not know: ${reason}`, { retry: 'never' });
  }
}

/** Wakes those that wait for an object when its row changes. */
export class RowListeners {
  readonly #byKey = new Map<ResourceKey, Set<() => void>>();

  wake(key: ResourceKey): void {
    for (const listener of [...(this.#byKey.get(key) ?? [])]) listener();
  }

  add(key: ResourceKey, listener: () => void): () => void {
    const listeners = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#byKey.delete(key);
    };
  }
}

export interface RowWait {
  readonly key: ResourceKey;
  readonly until: WaitCondition;
  readonly deadlineMs: number;
  readonly read: () => Promise<CachedObject | undefined>;
  /** Why it is unknown whether the object exists, if the cache does not have it. */
  readonly whyUnknown: () => UnknownExistence | undefined;
}

/**
 * Resolves with the object when the condition holds; undefined: it is gone. No condition sees a
 * missing object as long as the cache does not know its kind.
 * @throws KindIncomplete, DeadlineExceeded
 */
export async function waitForRow(
  { key, until, deadlineMs, read, whyUnknown }: RowWait,
  { clock, listeners }: { readonly clock: Clock; readonly listeners: RowListeners },
  signal: AbortSignal,
): Promise<CachedObject | undefined> {
  const isMet = checkOf(until);
  let unknown: UnknownExistence | undefined;
  const what = (): string => `waiting for ${key}${unknown === undefined ? '' : ` (${unknown.reason})`}`;
  const deadline = { clock, limitMs: deadlineMs, what };
  return withDeadline(signal, deadline, async (own) => {
    for (;;) {
      const changed = newAbortController();
      // Listens before it reads: a change in between is not missed.
      const remove = listeners.add(key, () => changed.abort());
      try {
        const object = await read();
        unknown = object === undefined ? whyUnknown() : undefined;
        if (unknown?.isLasting === true) throw new KindIncomplete(key, unknown.reason);
        if (unknown === undefined && isMet(object)) return object;
        await pauseUntil(changed.signal, clock, own);
      } finally {
        remove();
      }
    }
  });
}

/** Until the signal aborts, or for a poll. */
async function pauseUntil(changed: AbortSignal, clock: Clock, signal: AbortSignal): Promise<void> {
  if (changed.aborted) return;
  await clock.sleep(pollMs, changed).catch(() => undefined);
  signal.throwIfAborted();
}

const conditions: Readonly<Record<string, (object: CachedObject | undefined) => boolean>> = {
  gone: (object) => object === undefined,
  healthy: (object) => object !== undefined && !object.deleting && (object.health?.status ?? 'Healthy') === 'Healthy',
};

/** @throws UsageError */
function checkOf(until: WaitCondition): (object: CachedObject | undefined) => boolean {
  if (typeof until === 'function') return until;
  const condition = Object.hasOwn(conditions, until) ? conditions[until] : undefined;
  if (condition !== undefined) return condition;
  throw new UsageError('until must be "healthy", "gone" or a function');
}

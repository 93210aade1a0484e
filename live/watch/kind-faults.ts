import type { Clock } from '#base';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import type { Logger } from '#telemetry';

/** Why an object could not be read. */
export interface ObjectFault {
  readonly message: string;
  /** False if the object has no row in the cache. */
  readonly hasRow: boolean;
  readonly sinceMs: number;
}

export interface KindFaultsDeps {
  readonly kind: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/** Maximum number of objects that are tracked individually. */
const maxFaults = 1000;
/** The key for all objects above the maximum, until the next complete list. */
const overflowKey = 'faults beyond the first thousand' as ResourceKey;
/** Maximum length of a namespace and name in a message. */
const maxNameLength = 520;

/** The unreadable objects of one kind, with the reasons. */
export class KindFaults {
  readonly #deps: KindFaultsDeps;
  readonly #faults = new Map<ResourceKey, ObjectFault>();

  constructor(deps: KindFaultsDeps) {
    this.#deps = deps;
  }

  /** A fault of an object without a row. */
  withoutRow(): ObjectFault | undefined {
    return [...this.#faults.values()].find(({ hasRow }) => !hasRow);
  }

  /** The first fault, and the number of others. */
  text(): string | undefined {
    const [first] = this.#faults.values();
    if (first === undefined) return undefined;
    const others = this.#faults.size - 1;
    return others === 0 ? first.message : `${first.message} (and ${others} more objects)`;
  }

  add(object: KubeObject, why: string, hasRow: boolean): void {
    const { clock, logger, kind, onChange } = this.#deps;
    const own = keyOf(object);
    const isTooMany = !this.#faults.has(own) && this.#faults.size >= maxFaults;
    const key = isTooMany ? overflowKey : own;
    const before = this.#faults.get(key);
    if (isTooMany && before !== undefined && (hasRow || !before.hasRow)) return;
    const { namespace = '', name = '' } = object.metadata;
    const place = (namespace === '' ? name : `${namespace}/${name}`).slice(0, maxNameLength);
    const message = `${kind} ${place} cannot be read: ${why}`;
    if (before?.message === message && before.hasRow === hasRow) return;
    this.#faults.set(key, { message, hasRow, sinceMs: clock.now() });
    logger.error('An object cannot be read; other objects of its kind are not affected', { error: message });
    onChange();
  }

  /** Reports whether the object is tracked individually. */
  has(key: ResourceKey): boolean {
    return this.#faults.has(key);
  }

  remove(key: ResourceKey): void {
    if (this.#faults.delete(key)) this.#deps.onChange();
  }

  /** After a complete list: removes the faults of objects that are not there any more. */
  commitList(isThere: (key: ResourceKey) => boolean): void {
    for (const key of [...this.#faults.keys()]) if (key === overflowKey || !isThere(key)) this.remove(key);
  }

  clear(): void {
    this.#faults.clear();
  }
}

import { isAbort, systemClock, withDeadline } from '#base';
import type { KubeObject } from '#model';
import type { ApiClient } from '#support';

/** Objects of one kind, and one line of their state for each name. */
interface WatchedKind<T> {
  readonly api: ApiClient;
  /** Path of the list. */
  readonly path: string;
  readonly stateOf: (object: KubeObject) => T;
}

/** The state of all objects of a kind by name, from one watch. */
export class ObjectWatch<T> {
  readonly #kind: WatchedKind<T>;
  readonly #states = new Map<string, T>();
  readonly #listeners = new Set<() => void>();

  constructor(kind: WatchedKind<T>) {
    this.#kind = kind;
  }

  get states(): ReadonlyMap<string, T> {
    return this.#states;
  }

  /** The number of objects in this state. */
  count(isCounted: (state: T) => boolean): number {
    return [...this.#states.values()].filter(isCounted).length;
  }

  /** Lists and watches until the signal aborts. @throws Error if a request is refused */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#watchFrom(await this.#list(), signal);
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) throw error;
    }
  }

  /** Reads all objects; returns the version of the list. */
  async #list(): Promise<string> {
    const { api, path } = this.#kind;
    const list = await api.get<{ metadata: { resourceVersion: string }; items: KubeObject[] }>(path);
    if (list === undefined) throw new Error(`GET ${path}: 404`);
    this.#states.clear();
    for (const object of list.items) this.#put(object);
    this.#notify();
    return list.metadata.resourceVersion;
  }

  /** Follows one watch to its end, which is also the answer to an expired version. */
  async #watchFrom(version: string, signal: AbortSignal): Promise<void> {
    const { api, path } = this.#kind;
    for await (const { type, object } of api.watch(`${path}?watch=true&resourceVersion=${version}`, signal)) {
      if (type === 'ERROR') return;
      const found = object as unknown as KubeObject;
      if (type === 'DELETED') this.#states.delete(found.metadata.name ?? '');
      else this.#put(found);
      this.#notify();
    }
  }

  /**
   * Resolves when `isDone` returns true, which is asked after every event. @throws DeadlineExceeded
   */
  async until(
    wait: { readonly what: string; readonly limitMs: number; readonly signal: AbortSignal },
    isDone: () => boolean,
  ): Promise<void> {
    if (isDone()) return;
    let listener: (() => void) | undefined;
    try {
      await withDeadline(wait.signal, { clock: systemClock, limitMs: wait.limitMs, what: wait.what }, () => {
        return new Promise<void>((resolve) => {
          listener = () => {
            if (isDone()) resolve();
          };
          this.#listeners.add(listener);
        });
      });
    } finally {
      if (listener !== undefined) this.#listeners.delete(listener);
    }
  }

  #put(object: KubeObject): void {
    this.#states.set(object.metadata.name ?? '', this.#kind.stateOf(object));
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

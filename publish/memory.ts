import { aborted } from '#base';
import type { ApplicationTree, ManagedResource, Publisher } from './types.ts';

/** Keeps everything in memory: for the demo, tests and installations without Redis. Nothing expires; `remove` forgets. */
export function createMemoryPublisher(): Publisher {
  return new MemoryPublisher();
}

class MemoryPublisher implements Publisher {
  readonly name = 'publisher';
  readonly #resources = new Map<string, readonly ManagedResource[]>();
  readonly #trees = new Map<string, ApplicationTree>();

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
  }

  setManagedResources(instance: string, resources: readonly ManagedResource[], signal: AbortSignal): Promise<void> {
    return this.#act(signal, () => void this.#resources.set(instance, resources));
  }

  managedResources(instance: string, signal: AbortSignal): Promise<readonly ManagedResource[] | undefined> {
    return this.#act(signal, () => this.#resources.get(instance));
  }

  setTree(instance: string, tree: ApplicationTree, signal: AbortSignal): Promise<void> {
    return this.#act(signal, () => void this.#trees.set(instance, tree));
  }

  tree(instance: string, signal: AbortSignal): Promise<ApplicationTree | undefined> {
    return this.#act(signal, () => this.#trees.get(instance));
  }

  remove(instance: string, signal: AbortSignal): Promise<void> {
    return this.#act(signal, () => {
      this.#resources.delete(instance);
      this.#trees.delete(instance);
    });
  }

  // As any store: a caller that has been stopped gets its reason, and nothing is written.
  #act<T>(signal: AbortSignal, body: () => T): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return Promise.resolve(body());
  }
}

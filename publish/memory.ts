import { untilAborted, OwnershipLost } from '#base';
import type { ApplicationTree, ClusterReport, ManagedResource, Publisher, PublishTerms } from './types.ts';

/** Read access to published values, for code in the same process. */
export interface MemoryPublisher extends Publisher {
  tree(instance: string): ApplicationTree | undefined;
  managedResources(instance: string): readonly ManagedResource[] | undefined;
  clusterInfo(server: string): ClusterReport | undefined;
}

/**
 * For installations without Redis. Nothing reads the values, so only the names of the Applications
 * are kept.
 */
export function createDiscardingPublisher(): Publisher {
  return new Discarding();
}

/** Keeps everything in memory, for tests. Nothing expires or is lost; `remove` forgets. */
export function createMemoryPublisher(): MemoryPublisher {
  return new InMemory();
}

class Discarding implements Publisher {
  readonly name = 'publisher';
  readonly #published = new Set<string>();

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
  }

  setTree(_instance: string, _tree: ApplicationTree, terms: PublishTerms): Promise<void> {
    return act(terms, () => undefined);
  }

  /** Callers set the tree first. */
  setManagedResources(instance: string, resources: unknown, terms: PublishTerms): Promise<void> {
    return act(terms, () => {
      if (resources === undefined) this.#published.delete(instance);
      else this.#published.add(instance);
    });
  }

  stands(instance: string): boolean {
    return this.#published.has(instance);
  }

  setClusterInfo(_server: string, _report: ClusterReport, terms: PublishTerms): Promise<void> {
    return act(terms, () => undefined);
  }

  remove(instance: string, terms: PublishTerms): Promise<void> {
    return act(terms, () => void this.#published.delete(instance));
  }

  forget(instance: string): void {
    this.#published.delete(instance);
  }

  onLost(): () => void {
    return () => undefined;
  }
}

class InMemory implements MemoryPublisher {
  readonly name = 'publisher';
  readonly #resources = new Map<string, readonly ManagedResource[]>();
  readonly #trees = new Map<string, ApplicationTree>();
  readonly #clusters = new Map<string, ClusterReport>();

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
  }

  setManagedResources(
    instance: string,
    resources: readonly ManagedResource[] | undefined,
    terms: PublishTerms,
  ): Promise<void> {
    return act(terms, () => {
      if (resources === undefined) this.#resources.delete(instance);
      else this.#resources.set(instance, resources);
    });
  }

  managedResources(instance: string): readonly ManagedResource[] | undefined {
    return this.#resources.get(instance);
  }

  setTree(instance: string, tree: ApplicationTree, terms: PublishTerms): Promise<void> {
    return act(terms, () => void this.#trees.set(instance, tree));
  }

  tree(instance: string): ApplicationTree | undefined {
    return this.#trees.get(instance);
  }

  stands(instance: string): boolean {
    return this.#resources.has(instance) && this.#trees.has(instance);
  }

  setClusterInfo(server: string, report: ClusterReport, terms: PublishTerms): Promise<void> {
    return act(terms, () => void this.#clusters.set(server, report));
  }

  clusterInfo(server: string): ClusterReport | undefined {
    return this.#clusters.get(server);
  }

  remove(instance: string, terms: PublishTerms): Promise<void> {
    return act(terms, () => {
      this.#resources.delete(instance);
      this.#trees.delete(instance);
    });
  }

  forget(): void {
    // There is no other writer.
  }

  onLost(): () => void {
    return () => undefined;
  }
}

/**
 * Like every store: rejects with the reason of an aborted caller, and writes nothing without
 * ownership.
 */
async function act({ signal, fence }: PublishTerms, body: () => void): Promise<void> {
  signal.throwIfAborted();
  try {
    await fence(() => {
      body();
      return Promise.resolve();
    });
  } catch (error) {
    if (!(error instanceof OwnershipLost)) throw error;
  }
}

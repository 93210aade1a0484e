import { createMemoryPublisher } from '#publish';
import type { MemoryPublisher, Publisher, PublishTerms } from '#publish';

/**
 * A memory publisher that awaits `before` ahead of each tree that it publishes.
 * @param isWaiting whether a newer value waits to be published
 */
export function publisherAfter(
  before: (instance: string, terms: PublishTerms) => Promise<void> | void,
  memory: MemoryPublisher = createMemoryPublisher(),
  isWaiting: () => boolean = () => false,
): Publisher {
  return {
    name: memory.name,
    run: (signal) => memory.run(signal),
    setTree: async (instance, tree, terms) => {
      await before(instance, terms);
      return memory.setTree(instance, tree, terms);
    },
    setManagedResources: (...given) => memory.setManagedResources(...given),
    stands: (instance) => !isWaiting() && memory.stands(instance),
    setClusterInfo: (...given) => memory.setClusterInfo(...given),
    remove: (...given) => memory.remove(...given),
    forget: (instance) => memory.forget(instance),
    onLost: (listener) => memory.onLost(listener),
  };
}

/**
 * publish: data that argocd-server and the UI read: managed resources, resource tree, cluster info.
 * One interface with three stores: Redis, nothing (without Redis), and memory for tests.
 */
export { createDiscardingPublisher, createMemoryPublisher } from './memory.ts';
export type { MemoryPublisher } from './memory.ts';
export { createRedisPublisher } from './redis/create.ts';
export type { RedisSettings } from './redis/create.ts';
export type {
  ApplicationTree,
  ClusterReport,
  OwnershipFence,
  HostInfo,
  HostResource,
  ManagedResource,
  NodeRef,
  Publisher,
  PublishTerms,
  TreeNode,
} from './types.ts';

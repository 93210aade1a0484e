/**
 * publish: what argocd-server and the UI read from us: managed resources, resource tree, cluster info. Redis in production, memory for the
 * demo and tests, behind one interface.
 */
export { createMemoryPublisher } from './memory.ts';
export type { MemoryPublisher } from './memory.ts';
export { createRedisPublisher } from './redis/create.ts';
export type { RedisSettings } from './redis/create.ts';
export type {
  ApplicationTree,
  ClusterReport,
  Fence,
  HostInfo,
  HostResource,
  InfoItem,
  ManagedResource,
  NetworkingInfo,
  NodeRef,
  Publisher,
  PublishTerms,
  TreeNode,
} from './types.ts';

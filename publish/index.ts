/**
 * publish: what argocd-server and the UI read from us: managed resources, resource tree, cluster info. Redis in production, memory for the
 * demo and tests, behind one interface.
 */
export { createMemoryPublisher } from './memory.ts';
export type { ApplicationTree, ManagedResource, Publisher, TreeNode } from './types.ts';

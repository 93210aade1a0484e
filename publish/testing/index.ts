/** Shared by tests of other folders: a Redis server, and the parts of the publisher. */
export { RespServer } from './resp-server.ts';
export { StoreError } from '../redis/link.ts';
export type { OpenLink, RedisLink } from '../redis/link.ts';
export { storeMetrics } from '../redis/metrics.ts';
export { RedisPublisher } from '../redis/publisher.ts';

import type { Clock, RandomSource } from '#base';
import type { Logger, MetricRegistry } from '#telemetry';
import type { Publisher } from '../types.ts';
import { redisConnector } from './connection.ts';
import type { ConnectionOptions } from './connection.ts';
import { storeMetrics } from './metrics.ts';
import { RedisPublisher } from './publisher.ts';

/** Address of Redis and format of its values; durations in milliseconds. */
export interface RedisSettings {
  readonly connection: ConnectionOptions;
  readonly prefix: string;
  readonly compression: 'gzip' | 'none';
  /** --app-state-cache-expiration. */
  readonly appStateExpirationMs: number;
  /** --default-cache-expiration, for values whose own expiration is 0. */
  readonly defaultExpirationMs: number;
  readonly treeShardSize: number;
  /** --redis-retry-count. */
  readonly retries: number;
  /** Host name of the replica, for metrics. */
  readonly hostname: string;
}

interface RedisDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
}

/** Enough for compressed values of about ten thousand average applications. */
const maxKeptBytes = 256 * 1024 * 1024;
const hourMs = 3_600_000;

/** Publishes to the Redis that other Argo CD components read. Connects only in `run`. */
export function createRedisPublisher(settings: RedisSettings, deps: RedisDeps): Publisher {
  const { clock, random } = deps;
  const metrics = storeMetrics(deps.metrics, settings.hostname);
  const logger = deps.logger.child({ component: 'redis' });
  const open = redisConnector(settings.connection, metrics, clock);
  const { prefix, compression, treeShardSize, retries } = settings;
  const appStateTtlMs = ttlOf(settings.appStateExpirationMs, settings.defaultExpirationMs);
  return new RedisPublisher(
    { open, clock, random, logger, metrics },
    { prefix, compression, treeShardSize, retries, appStateTtlMs, maxBytes: maxKeptBytes },
  );
}

/**
 * Time to live as in Argo CD's libraries: 0 means the default, below a second an hour, negative
 * disables storing.
 */
export function ttlOf(ownMs: number, defaultMs: number): number | undefined {
  const ms = ownMs === 0 ? defaultMs : ownMs;
  if (ms < 0) return undefined;
  return ms < 1000 ? hourMs : ms;
}

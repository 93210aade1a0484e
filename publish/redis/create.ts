import type { Clock, Random } from '#base';
import type { Logger, Metrics } from '#telemetry';
import type { Publisher } from '../types.ts';
import { redisConnector } from './connection.ts';
import type { ConnectionOptions } from './connection.ts';
import { storeMetrics } from './metrics.ts';
import { RedisPublisher } from './publisher.ts';

/** Where Redis is and how values are kept there; durations in milliseconds. */
export interface RedisSettings {
  readonly connection: ConnectionOptions;
  readonly prefix: string;
  readonly compression: 'gzip' | 'none';
  /** --app-state-cache-expiration. */
  readonly appStateExpirationMs: number;
  /** --default-cache-expiration, for values whose own expiration is 0. */
  readonly defaultExpirationMs: number;
  readonly treeShardSize: number;
  /** Of the replica, for metrics. */
  readonly hostname: string;
}

interface RedisDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Compressed values of some ten thousand applications of usual size. */
const maxBytes = 256 * 1024 * 1024;
const hourMs = 3_600_000;

/** Writes to the Redis from which Argo CD's other components read. Nothing is opened before `run`. */
export function createRedisPublisher(settings: RedisSettings, deps: RedisDeps): Publisher {
  const { clock, random } = deps;
  const metrics = storeMetrics(deps.metrics, settings.hostname);
  const logger = deps.logger.child({ component: 'redis' });
  const open = redisConnector(settings.connection, metrics, clock);
  const { prefix, compression, treeShardSize } = settings;
  const appStateTtlMs = lifeOf(settings.appStateExpirationMs, settings.defaultExpirationMs);
  return new RedisPublisher(
    { open, clock, random, logger, metrics },
    { prefix, compression, treeShardSize, appStateTtlMs, maxBytes },
  );
}

/** As Argo CD's libraries understand it: 0 means the default, what is below a second an hour, and a negative one that nothing is stored. */
export function lifeOf(ownMs: number, defaultMs: number): number | undefined {
  const ms = ownMs === 0 ? defaultMs : ownMs;
  if (ms < 0) return undefined;
  return ms < 1000 ? hourMs : ms;
}

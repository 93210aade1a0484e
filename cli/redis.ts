import { Secret, UsageError } from '#base';
import type { RedisSettings } from '#publish';
import type { RunConfig } from './options.ts';

/** Where Argo CD's own manifests put it. */
const usualAddress = 'argocd-redis:6379';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Where Redis is, from flags and environment; undefined when there is none.
 *
 * Argo CD defaults to `argocd-redis:6379`. Here an installation without Redis is a good one, so nothing is waited for that nobody named; but who gives
 * credentials for Redis, as all of Argo CD's manifests do, means that one.
 * @throws UsageError for values that cannot be meant.
 */
export function redisSettings(config: RunConfig, env: Env, hostname: string): RedisSettings | undefined {
  const address = config.redis === '' && hasCredentials(config, env) ? usualAddress : config.redis;
  if (address === '' && config.sentinel.length === 0) return undefined;
  return {
    connection: {
      address,
      sentinels: config.sentinel,
      sentinelMaster: config.sentinelMaster,
      database: databaseOf(config.redisDb),
      credentials: {
        username: env['REDIS_USERNAME'] ?? '',
        password: new Secret(env['REDIS_PASSWORD'] ?? ''),
        sentinelUsername: env['REDIS_SENTINEL_USERNAME'] ?? '',
        sentinelPassword: new Secret(env['REDIS_SENTINEL_PASSWORD'] ?? ''),
      },
      credentialsDir: config.redisCredsDir,
      tls: tlsOf(config),
    },
    prefix: config.redisKeyPrefix,
    compression: config.redisCompress === 'none' ? 'none' : 'gzip',
    appStateExpirationMs: config.appStateCacheExpiration,
    defaultExpirationMs: config.defaultCacheExpiration,
    treeShardSize: config.treeShardSize,
    hostname,
  };
}

/**
 * Where the health of each object is kept. Argo CD's API server looks for it in the tree in Redis, unless it stands in the status: without Redis it
 * has to. A shadow is compared with a controller that has Redis.
 */
export function healthPlace(
  config: RunConfig,
  given: ReadonlySet<string>,
  hasRedis: boolean,
): Pick<RunConfig, 'persistResourceHealth'> {
  const chosen = hasRedis || config.shadow || given.has('persistResourceHealth');
  return { persistResourceHealth: chosen ? config.persistResourceHealth : true };
}

function hasCredentials(config: RunConfig, env: Env): boolean {
  return config.redisCredsDir !== '' || (env['REDIS_PASSWORD'] ?? '') !== '';
}

function databaseOf(text: string): number {
  if (!/^\d*$/.test(text)) throw new UsageError(`--redisdb takes the number of a database, not "${text}"`);
  return Number(text);
}

function tlsOf(config: RunConfig): RedisSettings['connection']['tls'] {
  if (!config.redisUseTls) return undefined;
  const { redisClientCertificate: certificate, redisClientKey: key, redisCaCertificate: ca } = config;
  if ((certificate === '') !== (key === ''))
    throw new UsageError('--redis-client-certificate and --redis-client-key belong together: give both, or none');
  return { certificate, key, ca, insecureSkipVerify: config.redisInsecureSkipTlsVerify };
}

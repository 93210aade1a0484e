import { SecretValue, UsageError } from '#base';
import type { RedisSettings } from '#publish';
import type { RunConfig } from '../options/run-options.ts';

/** The address in Argo CD's manifests. */
const usualAddress = 'argocd-redis:6379';

type ProcessEnv = Readonly<Record<string, string | undefined>>;

/**
 * Redis settings from flags and environment; undefined without Redis.
 *
 * Argo CD defaults to `argocd-redis:6379`. Driftless also works without Redis, so it waits for
 * Redis only if an address or credentials are set; Argo CD's manifests always set credentials.
 * @throws UsageError for invalid values.
 */
export function redisSettings(config: RunConfig, env: ProcessEnv, hostname: string): RedisSettings | undefined {
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
        password: new SecretValue(env['REDIS_PASSWORD'] ?? ''),
        sentinelUsername: env['REDIS_SENTINEL_USERNAME'] ?? '',
        sentinelPassword: new SecretValue(env['REDIS_SENTINEL_PASSWORD'] ?? ''),
      },
      credentialsDir: config.redisCredsDir,
      tls: tlsOf(config),
    },
    prefix: config.redisKeyPrefix,
    compression: config.redisCompress === 'none' ? 'none' : 'gzip',
    appStateExpirationMs: config.appStateCacheExpiration,
    defaultExpirationMs: config.defaultCacheExpiration,
    treeShardSize: config.treeShardSize,
    retries: config.redisRetryCount,
    hostname,
  };
}

/**
 * Where to store resource health. Argo CD's API server reads it from the tree in Redis unless the
 * status has it, so without Redis the status must. A shadow is compared with a controller that has
 * Redis.
 */
export function healthStorage(
  config: RunConfig,
  given: ReadonlySet<string>,
  hasRedis: boolean,
): Pick<RunConfig, 'persistResourceHealth'> {
  const chosen = hasRedis || config.shadow || given.has('persistResourceHealth');
  return { persistResourceHealth: chosen ? config.persistResourceHealth : true };
}

function hasCredentials(config: RunConfig, env: ProcessEnv): boolean {
  return config.redisCredsDir !== '' || (env['REDIS_PASSWORD'] ?? '') !== '';
}

function databaseOf(text: string): number {
  if (!/^\d*$/.test(text)) throw new UsageError(`--redisdb must be a database number, not "${text}"`);
  return Number(text);
}

function tlsOf(config: RunConfig): RedisSettings['connection']['tls'] {
  if (!config.redisUseTls) return undefined;
  const { redisClientCertificate: certificate, redisClientKey: key, redisCaCertificate: ca } = config;
  if ((certificate === '') !== (key === ''))
    throw new UsageError('--redis-client-certificate and --redis-client-key must be set together');
  return { certificate, key, ca, insecureSkipVerify: config.redisInsecureSkipTlsVerify };
}

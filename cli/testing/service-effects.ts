import type { RunConfig } from '../options/run-options.ts';
import { redisSettings } from '../run/redis.ts';
import { repoServerSettings } from '../run/repo-server.ts';
import type { OptionEffect, ProvenElsewhere } from './effect-types.ts';

const redis = (config: RunConfig): NonNullable<ReturnType<typeof redisSettings>> => {
  const found = redisSettings(config, { REDIS_PASSWORD: 'x' }, 'host-0');
  if (found === undefined) throw new Error('no Redis');
  return found;
};
const tlsFiles = ['--redis-use-tls'];
const repoServer = ['--repo-server', 'r:8081'];
const remote = repoServerSettings;

/** Options of the repo-server and of Redis, as their clients get them. A data table. */
export const serviceEffects = {
  repoServer: { given: 'r:1', usual: undefined, changed: 'r:1', observe: (config) => remote(config)?.address },
  repoServerTimeout: {
    given: '7',
    usual: 60_000,
    changed: 7000,
    beside: repoServer,
    observe: (config) => remote(config)?.timeoutMs,
  },
  repoServerPlaintext: {
    given: 'true',
    usual: true,
    changed: false,
    beside: repoServer,
    observe: (config) => remote(config)?.tls !== undefined,
  },
  repoServerStrictTls: {
    given: 'true',
    usual: undefined,
    changed: ['/app/config/controller/tls/tls.crt', '/app/config/controller/tls/ca.crt'],
    beside: repoServer,
    observe: (config) => remote(config)?.tls?.authorities,
  },
  repoServerCaCertPath: {
    given: '/ca',
    usual: undefined,
    changed: ['/ca'],
    beside: repoServer,
    observe: (config) => remote(config)?.tls?.authorities,
  },
  repoServerClientCertPath: {
    given: '/crt',
    usual: '/app/config/reposerver/mtls/client.crt',
    changed: '/crt',
    beside: repoServer,
    observe: (config) => remote(config)?.tls?.identity?.certificate,
  },
  repoServerClientCertKeyPath: {
    given: '/key',
    usual: '/app/config/reposerver/mtls/client.key',
    changed: '/key',
    beside: repoServer,
    observe: (config) => remote(config)?.tls?.identity?.key,
  },
  grpcTxtServiceConfig: {
    given: 'true',
    usual: false,
    changed: true,
    beside: repoServer,
    observe: (config) => remote(config)?.serviceConfigFromDns,
  },
  grpcMaxSizeMb: {
    given: '7',
    usual: 104_857_600,
    changed: 7_340_032,
    beside: repoServer,
    observe: (config) => remote(config)?.maxMessageBytes,
  },
  appConfPath: {
    given: '/conf',
    usual: '/app/config/controller/tls/tls.crt',
    changed: '/conf/controller/tls/tls.crt',
    beside: [...repoServer, '--repo-server-strict-tls'],
    observe: (config) => remote(config)?.tls?.authorities?.[0],
  },
  appStateCacheExpiration: {
    given: '7m',
    usual: 3_600_000,
    changed: 420_000,
    observe: (config) => redis(config).appStateExpirationMs,
  },
  defaultCacheExpiration: {
    given: '7m',
    usual: 86_400_000,
    changed: 420_000,
    observe: (config) => redis(config).defaultExpirationMs,
  },
  redis: {
    given: 'r:1',
    usual: 'argocd-redis:6379',
    changed: 'r:1',
    observe: (config) => redis(config).connection.address,
  },
  redisDb: { given: '7', usual: 0, changed: 7, observe: (config) => redis(config).connection.database },
  sentinel: {
    given: 'a:1,b:2',
    usual: [],
    changed: ['a:1', 'b:2'],
    observe: (config) => redis(config).connection.sentinels,
  },
  sentinelMaster: {
    given: 'm',
    usual: 'master',
    changed: 'm',
    observe: (config) => redis(config).connection.sentinelMaster,
  },
  redisCompress: { given: 'none', usual: 'gzip', changed: 'none', observe: (config) => redis(config).compression },
  redisUseTls: {
    given: 'true',
    usual: false,
    changed: true,
    observe: (config) => redis(config).connection.tls !== undefined,
  },
  redisInsecureSkipTlsVerify: {
    given: 'true',
    usual: false,
    changed: true,
    beside: tlsFiles,
    observe: (config) => redis(config).connection.tls?.insecureSkipVerify,
  },
  redisClientCertificate: { test: 'cli/run/redis.test.ts', names: '--redis-client-certificate' },
  redisClientKey: { test: 'cli/run/redis.test.ts', names: '--redis-client-key' },
  redisCaCertificate: {
    given: '/ca',
    usual: '',
    changed: '/ca',
    beside: tlsFiles,
    observe: (config) => redis(config).connection.tls?.ca,
  },
  redisKeyPrefix: { given: 'p:', usual: '', changed: 'p:', observe: (config) => redis(config).prefix },
  redisCredsDir: {
    given: '/creds',
    usual: '',
    changed: '/creds',
    observe: (config) => redis(config).connection.credentialsDir,
  },
  redisRetryCount: { given: '7', usual: 3, changed: 7, observe: (config) => redis(config).retries },
  treeShardSize: { given: '7', usual: 0, changed: 7, observe: (config) => redis(config).treeShardSize },
} satisfies Readonly<Record<string, OptionEffect | ProvenElsewhere>>;

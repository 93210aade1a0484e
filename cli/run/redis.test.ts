import { describe, expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { healthStorage, redisSettings } from './redis.ts';

type ProcessEnv = Readonly<Record<string, string>>;
const settings = (argv: readonly string[], env: ProcessEnv = {}): ReturnType<typeof redisSettings> =>
  redisSettings(readArgs(runOptions, argv, env).config, env, 'host-0');

describe('redisSettings', () => {
  it('none without an address, sentinels or credentials', () => {
    expect(settings([])).toBeUndefined();
  });

  it("credentials without an address mean Argo CD's own Redis", () => {
    expect(settings([], { REDIS_PASSWORD: 'x' })?.connection.address).toBe('argocd-redis:6379');
    expect(settings([], { REDIS_CREDS_DIR_PATH: '/creds' })?.connection).toMatchObject({
      address: 'argocd-redis:6379',
      credentialsDir: '/creds',
    });
    expect(settings(['--redis', 'r:1'], { REDIS_PASSWORD: 'x' })?.connection.address).toBe('r:1');
  });

  it('every variable of Argo CD has its effect', () => {
    const found = settings([], {
      REDIS_SERVER: 'r:1',
      REDISDB: '3',
      REDIS_USERNAME: 'u',
      REDIS_PASSWORD: 'p',
      REDIS_SENTINEL_HOSTS: 's1:1, s2:2',
      REDIS_SENTINEL_MASTER: 'mymaster',
      REDIS_SENTINEL_USERNAME: 'su',
      REDIS_SENTINEL_PASSWORD: 'sp',
      REDIS_COMPRESSION: 'none',
      ARGOCD_REDIS_KEY_PREFIX: 'p:',
      ARGOCD_APP_STATE_CACHE_EXPIRATION: '30m',
      ARGOCD_DEFAULT_CACHE_EXPIRATION: '2h',
      ARGOCD_APPLICATION_TREE_SHARD_SIZE: '500',
    });
    expect(found).toMatchObject({
      connection: {
        address: 'r:1',
        sentinels: ['s1:1', 's2:2'],
        sentinelMaster: 'mymaster',
        database: 3,
        credentials: { username: 'u', sentinelUsername: 'su' },
        tls: undefined,
      },
      prefix: 'p:',
      compression: 'none',
      appStateExpirationMs: 1_800_000,
      defaultExpirationMs: 7_200_000,
      treeShardSize: 500,
      retries: 3,
      hostname: 'host-0',
    });
    const { credentials } = found?.connection ?? {};
    expect([credentials?.password.reveal(), credentials?.sentinelPassword.reveal()]).toEqual(['p', 'sp']);
    expect(JSON.stringify(found)).not.toMatch(/"p"|"sp"/);
  });

  it('every flag of Argo CD has its effect, and none warns that it has not', () => {
    const argv =
      '--redis r:1 --redisdb 2 --sentinel s:1 --sentinelmaster m --redis-compress none --redis-use-tls --redis-insecure-skip-tls-verify --redis-client-certificate /c --redis-client-key /k --redis-ca-certificate /ca --app-state-cache-expiration 5m --default-cache-expiration 6m'.split(
        ' ',
      );
    expect(readArgs(runOptions, argv, {}).warnings).toEqual([]);
    expect(settings(argv)).toMatchObject({
      connection: {
        address: 'r:1',
        sentinels: ['s:1'],
        sentinelMaster: 'm',
        database: 2,
        tls: { certificate: '/c', key: '/k', ca: '/ca', insecureSkipVerify: true },
      },
      compression: 'none',
      appStateExpirationMs: 300_000,
      defaultExpirationMs: 360_000,
    });
  });

  it.each([
    [['--redis', 'r', '--redisdb', 'first'], '--redisdb must be a database number, not "first"'],
    [['--redis', 'r', '--redis-use-tls', '--redis-client-key', '/k'], 'must be set together'],
  ])('refuses %j', (argv, message) => {
    expect(() => settings(argv)).toThrow(UsageError);
    expect(() => settings(argv)).toThrow(message);
  });

  it('refuses a compression that no reader knows', () => {
    expect(() => settings(['--redis', 'r', '--redis-compress', 'zstd'])).toThrow(/--redis-compress/);
  });
});

describe('healthPlace', () => {
  const persists = (argv: readonly string[], hasRedis: boolean): boolean => {
    const { config, given } = readArgs(runOptions, argv, {});
    return healthStorage(config, given, hasRedis).persistResourceHealth;
  };

  it('without Redis the health of each object stands in the status: there is no tree to look for it in', () => {
    expect([persists([], false), persists([], true)]).toEqual([true, false]);
  });

  it('what is said is done', () => {
    expect(persists(['--persist-resource-health=false'], false)).toBe(false);
    expect(persists(['--persist-resource-health'], true)).toBe(true);
  });

  it('a shadow is compared with a controller that has Redis', () => {
    expect(persists(['--shadow'], false)).toBe(false);
  });
});

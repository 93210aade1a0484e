import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { OwnershipLost, SecretValue, seededRandom, Shutdown, systemClock } from '#base';
import { createRedisPublisher } from '#publish';
import type { ApplicationTree, Publisher, PublishTerms, RedisSettings } from '#publish';
import { eventually } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { CertificateAuthority } from './support/certificates.ts';
import { freePort, temporaryFolder, toolPath } from './support/index.ts';
import { ServerProcess } from './support/processes.ts';

const signal = new AbortController().signal;
const mine: PublishTerms = { signal, fence: (send) => send(signal) };
const tree = (...names: string[]): ApplicationTree => ({
  nodes: names.map((name) => ({ version: 'v1', kind: 'ConfigMap', namespace: 'prod', name })),
  orphanedNodes: [],
});
const treeKey = (name: string, ending = '.gz'): string => `app|resources-tree|${name}|1.8.3${ending}`;

let folder: ReturnType<typeof temporaryFolder>;
let ends: (() => Promise<unknown>)[];
beforeEach(() => {
  folder = temporaryFolder('redis');
  ends = [];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  folder.remove();
});

interface RealRedis {
  readonly port: number;
  readonly daemon: ServerProcess;
  /** An independent client. */
  readonly client: Redis;
}

/** Starts a real Redis on loopback without persistence. */
async function startRedis(
  config: Readonly<Record<string, string>> = {},
  mode: readonly string[] = [],
): Promise<RealRedis> {
  const port = await freePort();
  const dir = { dir: folder.path, port: String(port), bind: '127.0.0.1', save: '', appendonly: 'no' };
  const settings = Object.entries({ ...dir, ...config }).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
  const daemon = new ServerProcess(toolPath('redis-server'), [...settings, ...mode], join(folder.path, `${port}.log`));
  daemon.start();
  ends.push(() => daemon.stop());
  const password = config['requirepass'];
  const client = new Redis({ port, ...(password === undefined ? {} : { password }), maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  ends.push(() => closed(client));
  await eventually(() => client.ping(), 20_000);
  return { port, daemon, client };
}

type Connection = RedisSettings['connection'];

async function publish(
  connection: Partial<Connection>,
  over: Partial<RedisSettings> = {},
): Promise<{ readonly publisher: Publisher; readonly lines: string[]; readonly metrics: PromMetrics }> {
  const lines: string[] = [];
  const metrics = new PromMetrics();
  const none = new SecretValue('');
  const publisher = createRedisPublisher(
    {
      connection: {
        address: '',
        sentinels: [],
        sentinelMaster: 'master',
        database: 0,
        credentialsDir: '',
        tls: undefined,
        credentials: { username: '', password: none, sentinelUsername: '', sentinelPassword: none },
        ...connection,
      },
      prefix: '',
      compression: 'gzip',
      appStateExpirationMs: 3_600_000,
      defaultExpirationMs: 86_400_000,
      treeShardSize: 0,
      retries: 3,
      hostname: 'test',
      ...over,
    },
    {
      clock: systemClock,
      random: seededRandom(1),
      metrics,
      logger: createLogger({
        level: 'info',
        format: 'text',
        destination: { write: (line: string) => void lines.push(line.trim()) },
      }),
    },
  );
  const stop = new AbortController();
  const running = publisher.run(stop.signal);
  ends.push(() => {
    stop.abort(new Shutdown());
    return running;
  });
  await publisher.ready?.(signal);
  return { publisher, lines, metrics };
}

function closed(client: Redis): Promise<void> {
  client.disconnect();
  return Promise.resolve();
}

async function namesIn({ client }: RealRedis, key: string): Promise<readonly string[]> {
  const bytes = await client.getBuffer(key);
  if (bytes === null) throw new Error(`no ${key}`);
  const { nodes = [] } = JSON.parse(gunzipSync(bytes).toString()) as Partial<ApplicationTree>;
  return nodes.map(({ name }) => name);
}

describe('a real Redis', () => {
  it('gets the keys that Argo CD reads, with their expiration and notifications', async () => {
    const redis = await startRedis({ requirepass: 'hunter2' });
    const heard: string[] = [];
    const listener = redis.client.duplicate();
    ends.push(() => closed(listener));
    listener.on('message', (channel: string, text: string) => heard.push(`${channel} "${text}"`));
    await listener.subscribe('app|managed-resources|team-a_web|1.8.3');
    const none = new SecretValue('');
    const credentials = {
      username: 'default',
      password: new SecretValue('hunter2'),
      sentinelUsername: '',
      sentinelPassword: none,
    };
    const { publisher } = await publish({ address: `127.0.0.1:${redis.port}`, credentials }, { prefix: 'p:' });
    await publisher.setTree('team-a_web', tree('a'), mine);
    await publisher.setManagedResources('team-a_web', [], mine);
    const connectionState = { status: 'Successful', message: '', attemptedAt: '2026-01-01T00:00:00Z' } as const;
    await publisher.setClusterInfo('https://c', { connectionState, cacheInfo: {}, applicationsCount: 1 }, mine);
    expect((await redis.client.keys('*')).sort()).toEqual([
      'p:app|managed-resources|team-a_web|1.8.3.gz',
      'p:app|resources-tree|team-a_web|1.8.3.gz',
      'p:cluster|info|https://c|1.8.3.gz',
    ]);
    expect(await namesIn(redis, `p:${treeKey('team-a_web')}`)).toEqual(['a']);
    expect(await redis.client.ttl(`p:${treeKey('team-a_web')}`)).toBeGreaterThan(3500);
    expect(await redis.client.ttl('p:cluster|info|https://c|1.8.3.gz')).toBeGreaterThan(500);
    await eventually(() => expect(heard).toEqual(['app|managed-resources|team-a_web|1.8.3 ""']));
    await publisher.remove('team-a_web', mine);
    expect(await redis.client.keys('p:app*')).toEqual([]);
  });

  // T-REDIS-2
  it('can hold compressed and uncompressed values side by side', async () => {
    const redis = await startRedis();
    const address = `127.0.0.1:${redis.port}`;
    const [zipped, plain] = [await publish({ address }), await publish({ address }, { compression: 'none' })];
    await zipped.publisher.setTree('web', tree('a'), mine);
    await plain.publisher.setTree('web', tree('b'), mine);
    expect(await namesIn(redis, treeKey('web'))).toEqual(['a']);
    expect(await redis.client.get(treeKey('web', ''))).toBe(
      '{"nodes":[{"version":"v1","kind":"ConfigMap","namespace":"prod","name":"b"}]}\n',
    );
  });

  // T-REDIS-1
  it('gets no writes from 1,000 idle Applications, and is complete again within 5 s after a flush', async () => {
    const redis = await startRedis();
    const { publisher } = await publish({ address: `127.0.0.1:${redis.port}` });
    const all = async (): Promise<void> => {
      for (let i = 0; i < 1000; i += 1) {
        await publisher.setTree(`app-${i}`, tree(`a-${i}`), mine);
        await publisher.setManagedResources(`app-${i}`, [], mine);
      }
    };
    const writes = async (): Promise<string[]> =>
      (await redis.client.info('commandstats'))
        .split('\r\n')
        .filter((line) => /^cmdstat_(?:set|del|publish):/.test(line));
    await all();
    const before = await writes();
    await all();
    expect(await writes()).toEqual(before);
    await redis.client.flushall();
    await eventually(async () => expect(await redis.client.dbsize()).toBe(2000), 5000);
    expect(await namesIn(redis, treeKey('app-999'))).toEqual(['a-999']);
  });

  it('that was killed and restarts empty is filled again, with one log line for each event', async () => {
    const redis = await startRedis();
    const { publisher, lines } = await publish({ address: `127.0.0.1:${redis.port}` });
    await publisher.setTree('web', tree('a'), mine);
    await redis.daemon.stop();
    await eventually(async () => {
      await publisher.setTree('web', tree('b'), mine);
      expect(lines).toHaveLength(1);
    });
    redis.daemon.start();
    await eventually(async () => expect(await namesIn(redis, treeKey('web'))).toEqual(['b']), 15_000);
    // Redis shows a write before its response has arrived here.
    await eventually(() =>
      expect(lines).toEqual([
        expect.stringContaining('Redis rejects writes'),
        expect.stringContaining('Redis accepts writes again'),
      ]),
    );
  });

  it('that is full does not block comparisons, and gets everything once it has space', async () => {
    const redis = await startRedis({ maxmemory: '1' });
    const { publisher, lines, metrics } = await publish({ address: `127.0.0.1:${redis.port}` });
    for (let i = 0; i < 50; i += 1) await publisher.setTree(`app-${i}`, tree('a'), mine);
    expect(lines).toEqual([expect.stringContaining('OOM')]);
    expect(await metrics.expose()).toMatch(/^driftless_publish_up 0$/m);
    await redis.client.config('SET', 'maxmemory', '0');
    await eventually(async () => expect(await redis.client.dbsize()).toBe(50), 15_000);
  });

  it('works with a user that has only the permissions that Argo CD needs', async () => {
    const redis = await startRedis();
    await redis.client.acl(
      'SETUSER',
      'argo',
      'on',
      '>pw',
      '~app|*',
      '~cluster|*',
      '&*',
      '+set',
      '+get',
      '+del',
      '+publish',
    );
    const none = new SecretValue('');
    const credentials = {
      username: 'argo',
      password: new SecretValue('pw'),
      sentinelUsername: '',
      sentinelPassword: none,
    };
    const { publisher, metrics } = await publish({ address: `127.0.0.1:${redis.port}`, credentials });
    await publisher.setTree('web', tree('a'), mine);
    expect(await namesIn(redis, treeKey('web'))).toEqual(['a']);
    await eventually(async () => expect(await metrics.expose()).toMatch(/command="exists",failed="true"/));
    await publisher.setTree('web', tree('b'), mine);
    expect(await namesIn(redis, treeKey('web'))).toEqual(['b']);
    expect(await metrics.expose()).toMatch(/^driftless_publish_up 1$/m);
  });

  it('works over TLS with a client certificate', async () => {
    const authority = await CertificateAuthority.create(folder.path);
    await authority.keyPair('redis');
    await authority.server('redis');
    await authority.keyPair('controller');
    await authority.client('controller', 'controller', []);
    const plain = await startRedis({
      'tls-port': String(await freePort()),
      'tls-cert-file': authority.path('redis.crt'),
      'tls-key-file': authority.path('redis.key'),
      'tls-ca-cert-file': authority.path('ca.crt'),
    });
    const port = String(await plain.client.config('GET', 'tls-port').then((found) => found[1]));
    const tls = {
      certificate: authority.path('controller.crt'),
      key: authority.path('controller.key'),
      ca: authority.path('ca.crt'),
      insecureSkipVerify: false,
    };
    const { publisher } = await publish({ address: `127.0.0.1:${port}`, tls });
    await publisher.setTree('web', tree('a'), mine);
    expect(await namesIn(plain, treeKey('web'))).toEqual(['a']);
    const strange = await publish({ address: `127.0.0.1:${port}`, tls: { ...tls, ca: '' } });
    expect(strange.lines).toEqual([expect.stringMatching(/self.signed|unable to verify|certificate/i)]);
  });

  it('behind sentinels is complete after a failover, and gets new values', async () => {
    const [first, second] = [await startRedis(), await startRedis()];
    await second.client.replicaof('127.0.0.1', first.port);
    const sentinelPort = await freePort();
    const conf = join(folder.path, 'sentinel.conf');
    writeFileSync(
      conf,
      `port ${sentinelPort}\nbind 127.0.0.1\ndir ${folder.path}\nsentinel monitor main 127.0.0.1 ${first.port} 1\n` +
        'sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n',
    );
    const sentinel = new ServerProcess(
      toolPath('redis-server'),
      [conf, '--sentinel'],
      join(folder.path, 'sentinel.log'),
    );
    sentinel.start();
    ends.push(() => sentinel.stop());
    const sentinelClient = new Redis({ port: sentinelPort, maxRetriesPerRequest: null });
    sentinelClient.on('error', () => undefined);
    ends.push(() => closed(sentinelClient));
    await eventually(async () => {
      const replicas = (await sentinelClient.call('SENTINEL', 'REPLICAS', 'main')) as unknown[];
      expect(replicas).toHaveLength(1);
    }, 30_000);
    const { publisher } = await publish({ sentinels: [`127.0.0.1:${sentinelPort}`], sentinelMaster: 'main' });
    await publisher.setTree('web', tree('a'), mine);
    expect(await namesIn(first, treeKey('web'))).toEqual(['a']);
    // The replica may lack the latest writes when the master dies.
    await second.client.replicaof('NO', 'ONE');
    await second.client.flushall();
    await second.client.replicaof('127.0.0.1', first.port);
    await first.daemon.stop();
    await eventually(async () => expect(await second.client.info('replication')).toContain('role:master'), 60_000);
    await publisher.setTree('other', tree('b'), mine);
    await eventually(async () => {
      expect([await namesIn(second, treeKey('web')), await namesIn(second, treeKey('other'))]).toEqual([['a'], ['b']]);
    }, 30_000);
  });

  it('gets no write and no deletion from a former owner after a hand-over', async () => {
    const redis = await startRedis();
    const address = `127.0.0.1:${redis.port}`;
    const [before, after] = [await publish({ address }), await publish({ address })];
    const state = { owner: 'before' };
    const terms = (who: string): PublishTerms => ({
      signal,
      fence: (send) =>
        state.owner === who ? send(signal) : Promise.reject(new OwnershipLost('application argocd/web')),
    });
    await before.publisher.setTree('web', tree('old'), terms('before'));
    state.owner = 'after';
    await after.publisher.setTree('web', tree('new'), terms('after'));
    await before.publisher.setTree('web', tree('late'), terms('before'));
    await before.publisher.remove('web', terms('before'));
    expect(await namesIn(redis, treeKey('web'))).toEqual(['new']);
    await redis.client.flushall();
    await eventually(async () => expect(await namesIn(redis, treeKey('web'))).toEqual(['new']), 10_000);
  });

  it('gets a tree of 20,000 nodes in parts', async () => {
    const redis = await startRedis();
    const { publisher } = await publish({ address: `127.0.0.1:${redis.port}` }, { treeShardSize: 1000 });
    const names = Array.from({ length: 20_000 }, (_, i) => `node-${i}`);
    await publisher.setTree('big', tree(...names), mine);
    await eventually(async () => expect(await redis.client.dbsize()).toBe(20));
    const parts = await Promise.all(
      names.slice(0, 20).map((_, i) => namesIn(redis, treeKey(i === 0 ? 'big' : `big|${i}`))),
    );
    expect(parts.flat()).toEqual(names);
  });
});

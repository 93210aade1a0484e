import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, seededRandom, Shutdown, systemClock } from '#base';
import { eventually } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { error, RespServer, usualReply } from '../testing/resp-server.ts';
import type { PublishTerms } from '../types.ts';
import { parseAddress, redisConnector } from './connection.ts';
import type { ConnectionOptions } from './connection.ts';
import { createRedisPublisher } from './create.ts';
import { StoreError } from './link.ts';
import type { RedisLink } from './link.ts';
import { storeMetrics } from './metrics.ts';

const signal = new AbortController().signal;
const mine: PublishTerms = { signal, fence: (send) => send(signal) };
const none = {
  username: '',
  password: new SecretValue(''),
  sentinelUsername: '',
  sentinelPassword: new SecretValue(''),
};
const tree = { nodes: [{ version: 'v1', kind: 'ConfigMap', name: 'a' }], orphanedNodes: [] };

const timers = (): number => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
let timersBefore = 0;
beforeAll(() => {
  timersBefore = timers();
});
// ioredis keeps a two-second timer for each sentinel that did not answer; wait for them, or the
// process would hang.
afterAll(() => eventually(() => expect(timers()).toBeLessThanOrEqual(timersBefore)));

let server: RespServer;
let folder: string;
const links: RedisLink[] = [];
beforeEach(async () => {
  server = await RespServer.start();
  folder = mkdtempSync(join(tmpdir(), 'driftless-redis-'));
});
afterEach(async () => {
  for (const link of links.splice(0)) link.close(new StoreError('connection', 'the test is over'));
  await server.stop();
  rmSync(folder, { recursive: true });
});

function optionsOf(options: Partial<ConnectionOptions> = {}): ConnectionOptions {
  return {
    address: server.address,
    sentinels: [],
    sentinelMaster: 'master',
    database: 0,
    credentials: none,
    credentialsDir: '',
    tls: undefined,
    ...options,
  };
}

async function open(options: Partial<ConnectionOptions> = {}, metrics = new PromMetrics()): Promise<RedisLink> {
  const link = await redisConnector(optionsOf(options), storeMetrics(metrics, 'host'), systemClock)(signal);
  links.push(link);
  return link;
}

async function refusalOf(work: Promise<unknown>): Promise<StoreError> {
  const thrown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof StoreError)) throw new Error(`not refused, but ${inspect(thrown)}`);
  return thrown;
}

const said = (): string[] => server.commands.map((words) => words.join(' '));

describe('redisConnector', () => {
  it("sends its name, selects the database and asks for the server's run id", async () => {
    server.password = 'hunter2';
    const credentials = { ...none, username: 'argo', password: new SecretValue('hunter2') };
    const link = await open({ credentials, database: 3 });
    expect(said()).toEqual(['auth argo hunter2', 'select 3', 'info server']);
    expect(link.runId).toBe('a1');
  });

  it('sends no credentials when there are none', async () => {
    await open();
    expect(said()).toEqual(['info server']);
  });

  it('reads user and password from files for each connection, and then ignores those of the environment', async () => {
    server.password = 'hunter2';
    const credentials = { ...none, password: new SecretValue('of the environment') };
    writeFileSync(join(folder, 'auth'), 'old\n');
    const refused = await refusalOf(open({ credentials, credentialsDir: folder }));
    expect([refused.fault, refused.message]).toEqual(['auth', expect.stringContaining('WRONGPASS')]);
    writeFileSync(join(folder, 'auth'), ' hunter2\n');
    await open({ credentials, credentialsDir: folder });
    expect(said().filter((command) => command.startsWith('auth'))).toEqual(['auth old', 'auth hunter2']);
  });

  it('shows no password in errors', async () => {
    server.password = 'right';
    const refused = await refusalOf(open({ credentials: { ...none, password: new SecretValue('hunter2') } }));
    expect(inspect(refused, { depth: 10, showHidden: true })).not.toContain('hunter2');
  });

  it('shows no password in errors of a server that repeats unknown commands', async () => {
    server.fault = ([name, ...args]) =>
      name === 'auth'
        ? error(`ERR unknown command 'auth', with args beginning with: '${args.join("' '")}'`)
        : usualReply;
    const credentials = { ...none, username: 'argo', password: new SecretValue('hunter2') };
    const refused = await refusalOf(open({ credentials }));
    expect(refused.message).toContain('unknown command');
    expect(inspect(refused, { depth: 10, showHidden: true })).not.toContain('hunter2');
    const asSentinel = { ...none, sentinelPassword: new SecretValue('hunter3') };
    const lost = await refusalOf(open({ sentinels: [server.address], credentials: asSentinel }));
    expect(inspect(lost, { depth: 10, showHidden: true })).not.toContain('hunter3');
  });

  it('reports a missing password', async () => {
    server.password = 'right';
    expect((await refusalOf(open())).message).toContain('NOAUTH');
  });

  it('asks sentinels for the master one after the other, with their own password', async () => {
    const sentinel = await RespServer.start();
    const closed = await RespServer.start();
    const deaf = closed.address;
    await closed.stop();
    sentinel.password = 'watch';
    sentinel.fault = ([name, verb]) => {
      if (name?.toLowerCase() !== 'sentinel') return usualReply;
      const port = String(server.port);
      return verb === 'get-master-addr-by-name' ? `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n` : '*0\r\n';
    };
    const credentials = { ...none, sentinelPassword: new SecretValue('watch') };
    const link = await open({
      address: 'nowhere:1',
      sentinels: [deaf, sentinel.address],
      sentinelMaster: 'mymaster',
      credentials,
    });
    await link.set('k', Buffer.from('v'), 1000);
    expect(server.values.get('k')).toBe('v');
    const asked = sentinel.commands.map((words) => words.join(' ')).filter((command) => !command.startsWith('client'));
    expect(asked.slice(0, 2)).toEqual(['auth watch', 'sentinel get-master-addr-by-name mymaster']);
    await sentinel.stop();
    const lost = await refusalOf(open({ sentinels: [deaf] }));
    expect([lost.fault, lost.message]).toEqual([
      'connection',
      expect.stringContaining('All sentinels are unreachable'),
    ]);
  });

  it('classifies faults: full, forbidden, now a replica, disconnected', async () => {
    const link = await open();
    const answers: readonly (readonly [string, StoreError['fault']])[] = [
      ["OOM command not allowed when used memory > 'maxmemory'.", 'refused'],
      ['NOPERM this user has no permissions to run the set command', 'forbidden'],
      ["READONLY You can't write against a read only replica.", 'connection'],
      ['LOADING Redis is loading the dataset in memory', 'refused'],
    ];
    for (const [message, fault] of answers) {
      server.fault = () => error(message);
      const refused = await refusalOf(link.set('k', Buffer.from('v'), 1000));
      expect([refused.message, refused.fault]).toEqual([message, fault]);
    }
    server.fault = () => {
      server.cut();
      return undefined;
    };
    expect((await refusalOf(link.set('k', Buffer.from('v'), 1000))).fault).toBe('connection');
    expect((await refusalOf(link.ended)).fault).toBe('connection');
  });

  it('queues no command: what cannot be sent now is rejected and never sent', async () => {
    const link = await open();
    server.cut();
    await refusalOf(link.ended);
    const before = server.commands.length;
    expect((await refusalOf(link.set('k', Buffer.from('v'), 1000))).fault).toBe('connection');
    await open();
    expect(said().slice(before)).toEqual(['info server']);
  });

  it('works without permission to read the run id', async () => {
    server.fault = ([name]) => (name === 'info' ? error('NOPERM no INFO') : usualReply);
    expect((await open()).runId).toBe('');
  });

  it('gives up when it is aborted', async () => {
    server.fault = () => undefined;
    const stop = new AbortController();
    const opening = redisConnector(optionsOf(), storeMetrics(new PromMetrics(), 'host'), systemClock)(stop.signal);
    await eventually(() => expect(said()).toEqual(['info server']));
    stop.abort(new Shutdown());
    expect((await refusalOf(opening)).fault).toBe('connection');
  });

  it("counts commands under Argo CD's metric names", async () => {
    const metrics = new PromMetrics();
    const link = await open({}, metrics);
    await link.set('k', Buffer.from('v'), 1000);
    server.fault = () => error('OOM full');
    await refusalOf(link.publish('c'));
    const text = await metrics.expose();
    const series = 'hostname="host",initiator="argocd-application-controller"';
    expect(text).toContain(`argocd_redis_request_total{${series},command="set",failed="false"} 1`);
    expect(text).toContain(`argocd_redis_request_total{${series},command="publish",failed="true"} 1`);
    expect(text).toContain(`argocd_redis_request_duration_count{${series}} 3`);
  });

  it.each([
    ['redis', { host: 'redis', port: 6379 }],
    ['redis:1', { host: 'redis', port: 1 }],
    ['[::1]:1', { host: '::1', port: 1 }],
    ['[::1]', { host: '::1', port: 6379 }],
  ])('parses the address %s', (text, expected) => {
    expect(parseAddress(text, 6379)).toEqual(expected);
  });
});

// T-SEC-20
describe('a store that others can write to', () => {
  const sources = readdirSync('publish', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing/'))
    .map((name) => ({ name, text: readFileSync(join('publish', name), 'utf8') }));

  // T-SEC-20
  it('is never read: one module uses Redis, and none of its commands returns a value', () => {
    const speakers = sources.filter(({ text }) => /(?:from|import\() ?'ioredis'/.test(text));
    expect(speakers.map(({ name }) => name)).toEqual(['redis/connection.ts']);
    const used = [...(speakers[0]?.text ?? '').matchAll(/#redis\s*\.(\w+)/g)].map(([, method]) => method ?? '');
    const inner = ['connect', 'disconnect', 'on', 'status'];
    expect([...new Set(used)].filter((method) => !inner.includes(method)).sort()).toEqual([
      'auth',
      'del',
      'exists',
      'info',
      'ping',
      'publish',
      'select',
      'set',
    ]);
    // The only information from the store is whether a value is lost, which is then compared and
    // written again.
    const types = sources.find(({ name }) => name === 'types.ts')?.text ?? '';
    const contract = types.slice(types.indexOf('export interface Publisher'));
    expect([...contract.matchAll(/\): ([^;]+);/g)].map(([, answer]) => answer)).toEqual([
      'Promise<void>',
      'Promise<void>',
      'boolean',
      'Promise<void>',
      'Promise<void>',
      'void',
      '() => void',
    ]);
  });
});

describe('createRedisPublisher', () => {
  it('reconciling continues with a wrong password; a renewed password file is used without a restart', async () => {
    server.password = 'hunter2';
    writeFileSync(join(folder, 'auth'), 'hunter1');
    const lines: string[] = [];
    const publisher = createRedisPublisher(
      {
        connection: optionsOf({ credentialsDir: folder }),
        prefix: '',
        compression: 'none',
        appStateExpirationMs: 3_600_000,
        defaultExpirationMs: 1,
        treeShardSize: 0,
        retries: 3,
        hostname: 'host',
      },
      {
        clock: systemClock,
        random: seededRandom(1),
        logger: createLogger({
          level: 'info',
          format: 'text',
          destination: { write: (line: string) => void lines.push(line) },
        }),
        metrics: new PromMetrics(),
      },
    );
    const stop = new AbortController();
    const running = publisher.run(stop.signal);
    try {
      await publisher.ready?.(signal);
      await publisher.setTree('web', tree, mine);
      expect([server.values.size, lines]).toEqual([0, [expect.stringContaining('WRONGPASS')]]);
      writeFileSync(join(folder, 'auth'), 'hunter2');
      await eventually(() => expect([...server.values.keys()]).toEqual(['app|resources-tree|web|1.8.3']));
    } finally {
      stop.abort(new Shutdown());
      await running;
    }
    expect(lines.join('\n')).not.toContain('hunter');
  });
});

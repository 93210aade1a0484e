import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { seededRandom, systemClock } from '#base';
import type { Clock } from '#base';
import { apiResource, createKubeClient } from '#kube';
import type { KubeClient, ListOptions } from '#kube';
import type { ClusterConnection } from '#model';
import { ScriptedServer } from '../../kube/testing/index.ts';
import type { Turn } from '../../kube/testing/index.ts';
import { tracked, world } from '../../live/testing/index.ts';
import type { FakeServer, LiveWorld } from '../../live/testing/index.ts';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import type { RunConfig } from '../options/run-options.ts';
import { connectionLimits, liveTuning } from '../run/tuning.ts';
import type { OptionEffect, ProvenElsewhere, WithoutEffect } from './effect-types.ts';

const inert = 'variables with nothing to change';
const kubectl = (flag: string): ProvenElsewhere => ({ test: 'cli/run/hub-connection.test.ts', names: `--${flag}` });
const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const noSignal = new AbortController().signal;

function clientOf(config: RunConfig, connection: Partial<ClusterConnection>, clock: Clock = systemClock): KubeClient {
  return createKubeClient(
    { server: 'https://127.0.0.1:1', insecure: true, credentials: {}, ...connection },
    {
      clock,
      random: Object.assign(seededRandom(1), { next: () => 0.5 }),
      logger: silentLogger,
      userAgent: 'test',
      limits: connectionLimits(config, 1),
    },
  );
}

/** Requests to a server that answers with `play`. */
async function requests(
  config: RunConfig,
  play: (turn: Turn) => void,
  act: (client: KubeClient) => Promise<unknown>,
  clock: Clock = systemClock,
): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(play);
  const client = clientOf(config, { server: server.url }, clock);
  await act(client).catch(() => undefined);
  await client.close();
  await server.close();
  return server;
}

const list = (client: KubeClient): Promise<unknown> => client.list(configMaps, { signal: noSignal });
const emptyList = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: '1' }, items: [] };

/** Whether connecting to a port that never answers is given up within half a second. */
async function givesUp(config: RunConfig, connection: (port: number) => Partial<ClusterConnection>): Promise<boolean> {
  const silent = createServer((socket) => void socket.on('error', () => undefined));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const clock = new FakeClock();
  const client = clientOf(config, connection((silent.address() as AddressInfo).port), clock);
  let ended = false;
  const watching = (async () => {
    await client.watch(configMaps, { signal: noSignal, resourceVersion: '1' })[Symbol.asyncIterator]().next();
  })().catch(() => {
    ended = true;
  });
  const accepted = new Promise<void>((resolve) => silent.once('connection', () => resolve()));
  await clock.advance(1);
  await accepted;
  // The client's side of the connection opens in the same moment as the server's, or a turn later.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(500);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const gaveUp = ended;
  await client.close();
  silent.close();
  await clock.advance(60_000);
  await watching;
  return gaveUp;
}

async function connectionsOf(config: RunConfig): Promise<boolean> {
  const waiting: Turn[] = [];
  const answer = (turn: Turn): void => {
    waiting.push(turn);
    setTimeout(() => turn.reply(200, emptyList), 20);
  };
  const { connections } = await requests(config, answer, (client) =>
    Promise.all(Array.from({ length: 6 }, () => list(client))),
  );
  return connections > 2;
}

/** Delays before repeated requests. */
async function retryDelays(config: RunConfig): Promise<readonly number[]> {
  const slept: number[] = [];
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    timer: (ms, fire) => systemClock.timer(ms, fire),
    sleep: (ms) => {
      slept.push(ms);
      return Promise.resolve();
    },
  };
  await requests(config, (turn) => turn.status(500, 'InternalError', 'no'), list, clock);
  return slept;
}

interface SeenLists {
  readonly server: FakeServer;
  readonly options: ListOptions[];
  most: number;
}

/** A watched cluster of 20 kinds with the tuning of a configuration. */
async function live<T>(
  config: RunConfig,
  look: (w: LiveWorld, seen: SeenLists) => Promise<T> | T,
  prepare: (server: FakeServer) => void = () => undefined,
): Promise<T> {
  const options: ListOptions[] = [];
  let seen: SeenLists | undefined;
  const w = await world(
    (server) => {
      const found: SeenLists = { server, options, most: 0 };
      seen = found;
      for (let i = 0; i < 20; i += 1) server.serve('example.com', 'v1', `Kind${i}`);
      let running = 0;
      const open = server.client.bind(server);
      server.client = (connection) => {
        const client = open(connection);
        return Object.assign(client, {
          list: ((inner) => async (resource, listing) => {
            options.push(listing);
            running += 1;
            found.most = Math.max(found.most, running);
            try {
              return await inner(resource, listing);
            } finally {
              running -= 1;
            }
          })(client.list.bind(client)) satisfies KubeClient['list'],
        });
      };
      prepare(server);
    },
    { tuning: liveTuning(config) },
  );
  try {
    if (seen === undefined) throw new Error('no server');
    return await look(w, seen);
  } finally {
    await w.stop();
  }
}

const listsOfConfigMaps = ({ requests: asked }: FakeServer): number =>
  asked.filter((line) => line === 'list configmaps').length;

/** Whether a change that follows another one is announced within so many milliseconds. */
const announcedAfter = (config: RunConfig, ms: number): Promise<boolean> =>
  live(config, async (w) => {
    await w.clock.advance(1000);
    w.server.put(tracked('first'));
    await w.clock.advance(1);
    w.changes.length = 0;
    w.server.put(tracked('second'));
    await w.clock.advance(ms);
    return w.changes.length > 0;
  });

/** Options of connections and of the live state, and kubectl's. A data table. */
export const connectionEffects = {
  clusterCacheResync: {
    given: '1m',
    usual: 1,
    changed: 2,
    beside: ['--cluster-cache-watch-resync=0s'],
    observe: (config) =>
      live(config, async (w, { server }) => {
        await w.clock.advance(90_000);
        return listsOfConfigMaps(server);
      }),
  },
  clusterCacheWatchResync: {
    given: '1m',
    usual: 1,
    changed: 2,
    observe: (config) =>
      live(config, async (w, { server }) => {
        await w.clock.advance(90_000);
        return listsOfConfigMaps(server);
      }),
  },
  clusterCacheListPageSize: {
    given: '7',
    usual: [500],
    changed: [7],
    observe: (config) => live(config, (_, { options }) => [...new Set(options.map(({ limit }) => limit))]),
  },
  clusterCacheListPageBufferSize: { given: '3', row: inert },
  clusterCacheListSemaphore: {
    given: '3',
    usual: 12,
    changed: 3,
    observe: (config) => live(config, (_, seen) => seen.most),
  },
  clusterCacheAttemptLimit: {
    given: '2',
    usual: [5],
    changed: [2],
    observe: (config) => live(config, (_, { options }) => [...new Set(options.map(({ attempts }) => attempts))]),
  },
  clusterCacheRetryUseBackoff: { given: 'true', row: inert },
  clusterSyncRetryTimeout: {
    given: '1s',
    usual: false,
    changed: true,
    observe: (config) =>
      live(
        config,
        async (w, { server }) => {
          await w.clock.advance(120_000);
          return server.requests.filter((line) => line.startsWith('version')).length > 30;
        },
        (server) => void server.faults.set('version *', 500),
      ),
  },
  k8sClientQps: { given: '7', usual: 50, changed: 7, observe: (config) => connectionLimits(config, 1).qps },
  k8sClientBurst: { given: '7', usual: 100, changed: 7, observe: (config) => connectionLimits(config, 1).burst },
  k8sClientMaxIdleConnections: { given: '2', usual: true, changed: false, observe: connectionsOf },
  k8sTcpTimeout: {
    given: '400ms',
    usual: false,
    changed: true,
    // A proxy that does not answer: a host that does not answer at all cannot be simulated.
    observe: (config) => givesUp(config, (port) => ({ proxyUrl: `socks5://127.0.0.1:${port}` })),
  },
  k8sTcpKeepalive: {
    given: '7s',
    usual: 30_000,
    changed: 7000,
    observe: (config) => connectionLimits(config, 1).keepAliveMs,
  },
  k8sTcpIdleTimeout: {
    given: '7s',
    usual: 30_000,
    changed: 7000,
    observe: (config) => connectionLimits(config, 1).idleMs,
  },
  k8sTlsHandshakeTimeout: {
    given: '400ms',
    usual: false,
    changed: true,
    observe: (config) => givesUp(config, (port) => ({ server: `https://127.0.0.1:${port}` })),
  },
  k8sServerSideTimeout: {
    given: '90s',
    usual: null,
    changed: '1m30s',
    observe: async (config) => {
      const { turns } = await requests(config, (turn) => turn.reply(200, emptyList), list);
      return turns[0]?.query.get('timeout');
    },
  },
  k8sClientRetryMax: {
    given: '1',
    usual: 4,
    changed: 1,
    observe: async (config) => (await retryDelays(config)).length,
  },
  k8sClientRetryBaseBackoff: {
    given: '7',
    usual: [100, 200],
    changed: [7, 14],
    observe: async (config) => (await retryDelays(config)).slice(0, 2),
  },
  clusterCacheBatchEvents: {
    given: 'false',
    usual: false,
    changed: true,
    observe: (config) => announcedAfter(config, 10),
  },
  clusterCacheEventsInterval: {
    given: '500ms',
    usual: true,
    changed: false,
    observe: (config) => announcedAfter(config, 100),
  },
  fakeInCluster: { given: 'true', row: inert },
  kubeCacheDir: { given: '/k', row: inert },
  grpcTimeHistogram: { given: 'true', row: inert },
  tracingEnabled: { given: '1', row: inert },
  profilerFile: { given: '/p', row: inert },
  kubeconfig: kubectl('kubeconfig'),
  context: { test: 'cli/run/hub-connection.test.ts', names: 'context' },
  cluster: kubectl('cluster'),
  user: kubectl('user'),
  server: kubectl('server'),
  token: kubectl('token'),
  username: kubectl('username'),
  password: kubectl('password'),
  clientCertificate: kubectl('client-certificate'),
  clientKey: kubectl('client-key'),
  certificateAuthority: kubectl('certificate-authority'),
  insecureSkipTlsVerify: kubectl('insecure-skip-tls-verify'),
  tlsServerName: kubectl('tls-server-name'),
  proxyUrl: kubectl('proxy-url'),
  disableCompression: { given: 'true', row: "kubectl's flags (`--as`, `--server`, `--token`, `--request-timeout`, …)" },
  as: kubectl('as'),
  asGroup: kubectl('as-group'),
  asUid: kubectl('as-uid'),
  requestTimeout: kubectl('request-timeout'),
  namespace: { test: 'cli/run/hub-connection.test.ts', names: 'namespace' },
} satisfies Readonly<Record<string, OptionEffect | WithoutEffect | ProvenElsewhere>>;

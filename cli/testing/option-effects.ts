import { configMap } from '../../controller/testing/index.ts';
import type { Application } from '#model';
import { createRateLimiter } from '#queues';
import { silentLogger } from '#telemetry';
import type { runOptions, RunConfig } from '../options/run-options.ts';
import type { driftlessOptions } from '../options/driftless-options.ts';
import type { renderingOptions } from '../options/rendering-options.ts';
import { controllerConfig, shardingAlgorithm } from '../run/infrastructure.ts';
import type { OptionEffect, ProvenElsewhere, WithoutEffect } from './effect-types.ts';
import { connectionEffects } from './connection-effects.ts';
import { serviceEffects } from './service-effects.ts';
import { firstCommit, inWorld } from './effect-world.ts';
import type { EffectWorld } from './effect-world.ts';

/** Names in RunConfig of the options of Argo CD's controller, without its repo-server's. */
export type ArgoOption = Exclude<
  keyof typeof runOptions,
  keyof typeof driftlessOptions | keyof typeof renderingOptions | 'help'
>;

const inert = 'variables with nothing to change';

const limiterDelays = (config: RunConfig, adds: readonly number[]): readonly number[] => {
  const limiter = createRateLimiter<string>(controllerConfig(config, 'argocd').rateLimiter);
  return adds.map((now) => Math.round(limiter.delayMs('a', now) * 1000) / 1000);
};

const concurrentWrites = (config: RunConfig): Promise<number> =>
  inWorld(config, async ({ world, clock }) => {
    let [running, most] = [0, 0];
    world.git.push(
      firstCommit,
      Array.from({ length: 8 }, (_, i) => configMap(`cm-${i}`)),
    );
    const before = async (call: string): Promise<void> => {
      if (!call.startsWith('create')) return;
      running += 1;
      most = Math.max(most, running);
      await clock.sleep(50);
      running -= 1;
    };
    world.application({}, { operation: { sync: {} } });
    world.replica({ config: controllerConfig(config, 'argocd'), dest: { before } });
    await clock.advance(2000);
    return most;
  });

/** Seconds until drift number `count` is repaired, each after the last repair. */
const repairSeconds = (config: RunConfig, count: number): Promise<number> =>
  inWorld(config, async ({ world, start, pass }) => {
    world.application({ syncPolicy: { automated: { prune: true, selfHeal: true } } });
    await start();
    let seconds = 0;
    for (let drift = 0; drift < count; drift += 1) {
      world.dest.delete('ConfigMap', 'one');
      for (seconds = 0; world.dest.get('ConfigMap', 'one') === undefined && seconds < 400; seconds += 1) await pass(1);
    }
    return seconds;
  });

const healthStored = (app: Application): boolean =>
  app.status?.resources?.some(({ health }) => health !== undefined) === true;

const wavePause = (config: RunConfig): Promise<boolean> =>
  inWorld(config, async ({ world, clock }: EffectWorld) => {
    const wave = { 'argocd.argoproj.io/sync-wave': '1' };
    world.git.push(firstCommit, [configMap('one'), configMap('two', '1', wave)]);
    world.application({}, { operation: { sync: {} } });
    world.replica({ config: controllerConfig(config, 'argocd') });
    await clock.advance(1000);
    return world.dest.get('ConfigMap', 'two') !== undefined;
  });

/** Every option of Argo CD, with the difference that it makes. A data table. */
export const optionEffects: Readonly<Record<ArgoOption, OptionEffect | WithoutEffect | ProvenElsewhere>> = {
  ...connectionEffects,
  ...serviceEffects,
  metricsCacheExpiration: { test: 'cli/options/run-options.test.ts', names: 'metrics-cache-expiration' },
  metricsApplicationLabels: { test: 'cli/options/run-options.test.ts', names: 'metrics-application-labels' },
  metricsApplicationConditions: { test: 'cli/options/run-options.test.ts', names: 'metrics-application-conditions' },
  metricsClusterLabels: { test: 'cli/options/run-options.test.ts', names: 'metrics-cluster-labels' },
  otlpAddress: { test: 'cli/run/telemetry/tracing.slow.test.ts', names: '--otlp-address' },
  otlpInsecure: { test: 'cli/run/telemetry/tracing.slow.test.ts', names: '--otlp-insecure' },
  otlpHeaders: { test: 'cli/run/telemetry/tracing.slow.test.ts', names: '--otlp-headers' },
  otlpAttrs: { test: 'cli/run/telemetry/tracing.slow.test.ts', names: '--otlp-attrs' },
  otlpSampleRatio: { test: 'cli/run/telemetry/tracing.slow.test.ts', names: '--otlp-sample-ratio' },
  enableK8sEvent: { test: 'controller/application/events.test.ts', names: 'enable-k8s-event' },
  appResync: {
    given: '900',
    env: '15m',
    usual: true,
    changed: false,
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        world.application();
        await start();
        const before = world.git.requests.length;
        await pass(300);
        return world.git.requests.length > before;
      }),
  },
  appHardResync: {
    given: '60',
    env: '60s',
    usual: false,
    changed: true,
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        world.application();
        await start();
        await pass(300);
        return world.git.requests.some(({ cache }) => cache.manifests === 'rerender');
      }),
  },
  appResyncJitter: {
    given: '5',
    env: '5s',
    usual: 60_000,
    changed: 5000,
    observe: (config) => controllerConfig(config, 'argocd').jitterMs,
  },
  statusProcessors: {
    given: '2',
    usual: 20,
    changed: 2,
    observe: (config) => controllerConfig(config, 'argocd').statusProcessors,
  },
  operationProcessors: {
    given: '3',
    usual: 10,
    changed: 3,
    observe: (config) => controllerConfig(config, 'argocd').operationProcessors,
  },
  logFormat: { test: 'telemetry/log-text.test.ts', names: 'format' },
  logTimestamp: { test: 'telemetry/log-text.test.ts', names: 'timestamp' },
  logLevel: { test: 'telemetry/telemetry.test.ts', names: 'level' },
  glogLevel: { given: '3', row: inert },
  metricsPort: { test: 'cli/options/run-options.test.ts', names: 'metrics-port' },
  selfHealTimeout: {
    given: '120',
    usual: true,
    changed: false,
    beside: ['--self-heal-backoff-timeout-seconds=0'],
    observe: async (config) => (await repairSeconds(config, 2)) < 60,
  },
  selfHealBackoffTimeout: {
    given: '60',
    usual: true,
    changed: false,
    observe: async (config) => (await repairSeconds(config, 2)) < 30,
  },
  selfHealBackoffFactor: {
    given: '30',
    usual: true,
    changed: false,
    observe: async (config) => (await repairSeconds(config, 3)) < 40,
  },
  selfHealBackoffCap: {
    given: '3',
    usual: false,
    changed: true,
    observe: async (config) => (await repairSeconds(config, 4)) < 8,
  },
  selfHealBackoffCooldown: { given: '1', row: inert },
  syncTimeout: {
    given: '30',
    usual: 'Running',
    changed: 'Failed',
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        const annotations = { 'argocd.argoproj.io/hook': 'Sync' };
        const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job', annotations }, spec: {} };
        world.git.push(firstCommit, [job]);
        world.application({}, { operation: { sync: {} } });
        await start();
        await pass(60);
        return world.app.status?.operationState?.phase;
      }),
  },
  kubectlParallelism: {
    given: '2',
    usual: true,
    changed: false,
    observe: async (config) => (await concurrentWrites(config)) > 2,
  },
  persistResourceHealth: {
    given: 'true',
    usual: false,
    changed: true,
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job' }, spec: {} };
        world.git.push(firstCommit, [job]);
        world.application({}, { operation: { sync: {} } });
        await start();
        await pass(5);
        return healthStored(world.app);
      }),
  },
  serverSideDiff: {
    given: 'true',
    usual: false,
    changed: true,
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        world.application({}, { operation: { sync: {} } });
        await start();
        world.git.push('b'.repeat(40), [configMap('one', '2')]);
        world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
        await pass(5);
        return world.dest.calls.some((call) => /^patch ConfigMap one .*dry/i.test(call));
      }),
  },
  jqTimeout: {
    given: '7s',
    usual: 1000,
    changed: 7000,
    observe: (config) => controllerConfig(config, 'argocd').jqLimitMs,
  },
  applicationNamespaces: {
    given: 'team-*',
    usual: false,
    changed: true,
    observe: (config) =>
      inWorld(config, async ({ world, start }) => {
        world.project('default', { sourceNamespaces: ['*'] });
        world.application({}, { metadata: { name: 'demo', namespace: 'team-a' } });
        await start();
        return world.git.requests.length > 0;
      }),
  },
  shardingMethod: {
    given: 'round-robin',
    usual: 'legacy',
    changed: 'round-robin',
    observe: (config) => shardingAlgorithm(config.shardingMethod, silentLogger),
  },
  dynamicClusterDistribution: { test: 'test/acceptance/hand-over.test.ts', names: 'dynamic' },
  wqBucketSize: {
    given: '1',
    usual: [1, 1, 1],
    changed: [1, 1000, 2000],
    beside: ['--wq-bucket-qps=1'],
    observe: (config) => limiterDelays(config, [0, 0, 0]),
  },
  wqBucketQps: {
    given: '2',
    usual: [1, 1, 1],
    changed: [1, 500, 1000],
    beside: ['--wq-bucket-size=1'],
    observe: (config) => limiterDelays(config, [0, 0, 0]),
  },
  wqCooldown: {
    given: '1s',
    env: '1000000000',
    usual: [1, 1, 1],
    changed: [1, 1.5, 2.25],
    observe: (config) => limiterDelays(config, [0, 0, 0]),
  },
  wqBaseDelay: {
    given: '5ms',
    env: '5000000',
    usual: [1],
    changed: [5],
    observe: (config) => limiterDelays(config, [0]),
  },
  wqMaxDelay: {
    given: '2ms',
    env: '2000000',
    usual: [1, 1.5, 2.25, 3.375],
    changed: [1, 1.5, 2, 2],
    beside: ['--wq-cooldown-ns=1s'],
    observe: (config) => limiterDelays(config, [0, 0, 0, 0]),
  },
  wqBackoffFactor: {
    given: '3',
    usual: [1, 1.5, 2.25],
    changed: [1, 3, 9],
    beside: ['--wq-cooldown-ns=1s'],
    observe: (config) => limiterDelays(config, [0, 0, 0]),
  },
  clusterInfoInterval: {
    given: '40s',
    usual: 10_000,
    changed: 40_000,
    observe: (config) => controllerConfig(config, 'argocd').clusterInfoMs,
  },
  syncWaveDelay: { given: '0', usual: false, changed: true, observe: wavePause },
  replicas: { test: 'sharding/ownership/ownership.test.ts', names: 'replicas' },
  shard: { test: 'sharding/ownership/ownership.test.ts', names: 'shard' },
  controllerName: { test: 'sharding/ownership/ownership.test.ts', names: 'controllerName' },
  heartbeat: { test: 'sharding/ownership/ownership.test.ts', names: 'heartbeat' },
  repoErrorGracePeriod: {
    given: '10',
    env: '10s',
    usual: false,
    changed: true,
    beside: ['--app-resync=60', '--app-resync-jitter=0'],
    observe: (config) =>
      inWorld(config, async ({ world, start, pass }) => {
        world.application();
        await start();
        world.git.failure = new Error('connection refused');
        await pass(150);
        return world.app.status?.conditions?.some(({ type }) => type === 'ComparisonError') === true;
      }),
  },
  commitServer: { test: 'desired/hydrate/commit-server.test.ts', names: 'commit server' },
  hydrationProcessors: {
    given: '9',
    beside: ['--hydrator-enabled'],
    usual: 5,
    changed: 9,
    observe: (config) => controllerConfig(config, 'argocd').hydration?.processors,
  },
  hydratorEnabled: {
    given: 'true',
    usual: false,
    changed: true,
    observe: (config) => controllerConfig(config, 'argocd').hydration !== undefined,
  },
  pauseAfterFailures: { test: 'desired/keeping.slow.test.ts', names: 'pauseAfterFailures' },
  pauseMinutes: { test: 'desired/keeping.slow.test.ts', names: 'paused for an hour' },
  pauseRequests: { test: 'desired/keeping.slow.test.ts', names: 'pauseRequests' },
  sshDataPath: { test: 'cli/options/run-options.test.ts', names: 'ARGOCD_SSH_DATA_PATH' },
  tlsDataPath: { test: 'cli/options/run-options.test.ts', names: 'ARGOCD_TLS_DATA_PATH' },
  gpgEnabled: {
    given: 'no',
    usual: true,
    changed: false,
    observe: (config) => controllerConfig(config, 'argocd').gpgEnabled,
  },
};

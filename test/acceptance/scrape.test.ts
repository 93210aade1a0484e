import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SecretValue, seededRandom, systemClock } from '#base';
import { createRedisPublisher } from '#publish';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { createMetrics } from '../../cli/testing/index.ts';
import { selfSigned } from '../../kube/testing/index.ts';
import { RespServer } from '../../publish/testing/index.ts';
import { argoBuckets, argoFamilies, dashboardQueries, foreignDashboardMetrics } from './argo-metrics.ts';
import { automated, config, deployment, hookJob, synced } from './objects.ts';
import { readScrape, samplesOf } from './scrape.ts';
import type { Scrape } from './scrape.ts';
import { World } from './world.ts';

const finalizers = ['resources-finalizer.argocd.argoproj.io'];
/** Upper bound of a step; the machine may be busy. */
const waitMs = 40_000;
let world: World;
let redis: RespServer;
let scrape: Scrape;

beforeAll(async () => {
  redis = await RespServer.start();
  world = await World.start();
  scrape = await scriptedRun();
}, 120_000);

afterAll(async () => {
  await world.close();
  await redis.stop();
});

/**
 * A sync, a failed one, a comparison that fails, drift, a deletion, a repeated request, and a
 * cluster whose certificate is replaced; then a scrape while a sync runs.
 */
async function scriptedRun(): Promise<Scrape> {
  const { metrics, instruments } = prepareWorld();
  const named = world.cluster.url.replace('127.0.0.1', 'localhost');
  world.addCluster('named', named, { labels: { env: 'test' }, config: clusterConfig() });
  const repo = world.repository('sample');
  const failingHook = hookJob('check', { 'argocd.argoproj.io/hook': 'PreSync' }, true);
  repo.commit({
    'app/web.yaml': deployment(),
    'app/a.yaml': config('a'),
    'failing/check.yaml': failingHook,
    'failing/b.yaml': config('b'),
    'gone/c.yaml': config('c'),
    'named/d.yaml': config('d'),
    'running/e.yaml': config('e'),
  });
  world.metrics = () => ({ metrics, instruments });
  world.cluster.addFault({ verb: 'list', resource: 'configmaps', times: 1, fault: unavailable });
  await world.replica({
    metrics: { applicationLabels: ['team'], applicationConditions: ['ComparisonError'], hostname: 'test-0' },
  });
  world.application('web', { ...repo.source(), ...automated }, { labels: { team: 'a' } });
  world.application('failing', { ...repo.source({ path: 'failing' }) });
  world.application('broken', { ...repo.source({ path: 'missing' }), ...automated });
  world.application('gone', { ...repo.source({ path: 'gone' }), ...automated }, { finalizers });
  const destination = { server: named, namespace: 'apps' };
  world.application('named', { ...repo.source({ path: 'named' }), destination, ...automated });
  for (const name of ['web', 'gone', 'named']) await world.until(name, synced, waitMs);
  await fail();
  await drift();
  await remove();
  world.updateCluster('named', named, { labels: { env: 'test' }, config: clusterConfig() });
  world.refresh('named', 'hard');
  world.tamper('', 'ConfigMap', 'd', { data: { key: 'tampered' } });
  world.cluster.addFault({ verb: 'create', resource: 'configmaps', fault: { kind: 'hang' } });
  world.application('running', { ...repo.source({ path: 'running' }), ...automated });
  await world.until('running', ({ operation }) => expect(operation).toBeDefined(), waitMs);
  const rotated = /^argocd_kubectl_client_cert_rotation_age_seconds /m;
  await eventually(async () => expect(await metrics.expose()).toMatch(rotated), waitMs);
  const shown = /^argocd_app_info\{.*operation="sync"/m;
  return eventually(async () => {
    const text = await metrics.expose();
    expect(text).toMatch(shown);
    return readScrape(text);
  }, waitMs);
}

const unavailable = { kind: 'status', code: 503, retryAfterSeconds: 0 } as const;

/** Metrics as of `driftless run`, Redis, and a credential plugin. */
function prepareWorld(): ReturnType<typeof createMetrics> {
  const created = createMetrics(
    { metricsApplicationLabels: ['team'], metricsClusterLabels: ['env'], metricsCacheExpiration: 0 },
    silentLogger,
  );
  world.clusterLabels = ['env'];
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 't' } };
  world.plugins = () => Promise.resolve({ code: 0, stdout: JSON.stringify(credential), stderr: '' });
  const none = new SecretValue('');
  const connection = {
    address: redis.address,
    sentinels: [],
    sentinelMaster: '',
    database: 0,
    credentialsDir: '',
    tls: undefined,
    credentials: { username: '', password: none, sentinelUsername: '', sentinelPassword: none },
  };
  const settings = { connection, prefix: '', compression: 'gzip', treeShardSize: 0, retries: 1 } as const;
  world.publisherFor = (_own, metrics) =>
    createRedisPublisher(
      { ...settings, appStateExpirationMs: 3_600_000, defaultExpirationMs: 3_600_000, hostname: 'test-0' },
      { clock: systemClock, random: seededRandom(3), logger: silentLogger, metrics },
    );
  return created;
}

function clusterConfig(): object {
  const { cert, key } = selfSigned();
  const [certData, keyData] = [cert, key].map((text) => Buffer.from(text).toString('base64'));
  const execProviderConfig = { command: 'plugin', apiVersion: 'client.authentication.k8s.io/v1' };
  return { execProviderConfig, tlsClientConfig: { certData, keyData } };
}

async function fail(): Promise<void> {
  await world.until('broken', ({ status }) => expect(status?.conditions?.[0]?.type).toBe('ComparisonError'), waitMs);
  world.sync('failing');
  await world.until('failing', ({ status }) => expect(status?.operationState?.phase).toBe('Failed'), waitMs);
}

async function drift(): Promise<void> {
  world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
  await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), waitMs);
}

async function remove(): Promise<void> {
  world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'gone');
  await eventually(() => expect(world.app('gone')).toBeUndefined(), waitMs);
}

describe('a scrape after a scripted run', () => {
  it.each(Object.entries(argoFamilies))('has %s', (name, declared) => {
    const [type, ...labels] = declared.split(' ');
    const family = scrape.get(name);
    expect([name, family?.type]).toEqual([name, type]);
    const samples = samplesOf(family, type === 'histogram' ? '_count' : '');
    expect([name, samples.length > 0]).toEqual([name, true]);
    for (const sample of samples) expect(Object.keys(sample).map(withoutLabelName).sort()).toEqual([...labels].sort());
  });

  it.each(Object.entries(argoFamilies).filter(([, declared]) => declared.startsWith('histogram')))(
    "has Argo CD's buckets in %s",
    (name) => {
      const buckets = new Set(samplesOf(scrape.get(name), '_bucket').map(({ le = '' }) => le));
      expect([...buckets]).toEqual([...(argoBuckets[name] ?? []), '+Inf']);
    },
  );

  it('has no other family of Argo CD', () => {
    const found = [...scrape.keys()].filter((name) => /^(?:argocd|workqueue)_/.test(name));
    expect(found.sort()).toEqual(Object.keys(argoFamilies).sort());
  });

  it('has the queues of Argo CD', () => {
    const names = new Set(samplesOf(scrape.get('workqueue_adds_total'), '').map(({ name }) => name));
    const queues = ['app_reconciliation_queue', 'app_operation_processing_queue', 'project_reconciliation_queue'];
    expect([...names]).toEqual(expect.arrayContaining(queues));
  });

  it('shows what the run did', () => {
    // The sync of `running` may end meanwhile on a busy machine.
    const syncs = samplesOf(scrape.get('argocd_app_sync_total'), '')
      .filter(({ name }) => name !== 'running')
      .map(({ name, phase }) => `${name} ${phase}`);
    expect(new Set(syncs)).toEqual(new Set(['web Succeeded', 'named Succeeded', 'failing Failed']));
    expect(samplesOf(scrape.get('argocd_app_condition'), '').map(({ name }) => name)).toEqual(['broken']);
    const applications = [...scrape].flatMap(([metric, family]) =>
      metric.startsWith('argocd_app_') ? samplesOf(family, '').map(({ name }) => name) : [],
    );
    expect(applications).not.toContain('gone');
    expect(samplesOf(scrape.get('argocd_cluster_labels'), '')).toContainEqual({
      server: world.cluster.url.replace('127.0.0.1', 'localhost'),
      name: 'named',
      label_env: 'test',
    });
  });
});

describe("Argo CD's dashboard", () => {
  it.each(dashboardQueries)('has data for $panel', ({ metric, labels, where = {} }) => {
    const [base, suffix] = splitSuffix(metric);
    const samples = samplesOf(scrape.get(base), suffix);
    const read = samples.filter(
      (sample) =>
        labels.every((label) => Object.hasOwn(sample, label)) &&
        Object.entries(where).every(([label, pattern]) => pattern.test(sample[label] ?? '')),
    );
    expect([metric, labels, read.length > 0]).toEqual([metric, labels, true]);
  });

  it.each(Object.keys(foreignDashboardMetrics))('reads %s of others, which does not exist here', (name) => {
    if (name !== 'process_start_time_seconds') expect(scrape.has(name)).toBe(false);
  });
});

function withoutLabelName(name: string): string {
  return name.replace(/^label_.+$/, 'label_<name>');
}

function splitSuffix(metric: string): readonly [base: string, suffix: string] {
  const suffix = /_(?:bucket|count|sum)$/.exec(metric)?.[0] ?? '';
  return [metric.slice(0, metric.length - suffix.length), suffix];
}

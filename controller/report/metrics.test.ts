import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import type { RequestRecord } from '#kube';
import type { Application } from '#model';
import { createLogger, PromMetrics } from '#telemetry';
import { AppMetrics } from './metrics.ts';
import { configMap, FakeWorld, server } from '../testing/fake-world.ts';

/** Runs a controller in a world of its own while `use` inspects it. */
async function running(
  spec: object,
  options: Parameters<FakeWorld['replica']>[0],
  use: (world: FakeWorld, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [configMap('one')]);
  world.application({ syncPolicy: { automated: {} }, ...spec });
  const replica = world.replica(options);
  await clock.advance(5000);
  try {
    await use(world, clock);
  } finally {
    const ended = replica.stop();
    await clock.advance(2000);
    await ended;
  }
}

function samples(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_count{`));
}

describe('metrics of Applications', () => {
  it.each([
    ['a name', { name: 'dest', namespace: 'apps' }, server],
    ['a server', { server, namespace: 'apps' }, server],
    ['nothing that could be resolved', { name: 'nowhere', namespace: 'apps' }, ''],
  ])('dest_server is the resolved server where the destination is %s', async (_what, destination, expected) => {
    const metrics = new PromMetrics();
    await running({ destination }, { metrics }, async () => {
      const text = await metrics.expose();
      const families = ['argocd_app_info', 'argocd_app_reconcile'];
      if (expected !== '') families.push('argocd_app_sync_total', 'argocd_app_sync_duration_seconds_total');
      for (const family of families) {
        const found = samples(text, family);
        expect(found).not.toEqual([]);
        for (const line of found) expect(line).toContain(`dest_server="${expected}"`);
      }
    });
  });

  it('logs a pattern of application.namespaces that matches nothing', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: 'warn',
      format: 'json',
      destination: { write: (line: string) => void lines.push(line) },
    });
    const applicationNamespaces = ['/^(a+)+(b+)+(c+)+$/', '/(?!x)y/', 'team-*'];
    await running({}, { logger, config: { applicationNamespaces } }, () => Promise.resolve());
    const said = lines.filter((line) => line.includes('application.namespaces'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('/(?!x)y/');
  });
});

describe('series of Applications', () => {
  const conditions = { applicationLabels: ['team'], applicationConditions: ['SyncError', 'ComparisonError'] };
  const perApplication = [
    'argocd_app_info',
    'argocd_app_labels',
    'argocd_app_sync_total',
    'argocd_app_sync_duration_seconds_total',
    'argocd_app_orphaned_resources_count',
    'argocd_app_reconcile',
  ];

  it('go with the Application, counters and histograms too', async () => {
    const metrics = new PromMetrics();
    const config = { metrics: { ...conditions, hostname: 'host' } };
    await running({}, { metrics, config }, async (world, clock) => {
      const before = await metrics.expose();
      for (const family of perApplication) expect([family, samples(before, family).length]).toEqual([family, 1]);
      world.hub.delete('Application', 'demo');
      await clock.advance(1000);
      const after = await metrics.expose();
      for (const family of perApplication) expect([family, samples(after, family)]).toEqual([family, []]);
    });
  });

  it('end on the replica that the Application leaves, and begin on the one that takes it', async () => {
    const metrics = new PromMetrics();
    const next = new PromMetrics();
    const config = { metrics: { ...conditions, hostname: 'host' } };
    await running({}, { metrics, config }, async (world, clock) => {
      const other = world.replica({ index: 1, metrics: next, config });
      await clock.advance(2000);
      const idle = await next.expose();
      for (const family of perApplication) expect([family, samples(idle, family)]).toEqual([family, []]);
      for (const family of perApplication)
        expect([family, samples(await metrics.expose(), family).length]).toEqual([family, 1]);
      world.handOver(1);
      await clock.advance(5000);
      const [left, taken] = [await metrics.expose(), await next.expose()];
      for (const family of perApplication) expect([family, samples(left, family)]).toEqual([family, []]);
      const begun = [
        'argocd_app_info',
        'argocd_app_labels',
        'argocd_app_orphaned_resources_count',
        'argocd_app_reconcile',
      ];
      for (const family of begun) expect([family, samples(taken, family).length]).toEqual([family, 1]);
      const ended = other.stop();
      await clock.advance(2000);
      await ended;
    });
  });

  it('of a former project are replaced', async () => {
    const metrics = new PromMetrics();
    await running({}, { metrics }, async (world, clock) => {
      world.edit(() => ({ spec: { ...world.app.spec, project: 'other' } }));
      await clock.advance(5000);
      expect(samples(await metrics.expose(), 'argocd_app_sync_total')).toEqual([]);
    });
  });

  it('show the wanted labels and conditions', async () => {
    const metrics = new PromMetrics();
    const config = { metrics: { ...conditions, hostname: 'host' } };
    await running({ destination: { name: 'nowhere' } }, { metrics, config }, async () => {
      const text = await metrics.expose();
      expect(samples(text, 'argocd_app_labels')).toEqual([
        'argocd_app_labels{namespace="argocd",name="demo",project="default",label_team=""} 1',
      ]);
      expect(samples(text, 'argocd_app_condition')).toEqual([]);
    });
    const counted = new PromMetrics();
    const wanted = { ...conditions, applicationConditions: ['InvalidSpecError'], hostname: 'host' };
    await running({ destination: { name: 'nowhere' } }, { metrics: counted, config: { metrics: wanted } }, async () => {
      expect(samples(await counted.expose(), 'argocd_app_condition')).toEqual([
        'argocd_app_condition{namespace="argocd",name="demo",project="default",condition="InvalidSpecError"} 1',
      ]);
    });
  });
});

describe('requests of one Application', () => {
  const app = {
    metadata: { namespace: 'argocd', name: 'demo' },
    spec: { project: 'p', destination: {} },
    operation: { sync: { dryRun: true } },
  } as unknown as Application;
  const record = (resourceNamespace: string): RequestRecord => ({
    verb: 'patch',
    kind: 'ConfigMap',
    path: '',
    server: 'https://a',
    requestVerb: 'Patch',
    resourceKind: 'configmaps',
    resourceNamespace,
    code: 200,
    durationMs: 1,
  });

  it('are counted with the labels of Argo CD, and namespaces up to a bound', async () => {
    const metrics = new PromMetrics();
    const counters = new AppMetrics({ metrics, serverOf: () => 'https://a', owned: () => app });
    for (let index = 0; index < 1500; index += 1) counters.requested(app, record(`n${index}`));
    const found = samples(await metrics.expose(), 'argocd_app_k8s_request_total');
    expect(found[0]).toBe(
      'argocd_app_k8s_request_total{namespace="argocd",name="demo",project="p",server="https://a",response_code="200",verb="Patch",resource_kind="configmaps",resource_namespace="n0",dry_run="true"} 1',
    );
    expect(found).toHaveLength(1001);
    expect(found.at(-1)).toMatch(/resource_namespace="",dry_run="true"\} 500$/);
  });

  it('end when another replica takes the Application', async () => {
    const metrics = new PromMetrics();
    let owned: Application | undefined = app;
    const counters = new AppMetrics({ metrics, serverOf: () => 'https://a', owned: () => owned });
    counters.requested(app, record('n'));
    expect(samples(await metrics.expose(), 'argocd_app_k8s_request_total')).toHaveLength(1);
    owned = undefined;
    expect(samples(await metrics.expose(), 'argocd_app_k8s_request_total')).toEqual([]);
  });
});

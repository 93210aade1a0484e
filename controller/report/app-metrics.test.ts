import { describe, expect, it } from '@jest/globals';
import type { RequestRecord } from '#kube';
import type { Application, OperationState } from '#model';
import { PromMetrics } from '#telemetry';
import { exposeApplications, exposeOverdue } from './app-families.ts';
import { AppMetrics } from './metrics.ts';

const app = {
  metadata: { namespace: 'argocd', name: 'demo', creationTimestamp: '2024-05-15T12:00:00Z' },
  spec: { project: 'p', destination: {} },
} as unknown as Application;

function stateOf(more: object): OperationState {
  return {
    phase: 'Succeeded',
    startedAt: '2024-05-15T12:00:00Z',
    finishedAt: '2024-05-15T12:00:05Z',
    operation: { sync: {} },
    ...more,
  } as unknown as OperationState;
}

/** An Application whose cluster and owner a test changes. */
class Stage {
  readonly metrics = new PromMetrics();
  server = 'https://a';
  owned: Application | undefined = app;
  readonly counters = new AppMetrics({
    metrics: this.metrics,
    serverOf: () => this.server,
    owned: () => this.owned,
  });

  async samples(name: string): Promise<readonly string[]> {
    const lines = (await this.metrics.expose()).split('\n');
    return lines.filter((line) => line.startsWith(`${name}{`));
  }

  requested(resourceNamespace: string): void {
    const record = {
      requestVerb: 'Patch',
      resourceKind: 'configmaps',
      resourceNamespace,
      server: 'https://a',
      code: 200,
    };
    this.counters.requested(app, record as RequestRecord);
  }
}

describe('counters of syncs', () => {
  it.each([
    ['a sync', {}, 'false'],
    ['a dry run', { operation: { sync: { dryRun: true } } }, 'true'],
  ])('say whether %s was a dry run', async (_title, more, expected) => {
    const stage = new Stage();
    stage.counters.synced(app, stateOf(more));
    const [line] = await stage.samples('argocd_app_sync_total');
    expect(line).toContain(`dry_run="${expected}"`);
  });

  it('sum up seconds, and none for a clock that went back', async () => {
    const stage = new Stage();
    stage.counters.synced(app, stateOf({}));
    stage.counters.synced(app, stateOf({ finishedAt: '2024-05-15T12:00:02Z' }));
    stage.counters.synced(app, stateOf({ finishedAt: '2024-05-15T11:00:00Z' }));
    stage.counters.synced(app, stateOf({ finishedAt: undefined }));
    const [line] = await stage.samples('argocd_app_sync_duration_seconds_total');
    expect(line).toMatch(/ 7$/);
  });

  it('end when the cluster of the Application changes', async () => {
    const stage = new Stage();
    stage.counters.synced(app, stateOf({}));
    expect(await stage.samples('argocd_app_sync_total')).toHaveLength(1);
    stage.server = 'https://b';
    expect(await stage.samples('argocd_app_sync_total')).toEqual([]);
    expect(await stage.samples('argocd_app_sync_duration_seconds_total')).toEqual([]);
  });
});

describe('the histogram of passes', () => {
  it('ends when the last Application has left the cluster', async () => {
    const stage = new Stage();
    stage.counters.reconciled(app, 100);
    expect(await stage.samples('argocd_app_reconcile_count')).toEqual([
      'argocd_app_reconcile_count{namespace="argocd",dest_server="https://a"} 1',
    ]);
    stage.server = 'https://b';
    expect(await stage.samples('argocd_app_reconcile_count')).toEqual([]);
  });
});

describe('counters of requests', () => {
  it('begin with a free bound when a deleted Application comes back', async () => {
    const stage = new Stage();
    for (let index = 0; index < 1000; index += 1) stage.requested(`n${index}`);
    stage.owned = undefined;
    expect(await stage.samples('argocd_app_k8s_request_total')).toEqual([]);
    stage.owned = app;
    stage.requested('new');
    const [line] = await stage.samples('argocd_app_k8s_request_total');
    expect(line).toContain('resource_namespace="new"');
  });
});

describe('argocd_app_info', () => {
  it('shows the repository without user and password', async () => {
    const metrics = new PromMetrics();
    const source = { repoURL: 'https://me:canary@git.example.com/team/app.git', path: '.' };
    const shown = { ...app, spec: { ...app.spec, source } } as unknown as Application;
    exposeApplications(metrics, { mine: () => [shown], serverOf: () => 'https://a', labels: [], conditions: [] });
    const text = await metrics.expose();
    expect(text).toContain('repo="https://git.example.com/team/app"');
    expect(text).not.toContain('canary');
  });
});

describe('driftless_applications_overdue', () => {
  it.each([
    ['three resyncs after the creation', 0, 0],
    ['a millisecond later', 1, 1],
  ])('counts from %s', async (_title, laterMs, expected) => {
    const metrics = new PromMetrics();
    const now = (): number => Date.parse('2024-05-15T12:00:00Z') + 3 * 120_000 + laterMs;
    exposeOverdue(metrics, {
      mine: () => [app],
      serverOf: () => 'https://a',
      comparedAt: () => undefined,
      now,
      resyncMs: 120_000,
    });
    expect(await metrics.expose()).toContain(`driftless_applications_overdue{dest_server="https://a"} ${expected}`);
  });
});

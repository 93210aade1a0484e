import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import { CommandError, RepositoryError, SourceFailed, ToolFailed } from '#desired';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { createLogger } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

/**
 * Counts the self-heal syncs of one hour in which another writer changes one field of the ConfigMap
 * every five seconds, in turn.
 */
async function syncsOfAnHour(fields: readonly string[]): Promise<number> {
  at.renew();
  at.world.git.push('a'.repeat(40), [{ ...configMap('one'), data: { a: 'git', b: 'git' } }]);
  at.world.application(automated);
  const replica = at.world.replica();
  await at.clock.advance(2000);
  const starts = new Set<string>();
  for (let turn = 0; turn < 360; turn += 1) {
    const live = at.world.dest.get('ConfigMap', 'one');
    const field = fields[turn % fields.length] ?? '';
    if (live !== undefined) at.world.dest.put({ ...live, data: { ...(live['data'] as object), [field]: `${turn}` } });
    await at.clock.advance(10_000);
    const state = at.world.app.status?.operationState;
    if (state?.operation.sync?.autoHealAttemptsCount !== undefined) starts.add(state.startedAt);
  }
  const ended = replica.stop();
  await at.clock.advance(2000);
  await ended;
  return starts.size;
}

describe('a refresh', () => {
  // T-STAT-2
  it('syncs an automated application and then stays idle', async () => {
    at.world.application(automated);
    await at.start();
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, health: { status: 'Healthy' } });
    expect(at.world.dest.get('ConfigMap', 'one')?.metadata.annotations).toMatchObject({
      'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/one',
    });
    const before = at.world.writes().length;
    await at.clock.advance(3_600_000);
    expect(at.world.writes()).toHaveLength(before);
    expect(at.world.git.asked.length).toBeGreaterThan(20);
    // Operations render on behalf of it, too.
    const own = { project: 'default', application: 'argocd/demo' };
    expect(at.world.git.tenants.filter((tenant) => !isDeepStrictEqual(tenant, own))).toEqual([]);
  });

  it('compares what changed in the cluster, and nothing else at the resync', async () => {
    const judged: string[] = [];
    const run = (_group: string, { metadata }: KubeObject): undefined => void judged.push(metadata.name ?? '');
    at.world.settings = { ...at.world.settings, healthScripts: { run } };
    at.world.application({ syncPolicy: { automated: {} } });
    await at.start();
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    judged.length = 0;
    at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
    await at.clock.advance(500);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(judged).toEqual(['one']);
    judged.length = 0;
    await at.clock.advance(125_000);
    expect(judged).toEqual([]);
  });

  it('compares everything again if the status of a full comparison could not be stored', async () => {
    const judged: string[] = [];
    const run = (_group: string, { metadata }: KubeObject): undefined => void judged.push(metadata.name ?? '');
    at.world.settings = { ...at.world.settings, healthScripts: { run } };
    const annotations = { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/one' };
    at.world.dest.put({ ...configMap('one'), metadata: { ...configMap('one').metadata, annotations } });
    at.world.application();
    let refusals = 2;
    const before = (call: string): void => {
      if (!call.startsWith('patch Application') || refusals === 0) return;
      refusals -= 1;
      throw new KubeApiError({ code: 500, reason: 'InternalError', message: 'etcd is busy' }, 'fake');
    };
    await at.start({ hub: { before } });
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(judged).toEqual(['one', 'one', 'one']);
  });

  it('heals drift immediately, and prunes what left Git', async () => {
    at.world.application(automated);
    await at.start();
    at.world.dest.delete('ConfigMap', 'one');
    await at.clock.advance(10);
    expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    at.world.git.push('b'.repeat(40), [configMap('one')]);
    await at.clock.advance(125_000);
    expect(at.world.dest.get('ConfigMap', 'two')).toBeUndefined();
    expect(at.world.app.status?.history?.map((entry) => entry.revision)).toEqual(['a'.repeat(40), 'b'.repeat(40)]);
  });

  it('makes no more syncs in an hour for two writers in turn than for one', async () => {
    const one = await syncsOfAnHour(['a']);
    // Immediately, after 2, 6, 18, 54 and 162 seconds, then every five minutes.
    expect(one).toBeGreaterThan(12);
    expect(one).toBeLessThan(20);
    expect(Math.abs((await syncsOfAnHour(['a', 'b'])) - one)).toBeLessThanOrEqual(1);
  });

  it('prunes nothing of a kind whose live state is stale, and reports it', async () => {
    at.world.application(automated);
    await at.start();
    at.world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    at.world.git.push('b'.repeat(40), [configMap('one')]);
    await at.clock.advance(125_000);
    expect(at.world.dest.get('ConfigMap', 'two')).toMatchObject({ data: { key: '1' } });
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'StaleResourceWarning',
        message: 'The live state of /ConfigMap is not up to date, nothing of this kind is pruned: watch failed',
      }),
    ]);
    at.world.degraded = [];
    await at.clock.advance(600_000);
    expect(at.world.dest.get('ConfigMap', 'two')).toBeUndefined();
  });

  it('prunes what it had to skip once, as soon as the kind is fresh again, even without self-heal', async () => {
    at.world.application({ syncPolicy: { automated: { prune: true } } });
    await at.start();
    at.world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    at.world.git.push('b'.repeat(40), [configMap('one')]);
    await at.clock.advance(400_000);
    const skipped = at.world.app.status?.operationState;
    expect(skipped).toMatchObject({ phase: 'Succeeded', syncResult: { revision: 'b'.repeat(40) } });
    expect(at.world.dest.get('ConfigMap', 'two')).toMatchObject({ data: { key: '1' } });
    await at.clock.advance(600_000);
    expect(at.world.app.status?.operationState?.startedAt).toBe(skipped?.startedAt);
    at.world.degraded = [];
    await at.clock.advance(600_000);
    expect(at.world.dest.get('ConfigMap', 'two')).toBeUndefined();
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('keeps the last comparison while the source is briefly unreadable (T-REPO)', async () => {
    at.world.application(automated);
    await at.start();
    at.world.git.failure = new DriftlessError('X', 'repository is away');
    await at.clock.advance(200_000);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    expect(at.world.app.status?.conditions).toBeUndefined();
    await at.clock.advance(600_000);
    expect(at.world.app.status?.sync?.status).toBe('Unknown');
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'ComparisonError',
        message:
          'Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = repository is away',
      }),
      expect.objectContaining({ type: 'SourceUnavailableWarning' }),
    ]);
    at.world.git.failure = undefined;
    await at.clock.advance(600_000);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(at.world.app.status?.conditions).toBeUndefined();
  });

  describe('that a user requests and that does not reach the repository', () => {
    const refusedBy = async (cause: Error): Promise<void> => {
      at.world.application(automated);
      await at.start();
      at.world.git.failure = new SourceFailed(0, cause);
      at.world.edit(({ metadata }) => ({
        metadata: { ...metadata, annotations: { 'argocd.argoproj.io/refresh': 'normal' } },
      }));
      await at.clock.advance(1000);
      expect(at.world.app.status?.sync?.status).toBe('Unknown');
      at.world.git.requests.length = 0;
    };
    /** How the revisions were to be resolved; a known commit is not resolved. */
    const revisions = (): readonly unknown[] =>
      at.world.git.requests
        .filter(({ sources }) => !/^[0-9a-f]{40}$/.test(sources[0]?.revision ?? ''))
        .map(({ cache }) => cache.revision);
    const anew = { notBefore: expect.any(Number) };

    it.each([
      new RepositoryError('repository is away'),
      new CommandError('COMMAND_TIMEOUT', 'git took longer than 90 s'),
    ])('accepts no revision that was resolved before it, also for a drift: %p', async (cause) => {
      await refusedBy(cause);
      at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
      await at.clock.advance(35_000);
      expect(at.world.app.status?.sync?.status).toBe('Unknown');
      expect(revisions().length).toBeGreaterThan(0);
      expect(revisions()).toEqual(revisions().map(() => anew));
      at.world.git.failure = undefined;
      at.world.git.push('b'.repeat(40), [configMap('one'), configMap('two')]);
      await at.clock.advance(35_000);
      expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: 'b'.repeat(40) });
      at.world.git.requests.length = 0;
      await at.clock.advance(200_000);
      expect(revisions()).toContain('cached');
      expect(revisions()).not.toContainEqual(anew);
    });

    it('resolves a source that cannot be rendered no more often than before', async () => {
      await refusedBy(new ToolFailed('helm: bad chart'));
      await at.clock.advance(100_000);
      expect(revisions().length).toBeGreaterThan(1);
      // The first one answers a request that was identical to the last.
      expect(revisions().slice(1)).toEqual(
        revisions()
          .slice(1)
          .map(() => 'cached'),
      );
    });
  });

  it('runs when the project, the spec or the owner changes', async () => {
    at.world.application({ project: 'later', ...automated });
    await at.start();
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({ message: 'Application referencing project later which does not exist' }),
    ]);
    at.world.project('later');
    await at.clock.advance(1000);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    expect(at.world.app.status?.conditions).toBeUndefined();
    at.world.edit((object) => ({
      spec: { ...(object['spec'] as object), source: { repoURL: 'https://git/y', path: 'p', targetRevision: 'main' } },
    }));
    await at.clock.advance(1000);
    expect(at.world.app.status?.sync?.comparedTo?.source.repoURL).toBe('https://git/y');
  });

  it('ends without an error or a retry when the Application is deleted meanwhile', async () => {
    const errors: string[] = [];
    const destination = { write: (line: string) => void errors.push(line) };
    at.world.application();
    const before = (call: string): void => {
      if (call.startsWith('patch Application')) at.world.hub.delete('Application', 'demo');
    };
    await at.start({ hub: { before }, logger: createLogger({ level: 'error', format: 'json', destination }) });
    await at.clock.advance(600_000);
    expect([errors, at.world.writes()]).toEqual([[], ['patch']]);
  });

  it('reports Unknown for resources to prune, and keeps them, while discovery cannot read their kind', async () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'two' }, spec: {} };
    at.world.git.push('a'.repeat(40), [configMap('one'), job]);
    at.world.application({ syncPolicy: { automated: { prune: false } } });
    await at.start();
    at.world.git.push('b'.repeat(40), [configMap('one')]);
    await at.clock.advance(200_000);
    const found = (): readonly unknown[] => [
      at.world.app.status?.sync?.status,
      ...(at.world.app.status?.resources ?? []).map(({ name, status }) => [name, status]),
    ];
    expect(found()).toEqual(['OutOfSync', ['one', 'Synced'], ['two', 'OutOfSync']]);
    at.world.dest.failedGroups.set('batch', 'too many requests');
    await at.clock.advance(200_000);
    expect(found()).toEqual(['Unknown', ['one', 'Synced'], ['two', 'Unknown']]);
    at.world.dest.failedGroups.clear();
    await at.clock.advance(200_000);
    expect(found()).toEqual(['OutOfSync', ['one', 'Synced'], ['two', 'OutOfSync']]);
  });

  it('is retried while Applications are temporarily not served, which is not a deletion', async () => {
    let refusals = 2;
    at.world.application();
    const before = (call: string): void => {
      if (!call.startsWith('patch Application') || refusals === 0) return;
      refusals -= 1;
      throw new KubeApiError({ code: 404, reason: 'NotFound', message: '404 page not found' }, call);
    };
    await at.start({ hub: { before } });
    await at.clock.advance(60_000);
    expect([refusals, at.world.app.status?.sync?.status]).toEqual([0, 'OutOfSync']);
  });

  it('starts a sync as soon as automation is enabled', async () => {
    at.world.application();
    await at.start();
    expect(at.world.dest.objects.size).toBe(0);
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...automated } }));
    await at.clock.advance(1000);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('runs on one replica; the other writes nothing', async () => {
    at.world.application(automated);
    at.world.owner = 1;
    await at.start({ index: 0 });
    expect(at.world.writes()).toEqual([]);
    expect(at.world.dest.calls).toEqual([]);
  });
});

it('every pass has an id that all its log lines carry', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  at.world.application(automated);
  await at.start({ logger: createLogger({ level: 'info', format: 'json', destination }) });
  const passes = (msg: string): unknown[] => lines.filter((line) => line['msg'] === msg).map((line) => line['pass']);
  const refreshes = passes('Reconciliation completed');
  expect(new Set(refreshes).size).toBe(refreshes.length);
  expect(refreshes.length).toBeGreaterThan(1);
  expect(refreshes).toEqual(
    expect.arrayContaining(passes('Comparing app state (cluster: https://dest, namespace: apps)')),
  );
  expect(passes('Operation completed')).toEqual([expect.stringMatching(/^operation-[0-9]+$/)]);
  expect(lines.filter((line) => line['pass'] !== undefined && line['application'] !== 'demo')).toEqual([]);
});

const lineFields = { application: 'demo', 'app-namespace': 'argocd', project: 'default' };
const destinationFields = { 'dest-server': 'https://dest', 'dest-name': '', 'dest-namespace': 'apps' };

// Messages, levels and fields that people search for and alert on, letter by letter as in Argo CD.
it.each<[string, string, Record<string, unknown>]>([
  ['Refreshing app status (spec.source differs), level (3)', 'info', lineFields],
  ['Comparing app state (cluster: https://dest, namespace: apps)', 'info', lineFields],
  [`Initiated automated sync to '${'a'.repeat(40)}'`, 'info', lineFields],
  ['No status changes. Skipping patch', 'info', lineFields],
  ['Update successful', 'info', lineFields],
  [
    'Reconciliation completed',
    'info',
    {
      ...lineFields,
      ...destinationFields,
      'comparison-level': expect.any(Number),
      time_ms: expect.any(Number),
      patch_ms: expect.any(Number),
      setop_ms: expect.any(Number),
      git_ms: expect.any(Number),
      dedup_ms: expect.any(Number),
      live_ms: expect.any(Number),
      diff_ms: expect.any(Number),
      compare_app_state_ms: expect.any(Number),
      set_app_managed_resources_ms: expect.any(Number),
      persist_app_status_ms: expect.any(Number),
    },
  ],
  ['Error updating application', 'warning', { ...lineFields, error: expect.stringContaining('is forbidden') }],
  ['Sync prevented by sync window', 'info', lineFields],
])('logs "%s"', async (msg, level, fields) => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const logger = createLogger({ level: 'info', format: 'json', destination });
  const isRefused = msg === 'Error updating application';
  const before = (call: string): void => {
    if (!isRefused || !call.startsWith('patch Application')) return;
    throw new KubeApiError({ code: 403, reason: 'Forbidden', message: 'applications is forbidden' }, call);
  };
  if (msg.startsWith('Sync prevented')) {
    const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] } as const;
    at.world.project('default', { syncWindows: [window] });
  }
  at.world.application(isRefused ? {} : automated);
  await at.start({ logger, hub: { before } });
  at.world.dest.delete('ConfigMap', 'one');
  await at.pass(300);
  const found = lines.filter((line) => line['msg'] === msg && line['type'] === undefined);
  expect(found.map((line) => line['level'])).toContain(level);
  expect(found[0]).toMatchObject(fields);
});

it('logs how long the write of the status and the start of a sync took', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const logger = createLogger({ level: 'info', format: 'json', destination });
  const slow = async (call: string): Promise<void> => {
    if (call.startsWith('patch Application')) await at.clock.sleep(30, new AbortController().signal);
    if (call.startsWith('replace Application')) await at.clock.sleep(70, new AbortController().signal);
  };
  at.world.application({});
  await at.start({ logger, hub: { before: slow } });
  const completed = (): Record<string, unknown> =>
    lines.findLast((line) => line['msg'] === 'Reconciliation completed') ?? {};
  expect(completed()).toMatchObject({ patch_ms: 30, setop_ms: 0, persist_app_status_ms: 30, time_ms: 30 });
  at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...automated } }));
  await at.pass(2);
  expect(lines.filter((line) => line['setop_ms'] === 70 && line['patch_ms'] === 0)).toHaveLength(1);
});

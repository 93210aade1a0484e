import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import { configMap, FakeWorld } from './testing/fake-world.ts';

// Requests that syncs of whole Applications send, and their metrics (decision D5).

const serverSide = { syncPolicy: { syncOptions: ['ServerSideApply=true'] } };
const sha = 'a'.repeat(40);

let clock: FakeClock;
let world: FakeWorld;
let metrics: PromMetrics;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  metrics = new PromMetrics();
  world.git.push(sha, [configMap('one'), configMap('two')]);
});
afterEach(() => world.close(clock));

/** The requests of one more sync to the cluster. */
async function sync(options: object = {}): Promise<readonly string[]> {
  const before = world.dest.calls.length;
  world.edit(() => ({ operation: { sync: { syncOptions: ['ServerSideApply=true'], ...options } } }));
  await clock.advance(3000);
  expect(world.app.status?.operationState?.phase).toBe('Succeeded');
  return world.dest.calls.slice(before).filter((call) => !call.startsWith('get '));
}

async function series(prefix: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await metrics.expose()).split('\n').filter((line) => line.startsWith(prefix));
  const entries = lines
    .map((line) => /^(\S+) (\S+)$/.exec(line) ?? [])
    .map(([, name = '', value]) => [name, Number(value)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value > 0));
}

const both = ['patch ConfigMap one', 'patch ConfigMap two'];

async function start(): Promise<void> {
  world.application(serverSide);
  world.replica({ metrics });
  await clock.advance(3000);
}

describe('a sync of an Application without differences', () => {
  it.each([
    ['server', { syncOptions: ['ServerSideApply=true'] }],
    ['client', { syncOptions: [] }],
  ])('makes no request when it is applied by the %s, and reports the same results', async (_, options) => {
    await start();
    await sync(options);
    const words = world.app.status?.operationState?.syncResult?.resources?.map(({ status, hookPhase }) => [
      status,
      hookPhase,
    ]);
    const before = world.dest.calls.length;
    world.edit(() => ({ operation: { sync: options } }));
    await clock.advance(3000);
    expect(world.dest.calls.slice(before)).toEqual([]);
    const resources = world.app.status?.operationState?.syncResult?.resources;
    expect(resources?.map(({ status, hookPhase }) => [status, hookPhase])).toEqual(words);
    const message = options.syncOptions.length > 0 ? 'serverside-applied' : 'unchanged';
    expect(resources?.map((one) => one.message)).toEqual([`configmap/one ${message}`, `configmap/two ${message}`]);
  });

  it('sends only the object that differs, and records the reason', async () => {
    await start();
    expect(await sync()).toEqual(both);
    world.dest.put({ ...world.dest.get('ConfigMap', 'two')!, data: { key: 'by hand' } });
    await clock.advance(1000);
    expect(await sync()).toEqual(['patch ConfigMap two']);
    const one = world.dest.get('ConfigMap', 'one')!;
    world.dest.put({ ...one, metadata: { ...one.metadata, finalizers: ['example.com/theirs'] } });
    await clock.advance(1000);
    expect(await sync()).toEqual(['patch ConfigMap one']);
    expect(await sync()).toEqual([]);
    expect(await series('driftless_apply_')).toEqual({
      driftless_apply_hits_total: 4,
      'driftless_apply_misses_total{reason="missing"}': 2,
      'driftless_apply_misses_total{reason="differs"}': 1,
      'driftless_apply_misses_total{reason="drift"}': 1,
    });
  });
});

// T-SHA-5
describe('sends everything', () => {
  // T-SHA-5
  it('by the sync after a hard refresh, not after a normal one', async () => {
    await start();
    await sync();
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.advance(1000);
    expect(await sync()).toEqual([]);
    world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
    await clock.advance(1000);
    expect(await sync()).toEqual(both);
    expect(await sync()).toEqual([]);
  });

  // T-SHA-5
  it('by a sync with Force or Replace', async () => {
    await start();
    await sync();
    expect(await sync({ syncStrategy: { apply: { force: true } } })).toEqual(both);
    expect(await sync({ syncOptions: ['Replace=true'] })).toEqual(both.map((call) => call.replace('patch', 'replace')));
  });
});

// T-SHA-7
it('entries end with the ownership: a new owner of a cluster sends everything once', async () => {
  await start();
  await sync();
  expect(await sync()).toEqual([]);
  world.handOver(1);
  await clock.advance(1000);
  world.handOver(0);
  await clock.advance(1000);
  expect(await sync()).toEqual(both);
  expect(await series('driftless_apply_misses_total{reason="unknown"}')).not.toEqual({});
});

// T-SHA-8
it('a restart loses all entries, and costs the same writes once', async () => {
  world.application(serverSide);
  const first = world.replica({ metrics });
  await clock.advance(3000);
  await sync();
  const stopped = first.stop();
  await clock.advance(2000);
  await stopped;
  world.replica({ metrics: new PromMetrics() });
  await clock.advance(3000);
  expect(await sync()).toEqual(both);
  expect(await sync()).toEqual([]);
});

describe('cost metrics', () => {
  it('show no rendering, request, write or comparison of an idle Application outside the resync', async () => {
    await start();
    await sync();
    const [calls, writes, asked] = [world.dest.calls.length, world.hub.calls.length, world.git.rendered.length];
    const made = await series('driftless_compare_rows_made_total');
    await clock.advance(100_000);
    expect([world.dest.calls.length, world.hub.calls.length, world.git.rendered.length]).toEqual([
      calls,
      writes,
      asked,
    ]);
    expect(await series('driftless_compare_rows_made_total')).toEqual(made);
  });

  it('show one new row, and the others kept, for a change of one resource', async () => {
    await start();
    await sync();
    await clock.advance(1000);
    const [made, kept] = [
      await series('driftless_compare_rows_made_total'),
      await series('driftless_compare_rows_kept_total'),
    ];
    world.dest.put({ ...world.dest.get('ConfigMap', 'two')!, data: { key: 'by hand' } });
    await clock.advance(1000);
    const event = 'driftless_compare_rows_made_total{reason="event"}';
    expect(await series('driftless_compare_rows_made_total')).toEqual({ ...made, [event]: (made[event] ?? 0) + 1 });
    const all = 'driftless_compare_rows_kept_total';
    expect(await series(all)).toEqual({ [all]: (kept[all] ?? 0) + 1 });
  });

  it('show that a sync and its end compare only what changed since the last comparison', async () => {
    await start();
    await sync();
    const full = 'driftless_compare_rows_made_total{reason="full"}';
    const kept = 'driftless_compare_rows_kept_total';
    const before = { ...(await series('driftless_compare_rows_')) };
    await sync();
    const after = await series('driftless_compare_rows_');
    expect((after[full] ?? 0) - (before[full] ?? 0)).toBe(0);
    expect((after[kept] ?? 0) - (before[kept] ?? 0)).toBe(4);
  });

  it('include the duration of each stage of a pass', async () => {
    await start();
    await sync();
    const counts = await series('driftless_stage_seconds_count');
    const stages = ['sources', 'live', 'comparison', 'tree', 'publishing', 'status', 'sync'];
    expect(Object.keys(counts).sort()).toEqual(
      stages.map((stage) => `driftless_stage_seconds_count{stage="${stage}"}`).sort(),
    );
  });
});

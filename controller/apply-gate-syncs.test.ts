import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import { configMap, FakeWorld } from './testing/fake-world.ts';

// What syncs of whole Applications send, and what the metrics say of it (decision D5).

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

/** What one more sync sends to the cluster. */
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

describe('a sync of an Application that is as it should be', () => {
  it.each([
    ['server', { syncOptions: ['ServerSideApply=true'] }],
    ['client', { syncOptions: [] }],
  ])('15.2: makes no call to the cluster when it is applied by the %s, and says the same', async (_, options) => {
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
    const said = options.syncOptions.length > 0 ? 'serverside-applied' : 'unchanged';
    expect(resources?.map(({ message }) => message)).toEqual([`configmap/one ${said}`, `configmap/two ${said}`]);
  });

  it('15.2: sends the one that is different, and names why', async () => {
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

describe('T-SHA-5: everything is sent', () => {
  it('T-SHA-5: by the sync after a hard refresh, not after a normal one', async () => {
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

  it('T-SHA-5: by a sync with Force or Replace', async () => {
    await start();
    await sync();
    expect(await sync({ syncStrategy: { apply: { force: true } } })).toEqual(both);
    expect(await sync({ syncOptions: ['Replace=true'] })).toEqual(both.map((call) => call.replace('patch', 'replace')));
  });
});

it('T-SHA-7: entries go with the ownership: who takes a cluster up again sends everything once', async () => {
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

it('T-SHA-8: who starts anew, with nothing that was remembered, costs the same writes once', async () => {
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

describe('metrics of what it costs', () => {
  it('15.2: at rest nothing is rendered, sent or written, and no resource is compared but at the resync', async () => {
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

  it('15.2: a change of one resource makes one row, the others are kept', async () => {
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

  it('15.1: a sync and its end compare anew what has changed since the last comparison', async () => {
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

  it('15.2: every stage of a pass has its time', async () => {
    await start();
    await sync();
    const counts = await series('driftless_stage_seconds_count');
    const stages = ['sources', 'live', 'comparison', 'tree', 'publishing', 'status', 'sync'];
    expect(Object.keys(counts).sort()).toEqual(
      stages.map((stage) => `driftless_stage_seconds_count{stage="${stage}"}`).sort(),
    );
  });
});

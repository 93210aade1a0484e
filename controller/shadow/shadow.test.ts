import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { ApplicationStatus, KubeObject } from '#model';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';
import type { LogLine, ShadowRun } from '../testing/fake-world.ts';

const refresh = 'argocd.argoproj.io/refresh';
const graceMs = 30_000;
const one = '/ConfigMap/apps/one';

let clock: FakeClock;
let world: FakeWorld;
let shadow: ShadowRun | undefined;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
  shadow = undefined;
});
afterEach(async () => {
  if (shadow !== undefined) await ended(shadow.stop());
  expect(clock.pending).toBe(0);
});

async function ended(stop: Promise<void>): Promise<void> {
  await clock.advance(2000);
  await stop;
}

/** Lets another controller sync the application, and stops it. */
async function inOrder(spec: object = automated, over: Partial<KubeObject> = {}): Promise<void> {
  world.application(spec, over);
  const other = world.replica();
  await clock.advance(3000);
  await ended(other.stop());
  world.hub.calls.length = 0;
  world.dest.calls.length = 0;
}

async function look(): Promise<ShadowRun> {
  shadow = world.shadow();
  await clock.advance(2000);
  return shadow;
}

/** The other controller writes its status. */
function otherWrites(status: Partial<ApplicationStatus>): void {
  world.edit(({ status: before }) => ({ status: { ...(before as object), ...status } }));
}

/** All requests that are not reads. */
function writes(): string[] {
  return [...world.hub.calls, ...world.dest.calls].filter((call) => !/^(?:get|list|discover|version)\b/.test(call));
}

function drift(value = 'tampered'): void {
  const live = world.dest.get('ConfigMap', 'one');
  world.dest.put({ ...live, data: { key: value } } as unknown as KubeObject);
}

async function series(of: ShadowRun, name: string): Promise<Record<string, number>> {
  const lines = (await of.metrics.expose()).split('\n').filter((line) => line.startsWith(name));
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, label = 'all', value] = /(?:="([^"]*)"[^}]*})? ([0-9.]+)$/.exec(line) ?? [];
      return Number(value) === 0 ? [] : [[label, Number(value)]];
    }),
  );
}

function linesOf(of: ShadowRun, text: string): readonly LogLine[] {
  return of.lines.filter((line) => String(line['msg'] ?? line['message']).startsWith(text));
}

const disagrees = (of: ShadowRun): unknown[] =>
  linesOf(of, 'Disagrees').map(({ field, resource }) => resource ?? field);
const agrees = (of: ShadowRun): unknown[] => linesOf(of, 'Agrees').map(({ field, resource }) => resource ?? field);

describe('a shadow beside another controller', () => {
  it('agrees with a controller of its own kind, plans no write, and keeps comparing', async () => {
    await inOrder();
    const it = await look();
    await clock.advance(600_000);
    expect(it.verdicts.length).toBeGreaterThan(4);
    expect(it.verdicts.flatMap(({ disagreements, writes: planned }) => [...disagreements, ...planned])).toEqual([]);
    expect(await series(it, 'driftless_shadow_applications')).toEqual({ all: 1 });
    expect([disagrees(it), writes()]).toEqual([[], []]);
  });

  it('uses its own comparisons, not those recorded in the status', async () => {
    await inOrder();
    const it = await look();
    for (let minute = 0; minute < 10; minute += 1) {
      otherWrites({ reconciledAt: new Date(clock.now()).toISOString() });
      await clock.advance(60_000);
    }
    const own = linesOf(it, 'Reconciliation completed').filter(({ reason }) => String(reason).includes('expired'));
    expect(own.length).toBeGreaterThanOrEqual(4);
    const { source } = world.app.spec;
    world.edit((object) => ({ spec: { ...(object['spec'] as object), source: { ...source, path: 'q' } } }));
    await clock.advance(1000);
    otherWrites({ reconciledAt: '2027-01-01T00:00:00Z' });
    await clock.advance(1000);
    const moved = linesOf(it, 'Reconciliation completed').filter(({ reason }) => reason === 'spec.source differs');
    expect(moved).toHaveLength(1);
  });

  it('logs once what the other does not see, and once that it is resolved', async () => {
    await inOrder();
    const it = await look();
    drift();
    await clock.advance(graceMs - 5000);
    expect([await series(it, 'driftless_shadow_disagreements'), disagrees(it)]).toEqual([{}, []]);
    await clock.advance(10_000);
    expect(await series(it, 'driftless_shadow_disagreements')).toEqual({ sync: 1, 'resource-sync': 1 });
    expect(await series(it, 'driftless_shadow_disagreeing_applications')).toEqual({ all: 1 });
    await clock.advance(3_600_000);
    expect(disagrees(it)).toEqual(['sync', one]);
    expect(linesOf(it, 'Disagrees')[1]).toMatchObject({
      application: 'demo',
      theirs: 'Synced',
      ours: 'OutOfSync',
      paths: ['/data/key'],
    });
    const [first, ...rest] = world.app.status?.resources ?? [];
    otherWrites({
      sync: { ...world.app.status?.sync, status: 'OutOfSync' },
      resources: [{ ...first, status: 'OutOfSync' }, ...rest],
    });
    await clock.advance(1000);
    expect(await series(it, 'driftless_shadow_disagreements')).toEqual({});
    await clock.advance(3_600_000);
    expect([disagrees(it), agrees(it)]).toEqual([
      ['sync', one],
      ['sync', one],
    ]);
    expect(writes()).toEqual([]);
  });

  it('logs nothing that the other sees a little later', async () => {
    await inOrder();
    const it = await look();
    const before = world.dest.get('ConfigMap', 'one');
    if (before === undefined) throw new Error('no object');
    world.dest.delete('ConfigMap', 'one');
    await clock.advance(20_000);
    world.dest.put(before);

    await clock.advance(600_000);
    expect(disagrees(it)).toEqual([]);
    expect(it.verdicts.some(({ disagreements }) => disagreements.length > 0)).toBe(true);
  });

  it('logs immediately when the other has compared since and its result is unchanged', async () => {
    await inOrder();
    const it = await look();
    drift();
    await clock.advance(5000);
    otherWrites({ reconciledAt: '2026-01-01T00:05:00Z' });
    drift('more');
    await clock.advance(1000);
    expect(disagrees(it)).toEqual(['sync', one]);
  });

  it('logs again after a change has lasted, and not while values keep changing', async () => {
    await inOrder();
    const it = await look();
    const health = (status: 'Degraded' | 'Missing'): void => otherWrites({ health: { status } });
    health('Degraded');
    await clock.advance(graceMs + 5000);
    expect(linesOf(it, 'Disagrees').map(({ theirs }) => theirs)).toEqual(['Degraded']);
    for (let i = 0; i < 10; i += 1) {
      health(i % 2 === 0 ? 'Missing' : 'Degraded');
      await clock.advance(graceMs / 2);
    }
    health('Missing');
    await clock.advance(600_000);
    expect(linesOf(it, 'Disagrees').map(({ theirs }) => theirs)).toEqual(['Degraded', 'Missing']);
    expect(await series(it, 'driftless_shadow_disagreements')).toEqual({ health: 1 });
  });

  it('plans no write for an error that only the other controller calls cached', async () => {
    world.git.failure = new DriftlessError('X', 'app path does not exist');
    await inOrder();
    await clock.advance(600_000);
    const [condition] = world.app.status?.conditions ?? [];
    expect(condition?.message).toContain('desc = app path does not exist');
    const message = condition?.message.replace('desc = ', 'desc = Manifest generation error (cached): ') ?? '';
    otherWrites({ conditions: [{ type: 'ComparisonError', message }] });
    const it = await look();
    await clock.advance(300_000);
    expect(it.verdicts.at(-1)?.writes).toEqual([]);
    expect(it.verdicts.at(-1)?.disagreements).toEqual([]);
  });

  it('plans its writes and performs none of them', async () => {
    await inOrder({});
    otherWrites({ sync: { status: 'OutOfSync', revision: 'a'.repeat(40) } });
    world.edit((object) => ({ spec: { ...(object['spec'] as object), ...automated, project: '' } }));
    const it = await look();
    const planned = it.verdicts.at(-1)?.writes ?? [];
    expect(planned.map(({ what }) => what)).toEqual(['spec', 'status', 'operation', 'object', 'object']);
    expect(await series(it, 'driftless_shadow_planned_writes')).toEqual({
      spec: 1,
      status: 1,
      operation: 1,
      object: 2,
    });
    await clock.advance(3_600_000);
    expect([world.app.operation, world.dest.objects.size, writes()]).toEqual([undefined, 0, []]);
  });
});

describe('its revision', () => {
  it('may differ while the other controller has not looked for commits', async () => {
    await inOrder();
    const it = await look();
    world.git.push('b'.repeat(40), [configMap('one', '2'), configMap('two')]);
    await clock.advance(125_000);
    expect(it.verdicts.at(-1)?.disagreements.map(({ field }) => field)).toEqual(['sync', 'revision']);
    await clock.advance(100_000);
    expect(disagrees(it)).toEqual([]);
    await clock.advance(120_000);
    expect(disagrees(it)).toEqual(['sync', 'revision']);
    otherWrites({ sync: { ...world.app.status?.sync, status: 'OutOfSync', revision: 'b'.repeat(40) } });
    await clock.advance(400_000);
    expect(agrees(it)).toEqual(expect.arrayContaining(['sync', 'revision']));
  });
});

describe('leaves alone', () => {
  it('a refresh request, which causes one comparison and stays as it was', async () => {
    await inOrder();
    const it = await look();
    const before = it.verdicts.length;
    world.annotate({ [refresh]: 'hard' });
    await clock.advance(1000);
    expect(it.verdicts.length).toBe(before + 1);
    drift();
    otherWrites({ reconciledAt: '2026-01-01T00:05:00Z' });
    await clock.advance(1000);
    const asked = linesOf(it, 'Reconciliation completed').filter(({ reason }) => reason === 'hard refresh requested');
    expect(asked).toHaveLength(1);
    expect(world.app.metadata.annotations?.[refresh]).toBe('hard');
    world.annotate({ [refresh]: 'normal' });
    await clock.advance(1000);
    expect(linesOf(it, 'Reconciliation completed').at(-1)?.['reason']).toBe('normal refresh requested');
    expect(writes()).toEqual([]);
  });

  it('operations, deletions, hooks, project finalizers and failing clusters', async () => {
    const hook = configMap('h', '1', { 'argocd.argoproj.io/hook': 'PostDelete' });
    await inOrder();
    const it = await look();
    world.edit(() => ({ operation: { sync: { revision: 'a'.repeat(40) } } }));
    await clock.advance(10_000);
    world.git.push('b'.repeat(40), [hook]);
    await clock.advance(200_000);
    expect(it.verdicts.some(({ writes: planned }) => planned.some(({ what }) => what === 'finalizers'))).toBe(true);
    world.git.failure = new DriftlessError('X', 'repository is away');
    await clock.advance(600_000);
    expect(disagrees(it)).toContain('condition');
    world.edit(({ metadata }) => ({
      metadata: {
        ...metadata,
        finalizers: ['resources-finalizer.argocd.argoproj.io'],
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
    }));
    const project = world.hub.get('AppProject', 'default');
    if (project === undefined) throw new Error('no project');
    world.hub.put({
      ...project,
      metadata: {
        ...project.metadata,
        finalizers: ['resources-finalizer.argocd.argoproj.io'],
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
    });
    await clock.advance(600_000);
    world.hub.put({ ...(world.app as unknown as KubeObject), metadata: { ...world.app.metadata, finalizers: [] } });
    await clock.advance(60_000);
    expect(await series(it, 'driftless_shadow_applications')).toEqual({});
    expect(writes()).toEqual([]);
    expect(world.dest.objects.size).toBe(2);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Clock } from '#base';
import type { Application, KubeObject } from '#model';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import { kubeTime } from '../shared/kube-time.ts';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';

const sha = 'a'.repeat(40);

let clock: FakeClock;
let world: FakeWorld;
/** Uninterrupted time that a pass has held the event loop. */
let heldMs: number;
let weightMs: number;
let isHeavy: boolean;

beforeEach(() => {
  clock = new FakeClock();
  heldMs = 0;
  weightMs = 6000;
  const held: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + heldMs,
    timer: (delayMs, fire) => clock.timer(delayMs, fire),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  };
  world = new FakeWorld(held);
  isHeavy = false;
});
afterEach(() => world.close(clock));

function start(metrics = new PromMetrics()): ReturnType<FakeWorld['replica']> {
  const replica = world.replica({ metrics });
  return { controller: replica.controller, stop: () => world.close(clock) };
}

/** Takes six seconds to compare while it is heavy. */
function heavy(name: string): KubeObject {
  return {
    ...configMap(name),
    get data() {
      if (isHeavy) heldMs += weightMs;
      return { key: '1' };
    },
  };
}

const flags = (): readonly string[] =>
  (world.app.status?.conditions ?? []).filter(({ type }) => type === 'QuarantineWarning').map(({ message }) => message);
const asked = (): number => world.git.asked.length;
const change = (value: string): void => {
  world.git.push(sha, [heavy('one')]);
  world.edit(() => ({ spec: { ...(world.app.spec as object), info: [{ name: 'n', value }] } }));
};
async function refreshed(): Promise<void> {
  // A new object each time: computed values are cached per object.
  world.git.push(sha, [heavy('one')]);
  world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
  await clock.advance(3000);
}

describe('an Application that blocks the event loop', () => {
  it('is reported by log, metric and probe, and quarantined after the second time, even after a restart', async () => {
    const metrics = new PromMetrics();
    world.git.push(sha, [heavy('one')]);
    world.application(automated);
    const first = start(metrics);
    await clock.advance(5000);
    expect(first.controller.healthy()).toEqual({ ok: true });
    isHeavy = true;
    await refreshed();
    expect(first.controller.healthy().note).toMatch(/^blocked by the \w+ of argocd\/demo for [0-9]+\.[0-9] s$/);
    expect(await metrics.expose()).toMatch(
      /driftless_loop_held_seconds_total\{namespace="argocd",name="demo",stage="\w+"\} [1-9]/,
    );
    expect(flags()).toEqual([]);
    await refreshed();
    expect(flags()).toEqual([expect.stringMatching(/^quarantined until .* blocked all other work of the controller/)]);
    // Only a user's request triggers a pass.
    const before = asked();
    change('again');
    await clock.advance(200_000);
    expect(asked()).toBe(before);
    await first.stop();
    start();
    await clock.advance(100_000);
    expect(asked()).toBe(before);
    // After the quarantine: one attempt, then the next quarantine at once.
    const [message] = flags();
    await clock.advance(600_000);
    expect(asked()).toBe(before + 1);
    expect(flags()).toHaveLength(1);
    expect(flags()[0]).not.toBe(message);
  });

  it('is reported but not quarantined below --quarantine-after', async () => {
    weightMs = 1500;
    world.git.push(sha, [heavy('one')]);
    world.application(automated);
    const replica = start();
    await clock.advance(5000);
    isHeavy = true;
    for (let pass = 0; pass < 3; pass += 1) await refreshed();
    expect(replica.controller.healthy().note).toMatch(/^blocked by/);
    expect(flags()).toEqual([]);
  });

  it('leaves quarantine when a refresh is requested and it has become lighter', async () => {
    world.git.push(sha, [heavy('one')]);
    world.application(automated);
    start();
    await clock.advance(5000);
    isHeavy = true;
    await refreshed();
    await refreshed();
    expect(flags()).toHaveLength(1);
    isHeavy = false;
    await refreshed();
    expect(flags()).toEqual([]);
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it.each([
    ['stays in quarantine', 'half a minute', 30_000, 0],
    ['leaves quarantine', 'an hour', 3_600_000, 1],
  ])('%s if the clock that began it was ahead by %s', async (_what, _ahead, aheadMs, expected) => {
    world.git.push(sha, [heavy('one')]);
    world.application(automated);
    const first = start();
    await clock.advance(5000);
    isHeavy = true;
    await refreshed();
    await refreshed();
    expect(flags()).toHaveLength(1);
    await first.stop();
    isHeavy = false;
    const lastTransitionTime = kubeTime(clock.now() + aheadMs);
    const conditions = (world.app.status?.conditions ?? []).map((each) => ({ ...each, lastTransitionTime }));
    world.edit(() => ({ status: { ...world.app.status, conditions } }));
    const before = asked();
    start();
    await clock.advance(10_000);
    expect(Math.min(1, asked() - before)).toBe(expected);
  });
});

describe('an Application that violates its schema', () => {
  it.each<[string, object, string]>([
    [
      'a number as its project',
      { project: 7 },
      'InvalidSpecError: Application referencing project 7 which does not exist',
    ],
    ['a number as its source', { source: 7 }, 'InvalidSpecError: spec.source.repoURL and either'],
    [
      'a number as a repository',
      { source: { repoURL: 7, path: 'p', targetRevision: 'main' } },
      'UnknownError: this Application cannot be processed',
    ],
    ['a number as a revision', { source: { repoURL: 'https://git/x', path: 'p', targetRevision: 7 } }, 'OutOfSync'],
    ['a text as its sources', { sources: 'x' }, 'UnknownError: this Application cannot be processed'],
    ['a list of numbers as its sources', { sources: [7] }, 'InvalidSpecError: spec.source.repoURL and either'],
    ['a number as its destination', { destination: 7 }, 'InvalidSpecError: error getting cluster by server ""'],
    [
      'a number as its cluster',
      { destination: { server: 7, namespace: 7 } },
      'InvalidSpecError: error getting cluster by server "7"',
    ],
    ['a text as its sync policy', { syncPolicy: 'x' }, 'OutOfSync'],
    [
      'a number as a sync option',
      { syncPolicy: { automated: {}, syncOptions: [7] } },
      'UnknownError: this Application cannot be processed',
    ],
    ['a number as its ignore rules', { ignoreDifferences: 7 }, 'UnknownError: this Application cannot be processed'],
    [
      'numbers in its ignore rules',
      { ignoreDifferences: [{ kind: 7, jsonPointers: [7], jqPathExpressions: [7] }] },
      'IgnoreRuleWarning: The value in spec.ignoreDifferences[0] cannot be read: kind is not a text',
    ],
    ['nothing', {}, 'InvalidSpecError: spec.source.repoURL and either'],
  ])('%s disturbs no neighbour, and is not retried forever', async (_name, spec, told) => {
    world.git.push(sha, [configMap('one')]);
    const poison = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'a-poison', namespace: 'argocd' },
    };
    const good = {
      project: 'default',
      source: { repoURL: 'https://git/x', path: 'p' },
      destination: { name: 'dest', namespace: 'apps' },
    };
    world.hub.put({ ...poison, spec: Object.keys(spec).length === 0 ? {} : { ...good, ...spec } });
    world.application(automated);
    const { controller } = start();
    await clock.advance(30_000);
    expect(world.app.status?.sync?.status).toBe('Synced');
    const left = controller.report.pools().map(({ progress }) => progress());
    expect(left.map(({ waiting, running }) => [waiting, running])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    const failures = world.hub.calls.length;
    await clock.advance(60_000);
    expect(world.hub.calls.length - failures).toBeLessThan(5);
    const { status } = world.hub.get('Application', 'a-poison') as unknown as Application;
    const said = [
      status?.sync?.status,
      ...(status?.conditions ?? []).map(({ type, message }) => `${type}: ${message}`),
    ];
    expect(said).toContainEqual(expect.stringContaining(told));
  });
});

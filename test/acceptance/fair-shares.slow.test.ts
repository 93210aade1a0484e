import { env } from 'node:process';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, newAbortController } from '#base';
import type { ManifestsRequest } from '#desired';
import type { ApplicationSpec, KubeObject } from '#model';
import { PromMetrics } from '#telemetry';
import { automated, configMap, publisherAfter, stage } from '../../controller/testing/index.ts';

let hanging = newAbortController();
// Runs before the replicas stop: hanging requests would block them.
afterEach(() => hanging.abort());

/**
 * Faults of one tenant cost that tenant only: measures how long drift of another one lasts, in
 * virtual time.
 */
const at = stage();

const stuck = 'https://stuck';
/** Argo CD's defaults, and no pause between two repairs of the same object. */
const processors = {
  statusProcessors: 20,
  operationProcessors: 10,
  selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 },
};
const requestLimitMs = 30_000;
const stepMs = 10;
const giveUpMs = 60_000;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `noisy-${i}`);
const commit = (i: number): string => String(i).padStart(40, '0');
const sourceAt = (targetRevision: string): Pick<ApplicationSpec, 'source'> => ({
  source: { repoURL: 'https://git/x', path: 'p', targetRevision },
});

/** Adds the Application that is repaired: in another project, on a cluster that works. */
function addVictim(): void {
  const { world } = at;
  const sha = 'f'.repeat(40);
  world.git.commits.set(sha, [configMap('precious')]);
  world.application({ ...automated, ...sourceAt(sha) }, { metadata: { name: 'victim' } });
}

/** Changes the victim's object and returns the milliseconds until it is repaired. */
async function repairMs(value: string): Promise<number> {
  const { world, clock } = at;
  const live = world.dest.get('ConfigMap', 'precious');
  if (live === undefined) throw new Error('the victim has not been synced');
  world.dest.put({ ...live, data: { key: value } });
  const from = clock.monotonic();
  while (world.dest.get('ConfigMap', 'precious')?.['data'] !== undefined) {
    const data = world.dest.get('ConfigMap', 'precious')?.['data'] as { readonly key: string };
    if (data.key === '1' || clock.monotonic() - from >= giveUpMs) break;
    await clock.advance(stepMs);
  }
  return clock.monotonic() - from;
}

/** The longest of several repairs in sequence. */
async function worstRepairMs(times: number, pauseMs: number): Promise<number> {
  let worst = 0;
  for (let i = 0; i < times; i += 1) {
    worst = Math.max(worst, await repairMs(`drift-${i}`));
    await at.clock.advance(pauseMs);
  }
  if (env['TEST_LOG'] !== undefined) process.stderr.write(`${expect.getState().currentTestName ?? ''}: ${worst} ms\n`);
  return worst;
}

function noisy(name: string, spec: Partial<ApplicationSpec>, metadata: KubeObject['metadata'] = {}): void {
  at.world.application({ project: 'noisy', ...automated, ...spec }, { metadata: { name, ...metadata } });
}

const isWrite = (call: string): boolean => /^(?:create|patch|replace|delete) /.test(call);

/** Never answers a write: the client times out at its deadline. */
async function neverAnswers(call: string): Promise<void> {
  if (!isWrite(call)) return;
  await at.clock.sleep(requestLimitMs, hanging.signal);
  throw new DeadlineExceeded(call, requestLimitMs);
}

it('alone, an Application is repaired within 0.2 s, again and again', async () => {
  addVictim();
  at.world.replica({ config: processors });
  await at.clock.advance(5000);
  expect(await worstRepairMs(5, 3000)).toBeLessThanOrEqual(200);
});

describe('a cluster that never answers a write', () => {
  const own = (name: string, count: number): KubeObject[] =>
    Array.from({ length: count }, (_, i) => configMap(`${name}-${i}`));

  async function start(project: string, metadata: KubeObject['metadata'] = {}, answers = 0): Promise<void> {
    const { world, clock } = at;
    hanging = newAbortController();
    world.project('noisy');
    world.addCluster(stuck);
    addVictim();
    let left = answers;
    const before = async (call: string): Promise<void> => {
      if (isWrite(call) && left > 0) left -= 1;
      else await neverAnswers(call);
    };
    world.replica({ config: processors, others: { before } });
    await clock.advance(5000);
    for (const [i, name] of names(100).entries()) {
      world.git.commits.set(commit(i), own(name, 5));
      noisy(name, { project, destination: { server: stuck, namespace: 'apps' }, ...sourceAt(commit(i)) }, metadata);
    }
    // The first drift occurs at the moment when the cluster starts to hang.
    await clock.advance(20);
  }

  it.each([
    ['from the start', 0],
    ['after 200 answers', 200],
  ])(
    'delays the repair of another cluster by at most 0.3 s (%s)',
    async (_, answers) => {
      await start('noisy', {}, answers);
      expect(await worstRepairMs(4, 10_000)).toBeLessThanOrEqual(300);
    },
    60_000,
  );

  it('does not delay another cluster of the same project either', async () => {
    await start('default');
    expect(await worstRepairMs(4, 10_000)).toBeLessThanOrEqual(300);
  }, 60_000);

  it('does not delay another cluster while it has server-side diffs pending', async () => {
    const annotations = { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' };
    await start('noisy', { annotations });
    expect(await worstRepairMs(4, 10_000)).toBeLessThanOrEqual(300);
  }, 60_000);
});

describe('a hundred Applications with forty waves each', () => {
  it('delay the repair of another Application on their cluster by at most 0.5 s', async () => {
    const { world, clock } = at;
    world.project('noisy');
    addVictim();
    world.replica({ config: { ...processors, syncWaveDelayMs: 2000 } });
    await clock.advance(5000);
    for (const [i, name] of names(100).entries()) {
      const waves = Array.from({ length: 40 }, (__, n) =>
        configMap(`${name}-${n}`, '1', { 'argocd.argoproj.io/sync-wave': String(n) }),
      );
      world.git.commits.set(commit(i), waves);
      noisy(name, sourceAt(commit(i)));
    }
    await clock.advance(1000);
    expect(await worstRepairMs(3, 5000)).toBeLessThanOrEqual(500);
  }, 120_000);
});

describe('a hundred and fifty Applications that are always due', () => {
  const refresh = 'argocd.argoproj.io/refresh';

  /**
   * Rendering is awaited without a worker; the comparison of these large Applications keeps one.
   */
  const [renderMs, workMs] = [400, 400];

  async function start(): Promise<PromMetrics> {
    const { world, clock } = at;
    const metrics = new PromMetrics();
    world.project('noisy');
    addVictim();
    const isVictims = ({ sources }: ManifestsRequest): boolean => sources[0]?.revision === 'f'.repeat(40);
    world.git.takes = async (request) => {
      if (!isVictims(request)) await clock.sleep(renderMs);
    };
    for (const [i, name] of names(150).entries()) {
      world.git.commits.set(commit(i), [configMap(name)]);
      noisy(name, sourceAt(commit(i)));
    }
    const publisher = publisherAfter((instance) => (instance === 'victim' ? undefined : clock.sleep(workMs)));
    world.replica({ config: processors, publisher, metrics });
    await clock.advance(20_000);
    return metrics;
  }

  it('by hard refresh requests in a loop delay the repair of another project by at most 1 s', async () => {
    const { world, clock } = at;
    const metrics = await start();
    const ask = (name: string): void => {
      const { metadata } = world.applicationOf(name);
      const annotations = { ...metadata.annotations, [refresh]: 'hard' };
      world.edit((object) => ({ metadata: { ...object.metadata, annotations } }), name);
    };
    const answers = new Map<string, number>();
    let asking: readonly string[] = names(150);
    for (const name of asking) ask(name);
    // As soon as a request is answered, the client sends the next one.
    const stop = world.hub.onEvent(({ object }) => {
      const { name = '', annotations = {} } = object.metadata;
      if (object.kind !== 'Application' || !name.startsWith('noisy') || refresh in annotations) return;
      answers.set(name, (answers.get(name) ?? 0) + 1);
      clock.timer(20, () => {
        if (asking.includes(name)) ask(name);
      });
    });
    await clock.advance(2000);
    const worst = await worstRepairMs(3, 3000);
    expect(worst).toBeLessThanOrEqual(1000);
    // No request is lost.
    await clock.advance(30_000);
    for (const name of names(150)) expect(answers.get(name)).toBeGreaterThanOrEqual(8);
    // An Application that continues is delayed, which a metric shows.
    asking = names(1);
    await clock.advance(60_000);
    stop();
    const series = 'driftless_refresh_requests_delayed_total{namespace="argocd",project="noisy"}';
    expect(await metrics.expose()).toContain(series);
  }, 120_000);

  it('by spec changes in a loop delay the repair of another project by at most 1 s', async () => {
    const { world, clock } = at;
    await start();
    let turn = 0;
    const change = (): void => {
      turn += 1;
      for (const name of names(150))
        world.edit(({ spec }) => {
          const { source } = spec as ApplicationSpec;
          return { spec: { ...(spec as object), source: { ...source, path: `p${turn}` } } };
        }, name);
      if (turn < 200) clock.timer(200, change);
    };
    change();
    await clock.advance(2000);
    const worst = await worstRepairMs(3, 3000);
    turn = 200;
    expect(worst).toBeLessThanOrEqual(1000);
  }, 120_000);
});

import process, { env } from 'node:process';
import { afterEach, describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { KubeApiError } from '#kube';
import type { ApplicationSpec, KubeObject } from '#model';
import { automated, configMap, publisherAfter, stage } from '../../controller/testing/index.ts';

let slow = newAbortController();
// Runs before the replicas stop: slow requests would block them.
afterEach(() => slow.abort());

/** Tenants that spread their work, and clusters that misbehave in other ways than by hanging. */
const at = stage();

const bad = 'https://bad';
const processors = {
  statusProcessors: 20,
  operationProcessors: 10,
  selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 },
};
const victimSha = 'f'.repeat(40);
const commit = (i: number): string => String(i).padStart(40, '0');
const sourceAt = (targetRevision: string): Pick<ApplicationSpec, 'source'> => ({
  source: { repoURL: 'https://git/x', path: 'p', targetRevision },
});
const isWrite = (call: string): boolean => /^(?:create|patch|replace|delete) /.test(call);

function addVictim(project = 'default'): void {
  at.world.git.commits.set(victimSha, [configMap('precious')]);
  at.world.application({ ...automated, ...sourceAt(victimSha), project }, { metadata: { name: 'victim' } });
}

function noisy(i: number, spec: Partial<ApplicationSpec>, namespace = 'argocd'): void {
  at.world.application({ project: 'noisy', ...automated, ...spec }, { metadata: { name: `noisy-${i}`, namespace } });
}

/**
 * Changes the victim's object several times in sequence and returns the ms of the longest repair.
 */
async function worstRepairMs(times: number, pauseMs: number): Promise<number> {
  const { world, clock } = at;
  const valueOf = (): unknown => (world.dest.get('ConfigMap', 'precious')?.['data'] as { readonly key: string }).key;
  let worst = 0;
  for (let i = 0; i < times; i += 1) {
    const live = world.dest.get('ConfigMap', 'precious');
    if (live === undefined) throw new Error('the victim has not been synced');
    world.dest.put({ ...live, data: { key: `drift-${i}` } });
    const from = clock.monotonic();
    while (valueOf() !== '1' && clock.monotonic() - from < 30_000) await clock.advance(10);
    worst = Math.max(worst, clock.monotonic() - from);
    await clock.advance(pauseMs);
  }
  if (env['TEST_LOG'] !== undefined) process.stderr.write(`${expect.getState().currentTestName ?? ''}: ${worst} ms\n`);
  return worst;
}

describe('a misbehaving cluster', () => {
  const own = (i: number): KubeObject[] => Array.from({ length: 5 }, (_, n) => configMap(`noisy-${i}-${n}`));

  async function start(before: (call: string) => Promise<void>): Promise<void> {
    const { world, clock } = at;
    slow = newAbortController();
    world.project('noisy');
    world.addCluster(bad);
    addVictim();
    world.replica({ config: processors, others: { before } });
    await clock.advance(5000);
    for (let i = 0; i < 100; i += 1) {
      world.git.commits.set(commit(i), own(i));
      noisy(i, { destination: { server: bad, namespace: 'apps' }, ...sourceAt(commit(i)) });
    }
    await clock.advance(20);
  }

  it('that answers each write just before it would count as stalled delays another one by at most 0.3 s', async () => {
    let writes = 0;
    await start(async (call) => {
      if (!isWrite(call)) return;
      writes += 1;
      // Staggered: an answer arrives every few milliseconds, so the cluster is never silent.
      await at.clock.sleep(1900 + (writes % 20) * 4, slow.signal);
    });
    expect(await worstRepairMs(6, 3000)).toBeLessThanOrEqual(300);
  }, 60_000);

  it('that answers one write quickly while the others hang delays another one by at most 0.3 s', async () => {
    let writes = 0;
    await start(async (call) => {
      if (!isWrite(call)) return;
      writes += 1;
      await at.clock.sleep(writes % 5 === 0 ? 30 : 1900, slow.signal);
    });
    expect(await worstRepairMs(6, 3000)).toBeLessThanOrEqual(300);
  }, 60_000);

  it('that answers each write after 0.9 s, one every 45 ms, delays another one by at most 0.3 s', async () => {
    let last = 0;
    await start(async (call) => {
      if (!isWrite(call)) return;
      const now = at.clock.monotonic();
      last = Math.max(now + 800, last + 45);
      await at.clock.sleep(last - now, slow.signal);
    });
    expect(await worstRepairMs(6, 3000)).toBeLessThanOrEqual(300);
  }, 60_000);

  it('that refuses each request with 429 delays another one by at most 0.3 s', async () => {
    const refusal = { code: 429, reason: 'TooManyRequests', message: 'slow down' };
    await start((call) => (isWrite(call) ? Promise.reject(new KubeApiError(refusal, bad)) : Promise.resolve()));
    expect(await worstRepairMs(6, 3000)).toBeLessThanOrEqual(300);
  }, 60_000);

  it('whose cache never fills delays another one by at most 0.3 s', async () => {
    at.world.unfilled.add(bad);
    await start(() => Promise.resolve());
    expect(await worstRepairMs(6, 3000)).toBeLessThanOrEqual(300);
  }, 60_000);
});

describe('a tenant with Applications that are always due', () => {
  const workMs = 400;

  async function start(place: (i: number) => { readonly project: string; readonly namespace: string }): Promise<void> {
    const { world, clock } = at;
    slow = newAbortController();
    world.project('noisy', { sourceNamespaces: ['noisy-*'] });
    world.project('quiet');
    addVictim('quiet');
    const publisher = publisherAfter((instance) => (instance === 'victim' ? undefined : clock.sleep(workMs)));
    world.replica({ config: { ...processors, applicationNamespaces: ['noisy-*'] }, publisher });
    await clock.advance(2000);
    for (let i = 0; i < 200; i += 1) {
      world.git.commits.set(commit(i), [configMap(`noisy-${i}`)]);
      const { project, namespace } = place(i);
      noisy(i, { project, ...sourceAt(commit(i)) }, namespace);
    }
    await clock.advance(20_000);
    let turn = 0;
    const change = (): void => {
      turn += 1;
      for (let i = 0; i < 200; i += 1)
        world.edit(
          ({ spec }) => ({
            spec: { ...(spec as object), source: { ...sourceAt(commit(i)).source, path: `p${turn}` } } as never,
          }),
          `noisy-${i}`,
        );
      if (!slow.signal.aborted) clock.timer(200, change);
    };
    change();
    await clock.advance(2000);
  }

  it('spread over a hundred namespaces of its project gets no more turns than in one', async () => {
    await start((i) => ({ project: 'noisy', namespace: `noisy-${i % 100}` }));
    expect(await worstRepairMs(3, 2000)).toBeLessThanOrEqual(500);
  }, 120_000);

  it('that name a project which does not permit them takes no turns of that project', async () => {
    await start((i) => ({ project: i % 2 === 0 ? 'quiet' : `none-${i}`, namespace: `noisy-${i % 100}` }));
    expect(await worstRepairMs(3, 2000)).toBeLessThanOrEqual(500);
  }, 120_000);
});

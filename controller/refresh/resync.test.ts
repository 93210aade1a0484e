import { describe, expect, it } from '@jest/globals';
import type { KindState } from '#live';
import { keyOf } from '#model';
import type { KubeObject } from '#model';
import { createMemoryPublisher } from '#publish';
import { createLogger, PromMetrics } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import type { FakeWorld, LogLine } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);
const manual = { syncPolicy: {} };
const refresh = 'argocd.argoproj.io/refresh';

const at = stage(({ git }) => git.push(sha, [configMap('one'), configMap('two')]));

/** Starts a replica, and waits until a resync has shown that nothing is left to do. */
async function rested(spec: Parameters<FakeWorld['application']>[0] = automated): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) };
  at.world.application(spec);
  await at.start({ logger: createLogger({ level: 'info', format: 'json', destination }) });
  await resync();
  lines.length = 0;
  at.world.liveReads = 0;
  return lines;
}

/** Longer than the resync period of 120 s. */
const resync = (): Promise<void> => at.clock.advance(125_000);

/** Changes a live object without an event, as if the watch had lost it. */
function editUnseen(name: string, change: (object: KubeObject) => KubeObject): void {
  const object = at.world.dest.get('ConfigMap', name)!;
  at.world.dest.objects.set(keyOf(object), change(object));
}

describe('a resync', () => {
  it('of an Application whose inputs are the same asks its source and reads nothing else', async () => {
    await rested();
    const asked = at.world.git.asked.length;
    for (let i = 0; i < 5; i += 1) await resync();
    expect(at.world.git.asked.length - asked).toBeGreaterThanOrEqual(5);
    expect(at.world.liveReads).toBe(0);
  });

  it('comes after the period and a share of the jitter that differs by Application', async () => {
    for (let i = 0; i < 20; i += 1) {
      const source = { repoURL: 'https://git/x', path: `p-${i}`, targetRevision: 'main' };
      at.world.application({ ...manual, source }, { metadata: { name: `app-${i}` } });
    }
    await at.start({ config: { jitterMs: 60_000 } });
    const [startedAt, readAt] = [at.clock.monotonic(), new Map<string, number>()];
    at.world.git.takes = ({ sources }) => {
      const path = sources[0]?.source.path ?? '';
      if (!readAt.has(path)) readAt.set(path, at.clock.monotonic() - startedAt);
      return Promise.resolve();
    };
    await at.clock.advance(190_000);
    const times = [...readAt.values()];
    expect(times).toHaveLength(20);
    expect(Math.min(...times)).toBeGreaterThan(117_000);
    expect(Math.max(...times)).toBeLessThan(186_000);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(30_000);
    // Several in each slot of 5 s.
    expect(new Set(times.map(Math.floor)).size).toBeLessThanOrEqual(14);
  });

  it('writes the same log lines without a comparison as with one', async () => {
    const lines = await rested();
    const messages = (): readonly unknown[] => lines.splice(0).map(({ message, msg }) => message ?? msg);
    await resync();
    const proven = messages();
    expect(at.world.liveReads).toBe(0);
    at.world.unconfirmed = true;
    await resync();
    expect(at.world.liveReads).toBe(1);
    const age = (line: unknown): unknown => String(line).replace(/\d+ s ago/, 'n s ago');
    expect(proven.map(age)).toEqual(messages().map(age));
    expect(proven.length).toBeGreaterThanOrEqual(4);
  });

  it('counts as a reconciliation, and its rows as reused', async () => {
    const metrics = new PromMetrics();
    at.world.application(automated);
    await at.start({ metrics });
    await resync();
    const value = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}(?:{[^}]*})? (\\d+)`, 'm').exec(await metrics.expose())?.[1]);
    const [passes, kept] = [
      await value('argocd_app_reconcile_count'),
      await value('driftless_compare_rows_kept_total'),
    ];
    await resync();
    expect(await value('argocd_app_reconcile_count')).toBe(passes + 1);
    expect(await value('driftless_compare_rows_kept_total')).toBe(kept + 2);
  });

  const doubts: readonly (readonly [string, () => void])[] = [
    ['a new commit with the same objects', () => at.world.git.push('b'.repeat(40), at.world.git.commits.get(sha)!)],
    ['other objects of the same commit', () => at.world.git.commits.set(sha, [configMap('one'), configMap('two')])],
    [
      'a changed live object',
      () => editUnseen('one', (o) => ({ ...o, metadata: { ...o.metadata, resourceVersion: '999' } })),
    ],
    [
      'a live object that was replaced',
      () => editUnseen('one', (o) => ({ ...o, metadata: { ...o.metadata, uid: 'new' } })),
    ],
    [
      'a live object that is gone',
      () => void at.world.dest.objects.delete(keyOf(at.world.dest.get('ConfigMap', 'two')!)),
    ],
    ['changed settings', () => (at.world.settings = { ...at.world.settings, version: 'other' })],
    ['another cluster at the URL', () => (at.world.settings = { ...at.world.settings })],
    ['a cache that no audit has confirmed', () => (at.world.unconfirmed = true)],
    ['a kind that is not current', () => (at.world.degraded = [staleKind])],
    ['a failing group in discovery', () => void at.world.dest.failedGroups.set('batch', 'no answer')],
  ];
  it.each(doubts)('compares after %s', async (_doubt, change) => {
    await rested();
    change();
    await resync();
    expect(at.world.liveReads).toBeGreaterThan(0);
  });

  const staleKind: KindState = { group: '', kind: 'Job', version: 'v1', state: 'degraded', message: 'x', objects: 0 };

  it('compares while the API versions that charts see are not fully known', async () => {
    at.world.git.sourceType = 'Helm';
    await rested();
    await resync();
    expect(at.world.liveReads).toBe(0);
    at.world.unsure = 'it is being upgraded';
    await resync();
    expect(at.world.liveReads).toBe(1);
  });

  it('reports a new commit that changes no object', async () => {
    await rested();
    at.world.git.push('b'.repeat(40), at.world.git.commits.get(sha)!);
    await resync();
    expect(at.world.app.status?.sync?.revision).toBe('b'.repeat(40));
  });

  it('compares again once a day, at a random time', async () => {
    const hourMs = 3_600_000;
    at.world.application(automated);
    await at.start({ config: { appResyncMs: hourMs } });
    await at.clock.advance(hourMs + 5000);
    at.world.liveReads = 0;
    await at.clock.advance(16 * hourMs);
    expect(at.world.liveReads).toBe(0);
    await at.clock.advance(8 * hourMs);
    expect(at.world.liveReads).toBe(1);
  });

  it('compares while the project watches orphans', async () => {
    at.world.project('default', { orphanedResources: { warn: false } });
    await rested();
    await resync();
    expect(at.world.liveReads).toBe(1);
  });

  it('compares while a sync window forbids syncs', async () => {
    const window = { kind: 'deny', schedule: '10 0 * * *', duration: '1h', applications: ['*'] };
    at.world.project('default', { syncWindows: [window] });
    await rested();
    await resync();
    expect(at.world.liveReads).toBe(0);
    await at.clock.advance(600_000);
    expect(at.world.liveReads).toBeGreaterThan(0);
  });

  it('compares an OutOfSync Application whose sync may start later, and not one that is synced by hand', async () => {
    await rested({ syncPolicy: { automated: {} } });
    at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
    await resync();
    await resync();
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    at.world.liveReads = 0;
    await resync();
    expect(at.world.liveReads).toBe(1);
    at.world.edit(({ spec }) => ({ spec: { ...(spec as object), ...manual } }));
    await resync();
    await resync();
    at.world.liveReads = 0;
    await resync();
    expect([at.world.app.status?.sync?.status, at.world.liveReads]).toEqual(['OutOfSync', 0]);
  });

  it.each([
    ['asks the source and reads nothing else when a user requests a refresh', 'normal', 0],
    ['compares when a user requests a hard refresh', 'hard', 1],
  ])('%s', async (_, type, reads) => {
    await rested();
    const [asked, { reconciledAt }] = [at.world.git.asked.length, at.world.app.status!];
    for (let i = 1; i <= 2; i += 1) {
      at.world.annotate({ [refresh]: type, [`${refresh}-timestamp`]: `t${i}` });
      await at.clock.advance(5000);
      expect(at.world.git.asked.length).toBe(asked + i);
      expect(at.world.liveReads).toBe(i * reads);
      expect(at.world.app.metadata.annotations).not.toHaveProperty([refresh]);
    }
    expect(at.world.app.status?.reconciledAt).not.toBe(reconciledAt);
  });

  it('of a requested refresh compares after a change of the Application that came with the request', async () => {
    await rested();
    at.world.annotate({ [refresh]: 'normal', 'example.com/other': 'theirs' });
    await at.clock.advance(5000);
    expect(at.world.liveReads).toBe(1);
  });

  it.each([
    ['a push that changes one of two manifests compares one resource', 'normal', 1],
    ['a hard refresh compares all resources', 'hard', 2],
  ])('%s', async (_, type, made) => {
    const metrics = new PromMetrics();
    at.world.application(manual);
    await at.start({ metrics });
    await resync();
    const madeNow = async (): Promise<number> => {
      const series = [...(await metrics.expose()).matchAll(/^driftless_compare_rows_made_total{[^}]*} (\d+)/gm)];
      return series.reduce((sum, [, value]) => sum + Number(value), 0);
    };
    const before = await madeNow();
    at.world.git.push('b'.repeat(40), [configMap('one', '2'), configMap('two')]);
    at.world.annotate({ [refresh]: type, [`${refresh}-timestamp`]: 't' });
    await at.clock.advance(1000);
    expect(at.world.app.status?.sync).toMatchObject({ status: 'OutOfSync', revision: 'b'.repeat(40) });
    expect((await madeNow()) - before).toBe(made);
  });

  it('needs no comparison soon after a sync, whose end was stored with one', async () => {
    at.world.application(automated);
    await at.start();
    at.world.liveReads = 0;
    await resync();
    expect([at.world.app.status?.sync?.status, at.world.liveReads]).toEqual(['Synced', 0]);
  });

  it('publishes again what the store has lost', async () => {
    const publisher = createMemoryPublisher();
    at.world.application(automated);
    await at.start({ publisher });
    await resync();
    const terms = {
      signal: new AbortController().signal,
      fence: <T>(send: (s: AbortSignal) => Promise<T>) => send(terms.signal),
    };
    await publisher.remove('demo', terms);
    at.world.liveReads = 0;
    await resync();
    expect([at.world.liveReads, publisher.tree('demo')?.nodes.length]).toEqual([1, 2]);
  });
});

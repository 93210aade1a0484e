import { describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, newAbortController, Shutdown } from '#base';
import type { KubeObject } from '#model';
import type { ApiClient, ApiEvent } from '#support';
import { runBench } from '../testing/run.ts';
import { besideTable, figureSpecs, metricsOf, ratiosOf, roundsOf } from './figures.ts';
import type { SideFigures } from './figures.ts';
import { ObjectWatch } from './object-watch.ts';
import { divideNames } from './script.ts';

/** Figures that all have this value. */
function allFigures(value: number, over: Partial<SideFigures> = {}): SideFigures {
  const names = Object.keys(figureSpecs);
  return { ...(Object.fromEntries(names.map((name) => [name, value])) as SideFigures), ...over };
}

describe('the figures', () => {
  const round = { size: 200, qps: undefined };
  const fast = { size: 1000, qps: 500 };

  it('are named by size, rate and controller, and end in their unit', () => {
    expect(metricsOf(round, 'ours', allFigures(2))).toMatchObject({ apps_200_ours_first_sync_seconds: 2 });
    const names = Object.keys(metricsOf(fast, 'argo_cd', allFigures(2)));
    expect(names).toContain('apps_1000_qps_500_argo_cd_drift_p99_ms');
    expect(names.filter((name) => !/^[a-z0-9_]+_(?:seconds|bytes|count|ms)$/.test(name))).toEqual([]);
  });

  it("are compared as Argo CD's divided by ours, but not with a missing figure or a zero", () => {
    const argo = metricsOf(round, 'argo_cd', allFigures(12));
    const both = { ...argo, ...metricsOf(round, 'ours', allFigures(3, { push_cpu_seconds: 0 })) };
    const ratios = ratiosOf(round, both);
    expect(ratios).toMatchObject({ apps_200_argo_cd_to_ours_first_sync_seconds_ratio: 4 });
    expect(Object.keys(ratios)).toHaveLength(Object.keys(figureSpecs).length - 1);
    expect(ratiosOf(round, argo)).toEqual({});
    expect(ratiosOf(fast, both)).toEqual({});
  });

  it('form one table for each round, with the ratio and whether the goal is met', () => {
    const ours = allFigures(1, { first_sync_seconds: 10, restart_seconds: 2.5, rest_rss_bytes: 2 ** 20 });
    const metrics: Record<string, number> = {
      ...metricsOf(round, 'argo_cd', allFigures(90, { rest_rss_bytes: 2 ** 21 })),
      ...metricsOf(round, 'ours', ours),
      ...metricsOf(fast, 'ours', ours),
    };
    const table = besideTable(roundsOf(metrics), { ...metrics, ...ratiosOf(round, metrics) });
    expect(table).toMatch(/^200 Applications, the default client rate[^]*\n1000 Applications, 500 requests a second\n/);
    expect(table).toMatch(/^ {2}first sync +90 s +10 s +9 x +8 x, met$/m);
    expect(table).toMatch(/^ {2}memory at rest: RSS +2 MiB +1 MiB +2 x +3 x, missed$/m);
    expect(table).toMatch(/^ {2}kill -9 to first repair +90 s +2[.]5 s +36 x +2 s, missed$/m);
    expect(table).toMatch(/^ {2}refresh of all: writes per Application +90 +1 +90 x +1, met$/m);
    expect(table).toMatch(/^ {2}first sync +- +10 s +- +8 x, not measured$/m);
  });
});

describe('the script', () => {
  it.each([5, 20, 200, 1000])('never uses one of %d Applications for two steps', (size) => {
    const names = Array.from({ length: size }, (_app, i) => `app-${i}`);
    const { drifted, pushed, last } = divideNames(names);
    const used = [...drifted, ...pushed, last];
    expect(new Set(used).size).toBe(used.length);
    expect([drifted.length, pushed.length]).toEqual(size >= 200 ? [50, 20] : [size * 0.6, size * 0.2]);
  });

  it('refuses fewer Applications than it has steps', () => {
    expect(() => divideNames(['a', 'b'])).toThrow('choose a --size of at least 5');
  });

  it.each([
    ['--size', '4', /--size 4 is too small|left out/],
    ['--size', 'many', /--size many is not a whole number above 0|left out/],
    ['--qps', '-1', /--qps -1 is not a whole number above 0|left out/],
  ])('refuses %s %s', async (option, value, message) => {
    const { err } = await runBench(['beside/ours', '--smoke', `${option}=${value}`]);
    expect(err).toMatch(message);
  });
});

describe('a watch of objects', () => {
  const objectOf = (name: string, value: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { value },
  });
  const valueOf = (object: KubeObject): string => (object['data'] as { value: string }).value;

  /** An API server whose watches send these events; the last one stays open. */
  function scripted(lists: readonly (readonly KubeObject[])[], watches: readonly (readonly ApiEvent[])[]): ApiClient {
    let round = -1;
    return {
      get: async () => {
        round += 1;
        return { metadata: { resourceVersion: String(round) }, items: lists[round] ?? [] };
      },
      async *watch(_path: string, signal: AbortSignal) {
        yield* watches[round] ?? [];
        if (round === watches.length - 1) await new Promise((done) => signal.addEventListener('abort', done));
      },
    } as unknown as ApiClient;
  }

  it('follows events, and lists again when a watch ends', async () => {
    const event = (type: string, object: KubeObject): ApiEvent => ({ type, object: { ...object } });
    const api = scripted(
      [[objectOf('a', '1'), objectOf('b', '1')], [objectOf('c', '1')]],
      [
        [event('MODIFIED', objectOf('a', '2')), event('DELETED', objectOf('b', '1'))],
        [event('ADDED', objectOf('d', '3'))],
      ],
    );
    const watch = new ObjectWatch({ api, path: '/objects', stateOf: valueOf });
    const seen: string[] = [];
    const stop = newAbortController();
    const wait = { what: 'd', limitMs: 10_000, signal: stop.signal };
    const waiting = watch.until(wait, () => {
      seen.push(JSON.stringify(Object.fromEntries(watch.states)));
      return watch.states.has('d');
    });
    const running = watch.run(stop.signal);
    await waiting;
    expect(seen).toEqual([
      '{}',
      '{"a":"1","b":"1"}',
      '{"a":"2","b":"1"}',
      '{"a":"2"}',
      '{"c":"1"}',
      '{"c":"1","d":"3"}',
    ]);
    expect(watch.count((value) => value === '3')).toBe(1);
    stop.abort(new Shutdown());
    await running;
  });

  it('gives up a wait at its deadline', async () => {
    const watch = new ObjectWatch({ api: scripted([], []), path: '/objects', stateOf: valueOf });
    const wait = { what: 'an object that never comes', limitMs: 1, signal: newAbortController().signal };
    await expect(watch.until(wait, () => false)).rejects.toThrow(DeadlineExceeded);
  });
});

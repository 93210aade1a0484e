import { constants } from 'node:http2';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadlineExceeded, ConcurrencyLimiter, seededRandom } from '#base';
import type { Json } from '#base';
import type { ClusterConnection, KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { eventually, FakeClock } from '#support';
import { KubeApiError, KubeConnectionError, KubeProtocolError, Reflector } from '../index.ts';
import type { KubeClient, ListPage, ReflectorState, ReflectorTuning, WatchEvent } from '../index.ts';
import {
  CacheSink,
  clientFor,
  configMaps,
  object,
  ScriptedServer,
  ScriptedSource,
  selfSigned,
  testLifetimes,
} from '../testing/index.ts';
import type { Turn } from '../testing/index.ts';

interface Running {
  readonly clock: FakeClock;
  readonly source: ScriptedSource;
  readonly sink: CacheSink;
  readonly reflector: Reflector;
  readonly stop: () => Promise<void>;
}

const lifetimes = testLifetimes();

async function start(
  setup: {
    tuning?: Partial<ReflectorTuning>;
    prepare?: (source: ScriptedSource) => void;
    sink?: CacheSink;
    client?: KubeClient;
  } = {},
): Promise<Running> {
  const clock = new FakeClock();
  const source = new ScriptedSource();
  setup.prepare?.(source);
  const sink = setup.sink ?? new CacheSink();
  const reflector = new Reflector({
    client: setup.client ?? source,
    resource: configMaps,
    sink,
    clock,
    random: seededRandom(7),
    logger: silentLogger,
    ...(setup.tuning === undefined ? {} : { tuning: setup.tuning }),
  });
  const stop = lifetimes.run(reflector, clock);
  await clock.settle();
  return { clock, source, sink, reflector, stop };
}

const page = (resourceVersion: string, ...items: KubeObject[]) => ({ items, resourceVersion });
const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, version: string): WatchEvent => ({
  type,
  object: object(name, version),
});
const bookmark = (resourceVersion: string): WatchEvent => ({ type: 'BOOKMARK', resourceVersion });
const answer = (code: number, reason: string, retryAfterMs?: number): KubeApiError =>
  new KubeApiError({ code, reason, message: reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }, 'GET x');
const expired = (): KubeApiError => answer(410, 'Expired');
const cut = (): KubeConnectionError => new KubeConnectionError('https://x', 'connection reset', undefined);
const states = (sink: CacheSink): string[] => sink.states.map((state) => state.state);

describe('listing', () => {
  it('reads page after page, and is ready with the last one', async () => {
    const { source, sink, reflector } = await start({
      prepare: (s) => {
        s.answers = [{ ...page('10', object('a', '1')), continue: 'more' }, page('11', object('b', '2'))];
      },
    });
    await reflector.ready(new AbortController().signal);
    expect(source.lists.map(({ limit, continue: token, resourceVersion }) => [limit, token, resourceVersion])).toEqual([
      [500, undefined, undefined],
      [500, 'more', undefined],
    ]);
    expect([...sink.objects]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
    expect(sink.log).toEqual(['list', 'commit 11']);
    expect(source.last.options.resourceVersion).toBe('11');
    expect(states(sink)).toEqual(['listing', 'synced']);
  });

  it('restarts in one piece when the pages expire, and keeps the old cache meanwhile', async () => {
    const { source, sink } = await start({
      prepare: (s) => {
        s.answers = [{ ...page('10', object('a', '1')), continue: 'more' }, expired(), page('20', object('b', '2'))];
      },
    });
    expect(sink.log).toEqual(['list', 'abandon', 'list', 'commit 20']);
    expect(source.lists.at(-1)?.limit).toBeUndefined();
    expect([...sink.objects.keys()]).toEqual(['b']);
  });

  /** Pages created on request, so that a list may be endless. */
  const endless = (source: ScriptedSource, pageOf: (n: number) => ListPage): void => {
    let asked = 0;
    source.list = (_resource, options) => {
      source.lists.push(options);
      asked += 1;
      return Promise.resolve(pageOf(asked));
    };
  };

  it.each([1, 2, 7])('rejects a list whose pages form a cycle of %i at once', async (round) => {
    const { source, sink, clock } = await start({
      prepare: (s) =>
        endless(s, (n) => ({ ...page('10', object(`o${n}`, String(n))), continue: `token ${n % round}` })),
    });
    expect(source.lists.length).toBeLessThanOrEqual(4 * round + 2);
    expect(sink.log).toEqual(['list', 'abandon as untrue']);
    expect(sink.states.at(-1)).toMatchObject({
      state: 'degraded',
      message: expect.stringMatching(/the list has no end: it returned to an earlier page/),
    });
    // The retry gets an honest response and recovers.
    source.list = (_resource, options) => {
      source.lists.push(options);
      return Promise.resolve(page('11', object('a', '11')));
    };
    await clock.advance(2_000);
    expect([...sink.objects.keys()]).toEqual(['a']);
    expect(states(sink).at(-1)).toBe('synced');
  });

  it('rejects a list of ever more objects at the limit, and retries rarely', async () => {
    const { source, sink, clock } = await start({
      tuning: { limits: { maxItems: 100, maxDurationMs: 1_800_000 } },
      prepare: (s) => endless(s, (n) => ({ ...page('10', object(`o${n}`, String(n))), continue: `token ${n}` })),
    });
    expect(source.lists).toHaveLength(101);
    expect(sink.states.at(-1)).toMatchObject({
      state: 'degraded',
      message: expect.stringContaining('the list has no end: it has more than 100 objects'),
    });
    await clock.advance(590_000);
    expect(source.lists).toHaveLength(101);
    await clock.advance(20_000);
    expect(source.lists).toHaveLength(202);
  });

  it('rejects a list far longer than its first page announced', async () => {
    const { source, sink } = await start({
      prepare: (s) =>
        endless(s, (n) => ({
          ...page('10', ...Array.from({ length: 500 }, (_, i) => object(`o${n}-${i}`, String(n)))),
          continue: `token ${n}`,
          remaining: 1000,
        })),
    });
    // A page is passed on in slices.
    await eventually(() => expect(states(sink).at(-1)).toBe('degraded'));
    expect(source.lists).toHaveLength(27);
    expect(sink.states.at(-1)).toMatchObject({
      message: expect.stringContaining('it has more than 13000 objects (its first page announced 1500)'),
    });
  });

  it('lists a million objects in pages of 500, also if the server counted a few less', async () => {
    const items = Array.from({ length: 500 }, (_, i) => object(`o${i}`, '1'));
    let count = 0;
    const sink = new CacheSink();
    sink.startList = () => ({
      add: (some) => (count += some.length),
      commit: (version) => void sink.log.push(`commit ${version}`),
      remove: () => undefined,
      abandon: () => void sink.log.push('abandon'),
    });
    const { source, clock } = await start({
      sink,
      prepare: (s) =>
        endless(s, (n) => ({
          ...page('10', ...items),
          ...(n < 2000 ? { continue: `t${n}`, remaining: 990_000 } : {}),
        })),
    });
    await clock.settle();
    await eventually(() => expect(count).toBe(1_000_000));
    await eventually(() => expect(sink.log).toEqual(['commit 10']));
    expect(source.lists).toHaveLength(2000);
  });

  it('reports a list of more than ten minutes as degraded, continues, and ends it after half an hour', async () => {
    let answer: () => void = () => undefined;
    const { source, sink, clock } = await start({
      prepare: (s) => {
        s.list = async (_resource, options) => {
          s.lists.push(options);
          const n = s.lists.length;
          await new Promise<void>((resolve) => (answer = resolve));
          return { ...page('10', object(`o${n}`, String(n))), continue: `token ${n}` };
        };
      },
    });
    const minute = async (): Promise<void> => {
      await clock.advance(60_000);
      answer();
      await clock.settle();
    };
    for (let n = 0; n < 10; n += 1) await minute();
    expect(states(sink)).toEqual(['listing']);
    await minute();
    expect(sink.states.at(-1)).toMatchObject({
      state: 'degraded',
      message: 'list of ConfigMap is not complete after 600 s; it continues',
    });
    for (let n = 11; n < 30; n += 1) await minute();
    expect(sink.log).toEqual(['list']);
    await minute();
    expect(sink.log).toEqual(['list', 'abandon as untrue']);
    expect(source.lists).toHaveLength(31);
    expect(sink.states.at(-1)).toMatchObject({
      message: expect.stringContaining('it is not complete after 1800 s'),
    });
  });

  it('may read the first list from the cache, but never later ones', async () => {
    const { source, clock } = await start({ tuning: { firstListFromCache: true } });
    source.last.send(expired());
    await clock.advance(1_000);
    expect(source.lists.map((list) => list.resourceVersion)).toEqual(['0', undefined]);
  });

  it('waits for its turn if lists are limited', async () => {
    const lists = new ConcurrencyLimiter(1);
    let free: () => void = () => undefined;
    void lists.run(new AbortController().signal, () => new Promise<void>((resolve) => (free = resolve)));
    const { source, clock } = await start({ tuning: { lists } });
    expect(source.lists).toHaveLength(0);
    free();
    await clock.settle();
    expect(source.lists).toHaveLength(1);
  });

  it('backs off with jitter and a cap after failures; reports degraded and since when', async () => {
    const { source, sink, clock, reflector } = await start({
      prepare: (s) => {
        s.answers = [answer(500, 'InternalError')];
      },
    });
    const times: number[] = [clock.now()];
    for (let i = 0; i < 600; i += 1) {
      const before = source.lists.length;
      await clock.advance(500);
      if (source.lists.length > before) times.push(clock.now());
    }
    const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(waits[0]).toBeGreaterThanOrEqual(800);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_500);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(15_000);
    expect(waits[1]! + waits[2]!).toBeGreaterThan(waits[0]! * 1.5);
    expect(reflector.state()).toMatchObject({ state: 'degraded', message: 'InternalError', sinceMs: times[0] });
    source.answers = [page('1', object('a', '1'))];
    await clock.advance(61_000);
    expect(states(sink)).toEqual(['listing', 'degraded', 'synced']);
  });

  it('retries at a steady pace while forbidden, and recovers within 30 s', async () => {
    const { source, clock, reflector } = await start({
      prepare: (s) => {
        s.answers = [answer(403, 'Forbidden')];
      },
    });
    expect(reflector.state()).toMatchObject({ state: 'forbidden', message: 'Forbidden' });
    await clock.advance(12_900);
    expect(source.lists).toHaveLength(1);
    await clock.advance(3_600_000);
    expect(source.lists.length).toBeLessThan(280);
    source.answers = [page('1')];
    await clock.advance(30_000);
    expect(reflector.state().state).toBe('synced');
  });

  it('waits at least as long as the server requests', async () => {
    const { source, clock } = await start({
      prepare: (s) => {
        s.answers = [answer(429, 'TooManyRequests', 20_000), page('1')];
      },
    });
    await clock.advance(19_900);
    expect(source.lists).toHaveLength(1);
    await clock.advance(200);
    expect(source.lists).toHaveLength(2);
  });
});

describe('watching', () => {
  // T-JS-4
  it('resumes from the last event or bookmark after every end and error, without a list', async () => {
    const { source, sink, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    const endings: [WatchEvent, Error | 'end', string][] = [
      [event('ADDED', 'a', '11'), 'end', '11'],
      [bookmark('15'), 'end', '15'],
      [event('MODIFIED', 'a', '16'), cut(), '16'],
      [event('ADDED', 'b', '17'), new DeadlineExceeded('silence', 1), '17'],
      [event('DELETED', 'a', '18'), answer(500, 'InternalError'), '18'],
      [event('ADDED', 'c', '19'), answer(429, 'TooManyRequests'), '19'],
      [event('ADDED', 'd', '20'), answer(504, 'Timeout'), '20'],
      [event('ADDED', 'e', '21'), answer(401, 'Unauthorized'), '21'],
    ];
    for (const [seen, ending, version] of endings) {
      const opened = source.watches.length;
      source.last.send(seen);
      await clock.advance(30_000);
      source.last.send(ending);
      await clock.advance(120_000);
      expect(source.watches.length).toBe(opened + 1);
      expect(source.last.options.resourceVersion).toBe(version);
    }
    expect(source.lists).toHaveLength(1);
    expect([...sink.objects]).toEqual([
      ['b', '17'],
      ['c', '19'],
      ['d', '20'],
      ['e', '21'],
    ]);
    expect(reflector.stats()).toMatchObject({ lists: 1, events: 7, bookmarks: 1, failures: 6 });
    // Each interrupted watch resumed at once, so no failure is reported.
    expect(states(sink)).toEqual(['listing', 'synced']);
  });

  // T-JS-8
  it('relists for 410, for unreadable lines, and for versions unknown to the server', async () => {
    const reasons = [
      expired(),
      new KubeProtocolError('watch', 'a line that is not JSON'),
      answer(422, 'Invalid'),
      answer(400, 'BadRequest'),
    ];
    const { source, sink, clock } = await start({ prepare: (s) => (s.answers = [page('10', object('gone', '3'))]) });
    source.answers = [page('50', object('new', '40'))];
    for (const [i, reason] of reasons.entries()) {
      await clock.advance(30_000);
      source.last.send(reason);
      await clock.advance(3_000);
      expect(source.lists).toHaveLength(i + 2);
      expect(source.last.options.resourceVersion).toBe('50');
    }
    expect([...sink.objects.keys()]).toEqual(['new']);
  });

  // T-API-1
  it.each([[1000], [undefined]])(
    'loses no event if a server answers 429 for a minute (Retry-After: %s ms), and retries only occasionally',
    async (retryAfterMs) => {
      const busy = (): Error[] => Array.from({ length: 10_000 }, () => answer(429, 'TooManyRequests', retryAfterMs));
      const { source, sink, clock } = await start({ prepare: (s) => (s.answers = [...busy(), page('10')]) });
      await clock.advance(60_000);
      expect(source.lists.length).toBeGreaterThan(2);
      expect(source.lists.length).toBeLessThanOrEqual(60);
      expect(source.watches).toHaveLength(0);
      source.answers = [page('10', object('a', '5'))];
      await clock.advance(60_000);
      expect([...sink.objects]).toEqual([['a', '5']]);
      // The same for watches: once the server accepts them again, the watch resumes from its
      // version and receives the events missed meanwhile.
      const lists = source.lists.length;
      source.last.send(event('MODIFIED', 'a', '11'));
      await clock.settle();
      const watches = source.watches.length;
      source.refusals = busy();
      source.last.send('end');
      await clock.advance(60_000);
      expect(source.watches.length - watches).toBeGreaterThan(2);
      expect(source.watches.length - watches).toBeLessThanOrEqual(60);
      source.refusals = [];
      await clock.advance(60_000);
      expect(source.last.options.resourceVersion).toBe('11');
      source.last.send(event('ADDED', 'b', '12'), event('DELETED', 'a', '13'));
      await clock.settle();
      expect([...sink.objects]).toEqual([['b', '12']]);
      expect(source.lists).toHaveLength(lists);
    },
  );

  it('relists at once after the first 410', async () => {
    const { source, clock } = await start();
    source.last.send(expired());
    await clock.settle();
    await clock.advance(1);
    expect(source.lists).toHaveLength(2);
  });

  it('relists for an event without a version, without losing its position', async () => {
    const { source, clock } = await start();
    source.last.send({ type: 'ADDED', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } } });
    await clock.advance(2_000);
    expect(source.lists).toHaveLength(2);
  });

  // T-JS-5
  it('paces watches that end at once, and relists if they have no event', async () => {
    const { source, clock } = await start({
      prepare: (s) => (s.answers = [page('10')]),
    });
    const began = clock.now();
    while (source.lists.length < 2) {
      source.last.send('end');
      await clock.advance(100);
      expect(clock.now() - began).toBeLessThan(60_000);
    }
    // Three watches without an event cause the list, and a fourth watch follows it.
    expect(source.watches.length).toBe(4);
    // Watches that end at once with an event: no list, and at most one watch per second.
    const from = source.watches.length;
    for (let i = 0; i < 200; i += 1) {
      source.last.send(event('MODIFIED', 'a', String(100 + i)), 'end');
      await clock.advance(100);
    }
    expect(source.watches.length - from).toBeLessThanOrEqual(20);
    expect(source.lists).toHaveLength(2);
  });

  it('is degraded from the second refused watch on, lists then, and is synced when one is accepted', async () => {
    const { source, sink, clock, reflector } = await start({
      prepare: (s) => {
        s.answers = [page('10', object('kept', '4'))];
        s.refusals = [cut(), cut(), cut()];
      },
    });
    expect(reflector.state().state).toBe('synced');
    await clock.advance(1_700);
    expect(reflector.state()).toMatchObject({ state: 'degraded', message: 'cannot reach https://x: connection reset' });
    expect([...sink.objects.keys()]).toEqual(['kept']);
    await clock.advance(30_000);
    expect(reflector.state().state).toBe('synced');
    expect(states(sink)).toEqual(['listing', 'synced', 'degraded', 'polled', 'synced']);
    expect(source.lists).toHaveLength(3);
  });

  it.each([
    ['an event that the server cannot write', answer(500, 'InternalError')],
    ['a proxy that answers for a server that is down', answer(503, 'ServiceUnavailable')],
    ['connections that are cut at once', cut()],
  ])('does not stay at its place for ever when nothing comes of it: %s', async (_name, error) => {
    const { source, sink, clock } = await start({ prepare: (s) => (s.answers = [page('10', object('a', '4'))]) });
    source.refusals = Array.from({ length: 8 }, () => error);
    source.last.send(event('MODIFIED', 'a', '12'), 'end');
    await clock.advance(1000);
    expect(source.lists).toHaveLength(1);
    source.answers = [page('20', object('b', '15'))];
    await clock.advance(300_000);
    expect([...sink.objects.keys()]).toEqual(['b']);
    // After the second refusal, each retry lists.
    expect(source.lists).toHaveLength(8);
    expect(source.last.options.resourceVersion).toBe('20');
  });

  it('reports a forbidden watch at once, lists instead, and watches again soon', async () => {
    const { source, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    source.refusals = Array.from({ length: 3 }, () => answer(403, 'Forbidden'));
    source.last.send(event('ADDED', 'a', '12'), 'end');
    await clock.advance(1_500);
    expect(reflector.state().state).toBe('forbidden');
    source.answers = [page('12', object('a', '12'))];
    // A server that has just started has not loaded its roles yet, so the watch resumes before
    // `forbiddenRetryMs`.
    await clock.advance(12_000);
    expect(reflector.state().state).toBe('synced');
    expect(source.last.options.resourceVersion).toBe('12');
    expect(source.lists).toHaveLength(3);
  });

  it('retries a forbidden watch at a steady pace', async () => {
    const { source, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    source.refusals = Array.from({ length: 1000 }, () => answer(403, 'Forbidden'));
    source.last.send('end');
    await clock.advance(3_600_000);
    expect(reflector.stats().watches).toBeLessThan(285);
  });

  // T-JS-7
  it('loses nothing if a sink throws', async () => {
    class Faulty extends CacheSink {
      override event(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: KubeObject): void {
        super.event(type, item);
        if (item.metadata.name === 'bad') throw new Error('handler bug');
      }
      override state(state: ReflectorState): void {
        super.state(state);
        throw new Error('state bug');
      }
    }
    const { source, sink, clock, reflector } = await start({ sink: new Faulty() });
    source.last.send(event('ADDED', 'bad', '2'), event('ADDED', 'good', '3'));
    await clock.settle();
    expect([...sink.objects.keys()]).toEqual(['bad', 'good']);
    expect(reflector.stats().sinkErrors).toBe(3);
    expect(source.watches).toHaveLength(1);
  });

  it('stops promptly in any state, and leaves no work behind', async () => {
    const prepared: ((source: ScriptedSource) => void)[] = [
      () => undefined,
      (s) => (s.answers = [answer(500, 'x')]),
      (s) => (s.refusals = [cut()]),
    ];
    for (const prepare of prepared) {
      const { stop, source } = await start({ prepare });
      await stop();
      expect(source.watches.every((watch) => watch.ended)).toBe(true);
    }
  });

  it('relists if the server does not know our version yet, by its response and by an event', async () => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.answers = [page('50')];
    const status = { code: 504, reason: 'Timeout', message: 'Timeout: Too large resource version: 900, current: 50' };
    source.refusals = [
      new KubeApiError({ ...status, causes: ['ResourceVersionTooLarge'], retryAfterMs: 1000 }, 'GET x'),
    ];
    source.last.send('end');
    await clock.advance(10_000);
    expect(source.lists.map((list) => list.resourceVersion)).toEqual([undefined, undefined]);
    expect(source.last.options.resourceVersion).toBe('50');
    source.last.send(new KubeApiError({ ...status, causes: ['ResourceVersionTooLarge'] }, 'GET x'));
    await clock.advance(10_000);
    expect(source.lists).toHaveLength(3);
    // A timeout for another reason does not cause a relist.
    source.last.send(new KubeApiError(status, 'GET x'));
    await clock.advance(10_000);
    expect(source.lists).toHaveLength(3);
  });

  it('relists if a bookmark is older than the last version', async () => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('900'), page('50')]) });
    source.last.send(bookmark('901'), bookmark('45'));
    await clock.advance(3_000);
    expect(source.lists).toHaveLength(2);
    expect(source.last.options.resourceVersion).toBe('50');
  });

  it('relists after the server was unreachable: it may be another one, or restored, with newer versions', async () => {
    const { source, sink, clock } = await start({ prepare: (s) => (s.answers = [page('10', object('then', '9'))]) });
    const refused = new KubeConnectionError('https://x', 'connection refused', undefined, { unreachable: true });
    source.refusals = [refused];
    source.last.send(cut());
    source.answers = [refused, refused, page('500', object('now', '400'))];
    await clock.advance(1_800);
    expect([...sink.objects.keys()]).toEqual(['then']);
    await clock.advance(60_000);
    expect([...sink.objects.keys()]).toEqual(['now']);
    expect(source.last.options.resourceVersion).toBe('500');
  });

  it('verifies the version also after a silent watch that ended normally', async () => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.answers = [page('50')];
    await clock.advance(100_000);
    source.last.send('end');
    await clock.advance(10_000);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['900', '50']);
  });

  it('relists after any cut if the server is behind the version, instead of watching', async () => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.last.send(bookmark('901'));
    await clock.advance(100);
    source.answers = [page('50')];
    source.last.send(cut());
    await clock.advance(10_000);
    expect(source.looks).toHaveLength(1);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['900', '50']);
  });

  it.each([
    ['is behind it: lists anew', page('50'), '50', 2],
    ['is not: resumes', page('1000'), '900', 1],
    ['numbers in no order that we know: resumes', page('x50'), '900', 1],
  ])('after a silent watch, a server that %s', async (_name, told, version, lists) => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.answers = [told];
    await clock.advance(100_000);
    source.last.send(new DeadlineExceeded('silence', 100_000));
    await clock.advance(10_000);
    expect(source.looks[0]).toMatchObject({ limit: 1 });
    expect(source.lists).toHaveLength(lists);
    expect(source.watches).toHaveLength(2);
    expect(source.last.options.resourceVersion).toBe(version);
    // After a watch with a bookmark, the version is not verified.
    await clock.advance(100_000);
    source.last.send(bookmark('1100'), 'end');
    await clock.advance(10_000);
    expect(source.lists).toHaveLength(lists);
  });

  it('opens no watch from the future on a server that has just started and denies the check', async () => {
    const { source, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.answers = [answer(403, 'Forbidden'), answer(403, 'Forbidden'), page('50')];
    source.last.send(cut());
    await clock.advance(1_500);
    expect(reflector.state().state).toBe('forbidden');
    expect(source.watches).toHaveLength(1);
    await clock.advance(20_000);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['900', '50']);
    expect(reflector.state().state).toBe('synced');
  });

  it('relists once on request', async () => {
    const { source, sink, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    source.answers = [page('20', object('a', '15'))];
    reflector.relist();
    reflector.relist();
    await clock.advance(5_000);
    expect([...sink.objects.keys()]).toEqual(['a']);
    expect(source.lists).toHaveLength(2);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['10', '20']);
    expect(reflector.stats().failures).toBe(0);
  });

  it('repeats a requested list that failed', async () => {
    const { source, sink, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    source.answers = [answer(500, 'InternalError'), page('20', object('a', '15'))];
    reflector.relist();
    await clock.advance(5_000);
    expect([...sink.objects.keys()]).toEqual(['a']);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['10', '20']);
  });

  it('relists at once also if requested while it verifies the version', async () => {
    const { source, sink, clock, reflector } = await start({ prepare: (s) => (s.answers = [page('900')]) });
    source.answers = [page('901'), page('902', object('a', '15'))];
    source.onList = () => {
      source.onList = () => undefined;
      reflector.relist();
    };
    source.last.send(cut());
    await clock.advance(5_000);
    expect(source.looks).toHaveLength(1);
    expect([...sink.objects.keys()]).toEqual(['a']);
    expect(source.watches.map(({ options }) => options.resourceVersion)).toEqual(['900', '902']);
  });

  it('ends up equal to the server after any sequence of failures', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), name: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), name: fc.constantFrom('a', 'b', 'c') }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constantFrom('end' as const, 'cut' as const, 'expire' as const, 'garbage' as const, 'refuse' as const),
          name: fc.constant(''),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const truth = new Map<string, string>();
        let version = 10;
        const history: WatchEvent[] = [];
        const { source, sink, clock, stop } = await start({ prepare: (s) => (s.answers = [page('10')]) });
        const fed = new Map<object, number>();
        // Simulates the server: every watch gets all events after its version, in order.
        const feed = (): void => {
          const watch = source.last;
          if (watch.ended) return;
          const from = fed.get(watch) ?? Number(watch.options.resourceVersion) - 10;
          watch.send(...history.slice(from));
          fed.set(watch, history.length);
        };
        for (const { do: action, name } of steps) {
          if (action === 'write' || action === 'delete') {
            version += 1;
            const type = action === 'delete' ? 'DELETED' : truth.has(name) ? 'MODIFIED' : 'ADDED';
            history.push(event(type, name, String(version)));
            if (action === 'delete') truth.delete(name);
            else truth.set(name, String(version));
            source.answers = [page(String(version), ...[...truth].map(([n, v]) => object(n, v)))];
          } else if (action === 'refuse') source.refusals.push(cut());
          else {
            const ends = {
              end: 'end',
              cut: cut(),
              expire: expired(),
              garbage: new KubeProtocolError('w', 'x'),
            } as const;
            source.last.send(ends[action]);
          }
          feed();
          await clock.advance(400);
        }
        for (let i = 0; i < 10; i += 1) {
          await clock.advance(40_000);
          feed();
          await clock.settle();
        }
        expect(new Map([...sink.objects].sort())).toEqual(new Map([...truth].sort()));
        await stop();
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

/** A server that closes at the end of the test. */
async function startServer(...args: Parameters<typeof ScriptedServer.start>): Promise<ScriptedServer> {
  return lifetimes.closing(await ScriptedServer.start(...args));
}

/** A reflector of a server, until the end of the test. */
function startAgainst(
  server: ScriptedServer,
  clock: FakeClock,
  connection: Partial<ClusterConnection> = {},
): Pick<Running, 'sink' | 'reflector'> {
  const client = lifetimes.closing(clientFor(server, { clock, connection }));
  const sink = new CacheSink();
  const deps = { client, resource: configMaps, sink, clock, random: seededRandom(3), logger: silentLogger };
  const reflector = new Reflector(deps);
  lifetimes.run(reflector);
  return { sink, reflector };
}

describe('against a real socket', () => {
  // T-JS-5
  it('loses no event while the server sends GOAWAY again and again', async () => {
    const identity = selfSigned();
    const clock = new FakeClock();
    const history: { type: string; object: KubeObject }[] = [];
    const open = new Set<Turn>();
    const server = await startServer(
      (turn) => {
        if (!turn.query.has('watch')) {
          turn.reply(200, {
            metadata: { resourceVersion: String(turn.query.get('limit') === '1' ? history.length : 0) },
            items: [],
          });
          return;
        }
        turn.begin();
        for (const { type, object: item } of history.slice(Number(turn.query.get('resourceVersion'))))
          turn.event(type, item as unknown as Json);
        open.add(turn);
      },
      { tls: identity, http2: true },
    );
    const { sink, reflector } = startAgainst(server, clock, { caData: identity.cert });
    for (let i = 1; i <= 60; i += 1) {
      const item = object(`o${i % 7}`, String(i));
      history.push({ type: 'MODIFIED', object: item });
      for (const turn of open) turn.event('MODIFIED', item as unknown as Json);
      if (i % 10 === 0) server.goaway();
      if (i % 15 === 0) server.goaway(constants.NGHTTP2_INTERNAL_ERROR);
      await clock.advance(300);
    }
    await eventually(async () => {
      await clock.advance(1_000);
      expect([...sink.objects.values()].map(Number).sort((a, b) => a - b)).toEqual([54, 55, 56, 57, 58, 59, 60]);
    });
    const seen = sink.log.filter((line) => line.startsWith('MODIFIED'));
    expect(seen).toEqual(history.map(({ object: item }) => `MODIFIED ${item.metadata.name ?? ''}`));
    expect(reflector.stats().lists).toBe(1);
    expect(reflector.stats().watches).toBeGreaterThan(2);
  });

  it('drops the objects of a truncated first page that is repeated', async () => {
    const clock = new FakeClock();
    let lists = 0;
    const server = await startServer((turn) => {
      if (turn.query.has('watch')) {
        turn.begin();
        return;
      }
      lists += 1;
      if (lists > 1) {
        const items = [{ metadata: { name: 'stays', resourceVersion: '9' } }];
        turn.reply(200, { metadata: { resourceVersion: '20' }, items });
        return;
      }
      turn.begin();
      turn.write('{"metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"gone","resourceVersion":"8"}},');
      // Enough bytes that the first items are passed on before the rest arrives.
      turn.write(' '.repeat(300_000));
      turn.end();
    });
    const { sink, reflector } = startAgainst(server, clock);
    await eventually(async () => {
      await clock.advance(1_000);
      expect([...sink.objects.keys()]).toEqual(['stays']);
    });
    expect([lists, reflector.stats().failures]).toEqual([2, 0]);
  });

  it('survives everything in a row: 500, hang, bad line, 410, reset, and misses nothing', async () => {
    const clock = new FakeClock();
    let lists = 0;
    const watchScript: ((turn: Turn) => void)[] = [
      (turn) => turn.status(500, 'InternalError', 'boom'),
      () => undefined,
      (turn) => {
        turn.begin();
        turn.event('ADDED', object('a', '11') as unknown as Json);
        turn.write('{"type":"MODIFIED","obj\n');
      },
      (turn) => {
        turn.begin();
        turn.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
      },
      (turn) => {
        turn.begin();
        turn.event('ADDED', object('b', '31') as unknown as Json);
        setImmediate(() => turn.reset());
      },
      (turn) => {
        turn.begin();
        turn.event('ADDED', object('c', '41') as unknown as Json);
      },
    ];
    const server = await startServer((turn) => {
      if (turn.query.has('watch')) return watchScript.shift()?.(turn);
      if (turn.query.get('limit') === '1') {
        turn.reply(200, { metadata: { resourceVersion: '31' }, items: [] });
        return;
      }
      lists += 1;
      turn.reply(200, {
        metadata: { resourceVersion: String(lists * 10) },
        items: [{ metadata: { name: 'a', resourceVersion: '11' } }],
      });
    });
    const { sink } = startAgainst(server, clock);
    await eventually(async () => {
      await clock.advance(1_000);
      expect([...sink.objects.keys()]).toEqual(['a', 'b', 'c']);
    });
    const froms = server.turns
      .filter((turn) => turn.query.has('watch'))
      .map((turn) => turn.query.get('resourceVersion'));
    expect(froms).toEqual(['10', '10', '10', '20', '30', '31']);
    expect(lists).toBe(3);
  });
});

import { describe, expect, it } from '@jest/globals';
import { ConcurrencyLimiter, DeadlineExceeded, seededRandom } from '#base';
import type { KubeObject } from '#model';
import type { Logger, LogFields } from '#telemetry';
import { silentLogger } from '#telemetry';
import { FakeClock } from '#support';
import { KubeApiError, KubeConnectionError, KubeProtocolError, Reflector, WatchListSupport } from '../index.ts';
import type { ReflectorTuning, WatchEvent } from '../index.ts';
import { CacheSink, configMaps, object, ScriptedSource, testLifetimes } from '../testing/index.ts';
import { isStreamingVersion } from './watch-list-support.ts';

interface Running {
  readonly clock: FakeClock;
  readonly source: ScriptedSource;
  readonly sink: CacheSink;
  readonly reflector: Reflector;
  readonly watchList: WatchListSupport;
  readonly logs: [string, LogFields][];
}

const lifetimes = testLifetimes();

/** A reflector of a namespace whose server streams lists. */
async function start(
  setup: {
    version?: string;
    tuning?: Partial<ReflectorTuning>;
    sink?: CacheSink;
    prepare?: (source: ScriptedSource) => void;
  } = {},
): Promise<Running> {
  const clock = new FakeClock();
  const source = new ScriptedSource();
  source.answers = [page('70', object('paged', '60'))];
  setup.prepare?.(source);
  const sink = setup.sink ?? new CacheSink();
  const logs: Running['logs'] = [];
  const logger: Logger = { ...silentLogger, info: (message, fields = {}) => void logs.push([message, fields]) };
  const watchList = new WatchListSupport({ clock, logger, serverVersion: () => setup.version ?? 'v1.36.3' });
  const random = seededRandom(7);
  const common = { client: source, resource: configMaps, namespace: 'default', clock, random, logger: silentLogger };
  const reflector = new Reflector({ ...common, sink, watchList, tuning: setup.tuning ?? {} });
  lifetimes.run(reflector, clock);
  await clock.settle();
  return { clock, source, sink, reflector, watchList, logs };
}

const page = (resourceVersion: string, ...items: KubeObject[]) => ({ items, resourceVersion });
const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, version: string): WatchEvent => ({
  type,
  object: object(name, version),
});
const bookmark = (resourceVersion: string): WatchEvent => ({ type: 'BOOKMARK', resourceVersion });
const end = (resourceVersion: string): WatchEvent => ({ type: 'BOOKMARK', resourceVersion, endsInitialEvents: true });
const answer = (code: number, message: string, retryAfterMs?: number): KubeApiError =>
  new KubeApiError({ code, reason: 'x', message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }, 'GET x');
const streamAsked = 'a watch stream was requested by the client but the required';
const cut = (): KubeConnectionError => new KubeConnectionError('https://x', 'connection reset', undefined);
/** `stream` for a watch with initial events, else the version that the watch starts from. */
const opened = ({ watches }: ScriptedSource): string[] =>
  watches.map(({ options }) => (options.sendInitialEvents === true ? 'stream' : options.resourceVersion));

describe('a streamed list', () => {
  it('is one request: the objects, the bookmark, and the changes after it', async () => {
    const { source, sink, clock, reflector } = await start();
    expect(source.last.options).toMatchObject({ namespace: 'default', sendInitialEvents: true });
    source.last.send(event('ADDED', 'a', '5'), event('ADDED', 'b', '7'), end('10'));
    await reflector.ready(new AbortController().signal);
    source.last.send(event('MODIFIED', 'a', '11'), event('DELETED', 'b', '12'));
    await clock.settle();
    expect([...sink.objects]).toEqual([['a', '11']]);
    expect(sink.log).toEqual(['list', 'commit 10', 'MODIFIED a', 'DELETED b']);
    expect(sink.states.map(({ state }) => state)).toEqual(['listing', 'synced']);
    expect([opened(source), source.lists.length]).toEqual([['stream'], 0]);
    expect(reflector.stats()).toMatchObject({ lists: 1, watches: 1, events: 2, failures: 0 });
  });

  it('is not complete before its bookmark, whatever was sent', async () => {
    const { source, sink, clock, reflector } = await start();
    source.last.send(event('ADDED', 'a', '5'), bookmark('9'));
    await clock.advance(9_000);
    expect(sink.log).toEqual(['list']);
    expect(reflector.state().state).toBe('listing');
    source.last.send(end('10'));
    await clock.settle();
    expect(sink.log).toEqual(['list', 'commit 10']);
    expect(reflector.state().state).toBe('synced');
  });

  it('removes objects that it does not name, but only with the bookmark', async () => {
    const { source, sink, clock } = await start();
    source.last.send(event('ADDED', 'gone', '5'), event('ADDED', 'stays', '6'), end('10'));
    await clock.advance(30_000);
    source.last.send(answer(410, 'too old'));
    await clock.advance(1);
    expect(opened(source)).toEqual(['stream', 'stream']);
    source.last.send(event('ADDED', 'stays', '6'));
    await clock.settle();
    expect([...sink.objects.keys()]).toEqual(['gone', 'stays']);
    source.last.send(end('50'));
    await clock.settle();
    expect([...sink.objects.keys()]).toEqual(['stays']);
  });

  it('contains the changes that the server sends before the bookmark', async () => {
    const { source, sink, clock } = await start();
    source.last.send(event('ADDED', 'a', '5'), event('ADDED', 'b', '6'));
    source.last.send(event('MODIFIED', 'a', '8'), event('DELETED', 'b', '9'), end('10'));
    await clock.settle();
    expect([...sink.objects]).toEqual([['a', '8']]);
    expect(sink.log).toEqual(['list', 'commit 10']);
  });

  it('is complete if it is empty', async () => {
    const { source, sink, clock } = await start();
    source.last.send(end('10'));
    await clock.settle();
    expect(sink.log).toEqual(['list', 'commit 10']);
  });

  it('is resumed as any watch, from its last event', async () => {
    const { source, clock, reflector } = await start();
    source.last.send(end('10'), event('ADDED', 'a', '12'));
    await clock.advance(30_000);
    source.last.send('end');
    await clock.advance(5_000);
    expect(opened(source)).toEqual(['stream', '12']);
    source.last.send(cut());
    await clock.advance(30_000);
    expect(opened(source)).toEqual(['stream', '12', '12']);
    expect([source.lists.length, reflector.stats().lists]).toEqual([0, 1]);
  });

  it('paces watches that end at once after it', async () => {
    const { source, clock } = await start();
    source.last.send(end('10'), 'end');
    await clock.advance(900);
    expect(opened(source)).toEqual(['stream']);
    await clock.advance(1_200);
    expect(opened(source)).toEqual(['stream', '10']);
  });

  it('takes the place of a list among the concurrent lists, until its bookmark', async () => {
    const lists = new ConcurrencyLimiter(1);
    let free: () => void = () => undefined;
    void lists.run(new AbortController().signal, () => new Promise<void>((resolve) => (free = resolve)));
    const { source, clock } = await start({ tuning: { lists } });
    expect(source.watches).toHaveLength(0);
    free();
    await clock.settle();
    let others = 0;
    void lists.run(new AbortController().signal, async () => void (others += 1));
    await clock.settle();
    expect([source.watches.length, others]).toEqual([1, 0]);
    source.last.send(end('10'));
    await clock.settle();
    expect(others).toBe(1);
    expect(source.last.ended).toBe(false);
  });

  it('is read again on request, also if requested before the bookmark', async () => {
    const { source, sink, clock, reflector } = await start();
    reflector.relist();
    source.last.send(event('ADDED', 'a', '5'), end('10'));
    await clock.settle();
    expect(opened(source)).toEqual(['stream', 'stream']);
    source.last.send(event('ADDED', 'b', '11'), end('12'));
    await clock.settle();
    reflector.relist();
    await clock.settle();
    source.last.send(event('ADDED', 'c', '13'), end('14'));
    await clock.settle();
    expect([...sink.objects.keys()]).toEqual(['c']);
    expect(opened(source)).toEqual(['stream', 'stream', 'stream']);
    expect(source.watches.map(({ ended }) => ended)).toEqual([true, true, false]);
  });

  it('of more objects than any server holds is rejected and retried rarely', async () => {
    const { source, sink, clock } = await start({ tuning: { limits: { maxItems: 3, maxDurationMs: 1_800_000 } } });
    source.last.send(...[1, 2, 3, 4].map((n) => event('ADDED', `o${n}`, String(n))));
    await clock.advance(590_000);
    expect(sink.log).toEqual(['list', 'abandon as untrue']);
    expect(sink.states.at(-1)).toMatchObject({ state: 'degraded', message: expect.stringContaining('has no end') });
    await clock.advance(20_000);
    expect([opened(source)[0], source.lists.length]).toEqual(['stream', 1]);
  });
});

describe('a stream that fails before its bookmark', () => {
  const failures: [string, (WatchEvent | Error | 'end')[], number][] = [
    ['ends', ['end'], 0],
    ['is silent for ten seconds', [], 10_000],
    ['goes on for a minute without it', [], 60_000],
    ['has an object of another namespace', [foreign()], 0],
    ['has a line that is no event', [new KubeProtocolError('w', 'x')], 0],
    ['has an event without a version', [unversioned()], 0],
    ['expires', [answer(410, 'too old resource version')], 0],
    ['is refused: the feature is disabled', [answer(422, 'sendInitialEvents: Forbidden: it is disabled')], 0],
    ['is refused: the option is unknown', [answer(400, 'resourceVersionMatch is forbidden for watch')], 0],
    ['is refused by a proxy', [answer(403, 'the parameter sendInitialEvents is not allowed')], 0],
    ['is refused: etcd reports no progress', [answer(500, `${streamAsked} storage feature X is disabled`)], 0],
    ['is held back by a proxy', [new DeadlineExceeded('watch', 30_000)], 0],
    ['is given up by a proxy that holds it back', [answer(504, 'Gateway Timeout')], 0],
    ['ends with a version older than its objects', [event('ADDED', 'b', '10'), end('9')], 0],
    ['ends with a version older than a deletion', [event('DELETED', 'b', '10'), end('9')], 0],
  ];

  it.each(failures)('%s: the kind is listed at once, and lists are not streamed for a while', async (...failure) => {
    const [, sent, afterMs] = failure;
    const { source, sink, clock, logs, watchList } = await start();
    source.last.send(event('ADDED', 'a', '5'), ...sent);
    for (let ms = 0; ms < afterMs; ms += 5_000) {
      expect(source.lists).toHaveLength(0);
      if (afterMs > 10_000) source.last.send(event('ADDED', 'a', '5'));
      await clock.advance(5_000);
    }
    await clock.settle();
    expect(sink.log).toEqual(['list', 'abandon', 'list', 'commit 70']);
    expect([...sink.objects.keys()]).toEqual(['paged']);
    expect(sink.states.map(({ state }) => state)).toEqual(['listing', 'synced']);
    expect(opened(source)).toEqual(['stream', '70']);
    expect(source.watches[0]?.ended).toBe(true);
    expect(logs).toEqual([[expect.stringContaining('does not stream lists'), expect.objectContaining({ group: '' })]]);
    await clock.advance(1_700_000);
    expect(watchList.isUsable('')).toBe(false);
    await clock.advance(100_000);
    expect(watchList.isUsable('')).toBe(true);
    expect(source.lists).toHaveLength(1);
  });

  it.each([
    ['the account may not watch', answer(403, 'configmaps is forbidden')],
    ['the kind is gone', answer(404, 'not found')],
    ['the server refuses something else in it', answer(400, 'bad request')],
    ['the cache of the server is late', tooLarge()],
  ])('because %s: a list decides, and other kinds are still streamed', async (_name, error) => {
    const { source, sink, clock, watchList, logs } = await start({ prepare: (s) => (s.refusals = [error]) });
    await clock.advance(1);
    expect(sink.log).toEqual(['list', 'abandon', 'list', 'commit 70']);
    expect(opened(source)).toEqual(['stream', '70']);
    expect([watchList.isUsable(''), logs]).toEqual([true, []]);
  });

  it('because of missing rights is reported by the list that follows', async () => {
    const forbidden = answer(403, 'configmaps is forbidden');
    const { source, clock, reflector } = await start({
      prepare: (s) => {
        s.refusals = [forbidden];
        s.answers = [forbidden, page('20')];
      },
    });
    expect(reflector.state()).toMatchObject({ state: 'forbidden', message: 'configmaps is forbidden' });
    await clock.advance(12_900);
    expect([source.lists.length, source.watches.length]).toEqual([1, 1]);
    await clock.advance(40_000);
    expect(reflector.state().state).toBe('synced');
  });

  it.each([
    ['the connection breaks', cut(), 800],
    ['the server is busy', answer(429, 'too many requests', 20_000), 19_900],
    ['the server has an error', answer(500, 'internal error'), 800],
  ])('because %s: backs off, lists in pages once, and streams the next list', async (_name, error, waitMs) => {
    const { source, sink, clock, watchList, reflector } = await start();
    source.last.send(event('ADDED', 'a', '5'), error);
    await clock.advance(waitMs - 1);
    expect([source.lists.length, reflector.state().state]).toEqual([0, 'degraded']);
    await clock.advance(2 * waitMs);
    expect(sink.log).toEqual(['list', 'abandon', 'list', 'commit 70']);
    expect(watchList.isUsable('')).toBe(true);
    await clock.advance(30_000);
    source.last.send(answer(410, 'too old'));
    await clock.advance(2_000);
    expect(opened(source)).toEqual(['stream', '70', 'stream']);
  });

  it('keeps all objects of the cache, until the list that follows is complete', async () => {
    const { source, sink, clock } = await start({
      prepare: (s) => (s.answers = [answer(500, 'internal error'), page('70', object('paged', '60'))]),
    });
    source.last.send(event('ADDED', 'known', '5'), end('10'));
    await clock.advance(30_000);
    source.last.send(answer(410, 'too old'));
    await clock.advance(1);
    source.last.send('end');
    await clock.settle();
    expect([...sink.objects.keys()]).toEqual(['known']);
    await clock.advance(5_000);
    expect([...sink.objects.keys()]).toEqual(['paged']);
  });

  it('never loops: each list is tried as a stream at most once', async () => {
    const { source, clock } = await start({
      prepare: (s) => {
        s.answers = [answer(500, 'internal error')];
        s.refusals = Array.from({ length: 1_000 }, () => answer(500, 'internal error'));
      },
    });
    await clock.advance(3_600_000);
    expect(source.watches).toHaveLength(1);
    expect(source.lists.length).toBeGreaterThan(50);
  });
});

describe('the support of a server', () => {
  it.each([
    ['v1.34.0', true],
    ['v1.36.3', true],
    ['1.34', true],
    ['v2.0.0', true],
    ['v1.33.9', false],
    ['v1.4.0', false],
    ['v1.340000000000', false],
    ['unknown', false],
    ['', false],
  ])('of version "%s": %s', (version, expected) => {
    expect(isStreamingVersion(version)).toBe(expected);
  });

  it('lists on an old server as ever', async () => {
    const { source, sink } = await start({ version: 'v1.33.5' });
    expect(sink.log).toEqual(['list', 'commit 70']);
    expect(opened(source)).toEqual(['70']);
  });

  it('ends for one API group, which another server may serve, and for all after a second group', () => {
    const logs: [string, LogFields][] = [];
    const logger: Logger = { ...silentLogger, info: (message, fields = {}) => void logs.push([message, fields]) };
    const clock = new FakeClock();
    const support = new WatchListSupport({ clock, logger, serverVersion: () => 'v1.36.3' });
    const usable = (): boolean[] => ['', 'apps', 'metrics.example.com'].map((group) => support.isUsable(group));
    support.fallBack('metrics.example.com', new Error('first'));
    support.fallBack('metrics.example.com', new Error('again'));
    expect(usable()).toEqual([true, true, false]);
    support.fallBack('apps', new Error('second'));
    support.fallBack('', new Error('third'));
    expect(usable()).toEqual([false, false, false]);
    expect(logs.map(([, { group, reason }]) => [group, reason])).toEqual([
      ['metrics.example.com', 'first'],
      [undefined, 'second'],
    ]);
  });
});

describe('an account that may watch but not list', () => {
  const forbidden = answer(403, 'configmaps is forbidden');

  it('streams again after its watch breaks, also once the server refused that for a while', async () => {
    const { source, sink, clock, reflector } = await start({ prepare: (s) => (s.answers = [forbidden]) });
    source.last.send(event('ADDED', 'a', '5'), end('10'));
    await clock.advance(30_000);
    source.last.send(cut());
    await clock.advance(5_000);
    expect([opened(source), source.lists.length]).toEqual([['stream', 'stream'], 0]);
    source.last.send(event('ADDED', 'b', '12'), end('15'));
    await clock.advance(30_000);
    expect([[...sink.objects.keys()], reflector.state().state]).toEqual([['b'], 'synced']);
    source.refusals = [forbidden, forbidden];
    source.last.send(cut());
    await clock.advance(12_000);
    expect([opened(source).length, [...sink.objects.keys()]]).toEqual([5, ['b']]);
    source.last.send(event('ADDED', 'c', '20'), end('25'));
    await clock.settle();
    expect([[...sink.objects.keys()], reflector.state().state]).toEqual([['c'], 'synced']);
  });

  it('is not assumed if lists were allowed before: a starting server refuses everything', async () => {
    const { source, clock } = await start({ prepare: (s) => (s.answers = [page('10')]) });
    source.last.send(end('10'));
    await clock.advance(30_000);
    source.last.send(cut());
    await clock.advance(5_000);
    expect([opened(source), source.looks.length]).toEqual([['stream', '10'], 1]);
    source.answers = [forbidden];
    source.last.send(cut());
    await clock.advance(5_000);
    expect(opened(source)).toEqual(['stream', '10']);
    expect(source.looks.length).toBeGreaterThan(1);
  });
});

function tooLarge(): KubeApiError {
  const status = {
    code: 504,
    reason: 'Timeout',
    message: 'Too large resource version',
    causes: ['ResourceVersionTooLarge'],
  };
  return new KubeApiError(status, 'GET x');
}

function foreign(): WatchEvent {
  const other = object('x', '6');
  return { type: 'ADDED', object: { ...other, metadata: { ...other.metadata, namespace: 'other' } } };
}

function unversioned(): WatchEvent {
  return {
    type: 'ADDED',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } },
  };
}

import { afterEach, describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown, systemClock } from '#base';
import { eventually } from '#support';
import { selfSigned } from '../../kube/testing/index.ts';
import { createLogger, noTracer, PromMetrics, startTracing } from '../index.ts';
import type { Span, Tracer, Tracing, TracingOptions } from '../index.ts';
import { TestCollector } from '../testing/index.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0).reverse()) clean();
});

async function collect(identity?: ReturnType<typeof selfSigned>): Promise<TestCollector> {
  const collector = await TestCollector.start(identity);
  cleanups.push(() => collector.stop());
  return collector;
}

interface StartedTracing {
  readonly tracing: Tracing;
  readonly tracer: Tracer;
  readonly lines: string[];
  readonly metrics: PromMetrics;
  /** Sends what is left; resolves with the milliseconds that it took. */
  readonly stop: () => Promise<number>;
}

async function start(address: string, more: Partial<TracingOptions> = {}): Promise<StartedTracing> {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
  const resource = { 'service.name': 'argocd-controller' };
  const options = { address, headers: {}, resource, sampleRatio: 1, batchDelayMs: 10, ...more };
  const tracing = await startTracing(options, { clock: systemClock, logger });
  const metrics = new PromMetrics({ clock: systemClock });
  tracing.exposeMetrics(metrics);
  const stopping = new AbortController();
  const running = tracing.run(stopping.signal);
  const stop = async (): Promise<number> => {
    const began = performance.now();
    stopping.abort(new Shutdown());
    await running;
    return performance.now() - began;
  };
  cleanups.push(() => void stop());
  return { tracing, tracer: tracing.tracer, lines, metrics, stop };
}

const nothing = (): Promise<void> => Promise.resolve();

async function counts(metrics: PromMetrics): Promise<Record<string, number>> {
  const text = await metrics.expose();
  const samples = text.matchAll(/^driftless_trace_spans_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, outcome = '', value]) => [outcome, Number(value)]));
}

describe('spans', () => {
  it('reach the collector with their parents, attributes, failures and the resource', async () => {
    const collector = await collect();
    const { tracer, stop } = await start(collector.address);
    await tracer.trace('pass', { application: 'web', level: 2, hard: true }, async () => {
      await tracer.span('stage', {}, async (span) => {
        await systemClock.sleep(1);
        await tracer.span('call', { verb: 'get' }, nothing);
        span.set({ later: 'yes' });
      });
      await tracer.span('broken', {}, () => Promise.reject(new TypeError('no route'))).catch(() => undefined);
      await tracer.span('phase', {}, async (span) => span.fail('one or more objects failed to apply'));
    });
    await stop();
    const [pass] = collector.named('pass');
    const [stage] = collector.named('stage');
    expect(pass).toMatchObject({
      parentId: '',
      attributes: { application: 'web', level: 2, hard: true },
      resource: { 'service.name': 'argocd-controller' },
    });
    expect(pass).not.toHaveProperty('failure');
    expect(stage).toMatchObject({ parentId: pass?.spanId, traceId: pass?.traceId, attributes: { later: 'yes' } });
    expect(collector.named('call')).toMatchObject([{ parentId: stage?.spanId, attributes: { verb: 'get' } }]);
    expect(collector.named('broken')).toMatchObject([
      { failure: 'no route', parentId: pass?.spanId, attributes: { 'error.type': 'TypeError' } },
    ]);
    expect(collector.named('phase')).toMatchObject([{ failure: 'one or more objects failed to apply' }]);
  });

  it('of passes that run at the same time stay in their own traces', async () => {
    const collector = await collect();
    const { tracer, stop } = await start(collector.address);
    const pass = (name: string): Promise<void> =>
      tracer.trace(name, {}, async () => {
        for (let i = 0; i < 5; i += 1) {
          await systemClock.sleep(1);
          await tracer.span(`${name} stage`, {}, nothing);
        }
      });
    await Promise.all([pass('a'), pass('b'), pass('c')]);
    await stop();
    for (const name of ['a', 'b', 'c']) {
      const [root] = collector.named(name);
      const stages = collector.named(`${name} stage`);
      expect(stages.map(({ parentId }) => parentId)).toEqual(Array.from({ length: 5 }, () => root?.spanId));
    }
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(3);
  });

  it('are not recorded outside a pass, nor by work that outlives its pass', async () => {
    const collector = await collect();
    const { tracer, stop } = await start(collector.address);
    await tracer.span('lease', {}, nothing);
    let watching = nothing();
    await tracer.trace('pass', {}, async () => {
      watching = systemClock.sleep(5).then(() => tracer.span('list', {}, nothing));
    });
    await watching;
    await stop();
    expect(collector.spans.map(({ name }) => name)).toEqual(['pass']);
  });

  it('contain no credential, and no long or multi-line text of a tenant', async () => {
    const collector = await collect();
    const { tracer, stop } = await start(collector.address);
    const url = 'https://robot:canary-7f3a@git.example.com/team/app.git';
    const bearer = 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiI3ZjNhIn0.c2lnbmF0dXJlLW9mLWNhbmFyeQ';
    const work = (): Promise<void> => Promise.reject(new Error(`cannot clone ${url} with ${bearer}\u001b[31m`));
    await tracer
      .trace('pass', { url, header: `authorization: ${bearer}`, long: 'x'.repeat(10_000), lines: 'a\n\u0007b' }, work)
      .catch(() => undefined);
    await stop();
    expect(JSON.stringify(collector.spans)).not.toMatch(/canary|eyJ|u001b|u0007/);
    const [span] = collector.spans;
    expect(span?.attributes['long']).toHaveLength(256);
    expect(span?.attributes['lines']).toBe('a b');
    expect(span?.failure).toContain('git.example.com/team/app.git');
  });

  it.each([
    [1, 40],
    [0, 0],
  ])('are sampled by the ratio %d, and receivers learn the decision', async (sampleRatio, spans) => {
    const collector = await collect();
    const { tracer, stop } = await start(collector.address, { sampleRatio });
    const seen: Span['traceparent'][] = [];
    for (let i = 0; i < 20; i += 1)
      await tracer.trace('pass', {}, () => tracer.span('call', {}, async (span) => void seen.push(span.traceparent)));
    await stop();
    expect(collector.spans).toHaveLength(spans);
    expect(new Set(seen).size).toBe(20);
    const flag = sampleRatio === 1 ? '01' : '00';
    for (const traceparent of seen) expect(traceparent).toMatch(new RegExp(`^00-[0-9a-f]{32}-[0-9a-f]{16}-${flag}$`));
  });
});

describe('the connection to the collector', () => {
  it('sends the headers', async () => {
    const collector = await collect();
    const headers = { 'x-tenant': new SecretValue('team-a'), authorization: new SecretValue('Bearer canary') };
    const { tracer, stop } = await start(collector.address, { headers });
    await tracer.trace('pass', {}, nothing);
    await stop();
    expect(collector.headers).toMatchObject([{ 'x-tenant': 'team-a', authorization: 'Bearer canary' }]);
  });

  it('uses TLS with the given CA', async () => {
    const identity = selfSigned();
    const collector = await collect(identity);
    const { tracer, stop } = await start(collector.address, { tls: { authorities: identity.cert } });
    await tracer.trace('pass', {}, nothing);
    await stop();
    expect(collector.named('pass')).toHaveLength(1);
  });

  it('sends nothing to a collector whose certificate another CA signed', async () => {
    const collector = await collect(selfSigned());
    const { tracer, metrics, stop } = await start(collector.address, {
      tls: { authorities: selfSigned('other').cert },
      flushLimitMs: 300,
    });
    await tracer.trace('pass', {}, nothing);
    await stop();
    expect(collector.headers).toEqual([]);
    expect((await counts(metrics))['sent']).toBe(0);
  });

  it.each([
    ['an address', { address: 'not an address:x' }, '--otlp-address'],
    ['a header', { headers: { 'bad header': new SecretValue('canary') } }, '--otlp-headers: bad header'],
    ['a key', { tls: { identity: { certificate: selfSigned().cert, key: new SecretValue(selfSigned().key) } } }, 'PEM'],
  ])('refuses %s that cannot be used', async (_what, more, message) => {
    const failure = await start('localhost:1', more).catch((error: unknown) => String(error));
    expect(failure).toContain(message);
    expect(failure).not.toContain('canary');
  });
});

describe('a collector that fails', () => {
  const passes = async (tracer: Tracer, count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await tracer.trace('pass', {}, nothing);
  };

  it.each(['refuse', 'garbage'] as const)('(%s) is logged once, then counted, and used again', async (mode) => {
    const collector = await collect();
    const { tracer, lines, metrics, stop } = await start(collector.address);
    collector.mode = mode;
    for (let round = 1; round <= 3; round += 1) {
      await passes(tracer, 2);
      await eventually(() => expect(collector.headers.length).toBeGreaterThanOrEqual(round));
    }
    await eventually(async () => expect((await counts(metrics))[mode === 'refuse' ? 'failed' : 'sent']).toBe(6));
    collector.mode = 'accept';
    await passes(tracer, 1);
    await stop();
    const warnings = lines.filter((line) => line.includes('do not reach'));
    expect(warnings).toHaveLength(mode === 'refuse' ? 1 : 0);
    if (mode === 'refuse') expect(warnings[0]).toContain('not for you');
    expect(collector.spans.length).toBeGreaterThan(0);
  });

  it('(silent) does not delay a pass, fills a bounded queue, and delays a stop by the limit only', async () => {
    const collector = await collect();
    collector.mode = 'silent';
    const { tracer, lines, metrics, stop } = await start(collector.address, { maxWaitingSpans: 50, flushLimitMs: 200 });
    await passes(tracer, 500);
    expect(await counts(metrics)).toEqual({ sent: 0, failed: 0, dropped: 450 });
    expect(lines.filter((line) => line.includes('do not reach'))).toHaveLength(1);
    await stop();
    expect(lines.filter((line) => line.includes('The last traces were not sent'))).toHaveLength(1);
  });

  it('(down) does not fail a pass or a stop', async () => {
    const collector = await collect();
    const { address } = collector;
    collector.stop();
    const { tracer, stop } = await start(address, { flushLimitMs: 200 });
    await expect(tracer.trace('pass', {}, () => Promise.resolve(7))).resolves.toBe(7);
    await stop();
  });
});

describe('without a collector', () => {
  it('runs the work itself: no span, no further promise, no object', () => {
    const result = Promise.resolve(1);
    const spans: Span[] = [];
    const work = (span: Span): Promise<number> => {
      spans.push(span);
      return result;
    };
    expect(noTracer.trace('pass', {}, work)).toBe(result);
    expect(noTracer.span('call', {}, work)).toBe(result);
    expect(spans[0]).toBe(spans[1]);
    expect(spans[0]?.traceparent).toBeUndefined();
  });
});

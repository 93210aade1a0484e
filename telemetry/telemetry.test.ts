import { createServer, Server } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { DriftlessError, SecretValue, Shutdown } from '#base';
import { FakeClock } from '#support';
import {
  createLogger,
  labelName,
  labelValues,
  listen,
  ListenError,
  MetricsUpkeep,
  PromMetrics,
  silentLogger,
  TelemetryServer,
} from './index.ts';

function lines(format: 'json' | 'text'): { readonly out: string[]; readonly log: ReturnType<typeof createLogger> } {
  const out: string[] = [];
  return { out, log: createLogger({ level: 'info', format, destination: { write: (line) => out.push(line) } }) };
}

describe('log', () => {
  it.each([
    ['trace', ['debug', 'info', 'warning', 'error']],
    ['debug', ['debug', 'info', 'warning', 'error']],
    ['', ['info', 'warning', 'error']],
    ['info', ['info', 'warning', 'error']],
    ['warn', ['warning', 'error']],
    ['warning', ['warning', 'error']],
    ['error', ['error']],
    ['fatal', []],
    ['panic', []],
  ] as const)('at the level "%s" writes %j', (level, written) => {
    const out: string[] = [];
    const log = createLogger({ level, format: 'json', destination: { write: (line) => out.push(line) } });
    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name]('a line');
    expect(out.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(written);
  });

  it('writes the envelope of Argo CD: time, level as a word, msg, and the fields', () => {
    const { out, log } = lines('json');
    log.child({ application: 'web' }).warn('sync is late', { time_ms: 12 });
    expect(JSON.parse(out[0] ?? '')).toMatchObject({
      level: 'warning',
      msg: 'sync is late',
      application: 'web',
      time_ms: 12,
      time: expect.any(String),
    });
  });

  it('never shows a credential, whatever way it comes in', () => {
    const { out, log } = lines('json');
    log.error('fetch failed', {
      password: new SecretValue('canary'),
      url: 'https://user:canary@git.example/repo',
      error: new DriftlessError('X', 'cannot reach https://bob:canary@git.example', {
        fields: { server: 'git.example' },
      }),
    });
    expect(out.join('')).not.toContain('canary');
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ password: '***', code: 'X', server: 'git.example' });
  });

  // T-SEC-1, T-SEC-4
  it.each(['json', 'text'] as const)(
    'every field is scrubbed, however deep, and no line has escape sequences: %s',
    (format) => {
      const { out, log } = lines(format);
      const address = 'https://me:c4nary@host/x';
      const escape = '\u001b[2Jred\u009b\u202e';
      class Odd extends DriftlessError {}
      const loop: Record<string, unknown> = { address };
      loop['self'] = loop;
      const fields = {
        list: [address, { inner: [address] }],
        map: new Map([[address, new Set([address])]]),
        url: new URL(address),
        secret: { deep: new SecretValue('c4nary') },
        bytes: Buffer.from('c4nary'),
        nested: { error: new Error(address), odd: new Odd('X', address, { fields: { address } }) },
        error: new Odd('X', address, { fields: { address }, cause: new Error('c4nary') }),
        loop,
        big: 2n ** 60n,
        escape,
        [address]: 1,
      };
      log.child({ server: address, more: { address } }).error(`message ${address} ${escape}`, fields);
      expect(out).toHaveLength(1);
      const line = out.join('');
      expect(line).not.toContain('c4nary');
      expect(line).toContain('https://***@host/x');
      expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]|\\u001b/);
      if (format === 'json') expect(JSON.parse(line)).toMatchObject({ code: 'X', big: '1152921504606846976' });
    },
  );
});

describe('metrics', () => {
  it('exposes counters, histograms and computed families in one text', async () => {
    const metrics = new PromMetrics();
    metrics.counter('a_total', 'A', ['x']).inc({ x: 'one' }, 2);
    metrics.counter('a_total', 'A', ['x']).inc({ x: 'one' });
    metrics.histogram('h', 'H', [1, 2]).observe(1.5);
    metrics.family({
      name: 'f',
      help: 'F',
      type: 'gauge',
      collect: () => [{ labels: { name: 'say "hi"\n' }, value: 7 }],
    });
    const text = await metrics.expose();
    expect(text).toContain('a_total{x="one"} 3');
    expect(text).toContain('h_bucket{le="2"} 1');
    expect(text).toContain('f{name="say \\"hi\\"\\n"} 7');
  });
});

describe('series of metrics', () => {
  it('are written as Go writes them, so that queries by the text of `le` match', async () => {
    const metrics = new PromMetrics();
    metrics.histogram('h', 'H', [1e-8, 0.0001, 65_536, 1_048_576], ['x']).observe(2_000_000, { x: 'a' });
    const text = await metrics.expose();
    const bounds = [...text.matchAll(/le="([^"]+)",x="a"\} (\d)/g)].map(([, le, count]) => `${le} ${count}`);
    expect(bounds).toEqual(['1e-08 0', '0.0001 0', '65536 0', '1.048576e+06 0', '+Inf 1']);
    expect(text).toContain('h_sum{x="a"} 2e+06\nh_count{x="a"} 1\n');
  });

  it('count cumulatively, with the upper bound inside its bucket', async () => {
    const metrics = new PromMetrics();
    const histogram = metrics.histogram('h', 'H', [1, 2]);
    for (const value of [0.5, 1, 1.5, 3]) histogram.observe(value);
    expect(await metrics.expose()).toContain(
      'h_bucket{le="1"} 2\nh_bucket{le="2"} 3\nh_bucket{le="+Inf"} 4\nh_sum 6\nh_count 4\n',
    );
  });

  it('are removed once their subject is gone, and stay away', async () => {
    const metrics = new PromMetrics();
    const gone = new Set<unknown>();
    const counter = metrics.counter('c_total', 'C', ['name']);
    metrics.dropWhen('c_total', ({ name }) => gone.has(name));
    counter.inc({ name: 'a' });
    counter.inc({ name: 'b' });
    gone.add('a');
    expect(await metrics.expose()).not.toContain('name="a"');
    gone.clear();
    expect(await metrics.expose()).toContain('c_total{name="b"} 1\n');
    expect(await metrics.expose()).not.toContain('name="a"');
  });

  it('are emptied by name, and begin at zero again', async () => {
    const metrics = new PromMetrics();
    const counters = ['argocd_c_total', 'driftless_c_total'].map((name) => metrics.counter(name, 'C'));
    for (const counter of counters) counter.inc({}, 5);
    metrics.reset((name) => name.startsWith('argocd_'));
    for (const counter of counters) counter.inc();
    const text = await metrics.expose();
    expect(text).toContain('argocd_c_total 1\n');
    expect(text).toContain('driftless_c_total 6\n');
  });

  it('have short label values, whatever a tenant writes', async () => {
    const metrics = new PromMetrics();
    const long = 'x'.repeat(100_000);
    metrics.counter('c_total', 'C', ['repo']).inc({ repo: long });
    metrics.family({ name: 'f', help: 'F', type: 'gauge', collect: () => [{ labels: { repo: long }, value: 1 }] });
    expect((await metrics.expose()).length).toBeLessThan(1500);
  });

  it('refuse labels that the metric does not have, and counters that go down', () => {
    const counter = new PromMetrics().counter('c_total', 'C', ['x']);
    expect(() => counter.inc({ y: '1' })).toThrow('metric c_total has no label y');
    expect(() => counter.inc({ x: '1' }, -1)).toThrow(RangeError);
  });

  it.each([
    ['are written', false],
    ['are dropped', true],
  ])('let the event loop turn in a scrape, however many %s', async (_what, isGone) => {
    const clock = { now: 0, monotonic: () => (clock.now += 0.01) };
    const metrics = new PromMetrics({ clock });
    const counter = metrics.counter('c_total', 'C', ['name']);
    metrics.dropWhen('c_total', () => isGone);
    for (let index = 0; index < 20_000; index += 1) counter.inc({ name: `a${index}` });
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const chunks: string[] = [];
    for await (const chunk of metrics.chunks()) chunks.push(chunk);
    isDone = true;
    // 20,000 samples of 0.01 ms are 200 ms: forty slices of five.
    expect(turns).toBeGreaterThan(30);
    expect(chunks.length).toBeGreaterThan(isGone ? 0 : 3);
    expect(chunks.join('').match(/^c_total\{/gm) ?? []).toHaveLength(isGone ? 0 : 20_000);
  });
});

describe('upkeep of metrics', () => {
  async function keepUp(
    expirationMs: number,
    use: (clock: FakeClock, metrics: PromMetrics) => Promise<void>,
  ): Promise<void> {
    const clock = new FakeClock();
    const metrics = new PromMetrics({ clock });
    const stop = new AbortController();
    const running = new MetricsUpkeep({ metrics, clock, logger: silentLogger, expirationMs }).run(stop.signal);
    try {
      await use(clock, metrics);
    } finally {
      stop.abort(new Shutdown());
      await running;
    }
    expect(clock.pending).toBe(0);
  }

  it('empties the metrics of Argo CD at the interval of --metrics-cache-expiration, and no others', async () => {
    await keepUp(60_000, async (clock, metrics) => {
      metrics.counter('argocd_c_total', 'C').inc();
      metrics.counter('workqueue_c_total', 'C').inc();
      await clock.advance(59_000);
      expect(await metrics.expose()).toContain('argocd_c_total 1');
      await clock.advance(2000);
      const text = await metrics.expose();
      expect(text).not.toContain('argocd_c_total 1');
      expect(text).toContain('workqueue_c_total 1');
    });
  });

  it('empties nothing without an interval', async () => {
    await keepUp(0, async (clock, metrics) => {
      metrics.counter('argocd_c_total', 'C').inc();
      await clock.advance(86_400_000);
      expect(await metrics.expose()).toContain('argocd_c_total 1');
    });
  });

  it('drops the series of gone subjects where nobody scrapes', async () => {
    await keepUp(0, async (clock, metrics) => {
      let asked = 0;
      metrics.counter('c_total', 'C').inc();
      metrics.dropWhen('c_total', () => (asked += 1) > 0);
      await clock.advance(601_000);
      expect(asked).toBe(1);
    });
  });
});

describe('label names', () => {
  it.each([
    ['team', 'label_team'],
    ['app.kubernetes.io/part-of', 'label_app_kubernetes_io_part_of'],
    ['é', 'label__'],
  ])('of the Kubernetes label %s', (label, expected) => expect(labelName(label)).toBe(expected));

  it('have an empty value where the object has no such label', () => {
    expect(labelValues({ a: '1' }, ['a', 'b', 'constructor'])).toEqual({
      label_a: '1',
      label_b: '',
      label_constructor: '',
    });
  });
});

describe('a scrape', () => {
  async function scrape(headers: Record<string, string>, method = 'GET'): Promise<Response> {
    const metrics = new PromMetrics();
    metrics.counter('c_total', 'C').inc();
    const server = new TelemetryServer({
      host: '127.0.0.1',
      port: 0,
      metrics,
      logger: silentLogger,
      healthy: () => ({ ok: true }),
      ready: () => ({ ok: true }),
    });
    const stop = new AbortController();
    const running = server.run(stop.signal);
    await server.ready();
    const response = await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers, method });
    const body = await response.text();
    stop.abort(new Shutdown());
    await running;
    return new Response(body === '' ? null : body, { headers: response.headers });
  }
  const openMetrics = 'application/openmetrics-text; version=1.0.0';

  it.each([
    ['gzip', { 'accept-encoding': 'gzip' }, 'gzip'],
    ['gzip by any', { 'accept-encoding': 'br;q=1, *;q=0.5' }, 'gzip'],
    ['no gzip', { 'accept-encoding': 'gzip;q=0, identity' }, null],
    ['OpenMetrics', { 'accept-encoding': 'identity', accept: openMetrics }, null],
  ])('is text of format 0.0.4 for a client that accepts %s', async (_what, headers, encoding) => {
    const response = await scrape(headers);
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).toContain('c_total 1\n');
  });

  it('has no body for HEAD', async () => {
    const response = await scrape({}, 'HEAD');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).toBe('');
  });
});

describe('metrics of the process', () => {
  it('are there when they were asked for', async () => {
    const metrics = new PromMetrics();
    expect(await metrics.expose()).not.toContain('process_');
    metrics.watchProcess({ read: () => ({ min: 1, max: 9, mean: 4, stddev: 2, p50: 3, p90: 5, p99: 8 }) });
    const text = await metrics.expose();
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(text).toMatch(new RegExp(`^${name} [0-9.]+`, 'm'));
    expect(text.match(/^nodejs_eventloop_lag_\w+ .*$/gm)).toEqual([
      'nodejs_eventloop_lag_seconds 0.003',
      'nodejs_eventloop_lag_min_seconds 0.001',
      'nodejs_eventloop_lag_max_seconds 0.009',
      'nodejs_eventloop_lag_mean_seconds 0.004',
      'nodejs_eventloop_lag_stddev_seconds 0.002',
      'nodejs_eventloop_lag_p50_seconds 0.003',
      'nodejs_eventloop_lag_p90_seconds 0.005',
      'nodejs_eventloop_lag_p99_seconds 0.008',
    ]);
  });
});

describe('telemetry server', () => {
  it('answers health by what it is told, and stops when asked', async () => {
    const state: { reason?: string } = {};
    const server = new TelemetryServer({
      host: '127.0.0.1',
      port: 0,
      metrics: new PromMetrics(),
      logger: silentLogger,
      healthy: () => (state.reason === undefined ? { ok: true } : { ok: false, reason: state.reason }),
      ready: () => ({ ok: false, reason: 'caches are not synced' }),
    });
    const stop = new AbortController();
    const running = server.run(stop.signal);
    await server.ready();
    const ask = async (path: string): Promise<[number, string]> => {
      const answer = await globalThis.fetch(`http://127.0.0.1:${server.port ?? 0}${path}`);
      return [answer.status, await answer.text()];
    };
    expect(await ask('/healthz')).toEqual([200, 'ok']);
    state.reason = 'no item finished for 120 s';
    expect(await ask('/healthz')).toEqual([503, 'no item finished for 120 s\n']);
    expect(await ask('/readyz')).toEqual([503, 'caches are not synced\n']);
    for (const path of ['/debug/state', '/nowhere'])
      expect(await ask(path)).toEqual([404, 'not found: try /metrics, /healthz or /readyz\n']);
    stop.abort(new Shutdown());
    await running;
    await expect(ask('/healthz')).rejects.toThrow();
  });

  it('listens on every address where the host is ::', async () => {
    const server = createServer((_request, response) => response.end('here'));
    const port = await listen(server, 'test', '::', 0);
    expect(await (await globalThis.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])('takes those of IPv4 where there is no IPv6 (%s)', async (code) => {
    const outgoing: unknown[] = [];
    /** A server on a machine without IPv6. */
    class Old extends Server {
      override listen(...args: readonly unknown[]): this {
        outgoing.push(args[1]);
        if (args[1] !== '::') return super.listen(...(args as [number, string, () => void]));
        queueMicrotask(() => this.emit('error', Object.assign(new Error(code), { code })));
        return this;
      }
    }
    const server = new Old();
    expect(await listen(server, 'test', '::', 0)).toBeGreaterThan(0);
    expect(outgoing).toEqual(['::', '0.0.0.0']);
    await new Promise((resolve) => server.close(resolve));
  });

  it('says in one line that a port is in use, and what to do', async () => {
    const taken = createServer();
    const port = await listen(taken, 'test', '127.0.0.1', 0);
    await expect(listen(createServer(), 'the dashboard', '127.0.0.1', port)).rejects.toThrow(
      `the dashboard cannot listen on 127.0.0.1:${port}: the port is in use: stop the other process or choose another port`,
    );
    await expect(listen(createServer(), 'the dashboard', '127.0.0.1', port)).rejects.toBeInstanceOf(ListenError);
    await new Promise((resolve) => taken.close(resolve));
  });
});

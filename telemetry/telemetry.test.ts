import { createServer, Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { DriftlessError, Secret, Shutdown } from '#base';
import { isLoopback } from './http.ts';
import { createLogger, listen, ListenError, PromMetrics, silentLogger, TelemetryServer } from './index.ts';

function lines(format: 'json' | 'text'): { readonly out: string[]; readonly log: ReturnType<typeof createLogger> } {
  const out: string[] = [];
  return { out, log: createLogger({ level: 'info', format, destination: { write: (line) => out.push(line) } }) };
}

describe('log', () => {
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
      password: new Secret('canary'),
      url: 'https://user:canary@git.example/repo',
      error: new DriftlessError('X', 'cannot reach https://bob:canary@git.example', {
        fields: { server: 'git.example' },
      }),
    });
    expect(out.join('')).not.toContain('canary');
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ password: '***', code: 'X', server: 'git.example' });
  });

  it.each(['json', 'text'] as const)(
    '14.3: T-SEC-1, T-SEC-4: every field is scrubbed, however deep, and no line has escape sequences: %s',
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
        secret: { deep: new Secret('c4nary') },
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

  it('writes one plain line for people', () => {
    const { out, log } = lines('text');
    log.info('ready', { port: 8082, what: 'two words' });
    log.debug('not shown');
    expect(out).toHaveLength(1);
    expect(out[0]).toMatch(/ INFO {4}ready port=8082 what="two words"\n$/);
  });
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

describe('metrics of the process', () => {
  it('are there when they were asked for', async () => {
    const metrics = new PromMetrics();
    expect(await metrics.expose()).not.toContain('process_');
    metrics.watchProcess();
    const text = await metrics.expose();
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(text).toMatch(new RegExp(`^${name} [0-9.]+`, 'm'));
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
      state: () => ({ big: 2n ** 60n }),
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
    expect(await ask('/debug/state')).toEqual([200, '{"big":"1152921504606846976"}']);
    expect((await ask('/nowhere'))[0]).toBe(404);
    stop.abort(new Shutdown());
    await running;
    await expect(ask('/healthz')).rejects.toThrow();
  });

  it.each([
    ['127.0.0.1', true],
    ['127.9.0.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.127.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['::11', false],
    [undefined, false],
  ])('14.3: /debug takes %s for this machine: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  const alone = outside === undefined ? ' (left out: this machine has no address but loopback)' : '';
  (outside === undefined ? it.skip : it)(`14.3: /debug/state is not for the network, /metrics is${alone}`, async () => {
    const server = new TelemetryServer({
      host: '0.0.0.0',
      port: 0,
      metrics: new PromMetrics(),
      logger: silentLogger,
      healthy: () => ({ ok: true, note: 'held up by x' }),
      ready: () => ({ ok: true }),
      state: () => ({ repository: 'https://git.example/secret' }),
    });
    const stop = new AbortController();
    const running = server.run(stop.signal);
    await server.ready();
    const ask = async (host: string, path: string): Promise<[number, string]> => {
      const answer = await globalThis.fetch(`http://${host}:${server.port ?? 0}${path}`);
      return [answer.status, await answer.text()];
    };
    const refused = await ask(outside ?? '', '/debug/state');
    expect(refused).toEqual([403, expect.not.stringContaining('git.example')]);
    expect((await ask(outside ?? '', '/metrics'))[0]).toBe(200);
    expect((await ask('127.0.0.1', '/debug/state'))[0]).toBe(200);
    expect(await ask('127.0.0.1', '/livez')).toEqual([200, 'ok\nheld up by x\n']);
    stop.abort(new Shutdown());
    await running;
  });

  it('listens on every address where the host is ::', async () => {
    const server = createServer((_request, response) => response.end('here'));
    const port = await listen(server, 'test', '::', 0);
    expect(await (await globalThis.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])('takes those of IPv4 where there is no IPv6 (%s)', async (code) => {
    const asked: unknown[] = [];
    /** A server of a machine without IPv6. */
    class Old extends Server {
      override listen(...args: readonly unknown[]): this {
        asked.push(args[1]);
        if (args[1] !== '::') return super.listen(...(args as [number, string, () => void]));
        queueMicrotask(() => this.emit('error', Object.assign(new Error(code), { code })));
        return this;
      }
    }
    const server = new Old();
    expect(await listen(server, 'test', '::', 0)).toBeGreaterThan(0);
    expect(asked).toEqual(['::', '0.0.0.0']);
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

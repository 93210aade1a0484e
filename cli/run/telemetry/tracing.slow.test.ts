import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { createLogger, silentLogger } from '#telemetry';
import { selfSigned } from '../../../kube/testing/index.ts';
import { TestCollector } from '../../../telemetry/testing/index.ts';
import { readArgs } from '../../options/args.ts';
import { runOptions } from '../../options/run-options.ts';
import { packageRoot, packageVersion } from '../../process/root.ts';
import { collectorTls, resourceAttributes, tracingOf } from './tracing.ts';

const folder = mkdtempSync(join(tmpdir(), 'tracing-'));
const collectors: TestCollector[] = [];
afterEach(() => {
  for (const collector of collectors.splice(0)) collector.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function collect(identity?: ReturnType<typeof selfSigned>): Promise<TestCollector> {
  const collector = await TestCollector.start(identity);
  collectors.push(collector);
  return collector;
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Traces one pass as the controller does with these flags. */
async function traceOnce(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const { config } = readArgs(runOptions, [...flags], env);
  const tracing = await tracingOf(config, { env, logger: silentLogger, hostname: 'pod-0' });
  const stop = new AbortController();
  const running = tracing?.run(stop.signal);
  await tracing?.tracer.trace('pass', {}, () => Promise.resolve());
  stop.abort(new Shutdown());
  await running;
}

describe('the flags of tracing', () => {
  it('--otlp-address sends traces with the identity of the process', async () => {
    const collector = await collect();
    await traceOnce([`--otlp-address=${collector.address}`]);
    const resource = {
      'service.name': 'argocd-controller',
      'service.version': packageVersion(),
      'service.instance.id': 'pod-0',
    };
    expect(collector.spans).toMatchObject([{ name: 'pass', resource }]);
  });

  it('work as variables', async () => {
    const collector = await collect();
    await traceOnce([], {
      ARGOCD_APPLICATION_CONTROLLER_OTLP_ADDRESS: collector.address,
      ARGOCD_APPLICATION_CONTROLLER_OTLP_HEADERS: 'x-tenant=a,x-team=b',
      ARGOCD_APPLICATION_CONTROLLER_OTLP_ATTRS: 'environment:test,region:eu',
    });
    expect(collector.headers).toMatchObject([{ 'x-tenant': 'a', 'x-team': 'b' }]);
    expect(collector.spans[0]?.resource).toMatchObject({ environment: 'test', region: 'eu' });
  });

  it('--otlp-headers and --otlp-attrs are sent', async () => {
    const collector = await collect();
    await traceOnce([`--otlp-address=${collector.address}`, '--otlp-headers=x-tenant=a', '--otlp-attrs=zone:b']);
    expect(collector.headers).toMatchObject([{ 'x-tenant': 'a' }]);
    expect(collector.spans[0]?.resource).toMatchObject({ zone: 'b' });
  });

  it('--otlp-sample-ratio=0 sends nothing; a ratio beyond 1 is refused', async () => {
    const collector = await collect();
    await traceOnce([`--otlp-address=${collector.address}`, '--otlp-sample-ratio=0']);
    expect(collector.headers).toEqual([]);
    expect(() => readArgs(runOptions, ['--otlp-sample-ratio=1.5'], {})).toThrow('otlp-sample-ratio');
  });

  it('--otlp-insecure=false uses TLS with the CA of the host in argocd-tls-certs-cm', async () => {
    const identity = selfSigned();
    const collector = await collect(identity);
    file('localhost', identity.cert);
    const flags = [`--otlp-address=${collector.address}`, `--tls-data-path=${folder}`];
    await traceOnce([...flags, '--otlp-insecure=false']);
    expect(collector.spans).toHaveLength(1);
    rmSync(join(folder, 'localhost'));
  });

  it('--shadow has a service name of its own', async () => {
    const collector = await collect();
    await traceOnce([`--otlp-address=${collector.address}`, '--shadow']);
    expect(collector.spans[0]?.resource).toMatchObject({ 'service.name': 'driftless-shadow' });
  });
});

describe('attributes of the process', () => {
  it('leave out pairs that are not key:value, with a warning', () => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
    expect(resourceAttributes(['a:1', 'b', 'c:d:e', 'f:'], logger)).toEqual({ a: '1', f: '' });
    expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)['attribute'])).toEqual(['b', 'c:d:e']);
  });
});

describe('the certificates for the collector', () => {
  const one = selfSigned();
  const two = selfSigned('two');
  const [ca, other, key] = [file('ca', one.cert), file('other', two.cert), file('key', one.key)];
  const host = 'collector.example.com:4317';
  const prefix = 'OTEL_EXPORTER_OTLP_';

  it.each([
    ['nothing set', {}, undefined],
    ['the general CA', { CERTIFICATE: ca }, one.cert],
    ['the CA for traces first', { CERTIFICATE: ca, TRACES_CERTIFICATE: other }, two.cert],
  ])('%s', async (_what, variables, authorities) => {
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [prefix + name, value]));
    expect((await collectorTls(host, env, folder)).authorities).toBe(authorities);
  });

  it('take the pair for traces first, and never half a pair', async () => {
    const pair = { [`${prefix}CLIENT_CERTIFICATE`]: ca, [`${prefix}CLIENT_KEY`]: key };
    const { identity } = await collectorTls(host, pair, folder);
    expect(identity?.certificate).toBe(one.cert);
    expect(identity?.key.reveal()).toBe(one.key);
    const traces = { ...pair, [`${prefix}TRACES_CLIENT_CERTIFICATE`]: other, [`${prefix}TRACES_CLIENT_KEY`]: key };
    expect((await collectorTls(host, traces, folder)).identity?.certificate).toBe(two.cert);
    await expect(collectorTls(host, { [`${prefix}CLIENT_KEY`]: key }, folder)).rejects.toThrow('must both be set');
  });

  it.each([
    ['a missing file', join(folder, 'absent'), 'unable to read'],
    ['a file without a certificate', key, 'no certificates found'],
  ])('refuse %s, without quoting it', async (_what, path, message) => {
    const failure = await collectorTls(host, { [`${prefix}CERTIFICATE`]: path }, folder).catch(String);
    expect(failure).toContain(message);
    expect(failure).not.toContain('PRIVATE');
  });

  it.each(['../key', '..', '/etc', ''])('never come from outside the folder (%s)', async (address) => {
    expect(await collectorTls(`${address}:4317`, {}, join(folder, 'sub'))).toEqual({});
  });
});

describe('without an address', () => {
  /** The packages of OpenTelemetry that the built program has loaded. prom-client loads the API. */
  const loadedWith = (address: string): string => {
    const script = `
      import { createRequire } from 'node:module';
      const { tracingOf } = await import('./dist/cli/run/telemetry/tracing.js');
      await import('./dist/cli/run/assemble.js');
      const logger = { info() {}, warn() {} };
      const config = { otlpAddress: ${JSON.stringify(address)}, otlpInsecure: true, otlpHeaders: {}, otlpAttrs: [], otlpSampleRatio: 1 };
      await tracingOf(config, { env: {}, logger, hostname: 'pod-0' });
      const names = Object.keys(createRequire(import.meta.url).cache).map((path) => /@opentelemetry.([^/]+)/.exec(path)?.[1]);
      console.log([...new Set(names)].filter((name) => name && name !== 'api').sort().join(' '));
    `;
    const args = ['--input-type=module', '--eval', script];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: packageRoot(), encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    return stdout.trim();
  };

  it('nothing is traced, and no package of the SDK is loaded', () => {
    expect(loadedWith('')).toBe('');
    expect(loadedWith('localhost:1')).toContain('sdk-trace');
  });
});

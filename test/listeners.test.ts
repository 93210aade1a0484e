import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';

/** All production files, without tests, benchmarks and test helpers. */
const { imports } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly imports: object };
const modules = Object.keys(imports).filter((name) => !['#support', '#test'].includes(name));
const sources = ['cli', ...modules.map((name) => name.slice(1))].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !/(?:^|\/)testing\//.test(name))
    // The page in the browser has no listeners of Node, and a runtime of its own.
    .filter((name) => !(folder === 'dashboard' && name.startsWith('ui/')))
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') })),
);
const having = (pattern: RegExp): string[] => sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
const textOf = (path: string): string => sources.find((source) => source.path === path)?.text ?? '';

/**
 * Searches the sources for listeners: a new one must be added here and in SECURITY.md. Only the
 * metrics port, as in Argo CD, and the read API, with a token, are open to the network. Tests in
 * telemetry/ and api/ cover their contents.
 */
// T-SEC-21
describe('abort signals', () => {
  it('are made by newAbortController, so that Node never warns of their listeners', () => {
    expect(having(/\bnew AbortController\(/)).toEqual(['base/abort.ts']);
  });
});

describe('listeners', () => {
  // T-SEC-21
  it('are on loopback, but for metrics and health', () => {
    expect(sources.length).toBeGreaterThan(300);
    const openers = /\bcreate(?:Secure|Http2Secure|Tls|Net)?Server\(|\.bind\(\s*\d|createSocket\(/;
    expect(having(openers).sort()).toEqual([
      'api/http/api-socket.ts',
      'api/http/tls-server.ts',
      'cli/demo/free-ports.ts',
      'dashboard/server.ts',
      'desired/render/server.ts',
      'sim/git/server.ts',
      'sim/server/http/server.ts',
      'telemetry/http.ts',
    ]);
    // Four addresses are configurable: the demo's, --metrics-host, --api-host, where callers need a
    // token, and that of the renderer, which requires client certificates.
    const configurable = [
      'api/http/tls-server.ts',
      'dashboard/server.ts',
      'desired/render/server.ts',
      'telemetry/http.ts',
    ];
    expect(having(/\blisten\(server, /).sort()).toEqual(configurable);
    // `sim/server/cluster.ts` calls `sim/server/http/server.ts`.
    const listening = [
      ...['api/http/api-socket.ts', 'cli/demo/free-ports.ts', 'desired/render/server.ts', 'sim/git/server.ts'],
      ...['sim/server/cluster.ts', 'sim/server/http/server.ts', 'telemetry/http.ts'],
    ];
    expect(having(/\.listen\(/).sort()).toEqual(listening);
    for (const path of ['cli/demo/free-ports.ts', 'sim/git/server.ts', 'sim/server/http/server.ts'])
      expect([...textOf(path).matchAll(/\.listen\((.*)\);/g)].map(([, args]) => args)).toEqual([
        expect.stringMatching(/, '127\.0\.0\.1', (?:resolve|\(\) => resolve\(server\))$/),
      ]);
    const dashboards = having(/\bstartDashboard\(\{/).map(
      (path) => /startDashboard\(\{ host: ('[^']*')/.exec(textOf(path))?.[1],
    );
    expect(dashboards).toEqual(["'127.0.0.1'"]);
    expect(having(/\bnew TelemetryServer\(/).sort()).toEqual([
      'cli/run/infrastructure.ts',
      'cli/run/telemetry/telemetry-port.ts',
    ]);
  });

  // T-SEC-21
  it('the metrics port serves only these paths, and no code trusts the address of a client', () => {
    const text = textOf('telemetry/http.ts');
    expect([...text.matchAll(/case '([^']+)'/g)].map(([, path]) => path)).toEqual([
      '/metrics',
      '/healthz',
      '/livez',
      '/readyz',
    ]);
    expect(having(/\bremoteAddress\b/)).toEqual([]);
  });

  // T-SEC-21
  it('only the Unix socket answers without a token, and no other address does', () => {
    expect(textOf('api/http/api-socket.ts')).toContain('server.listen(path, ');
    expect(having(/\bfullViewer\b/).sort()).toEqual([
      'api/access/viewer.ts',
      'api/http/tls-server.ts',
      'api/index.ts',
      'cli/run/api-socket.ts',
    ]);
  });

  // T-SEC-21
  it.each(['install.yaml', 'namespace-install.yaml'])(
    '%s has a NetworkPolicy that only admits connections to the metrics port and the read API',
    (name) => {
      const objects = loadAll(readFileSync(join('manifests', name), 'utf8')) as readonly {
        readonly kind: string;
        readonly spec?: { readonly policyTypes?: readonly string[]; readonly ingress?: readonly object[] };
      }[];
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      expect(policies).toHaveLength(1);
      expect(policies[0]?.spec?.policyTypes).toContain('Ingress');
      expect(policies[0]?.spec?.ingress).toEqual([
        { from: [{ namespaceSelector: {} }], ports: [{ port: 'metrics', protocol: 'TCP' }] },
        ...(name === 'namespace-install.yaml' ? [] : [{ ports: [{ port: 'api', protocol: 'TCP' }] }]),
      ]);
    },
  );
});

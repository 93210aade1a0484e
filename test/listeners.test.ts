import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';

/** Every file of the program; none of its tests, benchmarks and helpers of tests. */
const { imports } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly imports: object };
const modules = Object.keys(imports).filter((name) => !['#support', '#test'].includes(name));
const sources = ['cli', ...modules.map((name) => name.slice(1))].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !/(?:^|\/)testing\//.test(name))
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') })),
);
const having = (pattern: RegExp): string[] => sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
const textOf = (path: string): string => sources.find((source) => source.path === path)?.text ?? '';

/**
 * Who opens ports, found by reading: whoever adds a listener meets this test, and SECURITY.md. The metrics port is the one that is open to a network, by
 * Argo CD's contract with those who scrape it: what is on it is tested in telemetry/.
 */
describe('14.3: T-SEC-21: listeners', () => {
  it('14.3: T-SEC-21: are on loopback, but for metrics and health', () => {
    expect(sources.length).toBeGreaterThan(300);
    const openers = /\bcreate(?:Secure|Http2Secure)?Server\(|\.bind\(\s*\d|createSocket\(/;
    expect(having(openers).sort()).toEqual([
      'dashboard/server.ts',
      'sim/git/server.ts',
      'sim/server/http.ts',
      'telemetry/http.ts',
    ]);
    // Of these, two are told where to listen: by the demo, and by --metrics-host.
    expect(having(/\blisten\(server, /).sort()).toEqual(['dashboard/server.ts', 'telemetry/http.ts']);
    // `sim/server/cluster.ts` asks `sim/server/http.ts`.
    const listening = ['sim/git/server.ts', 'sim/server/cluster.ts', 'sim/server/http.ts', 'telemetry/http.ts'];
    expect(having(/\.listen\(/).sort()).toEqual(listening);
    for (const path of ['sim/git/server.ts', 'sim/server/http.ts'])
      expect([...textOf(path).matchAll(/\.listen\((.*)\);/g)].map(([, args]) => args)).toEqual([
        expect.stringMatching(/, '127\.0\.0\.1', resolve$/),
      ]);
    const dashboards = having(/\bstartDashboard\(\{/).map(
      (path) => /startDashboard\(\{ host: ('[^']*')/.exec(textOf(path))?.[1],
    );
    expect(dashboards).toEqual(["'127.0.0.1'"]);
    expect(having(/\bnew TelemetryServer\(/)).toEqual(['cli/groundwork.ts']);
  });

  it('14.3: T-SEC-21: the one for the network answers these paths, and what is below /debug to its own pod only', () => {
    const text = textOf('telemetry/http.ts');
    expect([...text.matchAll(/case '([^']+)'/g)].map(([, path]) => path)).toEqual([
      '/metrics',
      '/healthz',
      '/livez',
      '/readyz',
      '/debug/state',
    ]);
    const debug = text.slice(text.indexOf("case '/debug/state'"), text.indexOf('default:'));
    expect(debug.indexOf('isLoopback(request.socket.remoteAddress)')).toBeGreaterThan(0);
    expect(debug.indexOf('isLoopback(')).toBeLessThan(debug.indexOf('.state()'));
  });

  it.each(['install.yaml', 'namespace-install.yaml'])(
    '14.3: T-SEC-21: %s has a NetworkPolicy that lets nothing in but scrapes of the metrics port',
    (name) => {
      const objects = loadAll(readFileSync(join('manifests', name), 'utf8')) as readonly {
        readonly kind: string;
        readonly spec?: { readonly policyTypes?: readonly string[]; readonly ingress?: readonly object[] };
      }[];
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      expect(policies).toHaveLength(1);
      expect(policies[0]?.spec?.policyTypes).toContain('Ingress');
      expect(policies[0]?.spec?.ingress).toEqual([
        { from: [{ namespaceSelector: {} }], ports: [{ port: expect.anything() as unknown, protocol: 'TCP' }] },
      ]);
    },
  );
});

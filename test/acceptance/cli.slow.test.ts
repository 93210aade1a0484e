import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { JsonObject } from '#base';
import { kubeconfigFor, startSimCluster } from '#sim';
import { ApiClient, driftless, eventually, Program, RawApi, serversOf } from '#support';

let folder: string;
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const kubeconfig = (server: string): string =>
  file(
    'unreachable.yaml',
    `apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "${server}"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n`,
  );

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'driftless-cli-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Expects bad usage: exit code 2, one line on stderr, nothing on stdout, no stack trace. */
async function refused(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await driftless(args, {
    env: { KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '', ...env },
  });
  const lines = stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{'));
  expect([code, lines.length, stderr.includes('    at ')]).toEqual([2, 1, false]);
  expect(stdout.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
  return lines[0] ?? '';
}

describe('bad usage', () => {
  it.each([
    ['an unknown command', ['rnu'], 'unknown command "rnu": did you mean run?'],
    [
      'an unknown flag',
      ['run', '--status-procesors', '3'],
      'unknown flag --status-procesors: did you mean --status-processors?',
    ],
    ['a value of the wrong type', ['run', '--status-processors=many'], '--status-processors: must be a whole number'],
    [
      'a value out of range',
      ['demo', '--replicas', '0'],
      '--replicas: must be a whole number between 1 and 50, not "0"',
    ],
    ['an invalid choice', ['run', '--logformat', 'xml'], '--logformat: must be one of json, text, not "xml"'],
    ['an argument instead of a flag', ['run', 'fast'], 'run takes flags only, not "fast"'],
    ['no cluster', ['run'], 'no cluster configured: set --kubeconfig FILE'],
    ['a missing kubeconfig', ['run', '--kubeconfig', '/nonexistent/config'], '/nonexistent/config'],
    ['sim without a path for its kubeconfig', ['sim'], 'sim needs --kubeconfig FILE'],
    ['health without a file', ['health'], 'health needs -f FILE'],
    ['health of a missing file', ['health', '-f', '/nonexistent.yaml'], 'cannot read /nonexistent.yaml'],
    ['manifests without a source', ['manifests'], 'manifests needs -f APPLICATION.yaml, or --repo URL'],
    ['diff without its files', ['diff'], 'diff needs --live FILE and --target FILE'],
  ])('%s', async (_name, args, text) => {
    expect(await refused(args)).toContain(text);
  });

  it('a kubeconfig that is not YAML, or lacks the context', async () => {
    const broken = file('broken.yaml', 'clusters: [\n');
    expect(await refused(['run', '--kubeconfig', broken])).toContain(broken);
    expect(await refused(['run', '--kubeconfig', kubeconfig('http://127.0.0.1:1'), '--context', 'nowhere'])).toContain(
      'nowhere',
    );
  });

  it('broken YAML: file, line and column', async () => {
    const path = file('bad.yaml', 'kind: Pod\nmetadata: {name: x\n');
    expect(await refused(['health', '-f', path])).toMatch(/bad\.yaml is not valid YAML: line \d+, column \d+: /);
  });

  it('a shard that cannot be determined', async () => {
    const line = await refused([
      'run',
      '--kubeconfig',
      kubeconfig('http://127.0.0.1:1'),
      '--replicas',
      '3',
      '--hostname',
      'no-number-here',
    ]);
    expect(line).toContain('no-number-here');
  });
});

describe('failed jobs', () => {
  it('a port in use: one line that says what to do, exit 1', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await driftless(['demo', '--port', String(port)]);
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`driftless: the dashboard cannot listen on 127.0.0.1:${port}: the port is in use`);
    expect(stderr).not.toContain('    at ');
  });

  it.each([
    ['metrics', '--metrics-port', 'the telemetry server'],
    ['the read API', '--api-port', 'the read API (--api-port)'],
  ])(
    'the port of %s in use: one line that says what to do, exit 1, and no shard is claimed',
    async (_of, flag, what) => {
      const hub = await startSimCluster({ clock: systemClock, random: systemRandom, name: 'hub' });
      const taken = createServer();
      await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
      const { port } = taken.address() as AddressInfo;
      const ports = { '--metrics-port': 0, '--api-port': 0, [flag]: port };
      const { code, stdout, stderr } = await driftless([
        ...['run', '--kubeconfig', file('hub.yaml', kubeconfigFor([hub])), '--metrics-host', '127.0.0.1'],
        ...Object.entries(ports).flat().map(String),
        ...['--cache-dir', join(folder, 'taken')],
      ]);
      taken.close();
      const claims = hub.store.list('', 'ConfigMap').map(({ metadata }) => metadata.name);
      await hub.close();
      expect(code).toBe(1);
      // In the format of the log: a collector reads one format.
      expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
        level: 'error',
        msg: 'The controller ends',
        error: expect.stringContaining(
          `${what} cannot listen on 127.0.0.1:${port}: the port is in use: stop the other process or choose another port`,
        ),
      });
      for (const line of stderr.split('\n')) if (line !== '') expect(JSON.parse(line)).toHaveProperty('msg');
      expect(claims).not.toContain('argocd-app-controller-shard-cm');
    },
  );

  it('an unreachable API server: one line per attempt, not ready, and it stops on a signal', async () => {
    const program = new Program([
      'run',
      '--kubeconfig',
      kubeconfig('http://127.0.0.1:1'),
      '--metrics-port',
      '0',
      '--metrics-host',
      '127.0.0.1',
      '--api-port',
      '0',
    ]);
    await eventually(() => expect(program.stdout).toMatch(/127\.0\.0\.1:1.*refused|refused.*127\.0\.0\.1:1/), 15_000);
    const port = /"port":(\d+)/.exec(program.stdout)?.[1] ?? '';
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    expect(`${program.stdout}${program.stderr}`).not.toContain('    at ');
    expect((await program.stop('SIGTERM')).code).toBe(0);
  }, 30_000);

  it('a repository, revision or path that does not exist', async () => {
    const missing = await driftless(['manifests', '--repo', `file://${folder}/none.git`]);
    expect([missing.code, missing.stderr.trimEnd().split('\n')]).toEqual([1, [expect.stringContaining('none.git')]]);
    const tree = join(folder, 'repo');
    mkdirSync(tree);
    writeFileSync(join(tree, 'cm.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n');
    const git = (...args: string[]): Buffer =>
      execFileSync(
        'git',
        ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false', ...args],
        { cwd: tree },
      );
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-qm', 'one');
    const repo = `file://${tree}`;
    const revision = await driftless(['manifests', '--repo', repo, '--revision', 'nope']);
    expect([revision.code, revision.stderr]).toEqual([1, expect.stringContaining("'nope'")]);
    const path = await driftless(['manifests', '--repo', repo, '--path', 'nowhere']);
    expect([path.code, path.stderr]).toEqual([1, expect.stringContaining('nowhere: app path does not exist')]);
    const good = await driftless(['manifests', '--repo', repo]);
    expect([good.code, good.stdout]).toEqual([0, '---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n']);
  }, 60_000);
});

describe('commands', () => {
  it('version and help', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect((await driftless(['version'])).stdout).toBe(`${version}\n`);
    const help = await driftless(['help']);
    expect(help.code).toBe(0);
    for (const name of ['run', 'preflight', 'demo', 'sim', 'health', 'diff', 'manifests'])
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect((await driftless(['run', '--help'])).stdout).toContain('--status-processors INT');
  });

  it.each([
    ['explain', 'demo'],
    ['top', 'apps'],
  ])('%s starts without loading the controller', async (...words) => {
    const coverage = join(folder, `coverage-${words.join('-')}`);
    const { stderr } = await driftless([...words, '--socket', '/nonexistent'], { env: { NODE_V8_COVERAGE: coverage } });
    expect(stderr).toContain('no controller answers at /nonexistent');
    const loaded = loadedSources(coverage);
    expect(loaded).toContain('kube/transport/transport.ts');
    expect(loaded.filter((path) => /^(?:api\/http|controller|desired|live)\//.test(path))).toEqual([]);
  });

  it('sim reports that it is ready, writes contexts, and ends on SIGTERM', async () => {
    const path = join(folder, 'sim-kubeconfig');
    const program = new Program(['sim', '--clusters', '2', '--kubeconfig', path]);
    await eventually(() => expect(program.stdout).toContain('"ready":true'), 15_000);
    const ready = JSON.parse(program.stdout) as { ready: boolean; servers: string[] };
    const servers = serversOf(path);
    expect([...servers.keys()]).toEqual(['sim-0', 'sim-1']);
    expect(ready.servers).toEqual([...servers.values()]);
    expect(await new RawApi(ready.servers[1] ?? '').get('/version')).toMatchObject({
      gitVersion: expect.stringMatching(/^v1\./),
    });
    expect((await program.stop('SIGTERM')).code).toBe(0);
  }, 30_000);

  it('sim ends on SIGTERM while a stored object blocks the event loop of its servers', async () => {
    const path = join(folder, 'poisoned-kubeconfig');
    const program = new Program(['sim', '--kubeconfig', path]);
    await eventually(() => expect(program.stdout).toContain('"ready":true'), 15_000);
    const api = new ApiClient({ server: serversOf(path).get('sim-0') ?? '' });
    const schema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
    await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'traps.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Trap', plural: 'traps' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    });
    const traps = '/apis/example.com/v1/namespaces/default/traps';
    const trap = (name: string, text: string): JsonObject => ({
      apiVersion: 'example.com/v1',
      kind: 'Trap',
      metadata: { name },
      text,
    });
    await eventually(async () => expect(await api.create(traps, trap('good', 'aaa'))).toMatchObject({ kind: 'Trap' }));
    const held = api.create(traps, trap('bad', `${'a'.repeat(60)}!`)).then(
      () => 'answered',
      () => 'cut off',
    );
    expect((await program.stop('SIGTERM')).code).toBe(0);
    expect(await held).toBe('cut off');
    await api.close();
  }, 30_000);

  it('health prints one JSON line per object, null for a kind without a check', async () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p, namespace: prod}\nstatus: {phase: Bound}\n';
    const { code, stdout } = await driftless(['health', '-f', '-', '-o', 'json'], { input: text });
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { group: '', kind: 'ConfigMap', namespace: '', name: 'c', status: null, message: '' },
      { group: '', kind: 'PersistentVolumeClaim', namespace: 'prod', name: 'p', status: 'Healthy', message: '' },
    ]);
  });

  it('diff exits with 0 for no difference, 1 for a difference, 2 for an error', async () => {
    const object = (value: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: prod}\ndata: {k: "${value}"}\n`;
    const [one, two] = [file('one.yaml', object('1')), file('two.yaml', object('2'))];
    const same = await driftless(['diff', '--live', one, '--target', one, '-o', 'json']);
    expect([same.code, (JSON.parse(same.stdout) as { modified: boolean }).modified]).toEqual([0, false]);
    const different = await driftless(['diff', '--live', one, '--target', two, '-o', 'json']);
    expect([different.code, (JSON.parse(different.stdout) as { modified: boolean }).modified]).toEqual([1, true]);
    expect((await driftless(['diff', '--live', one, '--target', '/nonexistent'])).code).toBe(2);
  });
});

/** The source files in the bundles that a process has loaded, by its coverage. */
function loadedSources(coverage: string): readonly string[] {
  const reports = readdirSync(coverage).map((name) => readFileSync(join(coverage, name), 'utf8'));
  const bundles = new Set(reports.flatMap((text) => [...text.matchAll(/[^"]*\/dist\/programs\/[^"]*/g)].map(String)));
  const texts = [...bundles].map((url) => readFileSync(new URL(url), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/^\/\/ ([a-z]+\/.*\.ts)$/gm)].map(([, path = '']) => path));
}

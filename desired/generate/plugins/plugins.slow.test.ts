import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, seededRandom, Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { eventually } from '#support';
import { withPlugins } from '../../assembly.ts';
import { DesiredError } from '../../errors.ts';
import { unpack } from '../../fetch/files/archive.ts';
import { InputBudget } from '../../inputs/input-budget.ts';
import { defaultLimits } from '../../limits.ts';
import { tgz } from '../../testing/archive.ts';
import { startPlugin } from '../../testing/plugin-server.ts';
import type { PluginBehaviour, ReceivedInput, TestPlugin } from '../../testing/plugin-server.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench, TestRepository } from '../../testing/repository.ts';
import { renderOne, requestOf } from '../../testing/request.ts';
import type { SourceManifests } from '../../types.ts';
import { ManifestReader } from '../manifest-reader.ts';
import type { RenderJob } from '../plan.ts';
import { askPassMethods } from './ask-pass.ts';
import { generateRoot } from './plugin-input.ts';
import { PluginGenerator } from './plugins.ts';
import type { PluginConfig } from './plugins.ts';

let bench: RenderBench;
let sockets = '';
let plugins: TestPlugin[] = [];

function open(limits: object = {}, config: Partial<PluginConfig> = {}): void {
  sockets = mkdtempSync(join(tmpdir(), 'cmp-'));
  bench = renderBench({ plugins: withPlugins({ sockets, exclusions: [], ...config }), limits });
}
beforeEach(() => open());
afterEach(() => {
  for (const plugin of plugins.splice(0)) plugin.kill();
  bench.close();
  rmSync(sockets, { recursive: true, force: true });
});

async function start(name: string, behaviour: PluginBehaviour): Promise<TestPlugin> {
  const plugin = await startPlugin(sockets, name, behaviour);
  plugins = [...plugins, plugin];
  return plugin;
}
const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const files = { 'app/x.plug': 'content', 'app/a.yaml': map('plain'), 'other/b.txt': 'b', 'secret/key': 'k' };
const render = (repository: TestRepository, plugin?: object, path = 'app'): Promise<SourceManifests> =>
  bench.render(repository, { path, ...(plugin === undefined ? {} : { plugin: plugin as never }) });
const names = (made: SourceManifests): unknown => made.objects.map(({ metadata }) => metadata.name);

function mktree(repository: TestRepository, entries: string): string {
  return execFileSync('git', ['-C', repository.path, 'mktree'], { input: entries, encoding: 'utf8' }).trim();
}

describe('config management plugins', () => {
  it('sends a named plugin the whole repository, the environment and the parameters', async () => {
    const plugin = await start('cmp-v1.0', { manifests: () => [`${map('a')}---\n${map('b')}`, map('c')] });
    const repository = bench.repository(files);
    repository.link('app/link', '../other/b.txt');
    const long = `app/${'d'.repeat(90)}/${'e'.repeat(90)}`;
    const revision = repository.commit({ [long]: 'x'.repeat(100_000) });
    const made = await render(repository, {
      name: 'cmp-v1.0',
      env: [{ name: 'MODE', value: 'prod $ARGOCD_APP_NAME' }],
      parameters: [
        { name: 'text', string: 'one' },
        { name: 'some-list', array: ['x', '', 'y'] },
        { name: 'map', map: { 'a.b': 'c' } },
      ],
    });
    expect(made).toMatchObject({ sourceType: 'Plugin', revision });
    expect(names(made)).toEqual(['a', 'b', 'c']);
    const { what } = plugin.sent[0] ?? {};
    expect(what).toMatchObject({
      appName: 'app',
      appRelPath: 'app',
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(what?.files).toEqual({ ...files, 'app/link': '-> ../other/b.txt', [long]: 'x'.repeat(100_000) });
    expect(what?.env).toMatchObject({
      ARGOCD_APP_NAME: 'app',
      ARGOCD_APP_REVISION: revision,
      KUBE_VERSION: '1.33.1',
      ARGOCD_ENV_MODE: 'prod app',
      PARAM_TEXT: 'one',
      PARAM_SOME_LIST_0: 'x',
      PARAM_SOME_LIST_1: '',
      PARAM_SOME_LIST_2: 'y',
      PARAM_MAP_A_B: 'c',
      KUBE_API_VERSIONS: 'apps/v1,apps/v1/Deployment,v1,v1/ConfigMap',
    });
    expect(JSON.parse(what?.env['ARGOCD_APP_PARAMETERS'] ?? '')).toHaveLength(3);
  });

  describe('.git', () => {
    const tarOf = (plugin: TestPlugin): string => {
      const packed = plugin.sent.at(-1)?.what.packed ?? Buffer.alloc(0);
      return execFileSync('tar', ['-tvzf', '-'], { input: packed, encoding: 'utf8' });
    };

    it('is sent to match and to render, beside files with their executable bit', async () => {
      const plugin = await start('cmp', { discovery: true, matches: () => true, manifests: () => [map('a')] });
      const repository = bench.repository(files);
      chmodSync(join(repository.path, 'app/x.plug'), 0o755);
      repository.save();
      await render(repository, { name: 'cmp' });
      expect(plugin.sent.map(({ method, what }) => [method, what.hasGit])).toEqual([
        ['match', true],
        ['generate', true],
      ]);
      const listed = tarOf(plugin);
      expect(listed).toMatch(/^-rwxr-xr-x .* app\/x\.plug$/m);
      expect(listed).toMatch(/^-rw-r--r-- .* app\/a\.yaml$/m);
      expect(listed).toMatch(/^drwxr-xr-x .* \.git\/refs\/heads\/?$/m);
    });

    it.each(['.git', '.git/*', '**/.git/**', '.git/objects'])('is not sent if %j excludes it', async (glob) => {
      bench.close();
      open({ maxCheckoutBytes: 1000 }, { exclusions: [glob] });
      const plugin = await start('cmp', { manifests: () => [map('a')] });
      const repository = bench.repository(files);
      await render(repository, { name: 'cmp' });
      expect(plugin.sent[0]?.what).toMatchObject({ hasGit: false, files });
      expect(bench.ran.flat()).not.toContain('pack-objects');
    });

    it('is not sent with a part of the repository, as in Argo CD', async () => {
      bench.close();
      open({}, { usesGeneratePaths: true });
      const plugin = await start('cmp', { manifests: () => [map('a')] });
      const watched = { annotation: '.', paths: [['app']], synced: [''] };
      await bench.render(bench.repository(files), { path: 'app', plugin: { name: 'cmp' } }, { watched });
      expect(plugin.sent[0]?.what.hasGit).toBe(false);
    });

    it('beyond the limit of a source fails it, with the flag that excludes it', async () => {
      bench.close();
      open({ maxCheckoutBytes: 300 });
      await start('cmp', { manifests: () => [map('a')] });
      const { message } = await failureOf(render(bench.repository(files), { name: 'cmp' }));
      expect(message).toMatch(/^the \.git directory of [0-9a-f]{40} has more than 300 bytes: .*--plugin-tar-exclude/);
    });

    it.each(['.git/config', 'app/.GIT/hooks/post-checkout'])('is refused as the path %j of a commit', async (path) => {
      await start('cmp', { manifests: () => [map('a')] });
      const repository = bench.repository(files);
      // git itself adds no such path.
      const blob = execFileSync('git', ['-C', repository.path, 'hash-object', '-w', '--stdin'], { input: 'x' });
      const steps = path.split('/').reverse();
      let entry = `100644 blob ${String(blob).trim()}\t${steps[0] ?? ''}\n`;
      for (const name of steps.slice(1)) entry = `040000 tree ${mktree(repository, entry)}\t${name}\n`;
      const top = `${repository.git('ls-tree', 'HEAD')}\n`.split('\n').filter((line) => !line.endsWith('\tapp'));
      const tree = mktree(repository, `${top.join('\n')}${entry}`);
      repository.git('reset', '--soft', repository.git('commit-tree', '-p', 'HEAD', '-m', 'hostile', tree));
      const { message } = await failureOf(render(repository, { name: 'cmp' }, '.'));
      expect(message).toBe(`${path}: a repository must not contain a path named .git`);
    });
  });

  it('discovers the first plugin that supports a source; other sources keep their type', async () => {
    const knows = ({ files: all, appRelPath }: ReceivedInput): boolean => `${appRelPath}/x.plug` in all;
    await start('a-silent', { discovery: false, manifests: () => [map('silent')] });
    const second = await start('b-second', { discovery: true, matches: knows, manifests: () => [map('second')] });
    await start('c-third', { discovery: true, matches: () => true, manifests: () => [map('third')] });
    const repository = bench.repository({ ...files, 'plain/a.yaml': map('plain') });
    expect(names(await render(repository))).toEqual(['second']);
    expect(names(await render(repository, {}))).toEqual(['second']);
    // Queried once per commit.
    expect(second.sent.filter(({ method }) => method === 'match')).toHaveLength(1);
    expect(names(await render(repository, undefined, 'plain'))).toEqual(['third']);
    const explicit = await bench.render(repository, { path: 'app', directory: { include: '*.yaml' } });
    expect(explicit).toMatchObject({ sourceType: 'Directory' });
  });

  it('renders nothing twice', async () => {
    const plugin = await start('cmp', { manifests: () => [map('a')] });
    const repository = bench.repository(files);
    await render(repository, { name: 'cmp' });
    await render(repository, { name: 'cmp' });
    expect(plugin.sent).toHaveLength(1);
    await render(repository, { name: 'cmp', env: [{ name: 'A', value: 'b' }] });
    expect(plugin.sent).toHaveLength(2);
  });

  it('does not send files that administrators exclude', async () => {
    bench.close();
    open({}, { exclusions: ['secret', '*/*.yaml'] });
    const plugin = await start('cmp', { manifests: () => [] });
    await render(bench.repository(files), { name: 'cmp' });
    expect(Object.keys(plugin.sent[0]?.what.files ?? {})).toEqual(['app/x.plug', 'other/b.txt']);
  });

  describe('with --plugin-use-manifest-generate-paths', () => {
    const within = { 'team/app/x.plug': 'content', 'team/base/b.txt': 'b', 'other/c.txt': 'c', 'd.txt': 'd' };
    const watched = (annotation: string): object => ({ watched: { annotation, paths: [[]], synced: [''] } });
    const renderPaths = (repository: TestRepository, annotation: string): Promise<SourceManifests> =>
      bench.render(repository, { path: 'team/app', plugin: { name: 'cmp' } }, watched(annotation));
    beforeEach(() => {
      bench.close();
      open({}, { usesGeneratePaths: true, exclusions: ['base/*.md'] });
    });

    it('renders from the directory that has the application and the paths, and matches with all files', async () => {
      const plugin = await start('cmp', { discovery: true, matches: () => true, manifests: () => [map('a')] });
      const repository = bench.repository({ ...within, 'team/base/left-out.md': 'm' });
      await renderPaths(repository, '.;../base');
      const [match, generate] = plugin.sent;
      expect(Object.keys(match?.what.files ?? {})).toHaveLength(5);
      expect(match?.what.appRelPath).toBe('team/app');
      expect(generate?.what).toMatchObject({
        appRelPath: 'app',
        files: { 'app/x.plug': 'content', 'base/b.txt': 'b' },
      });
      expect(Object.keys(generate?.what.files ?? {})).toHaveLength(2);
      await renderPaths(repository, '/team/app');
      expect(plugin.sent.at(-1)?.what).toMatchObject({ appRelPath: '.', files: { 'x.plug': 'content' } });
      // Without the annotation the plugin gets the repository.
      await bench.render(repository, { path: 'team/app', plugin: { name: 'cmp' } });
      expect(plugin.sent.at(-1)?.what.appRelPath).toBe('team/app');
    });

    it('refuses a link to files that the paths do not name', async () => {
      await start('cmp', { manifests: () => [map('a')] });
      const repository = bench.repository(within);
      repository.link('team/app/link', '../../other/c.txt');
      const { message } = await failureOf(renderPaths(repository, '.'));
      expect(message).toMatch(/^other\/c\.txt: a link in team\/app\/ leads to it, but manifest-generate-paths/);
    });
  });

  it.each<[readonly string[], string, string]>([
    [['a', 'b', 'c'], '', 'a/b/c'],
    [['a', 'b', 'c'], '.', 'a/b/c'],
    [['a', 'b', 'c'], '/a/b/d;../e', 'a/b'],
    // An ancestor of the common directory counts, too.
    [['a', 'b', 'c'], '/a/b/d;/a', 'a'],
    [['a', 'b'], '/', ''],
    [['a', 'b'], '../../../../x', ''],
    [['a', 'b'], ' ; ../c ', 'a'],
    [[], '/shared', ''],
  ])('sends an application at %j with the paths %j from %j', (application, annotation, expected) => {
    expect(generateRoot(application, annotation).join('/')).toBe(expected);
  });

  it.each<[string, PluginBehaviour | undefined, RegExp]>([
    ['is not there', undefined, /^could not find cmp-server plugin with name "cmp" supporting the given repository$/],
    [
      'does not support the source',
      { discovery: true, matches: () => false },
      /^could not find cmp-server plugin with name "cmp"/,
    ],
    [
      'fails',
      { manifests: () => new Error('no colour') },
      /^CMP processing failed for application "app": the plugin cmp: .*no colour$/,
    ],
    ['floods', { manifests: () => ['x'.repeat(200_000)] }, /its answer is too big/],
    [
      'answers with very many empty texts',
      { manifests: () => Array.from({ length: 1001 }, () => '') },
      /it has more than 1000 manifests/,
    ],
    [
      'prints very many empty documents',
      { manifests: () => ['---\n'.repeat(4001)] },
      /the plugin cmp printed more than 4000 documents/,
    ],
    ['prints what is no object', { manifests: () => ['- a\n- b\n'] }, /the plugin cmp printed.* is not an object/],
  ])('reports a plugin that %s', async (_name, behaviour, expected) => {
    bench.close();
    open({ maxToolBytes: 100_000, maxObjects: 1000 });
    if (behaviour !== undefined) await start('cmp', behaviour);
    const repository = bench.repository(files);
    const access = { ...bareRepository(repository.path), password: new SecretValue('p') };
    const request = requestOf({ repoURL: repository.path, path: 'app', plugin: { name: 'cmp' } }, access);
    const error = await failureOf(renderOne(bench.desired, request, new AbortController().signal));
    expect(error).toBeInstanceOf(DesiredError);
    expect(error.message).toMatch(expected);
  });

  it('lends a plugin the credentials of the repository through a nonce that is valid for one call', async () => {
    let lent: Readonly<Record<string, string>> = {};
    const ask = (nonce: string): Promise<unknown> => {
      const method: MethodDefinition<object, object> | undefined = askPassMethods()['GetCredentials'];
      if (method === undefined) throw new Error('there is no such method');
      const { path, requestSerialize, responseDeserialize } = method;
      const client = new Client(`unix:${lent['ARGOCD_ASK_PASS_SOCK'] ?? ''}`, credentials.createInsecure());
      return new Promise((resolve) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { nonce }, (error, answer) => {
          client.close();
          resolve(error?.code ?? answer);
        });
      });
    };
    const answers: Promise<unknown>[] = [];
    await start('cmp', {
      provideGitCreds: true,
      manifests: ({ env }) => {
        lent = env;
        answers.push(ask(env['ARGOCD_GIT_ASKPASS_NONCE'] ?? ''), ask('guessed'));
        return undefined;
      },
    });
    const repository = bench.repository(files);
    const access = { ...bareRepository(repository.path), username: 'me', password: new SecretValue('hunter2') };
    const request = requestOf({ repoURL: repository.path, path: 'app', plugin: { name: 'cmp' } }, access);
    const leave = new AbortController();
    const rendering = failureOf(renderOne(bench.desired, request, leave.signal));
    await eventually(() => expect(answers).toHaveLength(2));
    expect(await Promise.all(answers)).toEqual([{ username: 'me', password: 'hunter2' }, 5]);
    expect(lent).toMatchObject({ GIT_ASKPASS: 'argocd', ARGOCD_BINARY_NAME: 'argocd-git-ask-pass' });
    expect(Object.values(lent).join()).not.toContain('hunter2');
    leave.abort(new Shutdown());
    await rendering;
    // Afterwards the credentials are gone.
    await eventually(() => expect(existsSync(lent['ARGOCD_ASK_PASS_SOCK'] ?? '')).toBe(false));
  });

  /** Renders a source of https://git.example.com by the plugin, with the credentials that git would use. */
  async function renderWith(credentials: Partial<Repository>, name = 'cmp'): Promise<unknown> {
    const { tree, contents } = await unpack(tgz({ 'app/x.plug': 'content' }), {
      maxCheckoutBytes: 100_000,
      maxCheckoutFiles: 10,
    });
    const snapshot = { key: 'k', revision: 'r', tree, read: () => Promise.resolve(contents) };
    const repository = bareRepository('https://git.example.com/a.git');
    const generator = new PluginGenerator({
      clock: systemClock,
      random: seededRandom(1),
      limits: defaultLimits,
      reader: new ManifestReader(),
      inputs: new InputBudget(systemClock, defaultLimits.inputBytes),
      config: { sockets, exclusions: [] },
      sshKnownHosts: '/nonexistent',
      withToken: (one) => Promise.resolve({ ...one, ...credentials }),
    });
    const source = { repoURL: repository.url, path: 'app', plugin: { name } };
    const job = { request: requestOf(source, repository), source, repository, snapshot, segments: ['app'] };
    const { signal } = new AbortController();
    return (await generator.plan(job as unknown as RenderJob, signal)).render(signal);
  }

  it.each([
    ['of a GitHub App', 't0ken', { password: new SecretValue('t0ken') }],
    ['of a server that wants bearer tokens', 't0ken', { bearerToken: new SecretValue('t0ken') }],
    ['of an ssh key', 'a-line-of-a-key-1', { sshPrivateKey: new SecretValue('-----BEGIN-----\na-line-of-a-key-1\n') }],
  ])('redacts the token that it lends from the errors of the plugin: %s', async (_title, secret, credentials) => {
    const failure = new Error(`fetch with ${secret}: denied`);
    await start('cmp', { provideGitCreds: true, manifests: () => failure });
    const { message } = await failureOf(renderWith(credentials));
    expect(message).toContain('the plugin cmp: ');
    expect(message).toContain('denied');
    expect(message).not.toContain(secret);
  });

  it('lends a bearer token to plugins that ask for it, for the origin of the repository', async () => {
    const seen: Readonly<Record<string, string>>[] = [];
    for (const [name, provideGitCreds] of [
      ['asks', true],
      ['never-asks', false],
    ] as const) {
      const manifests = ({ env }: { readonly env: Readonly<Record<string, string>> }): readonly string[] => {
        seen.push(env);
        return ['{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}'];
      };
      await start(name, { provideGitCreds, manifests });
      await renderWith({ bearerToken: new SecretValue('t0ken') }, name);
    }
    expect(seen[0]).toMatchObject({
      ARGOCD_GIT_BEARER_AUTH_HEADER: 'Authorization: Bearer t0ken',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.https://git.example.com/.extraHeader',
      GIT_CONFIG_VALUE_0: 'Authorization: Bearer t0ken',
    });
    expect(Object.values(seen[1] ?? {}).join()).not.toContain('t0ken');
    expect(seen).toHaveLength(2);
  });

  it('stops a hanging plugin at its deadline and a dead one at once, without affecting other sources', async () => {
    bench.close();
    open({ toolTimeoutMs: 400 });
    await start('hangs', { manifests: () => undefined });
    const dying = await start('dies', {
      manifests: () => {
        dying.kill();
        return undefined;
      },
    });
    const repository = bench.repository(files);
    const [hung, died, plain] = await Promise.allSettled([
      render(repository, { name: 'hangs' }),
      render(repository, { name: 'dies' }),
      bench.render(repository, { path: 'app', directory: {} }),
    ]);
    expect(hung).toMatchObject({ status: 'rejected', reason: { code: 'DEADLINE_EXCEEDED' } });
    expect(died).toMatchObject({ status: 'rejected', reason: { code: 'DESIRED_PLUGIN' } });
    expect(plain).toMatchObject({ status: 'fulfilled', value: { sourceType: 'Directory' } });
  });

  it('fails if a plugin cannot be queried, because the source would be rendered as something else', async () => {
    const socket = createServer((connection) => connection.destroy());
    await new Promise<void>((resolve) => {
      socket.listen(join(sockets, 'broken.sock'), resolve);
    });
    const error = await failureOf(render(bench.repository(files)));
    expect(error.message).toMatch(
      /^CMP processing failed for application "app": the plugin broken: it cannot be reached/,
    );
    await new Promise((resolve) => socket.close(resolve));
    await eventually(async () => expect(names(await render(bench.repository(files)))).toEqual(['plain']));
  });

  it.each(['../x', '/abs', 'a/b', '.hidden', 'a b'])('refuses the name %j', async (name) => {
    expect((await failureOf(render(bench.repository(files), { name }))).message).toMatch(/refused/);
  });
});

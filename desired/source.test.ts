import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, Secret, seededRandom, Shutdown, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import {
  createDesiredSource,
  createInProcessRunner,
  DesiredError,
  ManifestError,
  RepositoryError,
  RevisionNotFound,
  SizeLimitExceeded,
  SourcePathError,
  ToolMissing,
  UnsafeInput,
} from './index.ts';
import type {
  CommandOptions,
  CommandRunner,
  DesiredLimits,
  DesiredSource,
  RequestedSource,
  SourceManifests,
} from './index.ts';
import { renderOne, requestOf } from './testing/request.ts';

const never = new AbortController().signal;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'desired-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A real repository in a temporary directory. */
class Fixture {
  readonly path = temporary();
  #commits = 0;

  constructor() {
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: string[]): string {
    this.#commits += 1;
    const date = `2026-01-01T00:00:${String(this.#commits % 60).padStart(2, '0')}Z`;
    return execFileSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a@example.com',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
      },
    }).trim();
  }

  write(files: Readonly<Record<string, string | Uint8Array>>): this {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), content);
    }
    return this;
  }

  link(name: string, target: string): this {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    symlinkSync(target, join(this.path, name));
    return this;
  }

  /** Commits an entry that no working tree could hold. */
  forge(mode: string, path: string, content: string): string {
    const oid = execFileSync('git', ['-C', this.path, 'hash-object', '-w', '--stdin'], {
      input: content,
      encoding: 'utf8',
    });
    this.git('update-index', '--add', '--cacheinfo', `${mode},${oid.trim()},${path}`);
    this.git('commit', '--quiet', '-m', 'forged');
    return this.git('rev-parse', 'HEAD');
  }

  commit(message = 'change'): string {
    this.git('add', '--all', '--force');
    this.git('commit', '--quiet', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }
}

interface Ran {
  readonly argv: readonly string[];
  readonly options: CommandOptions;
}

interface Bench {
  readonly source: DesiredSource;
  readonly ran: Ran[];
  readonly cacheDir: string;
  readonly count: (command: string) => number;
  readonly render: (
    url: string,
    more?: Partial<ApplicationSource> & { revision?: string; noCache?: boolean; app?: string },
  ) => Promise<SourceManifests>;
}

function bench(
  limits: Partial<DesiredLimits> = {},
  wrap: (runner: CommandRunner) => CommandRunner = (r) => r,
  clock = systemClock,
): Bench {
  const cacheDir = temporary();
  const ran: Ran[] = [];
  const inner = wrap(createInProcessRunner({ clock: systemClock, env }));
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push({ argv, options });
      return inner.runCommand(argv, options);
    },
  };
  const logger = createLogger({ level: 'error', format: 'json' });
  const source = createDesiredSource({ clock, random: systemRandom, logger, cacheDir, commands, limits });
  return {
    source,
    ran,
    cacheDir,
    count: (command) => ran.filter(({ argv }) => argv.includes(command)).length,
    render: (url, more = {}) => {
      const { revision = '', noCache = false, app = 'app', ...rest } = more;
      const request = { revision, noCache, appName: app };
      return renderOne(source, requestOf({ repoURL: url, path: '.', ...rest }, bareRepository(url), request), never);
    },
  };
}

const at = (url: string, revision: string): RequestedSource => ({
  source: { repoURL: url, path: '.' },
  repository: bareRepository(url),
  revision,
});
const configMap = (name: string, value = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  value: "${value}"\n`;
const namesOf = (manifests: SourceManifests): (string | undefined)[] => manifests.objects.map((o) => o.metadata.name);
async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}

describe('revisions', () => {
  it('resolves branches, tags, HEAD, full and short commits, and constraints', async () => {
    const repo = new Fixture();
    const first = repo.write({ 'a.yaml': configMap('a') }).commit();
    repo.git('tag', 'v1.0.0');
    const second = repo.write({ 'a.yaml': configMap('a', '2') }).commit();
    repo.git('tag', '-a', 'v1.2.0', '-m', 'annotated');
    repo.git('branch', 'release/1', first);
    const third = repo.write({ 'a.yaml': configMap('a', '3') }).commit();
    repo.git('tag', 'v2.0.0-rc.1');
    const { source } = bench();
    const resolve = (revision: string): Promise<string> => source.resolve(at(repo.path, revision), false, never);
    expect(await resolve('')).toBe(third);
    expect(await resolve('HEAD')).toBe(third);
    expect(await resolve('main')).toBe(third);
    expect(await resolve('refs/heads/main')).toBe(third);
    expect(await resolve('release/1')).toBe(first);
    expect(await resolve('v1.0.0')).toBe(first);
    expect(await resolve('refs/tags/v1.2.0')).toBe(second);
    expect(await resolve('1.*')).toBe(second);
    expect(await resolve('>=1.0.0-0 <2.0.0')).toBe(third);
    expect(await resolve(first.toUpperCase())).toBe(first);
    expect(await resolve(first.slice(0, 8))).toBe(first);
  });

  it('reports what it cannot resolve in the words of Argo CD', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const { source, render } = bench();
    const resolve = (revision: string): Promise<Error> =>
      failureOf(source.resolve(at(repo.path, revision), false, never));
    const missing = await resolve('nope');
    expect(missing).toBeInstanceOf(RevisionNotFound);
    expect(missing.message).toBe("unable to resolve 'nope' to a commit SHA: revision not found");
    expect((await resolve('1.*')).message).toBe("unable to resolve '1.*' to a commit SHA: revision not found");
    expect((await resolve('abcdef1')).message).toBe("unable to resolve 'abcdef1' to a commit SHA: revision not found");
    const unborn = new Fixture();
    expect((await failureOf(bench().source.resolve(at(unborn.path, ''), false, never))).message).toBe(
      "unable to resolve 'HEAD' to a commit SHA: revision not found",
    );
    const sha = 'd'.repeat(40);
    expect((await failureOf(render(repo.path, { revision: sha }))).message).toContain(
      `Failed to checkout revision ${sha}`,
    );
  });

  it('says when the repository is not there', async () => {
    const error = await failureOf(bench().render(join(temporary(), 'missing.git')));
    expect(error).toBeInstanceOf(RepositoryError);
    expect(error.message).toBe('failed to list refs: repository not found');
    const refused = await failureOf(bench().render('http://127.0.0.1:1/x.git'));
    expect(refused.message).toContain('failed to list refs: ');
    expect(refused.message).not.toContain('\n');
  });

  it('peels a commit that is given as the id of an annotated tag (T-REV-1)', async () => {
    const repo = new Fixture();
    const commit = repo.write({ 'a.yaml': configMap('a') }).commit();
    repo.git('tag', '-a', 'v1', '-m', 'x');
    const tag = repo.git('rev-parse', 'v1');
    expect(tag).not.toBe(commit);
    expect((await bench().render(repo.path, { revision: tag })).revision).toBe(commit);
  });

  it('asks again after the time to live, and at once with noCache', async () => {
    const repo = new Fixture();
    const first = repo.write({ 'a.yaml': configMap('a') }).commit();
    const clock = new FakeClock();
    const { source, count } = bench({}, undefined, clock);
    const resolve = (noCache: boolean): Promise<string> => source.resolve(at(repo.path, 'main'), noCache, never);
    expect(await resolve(false)).toBe(first);
    const second = repo.write({ 'a.yaml': configMap('b') }).commit();
    await clock.advance(179_000);
    expect(await resolve(false)).toBe(first);
    expect(count('ls-remote')).toBe(1);
    expect(await resolve(true)).toBe(second);
    expect(count('ls-remote')).toBe(2);
    const third = repo.write({ 'a.yaml': configMap('c') }).commit();
    await clock.advance(180_000);
    expect(await resolve(false)).toBe(third);
    expect(count('ls-remote')).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('never answers noCache with a listing that began before the question', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let listed = 0;
    const { source, count } = bench({}, (runner) => ({
      runCommand: async (argv, options) => {
        const result = await runner.runCommand(argv, options);
        if (argv.includes('ls-remote')) {
          listed += 1;
          if (listed === 1) await gate;
        }
        return result;
      },
    }));
    const ask = (noCache: boolean): Promise<string> => source.resolve(at(repo.path, 'main'), noCache, never);
    const early = ask(false);
    while (listed === 0) await new Promise((resolve) => setImmediate(resolve));
    const pushed = repo.write({ 'a.yaml': configMap('b') }).commit();
    const late = [ask(true), ask(true), ask(false)];
    open();
    const [a, b, c] = await Promise.all(late);
    expect([a, b]).toEqual([pushed, pushed]);
    expect(c).toBe(await early);
    expect(count('ls-remote')).toBe(2);
  });
});

describe('rendering', () => {
  it('gives the objects of the commit, in file order', async () => {
    const repo = new Fixture();
    const sha = repo
      .write({
        'app/b.yaml': `${configMap('b1')}---\n# nothing\n---\nnull\n---\n${configMap('b2')}`,
        'app/a.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }),
        'app/c.yml': `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c1}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c2}}\n`,
        'app/README.md': '# not a manifest',
        'app/values.yaml': 'replicas: 3\n',
        'app/sub/d.yaml': configMap('d'),
        'app/big.yaml': 'apiVersion: v1\nkind: Thing\nmetadata: {name: big}\nspec: {limit: 9007199254740993}\n',
      })
      .commit();
    const made = await bench().render(repo.path, { path: 'app' });
    expect(made.revision).toBe(sha);
    expect(made.sourceType).toBe('Directory');
    expect(namesOf(made)).toEqual(['a', 'b1', 'b2', 'big', 'c1', 'c2']);
    expect(made.objects[3]?.['spec']).toEqual({ limit: 9007199254740993n });
  });

  it('reads every revision as it was, from one mirror', async () => {
    const repo = new Fixture();
    const shas: string[] = [];
    for (let i = 0; i < 5; i += 1) shas.push(repo.write({ 'a.yaml': configMap('a', String(i)) }).commit());
    const { render } = bench();
    for (const i of [4, 0, 2, 3, 1]) {
      const made = await render(repo.path, { revision: shas[i] ?? '' });
      expect(made.revision).toBe(shas[i]);
      expect(made.objects[0]?.['data']).toEqual({ value: String(i) });
    }
  });

  it('T-REPO-1: a thousand applications of one repository cost one ls-remote and one fetch', async () => {
    const repo = new Fixture();
    const files: Record<string, string> = {};
    for (let i = 0; i < 1000; i += 1) files[`apps/app-${i}/cm.yaml`] = configMap(`cm-${i}`);
    const sha = repo.write(files).commit();
    const { render, count, ran } = bench();
    const all = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => render(repo.path, { path: `apps/app-${i}`, app: `app-${i}` })),
    );
    expect(all.map((made) => namesOf(made))).toEqual(all.map((_, i) => [`cm-${i}`]));
    expect(new Set(all.map((made) => made.revision))).toEqual(new Set([sha]));
    expect(count('ls-remote')).toBe(1);
    expect(count('fetch')).toBe(1);
    expect(count('ls-tree')).toBe(1);
    const before = ran.length;
    await Promise.all(Array.from({ length: 1000 }, (_, i) => render(repo.path, { path: `apps/app-${i}` })));
    expect(ran.length).toBe(before);
    // Reads go together as well: far fewer processes than applications.
    expect(count('cat-file')).toBeLessThan(100);
  }, 60_000);

  it('does not render again what a new commit left alone', async () => {
    const repo = new Fixture();
    repo.write({ 'a/cm.yaml': configMap('a'), 'b/cm.yaml': configMap('b') }).commit();
    const { render, count } = bench();
    const before = await render(repo.path, { path: 'a', revision: repo.git('rev-parse', 'HEAD') });
    const sha = repo.write({ 'b/cm.yaml': configMap('b', 'new') }).commit();
    const reads = count('cat-file');
    const after = await render(repo.path, { path: 'a', revision: sha });
    expect(after.revision).toBe(sha);
    expect(after.objects).toBe(before.objects);
    expect(count('cat-file')).toBe(reads);
    const again = await render(repo.path, { path: 'a', revision: sha, noCache: true });
    expect(again.objects).not.toBe(before.objects);
    expect(again.objects).toEqual(before.objects);
  });

  it('keeps options apart in its cache', async () => {
    const repo = new Fixture();
    repo.write({ 'x.yaml': configMap('x'), 'sub/y.yaml': configMap('why'), 'sub/.z.yaml': configMap('z') }).commit();
    const { render } = bench();
    expect(namesOf(await render(repo.path))).toEqual(['x']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true } }))).toEqual(['z', 'why', 'x']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, exclude: '{sub/y.yaml,x.*}' } }))).toEqual([
      'z',
    ]);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, include: 'sub*y.yaml' } }))).toEqual(['why']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, include: '[' } }))).toEqual([]);
  });

  it('applies .argocd-source files, but not over where the source comes from', async () => {
    const repo = new Fixture();
    repo
      .write({
        'app/x.yaml': configMap('x'),
        'app/sub/y.yaml': configMap('why'),
        'app/.argocd-source.yaml': 'directory: {recurse: true}\npath: other\nrepoURL: ext::x\n',
        'app/.argocd-source-special.yaml': 'directory: {exclude: x.yaml}\n',
        'bad/.argocd-source.yaml': 'a: [',
      })
      .commit();
    const { render } = bench();
    expect(namesOf(await render(repo.path, { path: 'app' }))).toEqual(['why', 'x']);
    expect(namesOf(await render(repo.path, { path: 'app', app: 'special' }))).toEqual(['why']);
    expect((await failureOf(render(repo.path, { path: 'bad' }))).message).toContain(
      'error while parsing source parameters: .argocd-source.yaml: line 2, column 1',
    );
  });

  it('refuses what it would render wrongly', async () => {
    const repo = new Fixture();
    repo
      .write({
        'helm/Chart.yaml': 'name: x\n',
        'helm/values.yaml': 'a: 1\n',
        'kustomize/kustomization.yaml': 'resources: [a.yaml]\n',
        'kustomize/a.yaml': configMap('a'),
        'lfs/a.yaml': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n',
        'plain/a.yaml': configMap('a'),
      })
      .commit();
    const { render } = bench();
    const plugin = await failureOf(render(repo.path, { path: 'plain', plugin: {} }));
    expect(plugin.message).toBe('could not find plugin supporting the given repository');
    for (const [more, program] of [
      [{ path: 'helm' }, 'helm'],
      [{ path: 'kustomize' }, 'kustomize'],
      [{ path: 'plain', kustomize: { namePrefix: 'x' } }, 'kustomize'],
    ] as const) {
      const error = await failureOf(render(repo.path, more));
      expect(error).toBeInstanceOf(ToolMissing);
      expect(error.message).toContain(`${program} is not installed`);
    }
    expect((await failureOf(render(repo.path, { path: 'lfs' }))).message).toContain('Git LFS pointer');
    expect((await failureOf(render(repo.path, { path: 'plain', helm: {}, directory: {} }))).message).toBe(
      'multiple application sources defined: Helm,Directory',
    );
    expect(namesOf(await render(repo.path, { path: 'kustomize', directory: {} }))).toEqual(['a']);
  });
});

describe('paths and links (T-SEC-30)', () => {
  it('follows links inside the repository and words the rest as Argo CD does', async () => {
    const repo = new Fixture();
    repo
      .write({ 'real/app/a.yaml': configMap('a'), 'shared/b.yaml': configMap('b'), 'file.txt': 'x' })
      .link('current', 'real')
      .link('real/app/b.yaml', '../../shared/b.yaml')
      .link('real/app/dangling.yaml', 'gone.yaml')
      .link('real/app/loop.yaml', 'loop.yaml')
      .link('real/app/dir.yaml', '../../shared')
      .commit();
    const { render } = bench();
    expect(namesOf(await render(repo.path, { path: 'real/app' }))).toEqual(['a', 'b']);
    expect(namesOf(await render(repo.path, { path: 'current/app' }))).toEqual(['a', 'b']);
    expect(namesOf(await render(repo.path, { path: './real//app/' }))).toEqual(['a', 'b']);
    expect(namesOf(await render(repo.path, { path: 'x/../real/app' }))).toEqual(['a', 'b']);
    for (const [path, text] of [
      ['missing', 'missing: app path does not exist'],
      ['file.txt', 'file.txt: app path is not a directory'],
      ['file.txt/x', 'file.txt/x: app path does not exist'],
      ['/etc', '/etc: app path is absolute'],
      ['..', '..: app path outside root'],
      ['../x', '../x: app path outside root'],
      ['real/../../x', 'real/../../x: app path outside root'],
      ['.git', '.git: app path does not exist'],
    ] as const) {
      const error = await failureOf(render(repo.path, { path }));
      expect(error).toBeInstanceOf(SourcePathError);
      expect(error.message).toBe(text);
    }
  });

  it.each([
    ['absolute', 'a/l.yaml', '/etc/passwd'],
    ['parent', 'a/l.yaml', '../../x'],
    ['deep parent', 'a/l.yaml', '../b/../../x'],
    ['outside the application, still in the repository', 'elsewhere/l', '../..'],
    ['too long for any file system', 'a/l.yaml', 'x/'.repeat(3000)],
  ])('refuses a repository with a link that leaves it: %s', async (_name, path, target) => {
    const repo = new Fixture();
    repo.write({ 'a/a.yaml': configMap('a') }).commit();
    repo.forge('120000', path, target);
    const error = await failureOf(bench().render(repo.path, { path: 'a' }));
    expect(error.message).toBe(`repository contains out-of-bounds symlinks. file: ${path}`);
  });

  it('does not leave by a link of links either', async () => {
    const repo = new Fixture();
    // Read word by word, p/q/out stays inside; through the link p/q/s it would be above the root.
    repo
      .write({ 't/x.yaml': configMap('x'), 'p/q/a.yaml': configMap('a') })
      .link('p/q/s', '../../t')
      .link('p/q/out.yaml', 's/../../secret.yaml')
      .link('p/q/out', 's/../..')
      .commit();
    const { render } = bench();
    expect((await failureOf(render(repo.path, { path: 'p/q' }))).message).toContain(
      'illegal filepath in symlink at "out.yaml"',
    );
    expect((await failureOf(render(repo.path, { path: 'p/q/out' }))).message).toBe('p/q/out: app path outside root');
  });
});

describe('hostile input (T-SEC-31, T-SEC-40)', () => {
  const urls = [
    '--upload-pack=touch /tmp/x',
    '-oProxyCommand=x',
    'ext::sh -c "id"',
    'fd::17',
    'ssh://-oProxyCommand=x/y',
    'ssh://%2DoProxyCommand=x/y',
    'ssh://-u@host/y',
    '-u@host:y',
    'host:-y',
    '-host:y',
    'git@-host:y',
    'ftp://host/x',
    'javascript://x',
    'relative/path',
    '../x',
    '',
    'http://',
    'https://host/\nx',
    'https://ho%zzst/x',
    'file://otherhost/x',
    '/tmp/\u0000x',
  ];
  it.each(urls)('refuses the URL %j before anything runs', async (url) => {
    const made = bench();
    const error = await failureOf(made.render(url));
    expect(error).toBeInstanceOf(UnsafeInput);
    expect(made.ran).toEqual([]);
  });

  it.each(['--upload-pack=x', '-x', 'a\nb', 'a\u0000b', 'x'.repeat(2000)])(
    'refuses the revision %j',
    async (revision) => {
      const repo = new Fixture();
      const made = bench();
      expect(await failureOf(made.render(repo.path, { revision }))).toBeInstanceOf(UnsafeInput);
      expect(made.ran).toEqual([]);
    },
  );

  it.each(['a\u0000b', 'a\nb'])('refuses the path %j', async (path) => {
    const made = bench();
    expect(await failureOf(made.render('/tmp', { path }))).toBeInstanceOf(UnsafeInput);
    expect(made.ran).toEqual([]);
  });

  it('does not serve its own cache as a repository', async () => {
    const made = bench();
    const inside = join(made.cacheDir, 'git', 'x');
    for (const url of [inside, `file://${inside}`, `${made.cacheDir}/../${made.cacheDir.split('/').at(-1) ?? ''}/git`])
      expect(await failureOf(made.render(url))).toBeInstanceOf(UnsafeInput);
  });

  it('does not read configuration of the user, and runs no hooks of the mirror', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const made = bench();
    await made.render(repo.path);
    for (const { argv, options } of made.ran) {
      expect(argv[0]).toBe('git');
      expect(options.env).toMatchObject({
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_TERMINAL_PROMPT: '0',
      });
      expect(options.env?.['HOME']?.startsWith(made.cacheDir)).toBe(true);
      expect(Object.keys(options.env ?? {})).not.toContain('PATH');
    }
  });

  it('limits the size of manifests, without counting what asks not to be rendered', async () => {
    const repo = new Fixture();
    const padding = `# ${'x'.repeat(1000)}\n`;
    repo
      .write({
        'big/a.yaml': configMap('a') + padding,
        'big/b.yaml': configMap('b') + padding,
        'skip/a.yaml': configMap('a') + padding,
        'skip/b.yaml': `# +argocd:skip-file-rendering\n${configMap('b')}${padding}`,
        'many/a.yaml': Array.from({ length: 11 }, (_, i) => configMap(`n${i}`)).join('---\n'),
        'huge/a.yaml': `${configMap('a')}# ${'x'.repeat(100_000)}\n`,
      })
      .commit();
    const { render } = bench({ maxManifestBytes: 2000, maxObjects: 10 });
    const error = await failureOf(render(repo.path, { path: 'big' }));
    expect(error).toBeInstanceOf(SizeLimitExceeded);
    expect(error.message).toBe('failed to get potentially valid manifests: exceeded max combined manifest file size');
    expect(namesOf(await render(repo.path, { path: 'skip' }))).toEqual(['a']);
    expect(await failureOf(render(repo.path, { path: 'many' }))).toBeInstanceOf(SizeLimitExceeded);
    expect(await failureOf(render(repo.path, { path: 'huge' }))).toBeInstanceOf(SizeLimitExceeded);
    const unlimited = bench({ maxManifestBytes: 0 });
    expect(namesOf(await unlimited.render(repo.path, { path: 'big' }))).toEqual(['a', 'b']);
  });

  it('reports broken manifests with file, line and column, and without their text', async () => {
    const repo = new Fixture();
    repo
      .write({
        'app/a.yaml': configMap('fine'),
        'app/b.yaml': `${configMap('b')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: "hunter2\n  oops: [\n`,
      })
      .commit();
    const error = await failureOf(bench().render(repo.path, { path: 'app' }));
    expect(error).toBeInstanceOf(ManifestError);
    expect(error.message).toMatch(/^Failed to unmarshal "app\/b\.yaml": document 2: line 1\d, column \d+: /);
    expect(error.message).not.toContain('hunter2');
  });
});

describe('work and time', () => {
  const hang =
    (command: string) =>
    (runner: CommandRunner): CommandRunner => ({
      runCommand: (argv, options) =>
        argv.includes(command)
          ? new Promise((_resolve, reject) => {
              options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true });
            })
          : runner.runCommand(argv, options),
    });

  it('T-REPO-2: a remote that never answers costs its own caller a deadline, and nobody else', async () => {
    const repo = new Fixture();
    const sha = repo.write({ 'a.yaml': configMap('a') }).commit();
    const clock = new FakeClock();
    const { render, ran } = bench({}, hang('ls-remote'), clock);
    const stuck = failureOf(render(repo.path, { revision: 'main' }));
    while (!ran.some(({ argv }) => argv.includes('ls-remote'))) await new Promise((resolve) => setImmediate(resolve));
    expect((await render(repo.path, { revision: sha })).revision).toBe(sha);
    await clock.advance(60_000);
    expect(await stuck).toBeInstanceOf(DeadlineExceeded);
    expect(clock.pending).toBe(0);
  });

  it('lets a fetch that outlasts its callers finish, once, for those who come later', async () => {
    const repo = new Fixture();
    const sha = repo.write({ 'a.yaml': configMap('a') }).commit();
    const clock = new FakeClock();
    let arrive: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (arrive = resolve));
    const { render, ran, count } = bench(
      {},
      (runner) => ({
        runCommand: async (argv, options) => {
          if (argv.includes('fetch')) await slow;
          return runner.runCommand(argv, options);
        },
      }),
      clock,
    );
    const early = failureOf(render(repo.path, { revision: sha }));
    while (!ran.some(({ argv }) => argv.includes('fetch'))) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    expect(await early).toBeInstanceOf(DeadlineExceeded);
    const late = render(repo.path, { revision: sha });
    arrive();
    expect((await late).revision).toBe(sha);
    expect(count('fetch')).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('stops the work when the last one who waits has left, and not before', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const { source, ran } = bench({}, hang('ls-remote'));
    const [one, two] = [new AbortController(), new AbortController()];
    const ask = (signal: AbortSignal): Promise<Error> =>
      failureOf(source.resolve(at(repo.path, 'main'), false, signal));
    const waiting = [ask(one.signal), ask(two.signal)];
    const listing = (): Ran | undefined => ran.find(({ argv }) => argv.includes('ls-remote'));
    while (listing() === undefined) await new Promise((resolve) => setImmediate(resolve));
    one.abort(new Shutdown('first'));
    expect((await waiting[0])?.message).toBe('first');
    expect(listing()?.options.signal.aborted).toBe(false);
    two.abort(new Shutdown('second'));
    expect((await waiting[1])?.message).toBe('second');
    expect(listing()?.options.signal.aborted).toBe(true);
  });

  it('ends everything when it is stopped', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const { source, ran } = bench({}, hang('ls-remote'));
    const stop = new AbortController();
    const running = source.run(stop.signal);
    const stuck = failureOf(source.resolve(at(repo.path, 'main'), false, never));
    while (!ran.some(({ argv }) => argv.includes('ls-remote'))) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Shutdown());
    await running;
    expect(await stuck).toBeInstanceOf(Shutdown);
  });

  it('forgets failures: the next attempt is a new one', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    let broken = true;
    const { render } = bench({}, (runner) => ({
      runCommand: (argv, options) => {
        if (broken && argv.includes('fetch'))
          return Promise.resolve({
            exitCode: 128,
            stdout: new Uint8Array(),
            stderr: 'fatal: Could not resolve host: git.example.com',
          });
        return runner.runCommand(argv, options);
      },
    }));
    expect((await failureOf(render(repo.path))).message).toMatch(
      /^failed to fetch [0-9a-f]{40}: Could not resolve host/,
    );
    broken = false;
    expect(namesOf(await render(repo.path))).toEqual(['a']);
  });

  it('works on after a damaged mirror, a stale lock, and a restart', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const made = bench();
    await made.render(repo.path);
    const mirrors = join(made.cacheDir, 'git');
    const mirror = join(mirrors, readdirSync(mirrors)[0] ?? '');
    writeFileSync(join(mirror, 'shallow.lock'), '');
    const second = repo.write({ 'a.yaml': configMap('a', '2') }).commit();
    expect((await made.render(repo.path, { revision: second })).objects[0]?.['data']).toEqual({ value: '2' });
    rmSync(join(mirror, 'objects'), { recursive: true });
    mkdirSync(join(mirror, 'objects'));
    expect(namesOf(await made.render(repo.path, { revision: second, noCache: true }))).toEqual(['a']);
    const third = repo.write({ 'a.yaml': configMap('a', '3') }).commit();
    rmSync(mirror, { recursive: true });
    expect(namesOf(await made.render(repo.path, { revision: second, noCache: true }))).toEqual(['a']);
    expect((await made.render(repo.path, { revision: third })).revision).toBe(third);
  });

  it('cleans up old commits and can still get them', async () => {
    const repo = new Fixture();
    const shas: string[] = [];
    for (let i = 0; i < 10; i += 1) shas.push(repo.write({ 'a.yaml': configMap('a', String(i)) }).commit());
    const { render, count } = bench({ fetchesPerCleanup: 6 });
    for (const sha of shas) await render(repo.path, { revision: sha });
    expect(count('gc')).toBe(1);
    const old = await render(repo.path, { revision: shas[0] ?? '', noCache: true });
    expect(old.objects[0]?.['data']).toEqual({ value: '0' });
  });
});

describe('credentials', () => {
  const secret = 's3cr3t-p@ss/word';

  it('never puts credentials or addresses into argv, and wipes key files', async () => {
    const seen: { env: Readonly<Record<string, string>>; key: string; mode: string }[] = [];
    const made = bench({}, () => ({
      runCommand: async (argv, options) => {
        if (argv.includes('ls-remote')) {
          const command = options.env?.['GIT_SSH_COMMAND'] ?? '';
          const file = /'-i' '([^']+)'/.exec(command)?.[1];
          const text = file === undefined ? '' : readFileSync(file, 'utf8');
          const mode = file === undefined ? '' : execFileSync('stat', ['-c', '%a', file], { encoding: 'utf8' }).trim();
          seen.push({ env: options.env ?? {}, key: text, mode });
          return {
            exitCode: 128,
            stdout: new Uint8Array(),
            stderr: `fatal: cannot use ${secret} at https://me:${secret}@h/`,
          };
        }
        return { exitCode: 0, stdout: new Uint8Array(), stderr: '' };
      },
    }));
    const repositories: Repository[] = [
      { ...bareRepository('https://git.example.com/x.git'), username: 'me', password: new Secret(secret) },
      { ...bareRepository('https://git.example.com/x.git'), bearerToken: new Secret(secret) },
      { ...bareRepository('git@git.example.com:x.git'), sshPrivateKey: new Secret(secret) },
      bareRepository(`https://me:${encodeURIComponent(secret)}@git.example.com/x.git`),
    ];
    for (const repository of repositories) {
      const error = await failureOf(
        made.source.resolve({ source: { repoURL: repository.url }, repository, revision: 'main' }, false, never),
      );
      expect(error).toBeInstanceOf(DesiredError);
      expect(JSON.stringify([error.message, error])).not.toContain(secret);
      expect(error.message).not.toContain('p%40ss');
    }
    const basic = Buffer.from(`me:${secret}`).toString('base64');
    const values = seen.map(({ env: e }) => Object.values(e));
    expect(values[0]).toContain(`Authorization: Basic ${basic}`);
    expect(values[0]).toContain('http.https://git.example.com/.extraHeader');
    expect(values[1]).toContain(`Authorization: Bearer ${secret}`);
    expect(seen[2]).toMatchObject({ key: `${secret}\n`, mode: '600' });
    expect(values[2]?.join(' ')).toContain('StrictHostKeyChecking=yes');
    expect(values[3]).toContain(`Authorization: Basic ${basic}`);
    expect(values[3]).toContain('https://git.example.com/x.git');
    for (const { argv } of made.ran) {
      expect(argv.join(' ')).not.toContain(secret);
      expect(argv.join(' ')).not.toContain('example.com');
    }
    const keys = join(made.cacheDir, 'keys');
    expect(existsSync(keys) ? readdirSync(keys) : []).toEqual([]);
  });

  it('keeps the mirrors of different credentials apart', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const made = bench();
    const ask = (repository: Repository): Promise<string> =>
      made.source.resolve({ source: { repoURL: repository.url }, repository, revision: 'main' }, false, never);
    await ask(bareRepository(repo.path));
    await ask({ ...bareRepository(repo.path), password: new Secret('x') });
    expect(made.count('ls-remote')).toBe(2);
    expect(readdirSync(join(made.cacheDir, 'git'))).toHaveLength(2);
  });
});

describe('a seeded source', () => {
  it('works with repeatable chance too', async () => {
    const repo = new Fixture();
    repo.write({ 'a.yaml': configMap('a') }).commit();
    const cacheDir = temporary();
    const source = createDesiredSource({
      clock: systemClock,
      random: seededRandom(1),
      logger: createLogger({ level: 'error', format: 'json' }),
      cacheDir,
      commands: createInProcessRunner({ clock: systemClock, env }),
    });
    expect(await source.resolve(at(`file://${repo.path}`, 'main'), false, never)).toMatch(/^[0-9a-f]{40}$/);
  });
});

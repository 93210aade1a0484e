import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController, OwnershipLost, SecretValue, systemClock, systemRandom } from '#base';
import type { JsonObject } from '#base';
import { bareRepository } from '#model';
import { silentLogger } from '#telemetry';
import { createInProcessRunner } from '../command/in-process.ts';
import type { CommandRunner } from '../command/types.ts';
import { CommandError } from '../errors.ts';
import { createGitCommitter } from '../assembly.ts';
import type { DesiredLimits } from '../limits.ts';
import { serveGit } from '../testing/git-server.ts';
import type { HydrationCommit } from './types.ts';

// Real git, with repositories on the local disk and over HTTP.

let root = '';
const servers: Server[] = [];
const drySha = 'd'.repeat(40);
const object = (value: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a' },
  data: { v: value },
});

function git(...args: string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  return execFileSync('git', ['-C', join(root, 'wet.git'), ...who, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();
}

/** Commits to a branch as another client. */
function commitTo(branch: string, files: Readonly<Record<string, string>>): string {
  const work = mkdtempSync(join(root, 'work-'));
  const run = (...args: string[]): string =>
    execFileSync('git', ['-C', work, '-c', 'user.name=b', '-c', 'user.email=b@example.com', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    });
  run('init', '-q');
  run('remote', 'add', 'origin', join(root, 'wet.git'));
  try {
    run('fetch', '-q', 'origin', `refs/heads/${branch}`);
    run('checkout', '-q', 'FETCH_HEAD');
  } catch {
    // The branch is new.
  }
  for (const [name, text] of Object.entries(files)) {
    execFileSync('mkdir', ['-p', join(work, name, '..')]);
    if (text.startsWith('-> ')) execFileSync('ln', ['-sfn', text.slice(3), join(work, name)]);
    else writeFileSync(join(work, name), text);
  }
  run('add', '-A');
  run('commit', '-q', '--allow-empty', '-m', 'other');
  run('push', '-q', 'origin', `HEAD:refs/heads/${branch}`);
  return run('rev-parse', 'HEAD').trim();
}

function hook(name: string, script: string): void {
  const file = join(root, 'wet.git', 'hooks', name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

function request(
  over: Partial<HydrationCommit> & { readonly url?: string; readonly value?: string } = {},
): HydrationCommit {
  const { url = join(root, 'wet.git'), value = '1', ...rest } = over;
  return {
    repository: bareRepository(url),
    syncBranch: 'env/prod',
    targetBranch: 'env/prod',
    dryUrl: 'https://git.example.com/dry',
    drySha,
    dryCommit: { author: 'dry <d@x>', authoredAt: 0, message: 'subject', references: [] },
    isDryDefaultBranch: false,
    message: `ddddddd: subject\n\nvalue ${value}\n`,
    readmeTemplate: '',
    project: 'default',
    author: { name: '', email: '' },
    paths: [{ path: 'app', objects: [object(value)], commands: [] }],
    fenced: (send) => send({ signal: newAbortController().signal, beforeSend: () => undefined }),
    ...rest,
  };
}

let wrapped: (runner: CommandRunner) => CommandRunner = (runner) => runner;

function commit(order: HydrationCommit = request(), limits: Partial<DesiredLimits> = {}): Promise<string> {
  const committer = createGitCommitter({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    cacheDir: join(root, 'cache'),
    commands: wrapped(createInProcessRunner({ clock: systemClock, env })),
    limits,
    reach: { allowLocal: true },
  });
  return committer.commit(order, newAbortController().signal);
}

const log = (branch: string): readonly string[] => git('log', '--format=%s', branch).split('\n');
const note = (sha: string): string => git('notes', '--ref=hydrator.metadata', 'show', sha);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-hydrate-'));
  execFileSync('git', ['init', '-q', '--bare', '--initial-branch=main', join(root, 'wet.git')]);
  commitTo('main', { 'README.md': 'dry\n' });
  wrapped = (runner) => runner;
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(root, { recursive: true, force: true });
});

describe('a hydrated commit', () => {
  it('creates the branch with Argo CD’s files, author and note', async () => {
    const sha = await commit(request({ message: '\nline  \n\n\n\nbody\n' }));
    expect(git('rev-parse', 'env/prod')).toBe(sha);
    expect(git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'env/prod').split('\n')).toEqual([
      '100644 .gitattributes',
      '100644 app/README.md',
      '100644 app/hydrator.metadata',
      '100755 app/manifest.yaml',
      '100644 hydrator.metadata',
    ]);
    expect(git('show', 'env/prod:app/manifest.yaml')).toBe(
      'apiVersion: v1\ndata:\n  v: "1"\nkind: ConfigMap\nmetadata:\n  name: a',
    );
    expect(JSON.parse(git('show', 'env/prod:hydrator.metadata'))).toEqual({
      repoURL: 'https://git.example.com/dry',
      drySha,
      author: 'dry <d@x>',
      date: '1970-01-01T00:00:00Z',
      subject: 'subject',
    });
    expect(git('show', 'env/prod:app/README.md')).toContain(
      `git clone https://git.example.com/dry\n# cd into the cloned directory\ngit checkout ${drySha}`,
    );
    expect(git('show', 'env/prod:app/hydrator.metadata')).toContain('"repoURL": "https://git.example.com/dry"');
    expect(git('log', '-1', '--format=%an <%ae> %cn%n%B', 'env/prod')).toBe(
      'Argo CD <argo-cd@example.com> Argo CD\nline\n\nbody',
    );
    expect(log('env/prod')).toEqual(['line', 'Initial commit for env/prod']);
    expect(note(sha)).toBe(`{"drySha":"${drySha}"}`);
    expect(readdirSync(join(root, 'cache', 'hydrator'))).toEqual([]);
  });

  it('is not repeated for the same manifests, and notes the new dry commit', async () => {
    const first = await commit();
    const again = await commit(request({ drySha: 'e'.repeat(40) }));
    expect([again, log('env/prod').length, note(first)]).toEqual([first, 2, `{"drySha":"${'e'.repeat(40)}"}`]);
  });

  it('leaves other files of the branch and the path as they are', async () => {
    commitTo('env/prod', { 'other/manifest.yaml': 'x\n', 'app/extra.yaml': 'y\n', '.gitattributes': 'own\n' });
    await commit();
    expect(git('show', 'env/prod:other/manifest.yaml')).toBe('x');
    expect(git('show', 'env/prod:app/extra.yaml')).toBe('y');
    expect(git('show', 'env/prod:.gitattributes')).toBe('own');
  });

  it('has the changed paths of a group only, in one commit', async () => {
    const paths = ['a', 'b/c'].map((path) => ({ path, objects: [object('1')], commands: ['helm template .'] }));
    await commit(request({ paths }));
    const changed = [
      { ...paths[0], path: 'a', objects: [object('2')], commands: [] },
      paths[1] ?? { path: '', objects: [], commands: [] },
    ];
    await commit(request({ paths: changed, drySha: 'e'.repeat(40) }));
    expect(git('diff', '--name-only', 'env/prod~1', 'env/prod').split('\n')).toEqual([
      'a/README.md',
      'a/hydrator.metadata',
      'a/manifest.yaml',
      'hydrator.metadata',
    ]);
  });

  it('of a staging branch begins at the branch that is synced', async () => {
    const synced = commitTo('env/prod', { 'keep.yaml': 'k\n' });
    await commit(request({ targetBranch: 'env/next' }));
    expect(git('rev-parse', 'env/next~1')).toBe(synced);
    expect(git('rev-parse', 'env/prod')).toBe(synced);
  });

  // argo-cd 25049
  it('of a staging branch without changes is the tip of the branch that is synced', async () => {
    const synced = await commit();
    expect(await commit(request({ targetBranch: 'env/next', drySha: 'e'.repeat(40) }))).toBe(synced);
    expect(git('rev-parse', 'env/next')).toBe(synced);
    expect(note(synced)).toContain('e'.repeat(40));
    expect(await commit(request({ targetBranch: 'env/next', value: '2' }))).toBe(git('rev-parse', 'env/next'));
    expect(git('rev-parse', 'env/next~1', 'env/prod').split('\n')).toEqual([synced, synced]);
  });

  it('creates the synced branch too if there is none', async () => {
    await commit(request({ targetBranch: 'env/next' }));
    expect([log('env/prod'), log('env/next')]).toEqual([
      ['Initial commit for env/prod'],
      ['ddddddd: subject', 'Initial commit for env/prod'],
    ]);
  });

  it('without objects has an empty manifest.yaml', async () => {
    await commit(request({ paths: [{ path: 'app', objects: [], commands: [] }] }));
    expect(git('cat-file', '-s', 'env/prod:app/manifest.yaml')).toBe('0');
  });

  it('keeps texts of tenants out of arguments', async () => {
    const argv: string[][] = [];
    wrapped = (runner) => ({
      runCommand: (words, options) => {
        argv.push([...words]);
        return runner.runCommand(words, options);
      },
    });
    const odd = `"$(x)" 'é \t'`.replace('\t', ' ');
    await commit(
      request({
        paths: [{ path: `p/${odd}`, objects: [object(odd)], commands: [odd] }],
        message: odd,
        author: { name: `n<>${odd}`, email: '<e>\n' },
      }),
    );
    expect(argv.flat().filter((word) => word.includes('$(x)'))).toEqual([]);
    expect(git('show', `env/prod:p/${odd}/README.md`)).toContain(odd);
    expect(git('log', '-1', '--format=%an|%ae', 'env/prod')).toBe(`n${odd}|e`);
  });
});

describe('bad input', () => {
  it.each([
    [
      'a path out of the branch',
      { paths: [{ path: '../x', objects: [], commands: [] }] },
      'the path "../x" is refused',
    ],
    ['the folder of git', { paths: [{ path: 'a/.Git/b', objects: [], commands: [] }] }, 'is refused'],
    ['a branch that is an option', { targetBranch: '--force' }, 'the branch "--force" is refused'],
    ['a branch with two dots', { syncBranch: 'a..b' }, 'the branch "a..b" is refused'],
    ['a full ref', { targetBranch: 'refs/heads/x' }, 'is refused'],
    ['an empty message', { message: ' \n' }, 'the commit message is empty'],
    ['the default branch that is dry', { isDryDefaultBranch: true, targetBranch: 'main' }, 'its own dry source'],
    [
      'another type of repository',
      { repository: { ...bareRepository('oci://x'), type: 'oci' as const } },
      'hydration to repositories of type oci',
    ],
    ['the local disk of the cache', { url: 'file:///proc/x' }, 'points into a folder of the system'],
  ])('%s is refused', async (_what, over, message) => {
    await expect(commit(request(over))).rejects.toThrow(message);
    expect(git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });

  it('a symbolic link in the path is refused, and nothing is written through it', async () => {
    const before = commitTo('env/prod', { 'real/manifest.yaml': 'r\n', link: '-> real' });
    await expect(commit(request({ paths: [{ path: 'link/app', objects: [], commands: [] }] }))).rejects.toThrow(
      '"link" is a file, a symbolic link or a submodule in the branch',
    );
    expect(git('rev-parse', 'env/prod')).toBe(before);
  });

  it('a link in place of manifest.yaml is replaced by a file', async () => {
    commitTo('env/prod', { 'real.yaml': 'r\n', 'app/manifest.yaml': '-> ../real.yaml' });
    await commit();
    expect(git('show', 'env/prod:real.yaml')).toBe('r');
    expect(git('ls-tree', '--format=%(objectmode)', 'env/prod', 'app/manifest.yaml')).toBe('100755');
  });

  it('a huge rendering is refused', async () => {
    const huge = Array.from({ length: 3 }, () => object('x'.repeat(500)));
    await expect(
      commit(request({ paths: [{ path: 'app', objects: huge, commands: [] }] }), { maxCommitBytes: 1000 }),
    ).rejects.toThrow('the hydrated manifests have more than 1000 bytes');
  });
});

describe('a push', () => {
  it('that meets a moved branch is built again on the new commit', async () => {
    commitTo('env/prod', { 'a.yaml': '1\n' });
    let other = '';
    const order = request({
      fenced: (send) => {
        if (other === '') other = commitTo('env/prod', { 'b.yaml': '2\n' });
        return send({ signal: newAbortController().signal, beforeSend: () => undefined });
      },
    });
    const sha = await commit(order);
    expect(git('rev-parse', 'env/prod~1')).toBe(other);
    expect(git('show', `${sha}:b.yaml`)).toBe('2');
  });

  it('does not bring back a commit that was removed from the branch', async () => {
    const first = commitTo('env/prod', { 'a.yaml': '1\n' });
    commitTo('env/prod', { 'secret.yaml': 'x\n' });
    let isReset = false;
    const order = request({
      fenced: (send) => {
        if (!isReset) git('update-ref', 'refs/heads/env/prod', first);
        isReset = true;
        return send({ signal: newAbortController().signal, beforeSend: () => undefined });
      },
    });
    await commit(order);
    expect(git('rev-parse', 'env/prod~1')).toBe(first);
  });

  it('that is refused by the server shows its reason', async () => {
    hook('pre-receive', 'echo "GH006: Protected branch update failed" >&2; exit 1');
    await expect(commit()).rejects.toThrow(
      'failed to push: refs/heads/env/prod: pre-receive hook declined: GH006: Protected branch update failed',
    );
  });

  it('whose note is refused fails, and its repetition makes no second commit', async () => {
    hook('update', 'case "$1" in refs/notes/*) exit 1;; esac');
    await expect(commit()).rejects.toThrow('failed to add commit note: failed to push: refs/notes/hydrator.metadata');
    const sha = git('rev-parse', 'env/prod');
    rmSync(join(root, 'wet.git', 'hooks', 'update'));
    expect([await commit(), note(sha)]).toEqual([sha, `{"drySha":"${drySha}"}`]);
    expect(log('env/prod')).toHaveLength(2);
  });

  it('that times out after it was taken counts as done', async () => {
    wrapped = (runner) => ({
      runCommand: async (words, options) => {
        const result = await runner.runCommand(words, options);
        if (words.includes('push') && words.some((word) => word.endsWith(':refs/heads/env/prod')))
          throw new CommandError('COMMAND_TIMEOUT', 'git took too long');
        return result;
      },
    });
    const sha = await commit();
    expect([git('rev-parse', 'env/prod'), note(sha)]).toEqual([sha, `{"drySha":"${drySha}"}`]);
  });

  it('that times out before it was taken is an error', async () => {
    wrapped = (runner) => ({
      runCommand: (words, options) =>
        words.includes('push')
          ? Promise.reject(new CommandError('COMMAND_TIMEOUT', 'git took too long'))
          : runner.runCommand(words, options),
    });
    await expect(commit()).rejects.toThrow('git took too long');
  });

  it('does not happen once the group belongs to another replica', async () => {
    const beforeSend = (): void => {
      throw new OwnershipLost('the group');
    };
    const order = request({ fenced: (send) => send({ signal: newAbortController().signal, beforeSend }) });
    await expect(commit(order)).rejects.toThrow(OwnershipLost);
    expect(git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });
});

describe('over HTTP', () => {
  async function serve(answer: (request: IncomingMessage) => number | undefined, text = ''): Promise<string> {
    git('config', 'http.receivepack', 'true');
    const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
      const code = answer(incoming);
      if (code === undefined) serveGit(root, incoming, response);
      else response.writeHead(code, code === 401 ? { 'www-authenticate': 'Basic' } : {}).end(text);
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/wet.git`;
  }
  const isPush = ({ url = '' }: IncomingMessage): boolean => url.includes('receive-pack');

  it('sends the write credentials', async () => {
    const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
    const url = await serve(({ headers }) => (headers.authorization === basic ? undefined : 401));
    await expect(commit(request({ url }))).rejects.toThrow('failed to authenticate');
    const repository = { ...bareRepository(url), username: 'u', password: new SecretValue('p') };
    expect(await commit(request({ repository }))).toBe(git('rev-parse', 'env/prod'));
  });

  it.each([403, 401])('reports credentials that may only read (HTTP %d)', async (code) => {
    const url = await serve((incoming) => (isPush(incoming) ? code : undefined));
    await expect(commit(request({ url }))).rejects.toThrow(
      /failed to push: refs\/heads\/env\/prod: .*(403|401|Authentication|could not read Username|terminal prompts)/i,
    );
    expect(existsSync(join(root, 'wet.git', 'refs', 'heads', 'env'))).toBe(false);
  });
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGitServer } from './index.ts';
import type { GitServer } from './index.ts';

const run = promisify(execFile);
const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'init.defaultBranch=main'];
const git = async (cwd: string, ...args: string[]): Promise<string> =>
  (await run('git', [...identity, ...args], { cwd })).stdout;

describe('git over HTTP', () => {
  let root: string;
  let server: GitServer;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'driftless-git-'));
    await git(root, 'init', '--bare', '-b', 'main', 'one.git');
    server = await startGitServer(root);
  });
  afterAll(async () => {
    await server.close();
    await rm(root, { recursive: true, force: true });
  });

  it('accepts a push and serves it to a clone', async () => {
    await git(root, 'clone', '-q', `${server.url}/one.git`, 'work');
    const work = join(root, 'work');
    await writeFile(join(work, 'a.yaml'), 'kind: ConfigMap\n');
    await git(work, 'add', '.');
    await git(work, 'commit', '-qm', 'one');
    await git(work, 'push', '-q', 'origin', 'HEAD:main');
    const head = (await git(work, 'rev-parse', 'HEAD')).trim();
    expect(await git(root, 'ls-remote', `${server.url}/one.git`, 'refs/heads/main')).toContain(head);
    await git(root, 'clone', '-q', `${server.url}/one.git`, 'again');
    expect((await git(join(root, 'again'), 'rev-parse', 'HEAD')).trim()).toBe(head);
  });

  it('counts clones and fetches, but not listings of references', async () => {
    await git(root, 'init', '--bare', '-b', 'main', 'two.git');
    await git(root, 'clone', '-q', `${server.url}/two.git`, 'pushing');
    const pushing = join(root, 'pushing');
    const push = async (content: string): Promise<void> => {
      await writeFile(join(pushing, 'a.yaml'), content);
      await git(pushing, 'add', '.');
      await git(pushing, 'commit', '-qm', content);
      await git(pushing, 'push', '-q', 'origin', 'HEAD:main');
    };
    await push('one');
    const before = server.fetches();
    await git(root, 'clone', '-q', `${server.url}/two.git`, 'reading');
    expect(server.fetches() - before).toBe(1);
    await git(root, 'ls-remote', `${server.url}/two.git`);
    expect(server.fetches() - before).toBe(1);
    await push('two');
    for (const version of ['2', '0']) {
      await git(join(root, 'reading'), '-c', `protocol.version=${version}`, 'fetch', '-q');
      await push(`after version ${version}`);
    }
    expect(server.fetches() - before).toBe(3);
  });

  it('responds as git expects for a missing repository', async () => {
    await expect(git(root, 'ls-remote', `${server.url}/none.git`)).rejects.toThrow(/not found/i);
  });
});

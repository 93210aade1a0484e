import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { createInProcessRunner } from '../../command/in-process.ts';
import { SizeLimitExceeded } from '../../errors.ts';
import { defaultLimits } from '../../limits.ts';
import type { DesiredLimits } from '../../limits.ts';
import { failureOf, TestRepository } from '../../testing/repository.ts';
import { defaultTrust, Git } from './git.ts';
import { GitRepositories } from './git-repositories.ts';

const { signal } = new AbortController();
let root = '';
let repository: TestRepository;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'folders-'));
  repository = new TestRepository(root, { 'a.txt': 'first', 'secret.txt': 'in the history only' });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function repositories(over: Partial<DesiredLimits> = {}): GitRepositories {
  const [clock, random, cacheDir] = [systemClock, systemRandom, join(root, 'cache')];
  const commands = createInProcessRunner({ clock, env });
  const git = new Git({ commands, random, cacheDir, trust: defaultTrust });
  return new GitRepositories({ clock, random, cacheDir, git, limits: { ...defaultLimits, ...over } });
}

/** Copies `.git` of a commit beside the files that the commit has. */
async function workTreeOf(made: GitRepositories, commit: string): Promise<string> {
  const tree = mkdtempSync(join(root, 'tree-'));
  const snapshot = await made.snapshot(bareRepository(repository.path), commit, false, signal);
  await snapshot.withGitFolder?.(signal, ({ path, bytes }) => {
    expect(bytes).toBeGreaterThan(100);
    cpSync(path, join(tree, '.git'), { recursive: true });
    return Promise.resolve();
  });
  return tree;
}

function git(tree: string, ...args: readonly string[]): string {
  const hermetic = { PATH: env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', tree, ...args], { encoding: 'utf8', stdio: 'pipe', env: hermetic }).trim();
}

describe('a .git directory of one commit', () => {
  it('has the commit and its files, and nothing of the history, of branches or of hooks', async () => {
    const [secret] = git(repository.path, 'rev-parse', 'HEAD:secret.txt').split('\n');
    rmSync(join(repository.path, 'secret.txt'));
    repository.git('branch', 'other');
    const commit = repository.commit({ 'a.txt': 'second', 'run.sh': '#!/bin/sh\n' });
    repository.git('tag', 'v1');
    // The mirror has the whole history, as for signatures.
    const made = repositories({ fetchDepth: 0 });
    const tree = await workTreeOf(made, commit);
    expect(git(tree, 'rev-parse', 'HEAD')).toBe(commit);
    expect(git(tree, 'log', '--format=%s')).toBe('change');
    expect(git(tree, 'show', 'HEAD:a.txt')).toBe('second');
    expect(git(tree, 'fsck', '--full')).toBe('');
    expect(git(tree, 'for-each-ref')).toBe('');
    expect(git(tree, 'config', 'remote.origin.url')).toBe(repository.path);
    expect(() => git(tree, 'cat-file', '-e', secret ?? '')).toThrow();
    expect(readdirSync(join(tree, '.git')).sort()).toEqual(['HEAD', 'config', 'index', 'objects', 'refs', 'shallow']);
    expect(git(tree, 'status', '--porcelain')).toBe('D a.txt\n D run.sh');
    git(tree, 'checkout', '--', '.');
    expect(git(tree, 'status', '--porcelain')).toBe('');
  });

  it('is made once for concurrent requests, and kept for the next ones', async () => {
    const commit = repository.save();
    const made = repositories();
    await Promise.all([1, 2, 3].map(() => workTreeOf(made, commit)));
    await workTreeOf(made, commit);
    expect(readdirSync(join(root, 'cache', 'commit-folders'))).toHaveLength(1);
    // Removed from the outside, it is made again.
    rmSync(join(root, 'cache', 'commit-folders'), { recursive: true });
    expect(git(await workTreeOf(made, commit), 'rev-parse', 'HEAD')).toBe(commit);
  });

  it('is removed when others need the room, but not while it is in use, and after a restart', async () => {
    const made = repositories();
    const folder = join(root, 'cache', 'commit-folders');
    const first = repository.commit({ 'a.txt': '0' });
    const snapshot = await made.snapshot(bareRepository(repository.path), first, false, signal);
    await snapshot.withGitFolder?.(signal, async ({ path }) => {
      for (let i = 1; i <= 10; i += 1) await workTreeOf(made, repository.commit({ 'a.txt': String(i) }));
      expect(existsSync(join(path, 'HEAD'))).toBe(true);
      expect(readdirSync(folder)).toHaveLength(8);
    });
    mkdirSync(join(folder, 'left'));
    await workTreeOf(repositories(), first);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('is refused beyond the limit, with the flag that excludes it', async () => {
    const commit = repository.commit({ 'a.txt': 'x'.repeat(100) });
    const error = await failureOf(workTreeOf(repositories({ maxCheckoutBytes: 200 }), commit));
    expect(error).toBeInstanceOf(SizeLimitExceeded);
    expect(error.message).toContain('--plugin-tar-exclude=.git');
    expect(readdirSync(join(root, 'cache', 'commit-folders'))).toEqual([]);
  });
});

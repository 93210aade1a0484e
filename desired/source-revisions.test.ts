import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { RepositoryError, RevisionNotFound } from './index.ts';
import { failureOf } from './testing/repository.ts';
import {
  GitFixture,
  configMapYaml,
  gitSource,
  neverAborted,
  removeTemporaryFolders,
  sourceBench,
  temporaryFolder,
} from './testing/source-bench.ts';

afterEach(removeTemporaryFolders);

describe('revisions', () => {
  it('resolves branches, tags, HEAD, full and short commits, and constraints', async () => {
    const repo = new GitFixture();
    const first = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    repo.git('tag', 'v1.0.0');
    const second = repo.write({ 'a.yaml': configMapYaml('a', '2') }).commit();
    repo.git('tag', '-a', 'v1.2.0', '-m', 'annotated');
    repo.git('branch', 'release/1', first);
    const third = repo.write({ 'a.yaml': configMapYaml('a', '3') }).commit();
    repo.git('tag', 'v2.0.0-rc.1');
    const { source } = sourceBench();
    const resolve = (revision: string): Promise<string> =>
      source.resolve(gitSource(repo.path, revision), 'cached', neverAborted);
    expect(await resolve('')).toBe(third);
    expect(await resolve('HEAD')).toBe(third);
    expect(await resolve('main')).toBe(third);
    expect(await resolve('refs/heads/main')).toBe(third);
    expect(await resolve('heads/main')).toBe(third);
    expect(await resolve('tags/v1.2.0')).toBe(second);
    expect(await resolve('release/1')).toBe(first);
    expect(await resolve('v1.0.0')).toBe(first);
    expect(await resolve('refs/tags/v1.2.0')).toBe(second);
    expect(await resolve('1.*')).toBe(second);
    expect(await resolve('>=1.0.0-0 <2.0.0')).toBe(third);
    expect(await resolve(first.toUpperCase())).toBe(first);
    expect(await resolve(first.slice(0, 8))).toBe(first);
  });

  it('describes a commit that was fetched, and asks the remote for no other', async () => {
    const repo = new GitFixture();
    const fetched = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const { source, render } = sourceBench();
    const describeAt = (revision: string): Promise<unknown> =>
      source.describe?.(gitSource(repo.path, revision), neverAborted) ?? Promise.resolve('not supported');
    expect(await describeAt(fetched)).toBeUndefined();
    await render(repo.path, { revision: fetched });
    expect(await describeAt(fetched)).toEqual({
      author: expect.stringMatching(/^\S+ <\S+@\S+>$/),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/),
      subject: expect.stringMatching(/\S/),
    });
    const later = repo.write({ 'a.yaml': configMapYaml('a', '2') }).commit();
    expect(await describeAt(later)).toBeUndefined();
    expect(await describeAt('main')).toBeUndefined();
    expect(await describeAt('--output=/tmp/x')).toBeUndefined();
  });

  it('reports unresolvable revisions with Argo CD’s messages', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const { source, render } = sourceBench();
    const resolve = (revision: string): Promise<Error> =>
      failureOf(source.resolve(gitSource(repo.path, revision), 'cached', neverAborted));
    const missing = await resolve('nope');
    expect(missing).toBeInstanceOf(RevisionNotFound);
    expect(missing.message).toBe("unable to resolve 'nope' to a commit SHA: revision not found");
    expect((await resolve('1.*')).message).toBe("unable to resolve '1.*' to a commit SHA: revision not found");
    expect((await resolve('abcdef1')).message).toBe("unable to resolve 'abcdef1' to a commit SHA: revision not found");
    const unborn = new GitFixture();
    expect(
      (await failureOf(sourceBench().source.resolve(gitSource(unborn.path, ''), 'cached', neverAborted))).message,
    ).toBe("unable to resolve 'HEAD' to a commit SHA: revision not found");
    const sha = 'd'.repeat(40);
    expect((await failureOf(render(repo.path, { revision: sha }))).message).toContain(
      `Failed to checkout revision ${sha}`,
    );
  });

  it('reports a missing repository', async () => {
    const error = await failureOf(sourceBench().render(join(temporaryFolder(), 'missing.git')));
    expect(error).toBeInstanceOf(RepositoryError);
    expect(error.message).toBe('failed to list refs: repository not found');
    const refused = await failureOf(sourceBench().render('http://127.0.0.1:1/x.git'));
    expect(refused.message).toContain('failed to list refs: ');
    expect(refused.message).not.toContain('\n');
  });

  // T-REV-1
  it('peels the ID of an annotated tag to its commit', async () => {
    const repo = new GitFixture();
    const commit = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    repo.git('tag', '-a', 'v1', '-m', 'x');
    const tag = repo.git('rev-parse', 'v1');
    expect(tag).not.toBe(commit);
    expect((await sourceBench().render(repo.path, { revision: tag })).revision).toBe(commit);
  });

  it('resolves again after the time to live, and at once for the current revision', async () => {
    const repo = new GitFixture();
    const first = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const clock = new FakeClock();
    const { source, count } = sourceBench({}, undefined, clock);
    const resolve = (revision: 'cached' | 'current'): Promise<string> =>
      source.resolve(gitSource(repo.path, 'main'), revision, neverAborted);
    expect(await resolve('cached')).toBe(first);
    const second = repo.write({ 'a.yaml': configMapYaml('b') }).commit();
    await clock.advance(179_000);
    expect(await resolve('cached')).toBe(first);
    expect(count('ls-remote')).toBe(1);
    expect(await resolve('current')).toBe(second);
    expect(count('ls-remote')).toBe(2);
    const third = repo.write({ 'a.yaml': configMapYaml('c') }).commit();
    await clock.advance(180_000);
    expect(await resolve('cached')).toBe(third);
    expect(count('ls-remote')).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('never answers for the current revision with a listing that started before the request', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let listed = 0;
    const { source, count } = sourceBench({}, (runner) => ({
      runCommand: async (argv, options) => {
        const result = await runner.runCommand(argv, options);
        if (argv.includes('ls-remote')) {
          listed += 1;
          if (listed === 1) await gate;
        }
        return result;
      },
    }));
    const ask = (revision: 'cached' | 'current'): Promise<string> =>
      source.resolve(gitSource(repo.path, 'main'), revision, neverAborted);
    const early = ask('cached');
    while (listed === 0) await new Promise((resolve) => setImmediate(resolve));
    const pushed = repo.write({ 'a.yaml': configMapYaml('b') }).commit();
    const late = [ask('current'), ask('current'), ask('cached')];
    open();
    const [a, b, c] = await Promise.all(late);
    expect([a, b]).toEqual([pushed, pushed]);
    expect(c).toBe(await early);
    expect(count('ls-remote')).toBe(2);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { bareRepository } from '#model';
import { Tree } from '../fetch/files/tree.ts';
import { renderBench } from '../testing/repository.ts';
import type { RenderBench, TestRepository } from '../testing/repository.ts';
import { differsAt } from './read-dry.ts';

let bench: RenderBench;
beforeAll(() => {
  bench = renderBench();
});
afterAll(() => bench.close());

const { signal } = newAbortController();

describe('a dry commit', () => {
  it('has its author, time, message and the commit that its trailers name', async () => {
    const repo = bench.repository({ 'a.yaml': '' });
    const message = [
      'raise the limit',
      'of memory\n',
      'because\n\nof load\n',
      'Argocd-reference-commit-sha: abcdef1',
      'Argocd-reference-commit-subject: the code',
      '  change',
    ].join('\n');
    const author = ['--author=Ada L <ada@example.com>', '--date=1700000000 +0200'];
    repo.git('commit', '--quiet', '--allow-empty', ...author, '-m', message);
    expect(await bench.desired.dryCommit?.(bareRepository(repo.path), repo.git('rev-parse', 'HEAD'), signal)).toEqual({
      author: 'Ada L <ada@example.com>',
      authoredAt: 1_700_000_000,
      message,
      references: [{ sha: 'abcdef1', subject: 'the code change' }],
    });
  });
});

describe('the changes between two dry commits', () => {
  let repo: TestRepository;
  const shas: string[] = [];
  const changes = (paths: readonly string[], [from, to] = [0, 1]): Promise<boolean> | undefined =>
    bench.desired.hasChanges?.(
      { repository: bareRepository(repo.path), from: shas[from] ?? '', to: shas[to] ?? '', paths },
      signal,
    );
  beforeAll(() => {
    repo = bench.repository({});
    shas.push(repo.commit({ 'app/a.yaml': '1', 'app/sub/b.yaml': '1', 'apps/c.yaml': '1', 'd.yaml': '1' }));
    shas.push(repo.commit({ 'app/sub/b.yaml': '2', 'new/e.yaml': '1' }));
    repo.git('rm', '-q', '-r', 'app/sub');
    shas.push(repo.save());
  });

  it.each<[boolean, string]>([
    [true, ''],
    [true, '.'],
    [true, 'app'],
    [true, 'app/sub'],
    [true, 'app/sub/b.yaml'],
    [true, 'app/*/b.yaml'],
    [true, 'new'],
    [false, 'apps'],
    [false, 'app/a.yaml'],
    [false, 'app/su'],
    [false, 'd.*'],
    [false, '[a'],
  ])('are found (%j) at the path %j', async (expected, path) => {
    expect(await changes([path])).toBe(expected);
  });

  it('are found at one of several paths, and if a file was removed', async () => {
    expect(
      await Promise.all([changes(['d.yaml', 'new']), changes(['app/sub'], [1, 2]), changes(['new'], [1, 2])]),
    ).toEqual([true, true, false]);
  });

  it('are none between a commit and itself', async () => {
    expect(await changes([''], [1, 1])).toBe(false);
  });

  it('are assumed if there are too many to compare', () => {
    const treeOf = (count: number, oid: string): Tree => {
      const nodes = Array.from({ length: count }, (_, i) => ({
        path: `app/${i}`,
        node: { kind: 'file', oid, size: 1 } as const,
      }));
      const made = Tree.of(nodes);
      if ('fault' in made) throw new Error(made.fault);
      return made.tree;
    };
    const others = Array.from({ length: 500 }, (_, i) => `other/${i}`);
    expect(differsAt(treeOf(300, 'a'), treeOf(300, 'b'), others)).toBe(false);
    expect(differsAt(treeOf(500, 'a'), treeOf(500, 'b'), others)).toBe(true);
    expect(differsAt(treeOf(1, 'a'), treeOf(1, 'a'), Array<string>(5000).fill('other'))).toBe(true);
  });
});

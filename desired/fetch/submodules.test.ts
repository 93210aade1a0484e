import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Secret, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { KubeObject } from '#model';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench, TestRepository } from '../testing/repository.ts';
import type { SourceManifests } from '../types.ts';
import { Git, defaultTrust } from './git.ts';
import { defaultLimits } from '../limits.ts';
import { GitRepositories } from './repositories.ts';
import { Submodules } from './submodules.ts';
import { Tree } from './tree.ts';

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const names = (objects: readonly KubeObject[]): unknown => objects.map(({ metadata }) => metadata.name);
const add = (to: TestRepository, url: string, path: string): string => {
  to.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', url, path);
  return to.save();
};
const render = (repository: TestRepository, path: string): Promise<SourceManifests> =>
  bench.render(repository, { path, directory: { recurse: true } }, { noRevisionCache: true });

describe('submodules', () => {
  it('10.1: their files are in their places, also those of submodules of submodules', async () => {
    const deepest = bench.repository({ 'c.yaml': map('c') });
    const inner = bench.repository({ 'b.yaml': map('b') });
    add(inner, deepest.path, 'deep');
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    const revision = add(outer, inner.path, 'app/sub');
    const made = await render(outer, 'app');
    expect([names(made.objects), made.revision]).toEqual([['a', 'b', 'c'], revision]);
    expect(names((await render(outer, 'app/sub/deep')).objects)).toEqual(['c']);
    // A commit there is nothing here, until it is taken up here.
    inner.commit({ 'b.yaml': map('new') });
    expect(names((await render(outer, 'app')).objects)).toEqual(['a', 'b', 'c']);
  });

  it('10.1: one that cannot be fetched is told where it is needed, and disturbs nothing else', async () => {
    const inner = bench.repository({ 'b.yaml': map('b') });
    const outer = bench.repository({ 'app/a.yaml': map('a'), 'other/o.yaml': map('o') });
    add(outer, inner.path, 'app/sub');
    rmSync(inner.path, { recursive: true });
    expect(names((await render(outer, 'other')).objects)).toEqual(['o']);
    expect((await failureOf(render(outer, 'app'))).message).toMatch(/^the submodule "sub" cannot be read: /);
    expect((await failureOf(render(outer, 'app/sub'))).message).toMatch(/^the submodule "app\/sub" cannot be read: /);
  });

  it('10.1: are not fetched where the administrators say so', async () => {
    bench.close();
    bench = renderBench({ submodules: false });
    const inner = bench.repository({ 'b.yaml': map('b') });
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    add(outer, inner.path, 'app/sub');
    expect((await failureOf(render(outer, 'app'))).message).toMatch(/Git submodules/);
  });

  it('10.5: a link of a submodule may lead into the repository around it, but not out of that', async () => {
    const inner = bench.repository({ 'b.yaml': map('b') });
    inner.link('up.yaml', '../a.yaml');
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    add(outer, inner.path, 'app/sub');
    expect(names((await render(outer, 'app')).objects)).toEqual(['a', 'b', 'a']);
    inner.link('out.yaml', '../../../x.yaml');
    outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--remote');
    outer.save();
    expect((await failureOf(render(outer, 'app'))).message).toMatch(
      /out-of-bounds symlinks. file: app\/sub\/out\.yaml/,
    );
  });
});

describe('the address of a submodule', () => {
  const seen: { url: string; password: string | undefined; key: boolean }[] = [];

  class Watched extends GitRepositories {
    override snapshot(...args: Parameters<GitRepositories['snapshot']>): ReturnType<GitRepositories['snapshot']> {
      const [repository] = args;
      const { url, password, sshPrivateKey } = repository;
      seen.push({ url, password: password?.reveal(), key: sshPrivateKey !== undefined });
      return Promise.reject(new Error('not today'));
    }
  }

  it.each([
    ['https://h/a/b.git', '../c.git', { url: 'https://h/a/c.git', password: 'p', key: true }],
    ['https://h/a/b.git', './c', { url: 'https://h/a/b.git/c', password: 'p', key: true }],
    ['https://h/a/b.git', 'https://h/x', { url: 'https://h/x', password: 'p', key: true }],
    ['https://h/a/b.git', 'https://h.evil/x', { url: 'https://h.evil/x', password: undefined, key: false }],
    ['https://h/a/b.git', 'https://h:8443/x', { url: 'https://h:8443/x', password: undefined, key: false }],
    ['https://h/a/b.git', 'http://h/x', { url: 'http://h/x', password: undefined, key: false }],
    ['git@h:a/b.git', '../c.git', { url: 'git@h:a/c.git', password: 'p', key: true }],
    ['git@h:a/b.git', 'ssh://git@other/x', { url: 'ssh://git@other/x', password: undefined, key: true }],
    ['https://h/a/b.git', '/etc', undefined],
    ['https://h/a/b.git', 'file:///etc', undefined],
    ['https://h/a/b.git', 'ext::sh -c x', undefined],
    ['https://h/a/b.git', '--upload-pack=x', undefined],
  ])('10.5: of %s, %s: whom the credentials reach', async (parent, url, expected) => {
    seen.length = 0;
    const text = Buffer.from(`[submodule "s"]\n\tpath = s\n\turl = ${url}\n`);
    const listing = `100644 blob ${'a'.repeat(40)} ${text.length}\t.gitmodules\x00160000 commit ${'b'.repeat(40)} -\ts\0`;
    const tree = await Tree.parse(Buffer.from(listing));
    const git = new Git({
      cacheDir: bench.root,
      random: systemRandom,
      trust: defaultTrust,
      commands: { runCommand: () => Promise.reject(new Error('none')) },
    });
    const repositories = new Watched({ clock: systemClock, git, limits: defaultLimits, cacheDir: bench.root });
    const submodules = new Submodules({ repositories, cacheDir: bench.root, maxTreeBytes: 1_000_000 });
    const secrets = { password: new Secret('p'), sshPrivateKey: new Secret('k') };
    const snapshot = { key: 'k', revision: 'r', tree, read: () => Promise.resolve(new Map([['a'.repeat(40), text]])) };
    const signal = new AbortController().signal;
    const made = await submodules.complete({ ...bareRepository(parent), ...secrets }, snapshot, signal);
    expect(seen).toEqual(expected === undefined ? [] : [expected]);
    const found = made.tree.lookup(['s']);
    expect(found).toMatchObject({
      node: { kind: 'submodule', fault: expected === undefined ? expect.any(String) : 'not today' },
    });
  });
});

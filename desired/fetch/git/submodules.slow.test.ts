import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { KubeObject } from '#model';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench, TestRepository } from '../../testing/repository.ts';
import type { SourceManifests } from '../../types.ts';
import { Git, defaultTrust } from './git.ts';
import { defaultLimits } from '../../limits.ts';
import { GitRepositories } from './git-repositories.ts';
import { Submodules } from './submodules.ts';
import { createInProcessRunner } from '../../command/in-process.ts';
import { decidingText } from '../files/snapshot.ts';
import { Tree } from '../files/tree.ts';
import { currentRevision } from '../../testing/request.ts';

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
  bench.render(repository, { path, directory: { recurse: true } }, { cache: currentRevision });

describe('submodules', () => {
  it('are mounted, including nested submodules', async () => {
    const deepest = bench.repository({ 'c.yaml': map('c') });
    const inner = bench.repository({ 'b.yaml': map('b') });
    add(inner, deepest.path, 'deep');
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    const revision = add(outer, inner.path, 'app/sub');
    const made = await render(outer, 'app');
    expect([names(made.objects), made.revision]).toEqual([['a', 'b', 'c'], revision]);
    expect(names((await render(outer, 'app/sub/deep')).objects)).toEqual(['c']);
    // A new commit in the submodule changes nothing until the outer repository points to it.
    inner.commit({ 'b.yaml': map('new') });
    expect(names((await render(outer, 'app')).objects)).toEqual(['a', 'b', 'c']);
  });

  it('that cannot be fetched fail only sources that need them', async () => {
    const inner = bench.repository({ 'b.yaml': map('b') });
    const outer = bench.repository({ 'app/a.yaml': map('a'), 'other/o.yaml': map('o') });
    add(outer, inner.path, 'app/sub');
    rmSync(inner.path, { recursive: true });
    expect(names((await render(outer, 'other')).objects)).toEqual(['o']);
    expect((await failureOf(render(outer, 'app'))).message).toMatch(/^the submodule "sub" cannot be read: /);
    expect((await failureOf(render(outer, 'app/sub'))).message).toMatch(/^the submodule "app\/sub" cannot be read: /);
  });

  it('are not fetched if administrators disable them', async () => {
    bench.close();
    bench = renderBench({ submodules: false });
    const inner = bench.repository({ 'b.yaml': map('b') });
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    add(outer, inner.path, 'app/sub');
    expect((await failureOf(render(outer, 'app'))).message).toBe(
      'the submodule "sub" cannot be read: submodules are switched off (ARGOCD_GIT_MODULES_ENABLED)',
    );
  });

  it('are not fetched beyond a limit, which the error names', async () => {
    const outer = bench.repository({ 'app/a.yaml': map('a') });
    const commit = outer.git('rev-parse', 'HEAD');
    for (let i = 0; i <= 100; i += 1) outer.git('update-index', '--add', '--cacheinfo', `160000,${commit},app/sub${i}`);
    outer.git('commit', '--quiet', '-m', 'many');
    expect((await failureOf(render(outer, 'app/sub7'))).message).toBe(
      'the submodule "app/sub7" cannot be read: the repository has more than 100 submodules',
    );
  });

  it('give the files that decide what a source needs, beside those of the outer repository', async () => {
    const inner = bench.repository({ 'kustomization.yaml': 'resources: [b.yaml]\n', 'b.yaml': map('b') });
    const outer = bench.repository({ 'app/kustomization.yaml': 'resources: [sub]\n' });
    const revision = add(outer, inner.path, 'app/sub');
    const commands = createInProcessRunner({ clock: systemClock, env });
    const shared = { random: systemRandom, cacheDir: join(bench.root, 'cache') };
    const git = new Git({ ...shared, trust: defaultTrust, commands });
    const repositories = new GitRepositories({ ...shared, clock: systemClock, git, limits: defaultLimits });
    const submodules = new Submodules({ repositories, cacheDir: shared.cacheDir, maxTreeBytes: 1_000_000 });
    const { signal } = new AbortController();
    const at = bareRepository(outer.path);
    const snapshot = await repositories.snapshot(at, revision, false, signal);
    const whole = await submodules.complete(at, snapshot, { sourceRepos: undefined, signal });
    for (const folder of [['app'], ['app', 'sub']]) {
      const found = whole.tree.lookup([...folder, 'kustomization.yaml']);
      if (found.kind !== 'found' || found.node.kind !== 'file') throw new Error('no kustomization');
      const text = await decidingText(whole, { file: found.node, folder }, signal);
      expect(text).toBe(folder.length === 1 ? 'resources: [sub]\n' : 'resources: [b.yaml]\n');
    }
  });

  it('may contain links into the outer repository, but not out of it', async () => {
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
  ])('of %s, %s gets credentials of its own origin only', async (parent, url, expected) => {
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
    const repositories = new Watched({
      clock: systemClock,
      random: systemRandom,
      git,
      limits: defaultLimits,
      cacheDir: bench.root,
    });
    const submodules = new Submodules({ repositories, cacheDir: bench.root, maxTreeBytes: 1_000_000 });
    const secrets = { password: new SecretValue('p'), sshPrivateKey: new SecretValue('k') };
    const snapshot = { key: 'k', revision: 'r', tree, read: () => Promise.resolve(new Map([['a'.repeat(40), text]])) };
    const signal = new AbortController().signal;
    const made = await submodules.complete({ ...bareRepository(parent), ...secrets }, snapshot, {
      sourceRepos: undefined,
      signal,
    });
    expect(seen).toEqual(expected === undefined ? [] : [expected]);
    const found = made.tree.lookup(['s']);
    expect(found).toMatchObject({
      node: { kind: 'submodule', fault: expected === undefined ? expect.any(String) : 'not today' },
    });
  });
});

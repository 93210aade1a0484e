import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DesiredError } from './errors.ts';
import { failureOf, machineTools, renderBench } from './testing/repository.ts';
import type { RenderBench, TestRepository } from './testing/repository.ts';

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench({ limits: { maxTreeEntries: 2000, maxCheckoutBytes: 3_000_000 } });
});
afterEach(() => bench.close());

/** Commits a tree that is small in the repository, but lists as `count` times `count` files. */
function forest(repository: TestRepository, count: number): void {
  const git = (args: readonly string[], input: string): string =>
    execFileSync('git', ['-C', repository.path, ...args], { input, encoding: 'utf8' }).trim();
  const blob = git(['hash-object', '-w', '--stdin'], configMap('x'));
  const numbers = Array.from({ length: count }, (_, i) => i);
  const inner = git(['mktree'], numbers.map((i) => `100644 blob ${blob}\tf${i}.yaml\n`).join(''));
  const outer = git(['mktree'], numbers.map((i) => `040000 tree ${inner}\td${i}\n`).join(''));
  const commit = repository.git('commit-tree', outer, '-m', 'forest');
  repository.git('branch', 'forest', commit);
}

async function neighbourWorks(repository: TestRepository): Promise<void> {
  const { objects } = await bench.render(repository, { path: 'ok', targetRevision: 'main' });
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(['ok']);
}

describe('bad input fails with one clear message, and affects nothing else', () => {
  it('refuses a small repository with a huge number of entries', async () => {
    const repository = bench.repository({ 'ok/a.yaml': configMap('ok') });
    forest(repository, 50);
    const error = await failureOf(bench.render(repository, { path: 'd0', targetRevision: 'forest' }));
    expect(error).toBeInstanceOf(DesiredError);
    expect(error.message).toBe(
      'the repository has more than 2000 files and folders: a smaller one is needed for these manifests',
    );
    await neighbourWorks(repository);
    const narrow = renderBench({ limits: { maxListingBytes: 10_000 } });
    const cut = await failureOf(narrow.render(repository, { path: 'd0', targetRevision: 'forest' }));
    narrow.close();
    expect(cut.message).toContain('has too many files and folders');
  });

  it.each([
    ['a manifest', 'app/a.yaml', {}, /exceeded max combined manifest file size/],
    ['a Chart.yaml', 'app/Chart.yaml', { helm: {} }, /cannot be read: it has 2000000 bytes/],
    ['a kustomization', 'app/kustomization.yaml', { kustomize: {} }, /cannot be read: it has 2000000 bytes/],
    ['an override file', 'app/.argocd-source.yaml', {}, /exceeded max combined manifest file size/],
    ['a file beside a chart', 'app/big.bin', { helm: {} }, /have more than 3000000 bytes/],
  ])('refuses %s that inflates', async (_name, path, source, expected) => {
    bench.close();
    bench = renderBench({ limits: { maxManifestBytes: 400_000, maxCheckoutBytes: 3_000_000 } });
    const files = path.startsWith('app/big') ? { 'app/Chart.yaml': 'apiVersion: v2\nname: x\nversion: 1.0.0\n' } : {};
    const repository = bench.repository({ 'ok/a.yaml': configMap('ok'), 'app/readme.md': '', ...files });
    const needed = 'helm' in source ? 'helm' : 'kustomize' in source ? 'kustomize' : undefined;
    if (needed !== undefined && machineTools(needed) === undefined) return;
    writeFileSync(join(repository.path, path), Buffer.alloc(path.endsWith('.bin') ? 4_000_000 : 2_000_000, 0x20));
    repository.save();
    expect((await failureOf(bench.render(repository, { path: 'app', ...source }))).message).toMatch(expected);
    await neighbourWorks(repository);
  });

  it('refuses a pack above the limit of a mirror', async () => {
    const repository = bench.repository({ 'ok/a.yaml': configMap('ok') });
    repository.git('checkout', '--quiet', '-b', 'big');
    writeFileSync(join(repository.path, 'noise.bin'), randomBytes(3_000_000));
    repository.save();
    const narrow = renderBench({ limits: { maxMirrorBytes: 1_000_000 } });
    const ask = (targetRevision: string): Promise<unknown> => narrow.render(repository, { path: 'ok', targetRevision });
    try {
      expect((await failureOf(ask('big'))).message).toBe(
        'what was to be fetched of the repository has more than 1000000 bytes',
      );
      const left = readdirSync(join(narrow.root, 'cache', 'git'), { recursive: true });
      expect(left.filter((name) => String(name).includes('pack-'))).toEqual([]);
      await ask('main');
    } finally {
      narrow.close();
    }
  });

  it('refuses a file that git would have to load into memory', async () => {
    const repository = bench.repository({ 'ok/a.yaml': configMap('ok'), 'zero.bin': '\0'.repeat(4_000_000) });
    const narrow = renderBench({ limits: { maxGitAllocationBytes: 1_000_000 } });
    try {
      await expect(narrow.render(repository, { path: 'ok' })).rejects.toThrow(/git-pack-objects died|allocate/);
    } finally {
      narrow.close();
    }
    await neighbourWorks(repository);
  });

  it('limits the memory of one commit listing, and of all cached ones', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `ok/${'n'.repeat(200)}${i}.yaml`);
    const repository = bench.repository({
      'ok/a.yaml': configMap('ok'),
      ...Object.fromEntries(names.map((name) => [name, ''])),
    });
    const folders = ['ok', 'second', 'third'];
    const light = bench.repository(Object.fromEntries(folders.map((name) => [`${name}/a.yaml`, configMap('ok')])));
    const narrow = renderBench({ limits: { maxTreeBytes: 10_000, cacheBytes: 0, renderedDiskBytes: 0 } });
    const listings = (): number => narrow.ran.filter((argv) => argv.includes('ls-tree')).length;
    try {
      expect((await failureOf(narrow.render(repository, { path: 'ok' }))).message).toBe(
        'the repository has more than 10000 bytes of names and links: a smaller one is needed for these manifests',
      );
      await narrow.render(light, { path: 'ok' });
      const before = listings();
      // Another folder, since the answer for the first one is kept without its listing.
      await narrow.render(light, { path: 'second' });
      expect(listings()).toBe(before);
      // Each listing takes half of the cache.
      for (const other of ['b', 'c', 'd']) {
        const files = Object.fromEntries(names.slice(0, 10).map((name) => [name, configMap(other)]));
        await narrow.render(bench.repository(files), { path: 'ok' });
      }
      const between = listings();
      await narrow.render(light, { path: 'third' });
      expect(listings()).toBe(between + 1);
    } finally {
      narrow.close();
    }
  });

  it('refuses revisions that start with a dash, and accepts such paths', async () => {
    const repository = bench.repository({ '-x/a.yaml': configMap('dash'), '--help/a.yaml': configMap('help') });
    for (const revision of ['-x', '--upload-pack=touch'])
      expect((await failureOf(bench.render(repository, { path: '-x' }, { revision }))).message).toContain(
        'starts with "-"',
      );
    for (const [path, name] of [
      ['-x', 'dash'],
      ['--help', 'help'],
    ] as const) {
      const { objects } = await bench.render(repository, { path });
      expect(objects.map(({ metadata }) => metadata.name)).toEqual([name]);
    }
  });

  it('handles bytes that are not UTF-8 in manifests, charts and overlays', async () => {
    const repository = bench.repository({ 'ok/a.yaml': configMap('ok') });
    repository.commit({ 'a/x.yaml': '', 'b/Chart.yaml': '', 'c/kustomization.yaml': '' });
    const bytes = Buffer.concat([
      Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "'),
      Buffer.from([0xff, 0xfe, 0xc0]),
      Buffer.from('"}\n'),
    ]);
    writeFileSync(join(repository.path, 'a/x.yaml'), bytes);
    repository.save();
    const { message } = await failureOf(bench.render(repository, { path: 'a' }));
    expect(message).toBe('Failed to unmarshal "a/x.yaml": the file is not UTF-8 text');
    await neighbourWorks(repository);
  });
});

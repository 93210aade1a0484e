import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ManifestError, SizeLimitExceeded, UnsafeInput } from './index.ts';
import { failureOf } from './testing/repository.ts';
import { GitFixture, configMapYaml, namesOf, removeTemporaryFolders, sourceBench } from './testing/source-bench.ts';

afterEach(removeTemporaryFolders);

// T-SEC-31, T-SEC-40
describe('hostile input', () => {
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
    const made = sourceBench();
    const error = await failureOf(made.render(url));
    expect(error).toBeInstanceOf(UnsafeInput);
    expect(made.ran).toEqual([]);
  });

  it.each(['--upload-pack=x', '-x', 'a\nb', 'a\u0000b', 'x'.repeat(2000)])(
    'refuses the revision %j',
    async (revision) => {
      const repo = new GitFixture();
      const made = sourceBench();
      expect(await failureOf(made.render(repo.path, { revision }))).toBeInstanceOf(UnsafeInput);
      expect(made.ran).toEqual([]);
    },
  );

  it.each(['a\u0000b', 'a\nb'])('refuses the path %j', async (path) => {
    const made = sourceBench();
    expect(await failureOf(made.render('/tmp', { path }))).toBeInstanceOf(UnsafeInput);
    expect(made.ran).toEqual([]);
  });

  it('does not serve its own cache as a repository', async () => {
    const made = sourceBench();
    const inside = join(made.cacheDir, 'git', 'x');
    for (const url of [inside, `file://${inside}`, `${made.cacheDir}/../${made.cacheDir.split('/').at(-1) ?? ''}/git`])
      expect(await failureOf(made.render(url))).toBeInstanceOf(UnsafeInput);
  });

  it('reads no configuration of the user, and runs no hooks of the mirror', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const made = sourceBench();
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

  it('limits the size of manifests, without counting files with the skip marker', async () => {
    const repo = new GitFixture();
    const padding = `# ${'x'.repeat(1000)}\n`;
    repo
      .write({
        'big/a.yaml': configMapYaml('a') + padding,
        'big/b.yaml': configMapYaml('b') + padding,
        'skip/a.yaml': configMapYaml('a') + padding,
        'skip/b.yaml': `# +argocd:skip-file-rendering\n${configMapYaml('b')}${padding}`,
        'many/a.yaml': Array.from({ length: 11 }, (_, i) => configMapYaml(`n${i}`)).join('---\n'),
        'huge/a.yaml': `${configMapYaml('a')}# ${'x'.repeat(100_000)}\n`,
      })
      .commit();
    const { render } = sourceBench({ maxManifestBytes: 2000, maxObjects: 10 });
    const error = await failureOf(render(repo.path, { path: 'big' }));
    expect(error).toBeInstanceOf(SizeLimitExceeded);
    expect(error.message).toBe('failed to get potentially valid manifests: exceeded max combined manifest file size');
    expect(namesOf(await render(repo.path, { path: 'skip' }))).toEqual(['a']);
    expect(await failureOf(render(repo.path, { path: 'many' }))).toBeInstanceOf(SizeLimitExceeded);
    expect(await failureOf(render(repo.path, { path: 'huge' }))).toBeInstanceOf(SizeLimitExceeded);
    const unlimited = sourceBench({ maxManifestBytes: 0 });
    expect(namesOf(await unlimited.render(repo.path, { path: 'big' }))).toEqual(['a', 'b']);
  });

  it('reports broken manifests with file, line and column, without their text', async () => {
    const repo = new GitFixture();
    repo
      .write({
        'app/a.yaml': configMapYaml('fine'),
        'app/b.yaml': `${configMapYaml('b')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: "hunter2\n  oops: [\n`,
      })
      .commit();
    const error = await failureOf(sourceBench().render(repo.path, { path: 'app' }));
    expect(error).toBeInstanceOf(ManifestError);
    expect(error.message).toMatch(/^Failed to unmarshal "app\/b\.yaml": document 2: line 1\d, column \d+: /);
    expect(error.message).not.toContain('hunter2');
  });
});

import { afterEach, describe, expect, it } from '@jest/globals';
import { SourcePathError, ToolMissing } from './index.ts';
import { failureOf } from './testing/repository.ts';
import { expectOneFetch } from './testing/shared-repository.ts';
import { GitFixture, configMapYaml, namesOf, removeTemporaryFolders, sourceBench } from './testing/source-bench.ts';
import { renderedAgain } from './testing/request.ts';

afterEach(removeTemporaryFolders);

describe('rendering', () => {
  it('gives the objects of the commit, in file order', async () => {
    const repo = new GitFixture();
    const sha = repo
      .write({
        'app/b.yaml': `${configMapYaml('b1')}---\n# nothing\n---\nnull\n---\n${configMapYaml('b2')}`,
        'app/a.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }),
        'app/c.yml': `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c1}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c2}}\n`,
        'app/README.md': '# not a manifest',
        'app/values.yaml': 'replicas: 3\n',
        'app/sub/d.yaml': configMapYaml('d'),
        'app/big.yaml': 'apiVersion: v1\nkind: Thing\nmetadata: {name: big}\nspec: {limit: 9007199254740993}\n',
      })
      .commit();
    const made = await sourceBench().render(repo.path, { path: 'app' });
    expect(made.revision).toBe(sha);
    expect(made.sourceType).toBe('Directory');
    expect(namesOf(made)).toEqual(['a', 'b1', 'b2', 'big', 'c1', 'c2']);
    expect(made.objects[3]?.['spec']).toEqual({ limit: 9007199254740993n });
  });

  it('reads every revision from one mirror', async () => {
    const repo = new GitFixture();
    const shas: string[] = [];
    for (let i = 0; i < 5; i += 1) shas.push(repo.write({ 'a.yaml': configMapYaml('a', String(i)) }).commit());
    const { render } = sourceBench();
    for (const i of [4, 0, 2, 3, 1]) {
      const made = await render(repo.path, { revision: shas[i] ?? '' });
      expect(made.revision).toBe(shas[i]);
      expect(made.objects[0]?.['data']).toEqual({ value: String(i) });
    }
  });

  // T-REPO-1. `thousand-applications.slow.test.ts` does the same with ten times as many.
  it('serves a hundred applications of one repository with one ls-remote and one fetch', async () => {
    await expectOneFetch(100);
  });

  it('reads neighbours ahead while git is busy: few processes for applications in turn', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `app-${i}`);
    const repo = new GitFixture();
    repo.write(Object.fromEntries(names.map((name) => [`apps/${name}/cm.yaml`, configMapYaml(name)]))).commit();
    const { render, count } = sourceBench();
    for (let i = 0; i < names.length; i += 3) {
      const three = names.slice(i, i + 3);
      const made = await Promise.all(three.map((app) => render(repo.path, { path: `apps/${app}`, app })));
      expect(made.flatMap((one) => namesOf(one))).toEqual(three);
    }
    expect(count('cat-file')).toBeLessThanOrEqual(2);
  });

  it('does not render a directory again that a new commit did not change', async () => {
    const repo = new GitFixture();
    repo.write({ 'a/cm.yaml': configMapYaml('a'), 'b/cm.yaml': configMapYaml('b') }).commit();
    const { render, count } = sourceBench();
    const before = await render(repo.path, { path: 'a', revision: repo.git('rev-parse', 'HEAD') });
    const sha = repo.write({ 'b/cm.yaml': configMapYaml('b', 'new') }).commit();
    const reads = count('cat-file');
    const after = await render(repo.path, { path: 'a', revision: sha });
    expect(after.revision).toBe(sha);
    expect(after.objects).toBe(before.objects);
    expect(count('cat-file')).toBe(reads);
    const again = await render(repo.path, { path: 'a', revision: sha, cache: renderedAgain });
    expect(again.objects).not.toBe(before.objects);
    expect(again.objects).toEqual(before.objects);
  });

  it('keeps options apart in its cache', async () => {
    const repo = new GitFixture();
    repo
      .write({ 'x.yaml': configMapYaml('x'), 'sub/y.yaml': configMapYaml('why'), 'sub/.z.yaml': configMapYaml('z') })
      .commit();
    const { render } = sourceBench();
    expect(namesOf(await render(repo.path))).toEqual(['x']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true } }))).toEqual(['z', 'why', 'x']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, exclude: '{sub/y.yaml,x.*}' } }))).toEqual([
      'z',
    ]);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, include: 'sub*y.yaml' } }))).toEqual(['why']);
    expect(namesOf(await render(repo.path, { directory: { recurse: true, include: '[' } }))).toEqual([]);
  });

  it('reads every file as a manifest without the filter of extensions, also a .libsonnet', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.libsonnet': configMapYaml('a'), 'b.txt': configMapYaml('b'), 'c.md': '# nothing\n' }).commit();
    const { render } = sourceBench();
    expect(namesOf(await render(repo.path, { directory: {} }))).toEqual([]);
    expect(namesOf(await render(repo.path, { directory: { disableExtensionFilter: true } }))).toEqual(['a', 'b']);
  });

  it('applies .argocd-source files, except to the origin of the source', async () => {
    const repo = new GitFixture();
    repo
      .write({
        'app/x.yaml': configMapYaml('x'),
        'app/sub/y.yaml': configMapYaml('why'),
        'app/.argocd-source.yaml': 'directory: {recurse: true}\npath: other\nrepoURL: ext::x\n',
        'app/.argocd-source-special.yaml': 'directory: {exclude: x.yaml}\n',
        'bad/.argocd-source.yaml': 'a: [',
      })
      .commit();
    const { render } = sourceBench();
    expect(namesOf(await render(repo.path, { path: 'app' }))).toEqual(['why', 'x']);
    expect(namesOf(await render(repo.path, { path: 'app', app: 'special' }))).toEqual(['why']);
    expect((await failureOf(render(repo.path, { path: 'bad' }))).message).toContain(
      'error while parsing source parameters: .argocd-source.yaml: line 2, column 1',
    );
  });

  it('refuses sources that it would render wrongly', async () => {
    const repo = new GitFixture();
    repo
      .write({
        'helm/Chart.yaml': 'name: x\n',
        'helm/values.yaml': 'a: 1\n',
        'kustomize/kustomization.yaml': 'resources: [a.yaml]\n',
        'kustomize/a.yaml': configMapYaml('a'),
        'lfs/a.yaml': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n',
        'plain/a.yaml': configMapYaml('a'),
      })
      .commit();
    const { render } = sourceBench();
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

// T-SEC-30
describe('paths and links', () => {
  it('follows links inside the repository, and reports others with Argo CD’s messages', async () => {
    const repo = new GitFixture();
    repo
      .write({ 'real/app/a.yaml': configMapYaml('a'), 'shared/b.yaml': configMapYaml('b'), 'file.txt': 'x' })
      .link('current', 'real')
      .link('here', 'real/app')
      .link('real/app/b.yaml', '../../shared/b.yaml')
      .link('real/app/dangling.yaml', 'gone.yaml')
      .link('real/app/loop.yaml', 'loop.yaml')
      .link('real/app/dir.yaml', '../../shared')
      .commit();
    const { render } = sourceBench();
    expect(namesOf(await render(repo.path, { path: 'real/app' }))).toEqual(['a', 'b']);
    expect(namesOf(await render(repo.path, { path: 'current/app' }))).toEqual(['a', 'b']);
    expect(namesOf(await render(repo.path, { path: 'here' }))).toEqual(['a', 'b']);
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
  ])('refuses a repository with a link out of it: %s', async (_name, path, target) => {
    const repo = new GitFixture();
    repo.write({ 'a/a.yaml': configMapYaml('a') }).commit();
    repo.forge('120000', path, target);
    const error = await failureOf(sourceBench().render(repo.path, { path: 'a' }));
    expect(error.message).toBe(`repository contains out-of-bounds symlinks. file: ${path}`);
  });

  it('refuses a link out of the repository through other links', async () => {
    const repo = new GitFixture();
    // Textually, p/q/out stays inside; through the link p/q/s it would lie above the root.
    repo
      .write({ 't/x.yaml': configMapYaml('x'), 'p/q/a.yaml': configMapYaml('a') })
      .link('p/q/s', '../../t')
      .link('p/q/out.yaml', 's/../../secret.yaml')
      .link('p/q/out', 's/../..')
      .commit();
    const { render } = sourceBench();
    expect((await failureOf(render(repo.path, { path: 'p/q' }))).message).toContain(
      'illegal filepath in symlink at "out.yaml"',
    );
    expect((await failureOf(render(repo.path, { path: 'p/q/out' }))).message).toBe('p/q/out: app path outside root');
  });
});

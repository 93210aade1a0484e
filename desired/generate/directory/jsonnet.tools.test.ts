import { writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CommandError, SourcePathError, ToolMissing } from '../../errors.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench, TestRepository } from '../../testing/repository.ts';
import type { ManifestsRequest, SourceManifests } from '../../types.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import { currentRevision } from '../../testing/request.ts';

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const map = (name: string, data = '{}'): string =>
  `{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '${name}' }, data: ${data} }`;

function render(
  repository: TestRepository,
  directory: object = {},
  more: Partial<ManifestsRequest> = {},
): Promise<SourceManifests> {
  return bench.render(repository, { path: 'app', directory }, { cache: currentRevision, ...more });
}

describe('a missing jsonnet', () => {
  it('is named in the condition with how to install it; plain directories do not need it', async () => {
    bench.close();
    bench = renderBench({ tools: () => undefined });
    const repository = bench.repository({ 'app/a.jsonnet': map('a'), 'plain/a.yaml': map('b') });
    const error = await failureOf(render(repository));
    expect(error).toBeInstanceOf(ToolMissing);
    expect(error.message).toMatch(/^jsonnet is not installed .* install jsonnet 0\.20 or newer/);
    expect((await bench.render(repository, { path: 'plain' })).objects).toHaveLength(1);
    // Disabled in argocd-cm: such files are then ignored.
    const off = {
      options: {
        kustomizeBuildOptions: '',
        kustomizeVersions: {},
        valuesFileSchemes: [],
        enabledTypes: { Directory: false },
      },
    };
    expect((await render(repository, {}, off)).objects).toEqual([]);
  });
});

describeWithTool('jsonnet', 'rendering Jsonnet', () => {
  it('gives objects and lists of objects, in file order with YAML', async () => {
    const repository = bench.repository({
      'app/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
      'app/b.jsonnet': `[${map('b1')}, ${map('b2')}]`,
      'app/c.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }),
      'app/d.jsonnet': map('d'),
      'app/e.libsonnet': 'error "never evaluated"',
      'app/f.jsonnet': '// +argocd:skip-file-rendering\nerror "skipped"',
      'app/sub/g.jsonnet': map('g'),
    });
    const made = await render(repository);
    expect(made).toMatchObject({ sourceType: 'Directory', revision: repository.git('rev-parse', 'HEAD') });
    expect(made.objects.map(({ metadata }) => metadata.name)).toEqual(['a', 'b1', 'b2', 'c', 'd']);
    const deep = await render(repository, { recurse: true, exclude: '{a,b}*' });
    expect(deep.objects.map(({ metadata }) => metadata.name)).toEqual(['c', 'd', 'g']);
  });

  it('passes external variables, top-level arguments and libraries, as text and as code, with the build environment', async () => {
    const repository = bench.repository({
      'app/main.jsonnet': `local lib = import 'lib.libsonnet';
function(count, name) ${map('x', "{ count: std.toString(count + 1), name: name, ext: std.extVar('e'), code: std.toString(std.extVar('c')), lib: lib.from, near: importstr 'near.txt' }")}`,
      'app/near.txt': 'near',
      'vendor/one/lib.libsonnet': '{ from: "one" }',
      'vendor/two/lib.libsonnet': '{ from: (import "inner.libsonnet").from }',
      'vendor/two/inner.libsonnet': '{ from: "two" }',
    });
    const jsonnet = {
      libs: ['vendor/one', '/vendor/two'],
      tlas: [
        { name: 'count', value: '40 + 1', code: true },
        { name: 'name', value: 'n=$ARGOCD_APP_NAME' },
      ],
      extVars: [
        { name: 'e', value: '--help' },
        { name: 'c', value: '(import "near.libsonnet") + { b: 2 }', code: true },
      ],
    };
    repository.commit({ 'app/near.libsonnet': '{ a: 1 }' });
    const made = await render(repository, { jsonnet, exclude: '*.libsonnet' }, { appName: 'web' });
    expect(made.objects[0]?.['data']).toEqual({
      count: '42',
      name: 'n=web',
      ext: '--help',
      lib: 'two',
      near: 'near',
      code: '{"a": 1, "b": 2}',
    });
  });

  it('evaluates nothing again when a commit changes no imported file', async () => {
    const repository = bench.repository({
      'app/main.jsonnet': `(import '../lib/a.libsonnet') + ${map('x')}`,
      'lib/a.libsonnet': '{ data: { v: "1" } }',
      'lib/b.libsonnet': '1',
    });
    const runs = (): number => bench.ran.filter((argv) => argv.includes('--jpath')).length;
    await render(repository);
    repository.commit({ 'lib/b.libsonnet': '2', 'README.md': 'x' });
    await render(repository);
    expect(runs()).toBe(1);
    repository.commit({ 'lib/a.libsonnet': '{ data: { v: "2" } }' });
    expect((await render(repository)).objects[0]?.metadata.name).toBe('x');
    expect(runs()).toBe(2);
  });

  it.each([
    ['an absolute import', `importstr '/etc/passwd'`],
    ['an import that climbs out', `importstr '../../../../../../../../../etc/passwd'`],
    ['an import that climbs out behind a detour', `importstr 'x/../../../etc/passwd'`],
    ['an import through /proc', `importstr '/proc/self/environ'`],
    // T-SEC-30
  ])('refuses %s in files, in code variables and in imported files', async (_name, bad) => {
    const repository = bench.repository({
      'app/main.jsonnet': map('x', `{ a: ${bad} }`),
      'code/main.jsonnet': `function(t) ${map('x')} + t`,
      'deep/main.jsonnet': `import 'lib/x.libsonnet'`,
      'deep/lib/x.libsonnet': bad.replace("'../../", "'../../../"),
    });
    const tlas = [{ name: 't', value: bad, code: true }];
    for (const [path, jsonnet] of [
      ['app', {}],
      ['code', { tlas }],
      ['deep', {}],
    ] as const) {
      const error = await failureOf(bench.render(repository, { path, directory: { jsonnet } }));
      expect(error).toBeInstanceOf(SourcePathError);
      expect(error.message).toMatch(/leads out of the repository|outside repository root/);
    }
    expect(bench.ran.some((argv) => argv.includes('--jpath'))).toBe(false);
  });

  it('follows links inside the repository and refuses links out of it', async () => {
    const repository = bench.repository({
      'app/main.jsonnet': map('x', `{ a: importstr 'in.txt' }`),
      'other/text': 'in',
    });
    repository.link('app/in.txt', '../other/text');
    expect((await render(repository)).objects[0]?.['data']).toEqual({ a: 'in' });
    repository.commit({
      'd/e/f/main.jsonnet': map('x', `{ a: importstr 'up/text', b: importstr 'up/../../../../gone' }`),
    });
    repository.link('d/e/f/up', '../../../other');
    const climbing = await failureOf(bench.render(repository, { path: 'd/e/f' }, { cache: currentRevision }));
    expect(climbing.message).toMatch(/leads out of the repository/);
    repository.link('app/out.txt', '/etc/passwd');
    expect((await failureOf(render(repository))).message).toMatch(/out-of-bounds symlinks/);
  });

  it.each([
    [
      'a fault',
      `{ a: error 'no colour' }`,
      /^Failed to evaluate jsonnet "app\/main\.jsonnet": RUNTIME ERROR: no colour/,
    ],
    ['a missing import', `import 'gone.libsonnet'`, /couldn't open import "gone\.libsonnet"/],
    ['no object', `"text"`, /is not an object/],
    ['an object without a kind', `{ a: 1 }`, /Object 'Kind' is missing/],
    ['endless recursion', `local f(x) = f(x + 1) + 1; f(1)`, /max stack frames exceeded/],
  ])('reports %s with the name of the file, without paths of this machine', async (_name, text, expected) => {
    const { message } = await failureOf(render(bench.repository({ 'app/main.jsonnet': text })));
    expect(message).toMatch(expected);
    expect(message).not.toContain(bench.root);
  });

  it('refuses a variable name that would set another variable', async () => {
    const repository = bench.repository({ 'app/main.jsonnet': map('x') });
    for (const name of ['a=b', '-J/etc', '-exec', '--ext-str-file']) {
      const jsonnet = { extVars: [{ name, value: 'c' }] };
      expect((await failureOf(render(repository, { jsonnet }))).message).toContain(`the name "${name}" is refused`);
    }
    const values = ['-J/etc', '--help', 'a=b', '@/etc/passwd', 'x\n--string'];
    for (const value of values) {
      const main = map('x', "{ v: std.extVar('v') }");
      const made = await render(bench.repository({ 'app/main.jsonnet': main }), {
        jsonnet: { extVars: [{ name: 'v', value }] },
      });
      expect(made.objects[0]?.['data']).toEqual({ v: value });
    }
  });

  it('limits time and memory', async () => {
    bench.close();
    bench = renderBench({ limits: { toolTimeoutMs: 300 } });
    const slow = bench.repository({
      'app/main.jsonnet': 'std.foldl(function(a, b) a + b, std.range(1, 100000000), 0)',
    });
    const late = await failureOf(render(slow));
    expect(late).toBeInstanceOf(CommandError);
    expect(late).toMatchObject({ code: 'COMMAND_TIMEOUT' });
    bench.close();
    bench = renderBench({ limits: { maxToolMemoryBytes: 64 * 1024 * 1024 } });
    const big = bench.repository({ 'app/main.jsonnet': 'std.foldl(function(a, b) a + b, std.range(1, 100000000), 0)' });
    const error = await failureOf(render(big));
    expect(error).toMatchObject({ code: 'COMMAND_MEMORY' });
    expect(error.message).toMatch(/needed more than 67108864 bytes of memory/);
  });

  it('refuses a program that is too old', async () => {
    const old = join(bench.root, 'jsonnet');
    writeFileSync(old, '#!/bin/sh\necho "Jsonnet commandline interpreter v0.17.0"\n');
    chmodSync(old, 0o755);
    bench = renderBench({ tools: () => old });
    const error = await failureOf(render(bench.repository({ 'app/main.jsonnet': map('x') })));
    expect(error.message).toMatch(/has version 0\.17\.0, but 0\.20 or newer is required/);
  });
});

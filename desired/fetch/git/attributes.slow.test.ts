import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { createInProcessRunner } from '../../command/in-process.ts';
import { defaultLimits } from '../../limits.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import type { CommandRunner } from '../../command/types.ts';
import { currentRevision } from '../../testing/request.ts';
import { walk } from '../files/tree.ts';
import { defaultTrust, Git } from './git.ts';
import { GitRepositories } from './git-repositories.ts';

type Files = Readonly<Record<string, string | Buffer>>;

let root = '';
let ran: (readonly string[])[] = [];
let repositories: GitRepositories;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'attributes-'));
  ran = [];
  const runner = createInProcessRunner({ clock: systemClock, env });
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push(argv);
      return runner.runCommand(argv, options);
    },
  };
  const cacheDir = join(root, 'cache');
  const git = new Git({ commands, random: systemRandom, cacheDir, trust: defaultTrust });
  repositories = new GitRepositories({
    clock: systemClock,
    random: systemRandom,
    cacheDir,
    git,
    limits: defaultLimits,
  });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const git = (args: readonly string[], input?: Buffer): string =>
  execFileSync('git', args, {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    ...(input === undefined ? {} : { input }),
  }).trim();

/** Commits the bytes as they are: `git add` would convert them. A key `link:` makes a link. */
function commit(path: string, files: Files): string {
  git(['init', '--quiet', '--initial-branch=main', path]);
  const parts = [Buffer.from('commit refs/heads/main\ncommitter a <a@example.com> 0 +0000\ndata 0\ndeleteall\n')];
  for (const [key, content] of Object.entries(files)) {
    const [name, mode] = key.startsWith('link:') ? [key.slice(5), '120000'] : [key, '100644'];
    const bytes = Buffer.from(content);
    parts.push(Buffer.from(`M ${mode} inline "${name}"\ndata ${bytes.length}\n`), bytes, Buffer.from('\n'));
  }
  git(['-C', path, 'fast-import', '--quiet', '--force'], Buffer.concat(parts));
  return git(['-C', path, 'rev-parse', 'main']);
}

const shown = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('latin1');

/** The bytes of all files by path, as renderings read them. */
async function readAll(path: string, sha: string): Promise<Readonly<Record<string, string>>> {
  const { signal } = new AbortController();
  const snapshot = await repositories.snapshot(bareRepository(path), sha, false, signal);
  const entries = [...walk(snapshot.tree.root, true)].flatMap(({ path: at, node }) =>
    node.kind === 'file' ? [{ at, node }] : [],
  );
  const nodes = entries.map(({ node }) => node);
  const contents = await snapshot.read(nodes, signal);
  const bytes = [...contents.values()].reduce((sum, { length }) => sum + length, 0);
  expect(await snapshot.measure?.(nodes, signal)).toBeGreaterThanOrEqual(bytes);
  return Object.fromEntries(entries.map(({ at, node }) => [at, shown(contents.get(node.oid))]));
}

/** Also returns the bytes that `git checkout` writes. */
async function bothOf(
  files: Files,
): Promise<{ readonly ours: Readonly<Record<string, string>>; readonly checkout: object }> {
  const path = mkdtempSync(join(root, 'repo-'));
  const sha = commit(path, files);
  const ours = await readAll(path, sha);
  git(['-C', path, 'checkout', '--quiet', '--force', sha]);
  return {
    ours,
    checkout: Object.fromEntries(Object.keys(ours).map((at) => [at, shown(readFileSync(join(path, at)))])),
  };
}

const lf = 'a: 1\nb: 2\n';
const mixed = 'a: 1\r\nb: 2\nc: 3\r';
const idents = '# $Id$ $Id: old $ $Id: a b $ $$Id$ $Idx$Id$ $Id:$ $Id: x\n$ $I$Id$ $Id: y';
const letters = Buffer.from('a: größe €\nb: \u{1f600}\n');

describe('the bytes of git checkout', () => {
  it.each<readonly [string, Files]>([
    ['eol=crlf', { '.gitattributes': '*.yaml eol=crlf\n', 'a.yaml': lf, 'b.yaml': mixed, 'c.txt': lf }],
    [
      'text eol=crlf and -text',
      { '.gitattributes': '* text eol=crlf\n*.bin -text\nx.* binary\n', a: lf, 'b.bin': lf, 'x.y': lf },
    ],
    [
      'text=auto with CRLF in the repository',
      { '.gitattributes': '* text=auto eol=crlf\n', a: lf, b: mixed, c: `${lf}\0`, d: 'a\r\nb\r\n' },
    ],
    [
      'text=auto and eol=lf change nothing',
      { '.gitattributes': '* text=auto\n*.b text eol=lf\n', a: mixed, 'a.b': mixed },
    ],
    [
      'the older crlf',
      {
        '.gitattributes': '*.a crlf eol=crlf\n*.b -crlf eol=crlf\n*.c crlf=input eol=crlf\n*.d crlf=auto eol=crlf\n',
        'x.a': lf,
        'x.b': lf,
        'x.c': lf,
        'x.d': mixed,
      },
    ],
    [
      'ident',
      {
        '.gitattributes': '*.a ident\n*.b ident text=auto\n*.c ident eol=crlf\n*.d -ident\n',
        'x.a': idents,
        'x.b': idents,
        'x.c': idents,
        'x.d': idents,
      },
    ],
    ...[
      'UTF-16',
      'utf-16le',
      'UTF-16BE',
      'UTF-16LE-BOM',
      'UTF-16BE-BOM',
      'UTF-32',
      'UTF-32LE',
      'UTF-32BE',
      'UTF-8',
      'utf8',
      'ISO-8859-1',
      'latin1',
      'US-ASCII',
    ].map(
      (encoding) =>
        [
          `working-tree-encoding=${encoding}`,
          {
            '.gitattributes': `* working-tree-encoding=${encoding}\n*.x eol=crlf ident\n.gitattributes !working-tree-encoding\n`,
            a: letters,
            b: 'größe\n',
            c: lf,
            d: '',
            e: Buffer.from([0xff, 0x61]),
            f: '\ufeffa\n',
            'g.x': `${lf}${idents}`,
          },
        ] as const,
    ),
    [
      'macros, and their redefinition',
      {
        '.gitattributes':
          '[attr]win eol=crlf text\n[attr]binary eol=crlf\n*.w win\n*.n win -win\n*.b binary\n*.u win !eol\n',
        'a.w': lf,
        'a.n': lf,
        'a.b': lf,
        'a.u': lf,
      },
    ],
    [
      'macros of a subfolder, which git ignores',
      { 'd/.gitattributes': '[attr]win eol=crlf\n*.w win\n*.e eol=crlf\n', 'd/a.w': lf, 'd/a.e': lf, 'a.e': lf },
    ],
    [
      'attributes in subfolders',
      {
        '.gitattributes': '*.a eol=crlf\n/top.b eol=crlf\nd/**/x.b eol=crlf\n',
        'd/.gitattributes': '*.a !eol\nn/*.a eol=crlf\n',
        'x.a': lf,
        'd/x.a': lf,
        'd/n/x.a': lf,
        'top.b': lf,
        'd/top.b': lf,
        'd/x.b': lf,
        'd/e/f/x.b': lf,
      },
    ],
    [
      'quoted patterns, comments, negative patterns, long lines',
      {
        '.gitattributes': `# c\n"a b" eol=crlf\n"\\303\\274" eol=crlf\n!z eol=crlf\n\\!z eol=crlf\n${'l'.repeat(2100)} eol=crlf\nq eol=crlf inva/lid\n`,
        'a b': lf,
        ü: lf,
        z: lf,
        '!z': lf,
        q: lf,
      },
    ],
    [
      'a byte order mark, CRLF and NUL in .gitattributes',
      { '.gitattributes': '\ufeffa eol=crlf\r\nb eol=crlf\r\n\0c eol=crlf\n', a: lf, b: lf, c: lf },
    ],
    ['.gitattributes that is a link', { 'link:.gitattributes': '* eol=crlf', a: lf }],
    ['one content under several names', { '.gitattributes': '*.w eol=crlf\n', 'a.w': lf, 'a.u': lf, 'd/a.w': lf }],
    [
      'braces and a misspelled value, as in opentelemetry-go-contrib 777',
      {
        '.gitattributes':
          '* text=auto eol=lf\n*.{cmd,[cC][mM][dD]} text eol=crlf\n*.bat text eol=crl\n*.[cC][mM][dD] eol=crlf\n',
        'a.cmd': lf,
        'b.CMD': lf,
        'c.bat': lf,
        'd.{cmd,cMd}': lf,
      },
    ],
    [
      'filter and export-subst',
      { '.gitattributes': '* filter=unknown\n*.e export-subst export-ignore\n', a: lf, 'a.e': '$Format:%H$\n' },
    ],
  ])('with %s', async (_title, files) => {
    const { ours, checkout } = await bothOf(files);
    expect(ours).toEqual(checkout);
  });

  it('in generated repositories', async () => {
    const attribute = fc.constantFrom(
      ...[
        'text',
        '-text',
        '!text',
        'text=auto',
        'eol=crlf',
        'eol=lf',
        '!eol',
        'ident',
        '-ident',
        'binary',
        'win',
        '-win',
      ],
      ...[
        'crlf',
        '-crlf',
        'crlf=input',
        'working-tree-encoding=UTF-16LE-BOM',
        '!working-tree-encoding',
        'linguist-vendored',
      ],
    );
    const pattern = fc.constantFrom(
      '*',
      '*.a',
      '*.b',
      'x.*',
      '/x.a',
      'd/*',
      'd/**',
      '**/x.b',
      'd/',
      '[xy].a',
      'x?a',
      '**/e/*',
    );
    const line = fc
      .tuple(
        fc.oneof({ weight: 9, arbitrary: pattern }, { weight: 1, arbitrary: fc.constant('[attr]win') }),
        fc.array(attribute, { maxLength: 3 }),
      )
      .map(([at, values]) => `${at} ${values.join(' ')}`);
    const attributes = fc.array(line, { maxLength: 5 }).map((lines) => `${lines.join('\n')}\n`);
    const word = fc.constantFrom(
      '\n',
      '\r\n',
      '\r',
      'a',
      '$Id$',
      '$',
      '$Id: x $',
      '$Id: x y $',
      '$Id',
      ':',
      ' ',
      'ü',
      '\0',
    );
    const content = fc.array(word, { maxLength: 12 }).map((words) => words.join(''));
    const names = ['x.a', 'x.b', 'y.a', 'd/x.a', 'd/x.b', 'd/e/x.a', 'd/e/y.b'];
    const files = fc
      .tuple(attributes, attributes, fc.tuple(...names.map(() => content)))
      .map(([top, inner, contents]): Files => ({
        '.gitattributes': top,
        'd/.gitattributes': inner,
        ...Object.fromEntries(names.map((name, i) => [name, contents[i] ?? ''])),
      }));
    await fc.assert(
      fc.asyncProperty(files, async (one) => {
        const { ours, checkout } = await bothOf(one);
        expect(ours).toEqual(checkout);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a commit whose .gitattributes change no bytes', () => {
  it.each<readonly [string, Files, number]>([
    ['runs no git without .gitattributes', { 'a.yaml': lf }, 0],
    [
      'runs no git for the attributes of others',
      { '.gitattributes': '* text=auto\n*.go linguist-generated\n', 'a.yaml': lf },
      0,
    ],
    ['asks git for those that may', { '.gitattributes': '*.txt eol=crlf\n', 'a.yaml': lf }, 1],
  ])('%s', async (_title, files, expected) => {
    await bothOf(files);
    expect(ran.filter((argv) => argv.includes('check-attr'))).toHaveLength(expected);
    expect(ran.filter((argv) => argv.includes('read-tree'))).toHaveLength(expected);
  });
});

describe('.gitattributes as an attack', () => {
  const rules = (count: number): string =>
    Array.from({ length: count }, (_one, i) => `*a${i}*b*c*d eol=crlf\n`).join('');
  const names = (count: number): Files =>
    Object.fromEntries(Array.from({ length: count }, (_one, i) => [`f/${i}.yaml`, lf]));

  it.each<readonly [string, Files, RegExp]>([
    [
      '10 MB',
      { '.gitattributes': 'x eol=crlf '.padEnd(99, 'y').concat('\n').repeat(100_000) },
      /\.gitattributes of the commit have more than 4194304 bytes/,
    ],
    [
      'in each folder',
      Object.fromEntries(
        Array.from({ length: 600 }, (_one, i) => [`${i}/.gitattributes`, '* eol=crlf #'.padEnd(8000, 'x')]),
      ),
      /more than 4194304 bytes/,
    ],
    [
      'thousands of patterns over thousands of files',
      { '.gitattributes': rules(20_000), ...names(3000) },
      /\.gitattributes of the commit have too many patterns/,
    ],
    [
      'an encoding without a value',
      { '.gitattributes': '*.yaml working-tree-encoding\n', 'f/a.yaml': lf },
      /f\/a\.yaml: \.gitattributes has working-tree-encoding without an encoding/,
    ],
    [
      'an encoding that is not known',
      { '.gitattributes': '*.yaml working-tree-encoding=SHIFT-JIS\n', 'f/a.yaml': lf },
      /f\/a\.yaml: the working-tree-encoding SHIFT-JIS of \.gitattributes is not supported/,
    ],
  ])('is refused: %s', async (_title, files, message) => {
    expect((await failureOf(bothOf(files).then(() => undefined))).message).toMatch(message);
  });
});

describe('renderings', () => {
  let bench: RenderBench;
  beforeEach(() => {
    bench = renderBench();
  });
  afterEach(() => bench.close());

  it('follow a commit that changes only .gitattributes', async () => {
    const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  id: "$Id$"\n';
    const repository = bench.repository({ 'app/a.yaml': map });
    const data = async (): Promise<unknown> =>
      (await bench.render(repository, { path: 'app' }, { cache: currentRevision })).objects[0]?.['data'];
    expect(await data()).toEqual({ id: '$Id$' });
    repository.commit({ '.gitattributes': '*.yaml ident\n' });
    const blob = repository.git('rev-parse', 'HEAD:app/a.yaml');
    expect(await data()).toEqual({ id: `$Id: ${blob} $` });
    repository.commit({ '.gitattributes': '*.yaml -ident\n' });
    expect(await data()).toEqual({ id: '$Id$' });
  });
});

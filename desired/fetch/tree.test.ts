import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DriftlessError } from '#base';
import { SharedJobs } from './jobs.ts';
import { Lru } from './lru.ts';
import { FakeClock } from '#support';
import { Tree, inByteOrder, walk } from './tree.ts';
import { checkAppPath, checkRevision, checkUrl } from './untrusted.ts';

interface Entry {
  readonly path: string;
  readonly link?: string | undefined;
}

async function treeOf(entries: readonly Entry[]): Promise<Tree> {
  const lines = new Map<string, string>();
  for (const { path, link } of entries) {
    const parts = path.split('/');
    for (let i = 1; i < parts.length; i += 1) {
      const parent = parts.slice(0, i).join('/');
      lines.set(parent, `040000 tree ${'a'.repeat(40)}       -\t${parent}`);
    }
    if (!lines.has(path))
      lines.set(
        path,
        `${link === undefined ? '100644' : '120000'} blob ${'b'.repeat(40)} ${String(link?.length ?? 3).padStart(7)}\t${path}`,
      );
  }
  const tree = await Tree.parse(Buffer.from([...lines.values()].map((line) => `${line}\0`).join('')));
  for (const { path, node } of tree.links) node.target = entries.find((entry) => entry.path === path)?.link ?? '';
  return tree;
}

/** The reference: what the kernel does, step by step, over a map of paths; undefined when it would leave the root. */
function resolve(entries: readonly Entry[], path: string): string | undefined {
  const links = new Map(entries.filter((e) => e.link !== undefined).map((e) => [e.path, e.link ?? '']));
  let todo = path.split('/');
  const done: string[] = [];
  for (let steps = 0; todo.length > 0 && steps < 2000; steps += 1) {
    const [segment = '', ...rest] = todo;
    todo = rest;
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      if (done.length === 0) return undefined;
      done.pop();
      continue;
    }
    done.push(segment);
    const target = links.get(done.join('/'));
    if (target === undefined) continue;
    done.pop();
    if (target.startsWith('/')) return undefined;
    todo = [...target.split('/'), ...todo];
  }
  return done.join('/');
}

const name = fc.constantFrom('a', 'b', 'c', 'd');
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const target = fc
  .array(fc.constantFrom('a', 'b', 'c', '..', '..', '.', ''), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join('/'));
const entries = fc
  .uniqueArray(fc.record({ path, link: fc.option(target, { nil: undefined }) }), {
    selector: (e) => e.path,
    maxLength: 12,
  })
  .map((list) => list.filter((e) => !list.some((other) => e.path.startsWith(`${other.path}/`))));

describe('Tree', () => {
  it('keeps what git lists', async () => {
    const tree = await treeOf([
      { path: 'a/b.yaml' },
      { path: 'a/c/d.yaml' },
      { path: 'l', link: 'a/c' },
      { path: 'a b/ü.yaml' },
    ]);
    expect([...walk(tree.root, true)].map((e) => e.path)).toEqual(['a/b.yaml', 'a/c/d.yaml', 'a b/ü.yaml', 'l']);
    expect(tree.lookup(['l', 'd.yaml'])).toMatchObject({ kind: 'found', node: { kind: 'file', size: 3 } });
    expect(tree.lookup(['l', 'x'])).toEqual({ kind: 'missing' });
    expect(tree.lookup(['..'])).toEqual({ kind: 'outside' });
  });

  it('walks as Go does: a directory stands where its bare name sorts', async () => {
    const tree = await treeOf([
      { path: 'foo.yaml' },
      { path: 'foo/x' },
      { path: 'foo-bar' },
      { path: '\u{1f600}' },
      { path: '\uffee' },
    ]);
    expect([...walk(tree.root, true)].map((e) => e.path)).toEqual([
      'foo/x',
      'foo-bar',
      'foo.yaml',
      '\uffee',
      '\u{1f600}',
    ]);
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (list) => {
        const expected = [...list].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(inByteOrder(list).map((s) => Buffer.from(s).toString('hex'))).toEqual(
          expected.map((s) => Buffer.from(s).toString('hex')),
        );
      }),
    );
  });

  it('never leaves the root, whatever the links say, and agrees with a plain resolver (T-SEC-30)', async () => {
    await fc.assert(
      fc.asyncProperty(entries, target, async (list, asked) => {
        const tree = await treeOf(list);
        const found = tree.lookup(asked.split('/'));
        if (found.kind !== 'found') return;
        const real = resolve(list, asked);
        expect(real).toBeDefined();
        expect(found.node.kind === 'file' || found.node.kind === 'directory').toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('says outside exactly when the plain resolver leaves before anything is missing', async () => {
    await fc.assert(
      fc.asyncProperty(entries, target, async (list, asked) => {
        const tree = await treeOf(list);
        if (tree.lookup(asked.split('/')).kind === 'outside') expect(resolve(list, asked)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });

  it('finds the links that leave', async () => {
    expect((await treeOf([{ path: 'a/l', link: '../b' }])).outOfBoundsLink()).toBeUndefined();
    expect((await treeOf([{ path: 'a/l', link: '../../b' }])).outOfBoundsLink()).toBe('a/l');
    expect((await treeOf([{ path: 'l', link: 'x/../..' }])).outOfBoundsLink()).toBe('l');
    expect((await treeOf([{ path: 'l', link: '/x' }])).outOfBoundsLink()).toBe('l');
  });

  it('14.4: weighs less for another name of a known file than for another file, and counts the texts of links', async () => {
    const listing = (count: number, oid: (i: number) => string): Buffer =>
      Buffer.from(
        Array.from({ length: count }, (_, i) => `100644 blob ${oid(i)}       3\tf${String(i).padStart(6, '0')}\0`).join(
          '',
        ),
      );
    const same = await Tree.parse(listing(10_000, () => 'd'.repeat(40)));
    const distinct = await Tree.parse(listing(10_000, (i) => String(i).padStart(40, '0')));
    expect(same.weight).toBeLessThan(1_000_000);
    expect(distinct.weight).toBeGreaterThan(2_000_000);
    expect(same.root.children.get('f000001')).toBe(same.root.children.get('f009999'));
    expect(distinct.root.children.get('f000001')).toEqual({ kind: 'file', oid: '1'.padStart(40, '0'), size: 3 });
    const long = listing(1, () => 'e'.repeat(40)).toString();
    const links = Buffer.from(
      Array.from({ length: 100 }, (_, i) =>
        long.replace('100644', '120000').replace('      3\t', `   4096\t${i}`),
      ).join(''),
    );
    expect((await Tree.parse(links)).weight).toBeGreaterThan(400_000);
    await expect(Tree.parse(links, { maxTreeBytes: 100_000 })).rejects.toThrow(
      'more than 100000 bytes of names and links',
    );
  });

  it('survives entries that no file system has', async () => {
    const line = (mode: string, entry: string): string =>
      `${mode} ${mode === '040000' ? 'tree' : 'blob'} ${'c'.repeat(40)}       3\t${entry}\0`;
    const tree = await Tree.parse(
      Buffer.from(
        [
          line('040000', '..'),
          line('100644', '../x.yaml'),
          line('100644', '__proto__'),
          line('100644', 'a//b'),
          line('100644', ''),
        ].join(''),
      ),
    );
    expect(tree.lookup(['..', 'x.yaml'])).toEqual({ kind: 'outside' });
    expect(tree.lookup(['__proto__'])).toMatchObject({ kind: 'found' });
    expect([...walk(tree.root, true)].length).toBeGreaterThan(0);
  });
});

describe('14.4: repositories on the local disk', () => {
  it.each([
    '/proc/self/cwd/git/x',
    '/proc/self/cwd',
    'file:///proc/1/cwd/srv',
    'file://localhost/proc/self/environ',
    '/srv/../proc/self/fd/3',
    '/dev/shm/x',
    '/sys/x',
    '/cache/git',
  ])('14.4: %s is no repository', (url) => {
    expect(() => checkUrl(url, '/cache')).toThrow('the repository URL is refused: it points into');
  });

  it('14.4: a name that only begins like one of them is', () => {
    expect(checkUrl('/process/x', '/cache').url).toBe('/process/x');
  });
});

describe('untrusted input (fuzz)', () => {
  const piece = fc.constantFrom(
    'a',
    '..',
    '.',
    '/',
    '-',
    ':',
    '@',
    '%2e',
    '%00',
    '\u0000',
    '\n',
    '//',
    'ext::',
    'ssh://',
    'http://',
    'file://',
    'git',
    '$(id)',
    ' ',
    '\\',
    '~',
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.string(),
  );

  it('what passes is no option, no helper, and has no control characters', () => {
    fc.assert(
      fc.property(text, (raw) => {
        try {
          const { url, host, transport } = checkUrl(raw, '/cache');
          expect(url).not.toMatch(/^-|^[\w+.-]*::|[\u0000-\u001f]/);
          expect(host).not.toMatch(/^-/);
          if (transport === 'local') expect(url).toMatch(/^\/(?!cache(?:\/|$))/);
          if (transport === 'http') expect(new URL(url).username + new URL(url).password).toBe('');
        } catch (error) {
          expect(error).toBeInstanceOf(DriftlessError);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it('what passes as a path stays below the root', () => {
    fc.assert(
      fc.property(text, (raw) => {
        try {
          const segments = checkAppPath(raw);
          expect(segments.every((s) => s !== '..' && s !== '.' && s !== '' && !s.includes('/'))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(DriftlessError);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['https://Git.Example.com/Org/Repo.git', 'https://git.example.com/Org/Repo.git', 'http'],
    ['https://u:p%40@h:8443/x?y=1', 'https://h:8443/x?y=1', 'http'],
    ['ssh://git@h:22/x.git', 'ssh://git@h:22/x.git', 'ssh'],
    ['git@github.com:org/repo.git', 'git@github.com:org/repo.git', 'ssh'],
    ['github.com:org/repo.git', 'github.com:org/repo.git', 'ssh'],
    ['file:///srv/a%20b.git', '/srv/a b.git', 'local'],
    ['file://localhost/srv/a.git', '/srv/a.git', 'local'],
    [' /srv/x/../y.git ', '/srv/y.git', 'local'],
    ['git://h/x', 'git://h/x', 'ssh'],
  ])('%j is given to git as %j', (raw, url, transport) => {
    expect(checkUrl(raw, '/cache')).toMatchObject({ url, transport });
  });

  it('keeps user and password out of the address', () => {
    expect(checkUrl('https://u:p%40@h/x', '/c')).toMatchObject({ username: 'u', password: 'p@' });
    expect(() => checkRevision('feature/ä#1')).not.toThrow();
  });
});

describe('SharedJobs and Lru', () => {
  it('runs one body per key for all who ask at once', async () => {
    const clock = new FakeClock();
    const jobs = new SharedJobs<number>({ clock, limitMs: 1000 });
    const signal = new AbortController().signal;
    let runs = 0;
    const body = async (): Promise<number> => {
      runs += 1;
      await Promise.resolve();
      return runs;
    };
    expect(
      await Promise.all([
        jobs.run('a', 'x', signal, body),
        jobs.run('a', 'x', signal, body),
        jobs.run('b', 'x', signal, body),
      ]),
    ).toEqual([2, 2, 2]);
    expect(await jobs.run('a', 'x', signal, body)).toBe(3);
    expect(jobs.idle).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('gives a failure to all who wait, and to nobody after', async () => {
    const jobs = new SharedJobs<number>({ clock: new FakeClock(), limitMs: 1000 });
    const signal = new AbortController().signal;
    const bad = (): Promise<number> => Promise.reject(new Error('bad'));
    const results = await Promise.allSettled([jobs.run('a', 'x', signal, bad), jobs.run('a', 'x', signal, bad)]);
    expect(results.map((r) => r.status)).toEqual(['rejected', 'rejected']);
    expect(await jobs.run('a', 'x', signal, () => Promise.resolve(1))).toBe(1);
  });

  it('keeps to its capacity, and what was used last', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), weight: fc.nat({ max: 12 }), get: fc.boolean() }),
        ),
        (steps) => {
          const lru = new Lru<number>(10);
          let model: { key: string; weight: number }[] = [];
          for (const { key, weight, get } of steps) {
            const old = model.find((e) => e.key === key);
            if (get) {
              expect(lru.get(key)).toBe(old?.weight);
              if (old !== undefined) model = [...model.filter((e) => e !== old), old];
              continue;
            }
            lru.set(key, weight, weight);
            model = model.filter((e) => e.key !== key);
            if (weight <= 10) model.push({ key, weight });
            while (model.reduce((sum, e) => sum + e.weight, 0) > 10) model.shift();
            expect(lru.weight).toBe(model.reduce((sum, e) => sum + e.weight, 0));
          }
        },
      ),
    );
  });
});

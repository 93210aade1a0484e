import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Tree, inByteOrder, walk } from './tree.ts';

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

/**
 * Reference implementation: resolves links step by step over a map of paths, as the kernel does;
 * undefined if it would leave the root.
 */
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
  it('parses the listing of git', async () => {
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

  it("walks in Go's order, sorting a directory by its bare name", async () => {
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

  // T-SEC-30
  it('never leaves the root, whatever the links contain, and agrees with a plain resolver', async () => {
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

  it('returns outside exactly if the plain resolver leaves the root before a missing entry', async () => {
    await fc.assert(
      fc.asyncProperty(entries, target, async (list, asked) => {
        const tree = await treeOf(list);
        if (tree.lookup(asked.split('/')).kind === 'outside') expect(resolve(list, asked)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });

  it('finds links that lead out of the repository', async () => {
    expect((await treeOf([{ path: 'a/l', link: '../b' }])).outOfBoundsLink()).toBeUndefined();
    expect((await treeOf([{ path: 'a/l', link: '../../b' }])).outOfBoundsLink()).toBe('a/l');
    expect((await treeOf([{ path: 'l', link: 'x/../..' }])).outOfBoundsLink()).toBe('l');
    expect((await treeOf([{ path: 'l', link: '/x' }])).outOfBoundsLink()).toBe('l');
  });

  it('weighs another name of a known file less than a new file, and counts the texts of links', async () => {
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

  it('accepts names that no file system allows', async () => {
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

import { describe, expect, it } from '@jest/globals';
import { Tree } from '../files/tree.ts';
import { Lru } from '../shared/lru.ts';
import { filesAhead, SmallBlobs } from './small-blobs.ts';

const oidOf = (index: number): string => index.toString(16).padStart(40, '0');

const foldersOf = (path: string): readonly string[] => {
  const segments = path.split('/').slice(0, -1);
  return segments.map((_, i) => segments.slice(0, i + 1).join('/'));
};

/** A tree of files with these sizes. */
async function treeOf(sizes: Readonly<Record<string, number>>): Promise<Tree> {
  const folders = new Set(Object.keys(sizes).flatMap(foldersOf));
  const lines = [
    ...[...folders].sort().map((path) => `040000 tree ${'f'.repeat(40)}       -\t${path}\0`),
    ...Object.entries(sizes).map(([path, size], i) => `100644 blob ${oidOf(i)} ${size}\t${path}\0`),
  ];
  return Tree.parse(Buffer.from(lines.join('')), {});
}

async function aheadOf(sizes: Readonly<Record<string, number>>, folder: readonly string[]): Promise<readonly string[]> {
  const names = Object.keys(sizes);
  return filesAhead(await treeOf(sizes), folder).map(({ oid }) => names[Number.parseInt(oid, 16)] ?? '');
}

describe('files that are read ahead', () => {
  it('are those of the folder first, then those around it', async () => {
    const sizes = { 'a/1.yaml': 1, 'a/b/2.yaml': 1, 'a/b/c/3.yaml': 1, 'd/4.yaml': 1 };
    const ahead = await aheadOf(sizes, ['a', 'b']);
    expect(ahead.slice(0, 2).sort()).toEqual(['a/b/2.yaml', 'a/b/c/3.yaml']);
    expect(ahead.slice(2)).toEqual(['a/1.yaml', 'd/4.yaml']);
  });

  it('begin with what follows the folder, so that neighbours in turn read each file once', async () => {
    const sizes = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`apps/${String(i).padStart(3, '0')}/a.yaml`, 1]),
    );
    const first = await aheadOf(sizes, ['apps', '000']);
    const next = await aheadOf(sizes, ['apps', '256']);
    expect([first.length, first[0], first[255]]).toEqual([256, 'apps/000/a.yaml', 'apps/255/a.yaml']);
    expect([next[0], next[43], next[44]]).toEqual(['apps/256/a.yaml', 'apps/299/a.yaml', 'apps/000/a.yaml']);
    expect(new Set(next).size).toBe(256);
  });

  it('are small, and few', async () => {
    expect(await aheadOf({ 'big.yaml': 32 * 1024 + 1, 'small.yaml': 32 * 1024 }, [])).toEqual(['small.yaml']);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`f${i}.yaml`, 10]));
    expect(await aheadOf(many, [])).toHaveLength(256);
    const large = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}.yaml`, 32 * 1024]));
    expect(await aheadOf(large, [])).toHaveLength(8);
  });

  it('are looked for in a bounded number of entries', async () => {
    const sizes = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`a/${i}.bin`, 10 ** 6]));
    expect(await aheadOf({ ...sizes, 'z.yaml': 1 }, ['a'])).toEqual([]);
  });

  it('are not those that a checkout converts: their ids are no blobs', async () => {
    const tree = await treeOf({ 'a.yaml': 1 });
    const [name, node] = [...tree.root.children][0] ?? [];
    if (name === undefined || node?.kind !== 'file') throw new Error('no file');
    tree.root.children.set(name, { ...node, oid: `${node.oid} crlf=true` });
    expect(filesAhead(tree, [])).toEqual([]);
  });
});

describe('kept blobs', () => {
  const blob = { oid: oidOf(1), size: 3 };
  const output = Buffer.from('abc and what git printed for other files');
  const fromGit = (): Promise<ReadonlyMap<string, Uint8Array>> =>
    Promise.resolve(new Map([[blob.oid, output.subarray(0, 3)]]));
  const notAsked = (): never => {
    throw new Error('git was asked');
  };

  it('are those of their mirror alone, whatever has the same id', async () => {
    const kept = new Lru<Uint8Array>(1000);
    const one = new SmallBlobs(kept, '/git/one');
    await one.readAhead([blob], () => [], fromGit, 'default');
    expect(Buffer.from((await one.read([blob], notAsked)).get(blob.oid) ?? []).toString('utf8')).toBe('abc');
    await expect(new SmallBlobs(kept, '/git/other').read([blob], notAsked)).rejects.toThrow('git was asked');
  });

  it('do not hold the output of git that they came from', async () => {
    const blobs = new SmallBlobs(new Lru<Uint8Array>(1000), '/git/one');
    await blobs.readAhead([blob], () => [], fromGit, 'default');
    expect((await blobs.read([blob], notAsked)).get(blob.oid)?.buffer.byteLength).toBe(3);
  });

  it('are not mixed with what git read for others, or ahead', async () => {
    const blobs = new SmallBlobs(new Lru<Uint8Array>(1000), '/git/one');
    const others = [2, 3].map((i) => ({ oid: oidOf(i), size: 1 }));
    const answer = new Map([blob, ...others].map(({ oid }) => [oid, Buffer.from('abc')]));
    const fromAll = (): Promise<ReadonlyMap<string, Uint8Array>> => Promise.resolve(answer);
    expect([...(await blobs.read([blob], fromAll)).keys()]).toEqual([blob.oid]);
    expect([...(await blobs.readAhead([blob], () => others, fromAll, 'default')).keys()]).toEqual([blob.oid]);
    expect((await blobs.read(others, notAsked)).size).toBe(2);
  });

  it('are joined with those that git reads', async () => {
    const blobs = new SmallBlobs(new Lru<Uint8Array>(1000), '/git/one');
    await blobs.readAhead([blob], () => [], fromGit, 'default');
    const other = { oid: oidOf(2), size: 1 };
    const asked: string[] = [];
    const contents = await blobs.read([blob, other], (missing) => {
      asked.push(...missing.map(({ oid }) => oid));
      return Promise.resolve(new Map([[other.oid, Buffer.from('d')]]));
    });
    expect([asked, [...contents.keys()].sort()]).toEqual([[other.oid], [blob.oid, other.oid]]);
  });

  it('are small ones within the memory for them, and none of a plain read', async () => {
    const kept = new Lru<Uint8Array>(1000);
    const blobs = new SmallBlobs(kept, '/git/one');
    const big = { oid: oidOf(2), size: 40_000 };
    await blobs.readAhead(
      [big],
      () => [],
      () => Promise.resolve(new Map([[big.oid, Buffer.alloc(big.size)]])),
      'default',
    );
    await blobs.read([blob], fromGit);
    expect(kept.weight).toBe(0);
    const many = Array.from({ length: 100 }, (_, i) => ({ oid: oidOf(i), size: 3 }));
    const all = new Map(many.map(({ oid }) => [oid, Buffer.from('abc')]));
    await blobs.readAhead(
      [blob],
      () => many,
      () => Promise.resolve(all),
      'default',
    );
    expect(kept.weight).toBeLessThanOrEqual(1000);
    expect(kept.weight).toBeGreaterThan(500);
  });
});

import { createCipheriv } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Shutdown, systemRandom } from '#base';
import { eventually, FakeClock } from '#support';
import { defaultLimits } from '../../limits.ts';
import type { DesiredLimits } from '../../limits.ts';
import { tgz } from '../../testing/archive.ts';
import { contentsAt, unpack } from './archive.ts';
import { ArchiveCache } from './archive-cache.ts';
import type { KeptArchive } from './archive-cache.ts';
import { walk } from './tree.ts';
import type { FileNode } from './tree.ts';
import { Unpacker } from './unpacker.ts';

const none = new AbortController().signal;
const megabyte = 1024 * 1024;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'archives-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function cacheWith(over: Partial<DesiredLimits> = {}): ArchiveCache {
  const clock = new FakeClock();
  const limits = { ...defaultLimits, ...over };
  const unpacker = new Unpacker({ clock, limits });
  return new ArchiveCache({ cacheDir: root, clock, random: systemRandom, limits, unpacker });
}

const filesOf = ({ tree }: Pick<KeptArchive, 'tree'>): ReadonlyMap<string, FileNode> =>
  new Map([...walk(tree.root, true)].flatMap(({ path, node }) => (node.kind === 'file' ? [[path, node]] : [])));

async function contentOf(archive: KeptArchive, path: string): Promise<string> {
  const node = filesOf(archive).get(path);
  if (node === undefined) throw new Error(`there is no ${path}`);
  return Buffer.from((await archive.read([node], none)).get(node.oid) ?? []).toString();
}

describe('a stored archive', () => {
  it.each([
    ['that fits into memory', 64 * megabyte],
    ['that does not', 100],
  ])('%s has all of its files, also after a restart', async (_name, archiveCacheBytes) => {
    const first = cacheWith({ archiveCacheBytes });
    const digest = await first.store('owner', tgz({ 'a/one': '1', 'a/two': '22'.repeat(1000), 'a/empty': '' }));
    for (const cache of [first, cacheWith({ archiveCacheBytes })]) {
      const archive = await cache.open({ owner: 'owner', digest, maxBytes: megabyte }, none);
      if (archive === undefined) throw new Error('it is not there');
      expect([...filesOf(archive).keys()]).toEqual(['a/empty', 'a/one', 'a/two']);
      expect(await contentOf(archive, 'a/one')).toBe('1');
      expect(await contentOf(archive, 'a/two')).toBe('22'.repeat(1000));
      expect(await contentOf(archive, 'a/empty')).toBe('');
    }
    expect(await first.open({ owner: 'other', digest, maxBytes: megabyte }, none)).toBeUndefined();
  });

  it('of a big size is not held in memory, and costs only the files that are read', async () => {
    const cache = cacheWith({ archiveCacheBytes: 100 });
    const packed = tgz({ one: '1', two: '2'.repeat(50_000) });
    const digest = await cache.store('owner', packed);
    const id = { owner: 'owner', digest, maxBytes: megabyte };
    const archive = await cache.open(id, none);
    const one = archive === undefined ? undefined : filesOf(archive).get('one');
    if (archive === undefined || one === undefined) throw new Error('it is not there');
    expect(await archive.measure([one], none)).toBe(1);
    // Only the disk has the content: a modified file is an error, and then a miss.
    writeFileSync(join(root, 'archives', 'owner', digest), 'other');
    await expect(archive.read([one], none)).rejects.toMatchObject({ code: 'DESIRED_ARCHIVE' });
    expect(await cache.open(id, none)).toBeUndefined();
    await expect(archive.read([one], none)).rejects.toThrow('it is downloaded again');
    await cache.store('owner', packed);
    expect(await contentOf(archive, 'one')).toBe('1');
  });

  it('in memory counts as a whole, because each of its files keeps all of it', async () => {
    const cache = cacheWith();
    const digest = await cache.store('owner', tgz({ one: '1', two: '2'.repeat(50_000) }));
    const archive = await cache.open({ owner: 'owner', digest, maxBytes: megabyte }, none);
    const one = archive === undefined ? undefined : filesOf(archive).get('one');
    expect(await archive?.measure(one === undefined ? [] : [one], none)).toBeGreaterThan(50_000);
  });
});

describe('single files of an archive', () => {
  it('have the content that unpacking all of it gives', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(5), fc.nat(700_000)), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.boolean(), async (lengths, pick, isZipped) => {
        const files = lengths.map((length, i) => [`f${i}`, `${i}:`.repeat(length / 2)] as const);
        const zipped = tgz(Object.fromEntries(files));
        const packed = isZipped ? zipped : gunzipSync(zipped);
        const { contents, positions } = await unpack(packed, defaultLimits);
        const wanted = new Map([...positions].filter((_, i) => ((pick >> i) & 1) === 0));
        const found = await contentsAt(packed, wanted, none);
        expect([...found.keys()]).toEqual([...wanted.keys()]);
        for (const [oid, content] of found)
          expect(Buffer.compare(content, contents.get(oid) ?? Buffer.from('missing'))).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  it('beyond its end are an error', async () => {
    const found = contentsAt(tgz({ a: 'x' }), new Map([['oid', { from: 10_000_000, size: 5 }]]), none);
    await expect(found).rejects.toMatchObject({ code: 'DESIRED_ARCHIVE' });
  });
});

describe('big archives', () => {
  // It cannot be compressed, so it is big before it is unpacked.
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
  const big = tgz([{ name: 'noise', content: cipher.update(Buffer.alloc(5 * megabyte)) }]);
  const packedBy = (owner: string, content = big) => ({
    owner,
    bytes: content.length,
    read: () => Promise.resolve(content),
    maxBytes: 256 * megabyte,
  });

  it('are unpacked one after the other, in turns of their owners; small ones do not wait', async () => {
    const unpacker = new Unpacker({ clock: new FakeClock(), limits: defaultLimits });
    const [order, waiting]: [string[], (() => void)[]] = [[], []];
    const start = (owner: string): Promise<void> =>
      unpacker.run(packedBy(owner), none, () => {
        order.push(owner);
        return new Promise<void>((resolve) => waiting.push(resolve));
      });
    const owners = ['hostile', 'hostile', 'hostile', 'modest'];
    const all = owners.map(start);
    const small = await unpacker.run(packedBy('modest', tgz({ a: 'x' })), none, ({ bytes }) => bytes);
    expect(small).toBeGreaterThan(0);
    for (const index of owners.keys()) {
      await eventually(() => expect(order).toHaveLength(index + 1));
      expect(waiting).toHaveLength(1);
      waiting.shift()?.();
    }
    await Promise.all(all);
    expect(order).toEqual(['hostile', 'modest', 'hostile', 'hostile']);
  });

  it('are refused if they unpack to more than half of the memory for inputs, with its option', async () => {
    const limits = { ...defaultLimits, inputBytes: 9 * megabyte };
    const unpacker = new Unpacker({ clock: new FakeClock(), limits, optionNames: { inputMemory: 'theOption' } });
    const refused = unpacker.run(packedBy('a'), none, () => 'unpacked');
    await expect(refused).rejects.toThrow(/: raise theOption$/);
    const tooBig = unpacker.run({ ...packedBy('a'), maxBytes: 1000 }, none, () => 'unpacked');
    await expect(tooBig).rejects.toThrow(/^the archive unpacks to more than 1000 bytes$/);
  });

  it('are not waited for after an abort', async () => {
    const unpacker = new Unpacker({ clock: new FakeClock(), limits: defaultLimits });
    let open: (() => void) | undefined;
    const held = unpacker.run(packedBy('a'), none, () => new Promise<void>((resolve) => (open = resolve)));
    const stop = new AbortController();
    const left = unpacker.run(packedBy('b'), stop.signal, () => undefined);
    stop.abort(new Shutdown('gone'));
    await expect(left).rejects.toThrow('gone');
    await eventually(() => expect(open).toBeDefined());
    open?.();
    await held;
  });
});

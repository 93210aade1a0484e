import { describe, expect, it } from '@jest/globals';
import { SizeLimitExceeded, UnsafeInput } from '../../errors.ts';
import { tar, tgz } from '../../testing/archive.ts';
import type { TarEntry } from '../../testing/archive.ts';
import { failureOf } from '../../testing/repository.ts';
import { unpack } from './archive.ts';
import type { UnpackedArchive } from './archive.ts';
import { walk } from './tree.ts';

const limits = { maxCheckoutBytes: 1024 * 1024, maxCheckoutFiles: 50 };

function textAt({ tree, contents }: UnpackedArchive, path: string): string | undefined {
  const found = tree.lookup(path.split('/'));
  return found.kind === 'found' && found.node.kind === 'file'
    ? Buffer.from(contents.get(found.node.oid) ?? []).toString()
    : undefined;
}

describe('archives', () => {
  it('reads files, folders, links and long names, compressed or not', async () => {
    const long = `${'d'.repeat(120)}/${'f'.repeat(120)}`;
    const pax = (key: string, value: string): string => {
      const body = ` ${key}=${value}\n`;
      const length = Buffer.byteLength(body) + 3;
      return `${length}${body}`;
    };
    const entries: TarEntry[] = [
      { name: 'pax_global_header', type: 'g', content: '12 a=bcdefg\n' },
      { name: 'c/', type: '5' },
      { name: './c/a.txt', content: 'one' },
      { name: 'c/link', type: '2', target: 'a.txt' },
      { name: '././@LongLink', type: 'L', content: `${long}\0` },
      { name: 'cut', content: 'long' },
      { name: 'PaxHeaders/x', type: 'x', content: pax('path', `${'p'.repeat(110)}/ü`) },
      { name: 'cut', content: 'pax' },
      { name: 'c/a.txt', content: 'two' },
    ];
    for (const bytes of [tgz(entries), tar(entries)]) {
      const made = await unpack(bytes, limits);
      expect([...walk(made.tree.root, true)].map(({ path }) => path).sort()).toEqual(
        ['c/a.txt', 'c/link', long, `${'p'.repeat(110)}/ü`].sort(),
      );
      expect(['c/a.txt', 'c/link', long].map((path) => textAt(made, path))).toEqual(['two', 'two', 'long']);
    }
  });

  it.each<[string, TarEntry[]]>([
    ['a name that climbs out', [{ name: '../evil', content: 'x' }]],
    ['a name that climbs out later', [{ name: 'a/../../evil', content: 'x' }]],
    ['an absolute name', [{ name: '/etc/passwd', content: 'x' }]],
    ['a backslash', [{ name: 'a\\..\\..\\evil', content: 'x' }]],
    ['an absolute link', [{ name: 'a', type: '2', target: '/etc/passwd' }]],
    ['a link that climbs out', [{ name: 'd/a', type: '2', target: '../../etc' }]],
    ['a hard link', [{ name: 'a', type: '1', target: 'b' }]],
    ['a device', [{ name: 'a', type: '3' }]],
    [
      'a file through a link',
      [
        { name: 'd', type: '2', target: 'e' },
        { name: 'd/f', content: 'x' },
      ],
    ],
  ])('refuses %s', async (_name, entries) => {
    expect(await failureOf(unpack(tgz(entries), limits))).toBeInstanceOf(UnsafeInput);
  });

  it('refuses a link that leads out through other links', async () => {
    const made = await unpack(
      tgz([
        { name: 'a/b/up', type: '2', target: '../..' },
        { name: 'out', type: '2', target: 'a/b/up/..' },
      ]),
      limits,
    );
    expect(made.tree.lookup(['out', 'etc', 'passwd']).kind).toBe('outside');
  });

  it('refuses decompression bombs, too many entries and truncated archives', async () => {
    expect(await failureOf(unpack(tgz({ big: 'x'.repeat(2 * 1024 * 1024) }), limits))).toBeInstanceOf(
      SizeLimitExceeded,
    );
    const many = Array.from({ length: 60 }, (_, i) => ({ name: `f${i}` }));
    expect(await failureOf(unpack(tgz(many), limits))).toBeInstanceOf(SizeLimitExceeded);
    const whole = tar([{ name: 'a', content: 'x'.repeat(5000) }]);
    expect((await failureOf(unpack(whole.subarray(0, 2048), limits))).message).toMatch(/ends in the middle of a file/);
    expect((await failureOf(unpack(tgz({ a: 'x' }).subarray(0, 40), limits))).message).toMatch(/cannot be unpacked/);
    expect((await failureOf(unpack(Buffer.from('<html>no</html>'.repeat(100)), limits))).message).toMatch(/no tar/);
  });
});

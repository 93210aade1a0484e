import { gzipSync } from 'node:zlib';

export interface ArchiveEntry {
  readonly name: string;
  readonly text?: string;
  /** 0 file, 1 hard link, 2 symbolic link, 3 character device, 6 named pipe. */
  readonly type?: '0' | '1' | '2' | '3' | '6';
  readonly link?: string;
  /** Declared size, instead of the length of the text. */
  readonly size?: number;
}

/** A tar.gz that no honest program writes: names, links and sizes are not checked. */
export function hostileArchive(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const body = Buffer.from(entry.text ?? '');
    return [header(entry, entry.size ?? body.length), body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

function header({ name, type = '0', link = '' }: ArchiveEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, offset: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  };
  block.write(name.slice(0, 100), 0, 'latin1');
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(' '.repeat(8), 148, 'latin1');
  block.write(type, 156, 'latin1');
  block.write(link.slice(0, 100), 157, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

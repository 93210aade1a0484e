import { gzipSync } from 'node:zlib';

/** One entry of a tar: a file, or whatever a test needs. */
export interface TarEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** '0' file, '1' hard link, '2' symbolic link, '5' directory, 'x' extended header … */
  readonly type?: string;
  readonly target?: string;
}

/** A gzipped tar with any entries. */
export function tgz(entries: readonly TarEntry[] | Readonly<Record<string, string>>): Buffer {
  const list = Array.isArray(entries)
    ? (entries as readonly TarEntry[])
    : Object.entries(entries as Readonly<Record<string, string>>).map(([name, content]) => ({ name, content }));
  return gzipSync(tar(list));
}

export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap(({ name, content = '', type = '0', target = '' }) => {
    const bytes = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write('0000644\0', 100);
    header.write('0000000\0', 108);
    header.write('0000000\0', 116);
    header.write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0', 136);
    header.write('        ', 148);
    header.write(type, 156);
    header.write(target, 157, 100);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

/** The archive of a chart, like `helm package` creates it. */
export function chartArchive(name: string, version: string, files: Readonly<Record<string, string>> = {}): Buffer {
  const all: Record<string, string> = {
    'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: ${version}\n`,
    'values.yaml': 'a: chart\nb: chart\n',
    'templates/cm.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\n' +
      'data: {version: "{{ .Chart.Version }}", a: "{{ .Values.a }}", b: "{{ .Values.b }}"}\n',
    ...files,
  };
  return tgz(Object.fromEntries(Object.entries(all).map(([path, text]) => [`${name}/${path}`, text])));
}

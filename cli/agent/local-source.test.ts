import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readArchive, shownUrl } from './local-source.ts';

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-agent-'));
  folder = join(root, 'folder');
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true }));

describe('an archive', () => {
  function packed(): Buffer {
    mkdirSync(join(folder, 'app'));
    writeFileSync(join(folder, 'app', 'one.yaml'), 'kind: One\n');
    symlinkSync('app/one.yaml', join(folder, 'link'));
    return execFileSync('tar', ['-C', folder, '-cf', '-', '.']);
  }
  const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

  it('is read, compressed or not', async () => {
    const plain = packed();
    for (const bytes of [plain, gzipSync(plain)]) {
      const files = await readArchive(bytes, digestOf(bytes));
      expect(files.map(({ path, mode, content }) => [path, mode, Buffer.from(content).toString()])).toEqual([
        ['app/one.yaml', '100644', 'kind: One\n'],
        ['link', '120000', 'app/one.yaml'],
      ]);
    }
  });

  it('with another digest is refused, with both', async () => {
    const bytes = packed();
    const other = digestOf(Buffer.from('other'));
    const refused = readArchive(bytes, other);
    await expect(refused).rejects.toThrow(`the archive has the digest ${digestOf(bytes)}, not ${other}`);
  });

  it('has an address that is shown without its credentials', () => {
    expect(shownUrl('https://me:canary@host/app.tgz?X-Signature=canary#canary')).toBe('https://host/app.tgz');
  });

  it('that leads out of itself is refused', async () => {
    writeFileSync(join(root, 'outside'), 'x');
    const bytes = execFileSync('tar', ['-C', folder, '-cPf', '-', '../outside'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await expect(readArchive(bytes, digestOf(bytes))).rejects.toThrow('illegal filepath in archive');
  });
});

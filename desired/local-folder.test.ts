import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commitFiles, readDirectory } from './local-folder.ts';

const bounds = { files: 100, bytes: 10_000 };
let root: string;
let folder: string;
const { signal } = new AbortController();

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-folder-'));
  folder = join(root, 'folder');
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true }));

function git(...args: readonly string[]): string {
  return execFileSync('git', ['--git-dir', join(root, 'source.git'), ...args], { encoding: 'utf8' });
}

async function commit(): Promise<string> {
  await commitFiles(join(root, 'source.git'), await readDirectory(folder, bounds), signal);
  return git('rev-parse', 'main').trim();
}

describe('a folder of this machine', () => {
  it('becomes a commit with its files, modes and links, whatever their names', async () => {
    mkdirSync(join(folder, '.git'));
    writeFileSync(join(folder, '.git', 'config'), 'not part of it');
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    writeFileSync(join(folder, 'a', 'b', 'one.yaml'), 'kind: One\n');
    writeFileSync(join(folder, 'with "quotes"\nand \\ lines'), Buffer.from([0, 255, 10]));
    writeFileSync(join(folder, 'run.sh'), '');
    chmodSync(join(folder, 'run.sh'), 0o755);
    symlinkSync('a/b/one.yaml', join(folder, 'link'));
    await commit();
    const listed = git('ls-tree', '-r', '-z', 'main')
      .split('\0')
      .filter((line) => line !== '');
    expect(listed.map((line) => line.replace(/ blob [0-9a-f]+\t/, ' '))).toEqual([
      '100644 a/b/one.yaml',
      '120000 link',
      '100755 run.sh',
      '100644 with "quotes"\nand \\ lines',
    ]);
    expect(git('show', 'main:a/b/one.yaml')).toBe('kind: One\n');
    expect(git('show', 'main:link')).toBe('a/b/one.yaml');
  });

  it('has the same commit while its content is the same, and another one afterwards', async () => {
    writeFileSync(join(folder, 'a.yaml'), 'a: 1\n');
    const first = await commit();
    expect(await commit()).toBe(first);
    writeFileSync(join(folder, 'a.yaml'), 'a: 2\n');
    expect(await commit()).not.toBe(first);
    writeFileSync(join(folder, 'a.yaml'), 'a: 1\n');
    writeFileSync(join(folder, 'b.yaml'), 'b: 1\n');
    await commit();
    rmSync(join(folder, 'b.yaml'));
    await commit();
    expect(git('ls-tree', '-r', '--name-only', 'main')).toBe('a.yaml\n');
  });

  it('that is too large or missing is refused by name', async () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), 'xx');
    await expect(readDirectory(folder, { files: 2, bytes: 100 })).rejects.toMatchObject({
      code: 'DESIRED_LIMIT',
      message: expect.stringContaining('has more than 2 files or 100 bytes'),
    });
    await expect(readDirectory(folder, { files: 9, bytes: 5 })).rejects.toThrow('has more than 9 files or 5 bytes');
    await expect(readDirectory(folder, { files: 3, bytes: 6 })).resolves.toHaveLength(3);
    await expect(readDirectory(join(root, 'nowhere'), bounds)).rejects.toMatchObject({
      code: 'DESIRED_PATH',
      message: expect.stringContaining(`cannot read the directory ${root}/nowhere: ENOENT`),
    });
  });

  it('that loses a file while it is read is refused by the name of the file', async () => {
    for (const name of ['a', 'b']) writeFileSync(join(folder, name), '');
    const bytes = {
      files: 100,
      // Read for each file after its size is known, and before its content is.
      get bytes(): number {
        rmSync(join(folder, 'b'), { force: true });
        return 100;
      },
    };
    await expect(readDirectory(folder, bytes)).rejects.toMatchObject({
      code: 'DESIRED_PATH',
      message: expect.stringContaining(`${folder}/b'`),
    });
  });
});

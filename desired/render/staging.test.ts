import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { removeFolder } from './staging.ts';

let root: string;
let outside: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'staging-'));
  outside = join(root, 'outside');
  folder = join(root, 'folder');
  mkdirSync(outside);
  writeFileSync(join(outside, 'kept'), 'x');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function fill(path: string, files: number): void {
  mkdirSync(path, { recursive: true });
  for (let i = 0; i < files; i += 1) writeFileSync(join(path, `${i}`), '');
}

describe('removing a staging folder', () => {
  it.each([0, 3, 1000])('removes %d files, and folders in folders', async (files) => {
    fill(join(folder, 'a', 'b'), files);
    await removeFolder(folder);
    expect(readdirSync(root)).toEqual(['outside']);
  });

  it.each([0, 1000])('never follows links, beside %d files', async (files) => {
    fill(folder, files);
    symlinkSync(outside, join(folder, 'link'));
    symlinkSync(join(outside, 'kept'), join(folder, 'file'));
    await removeFolder(folder);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(outside)).toEqual(['kept']);
  });

  it('removes a link and a file in place of the folder', async () => {
    symlinkSync(outside, folder);
    writeFileSync(join(root, 'file'), '');
    await removeFolder(folder);
    await removeFolder(join(root, 'file'));
    expect(readdirSync(root)).toEqual(['outside']);
    expect(readdirSync(outside)).toEqual(['kept']);
  });

  it('removes folders that may not be written to', async () => {
    fill(join(folder, 'locked', 'inner'), 2);
    chmodSync(join(folder, 'locked'), 0o500);
    await removeFolder(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('accepts a missing folder', async () => {
    await expect(removeFolder(join(root, 'missing'))).resolves.toBeUndefined();
  });
});

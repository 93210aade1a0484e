import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SourceImport } from './source-import.ts';

let root: string;
const { signal } = new AbortController();

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-import-'));
  mkdirSync(join(root, 'files'));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (text: string): void => writeFileSync(join(root, 'files', 'one.yaml'), text);
const imported = (): string =>
  execFileSync('git', ['--git-dir', join(root, 'copy.git'), 'show', 'main:one.yaml'], { encoding: 'utf8' });

describe('the copy of a directory', () => {
  it('is made anew only when a file has changed', async () => {
    const source = new SourceImport({ kind: 'directory', url: join(root, 'files') }, join(root, 'copy.git'));
    write('1');
    expect([await source.update(signal), await source.update(signal)]).toEqual([true, false]);
    write('2');
    expect([await source.update(signal), imported()]).toEqual([true, '2']);
  });
});

describe('the copy of an earlier process', () => {
  const source = (): SourceImport =>
    new SourceImport({ kind: 'directory', url: join(root, 'files') }, join(root, 'copy.git'));

  it('is known by its commit, which is that of the same files', async () => {
    expect(await source().revision()).toBeUndefined();
    write('1');
    await source().update(signal);
    const before = await source().revision();
    expect(before).toMatch(/^[0-9a-f]{40}$/);
    await source().update(signal);
    expect(await source().revision()).toBe(before);
    write('2');
    await source().update(signal);
    expect(await source().revision()).not.toBe(before);
  });

  it('is replaced when it was damaged', async () => {
    write('1');
    await source().update(signal);
    for (const name of readdirSync(join(root, 'copy.git'), { recursive: true, encoding: 'utf8' })) {
      const path = join(root, 'copy.git', name);
      if (!statSync(path).isFile()) continue;
      rmSync(path);
      writeFileSync(path, 'damaged');
    }
    await source().update(signal);
    expect(imported()).toBe('1');
  });
});

describe('the copy of an archive', () => {
  let server: ReturnType<typeof createServer>;
  let answers: string[];
  let redirect: string | undefined;

  beforeEach(async () => {
    answers = [];
    redirect = undefined;
    server = createServer((request, response) => {
      const content = execFileSync('tar', ['-C', join(root, 'files'), '--mtime=@0', '-cf', '-', '.']);
      const etag = `"${imprint(content)}"`;
      const isKnown = request.headers['if-none-match'] === etag;
      const code = redirect !== undefined ? 302 : isKnown ? 304 : 200;
      answers.push(String(code));
      response.writeHead(code, { etag, ...(redirect !== undefined && { location: redirect }) });
      response.end(code === 200 ? content : undefined);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const imprint = (content: Buffer): number => content.reduce((sum, byte, index) => sum + byte * (index + 1), 0);
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/app.tar`;
  const archive = (digest = ''): SourceImport =>
    new SourceImport({ kind: 'archive', url: url(), digest }, join(root, 'copy.git'));

  it('is asked again with its ETag', async () => {
    const source = archive();
    write('1');
    expect([await source.update(signal), await source.update(signal), await source.update(signal)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(answers).toEqual(['200', '304', '304']);
    write('2');
    expect([await source.update(signal), imported()]).toEqual([true, '2']);
  });

  it('keeps the last content when its digest is wrong, and reports that each time', async () => {
    write('1');
    const source = archive(`sha256:${'0'.repeat(64)}`);
    for (let i = 0; i < 2; i += 1) await expect(source.update(signal)).rejects.toThrow('the archive has the digest');
    expect(answers).toEqual(['200', '200']);
  });

  it('without a digest follows no redirect', async () => {
    redirect = 'http://elsewhere.example/app.tar';
    await expect(archive().update(signal)).rejects.toThrow('answered 302: redirects are followed with --digest only');
  });
});

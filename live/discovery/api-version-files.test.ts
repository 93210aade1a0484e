import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { ApiVersionFiles } from './api-version-files.ts';

const cluster = { server: 'https://a', uid: 'one' };
const list = ['apps/v1', 'apps/v1/Deployment', 'v1', 'v1/Pod'];
const { signal } = new AbortController();

let root: string;
let folder: string;
let lines: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-lists-'));
  folder = join(root, 'lists');
  lines = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function files(maxFiles?: number): ApiVersionFiles {
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'warn', format: 'text', destination });
  const common = { folder, clock: new FakeClock(), random: seededRandom(1), logger };
  return new ApiVersionFiles(maxFiles === undefined ? common : { ...common, maxFiles });
}

const only = (): string => join(folder, readdirSync(folder)[0] ?? '');

describe('the lists of API versions on disk', () => {
  it('survive the process, one per cluster and address', async () => {
    await files().save(cluster, list);
    expect(await files().load(cluster, signal)).toEqual(list);
    expect(await files().load({ ...cluster, uid: 'rebuilt' }, signal)).toBeUndefined();
    expect(await files().load({ ...cluster, server: 'https://b' }, signal)).toBeUndefined();
    await files().save(cluster, ['v1']);
    expect([await files().load(cluster, signal), lines]).toEqual([['v1'], []]);
  });

  it('are readable by their owner only, without leftovers in the folder', async () => {
    await files().save(cluster, list);
    expect(readdirSync(folder)).toHaveLength(1);
    expect([statSync(folder).mode & 0o777, statSync(only()).mode & 0o777]).toEqual([0o700, 0o600]);
    writeFileSync(join(folder, 'half.new'), 'x');
    await files().save(cluster, ['v1']);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it.each<[string, (path: string) => void]>([
    ['cut off', (path) => writeFileSync(path, readFileSync(path).subarray(0, 40))],
    ['empty', (path) => writeFileSync(path, '')],
    ['changed', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"v1/Pod"', '"v1/Pot"'))],
    ['of another cluster', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('https://a', 'https://b'))],
    [
      'of another format',
      (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"format":1', '"format":2')),
    ],
    ['with other values', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"v1/Pod"', '{}'))],
    ['open to others', (path) => chmodSync(path, 0o644)],
    [
      'a link',
      (path) => {
        const elsewhere = join(root, 'elsewhere');
        writeFileSync(elsewhere, readFileSync(path), { mode: 0o600 });
        rmSync(path);
        symlinkSync(elsewhere, path);
      },
    ],
    [
      'a folder',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    ['endless', (path) => writeFileSync(path, Buffer.alloc(5 * 1024 * 1024, ' '))],
  ])('are ignored with a log line if the file is %s', async (_what, harm) => {
    await files().save(cluster, list);
    harm(only());
    expect(await files().load(cluster, signal)).toBeUndefined();
    expect(lines.join()).toMatch(/A stored list of API versions is ignored/);
  });

  it('are limited in number: the least recently used are removed', async () => {
    const store = files(3);
    for (let i = 0; i < 3; i += 1) {
      await store.save({ server: `https://${i}`, uid: '' }, list);
      for (const name of readdirSync(folder)) utimesSync(join(folder, name), i, i);
    }
    await store.load({ server: 'https://0', uid: '' }, signal);
    await store.save({ server: 'https://new', uid: '' }, list);
    expect(readdirSync(folder)).toHaveLength(3);
    for (const server of ['https://0', 'https://new'])
      expect(await store.load({ server, uid: '' }, signal)).toEqual(list);
  });

  it('are not stored if the disk fails', async () => {
    writeFileSync(folder, 'a file where the folder should be');
    await expect(files().save(cluster, list)).rejects.toThrow();
    expect(await files().load(cluster, signal)).toBeUndefined();
  });
});

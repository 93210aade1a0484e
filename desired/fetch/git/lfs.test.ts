import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { defaultLimits } from '../../limits.ts';
import { failureOf } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { DiskCache } from '../shared/disk-cache.ts';
import { Lfs } from './lfs.ts';
import type { Snapshot } from '../files/snapshot.ts';
import { Tree } from '../files/tree.ts';
import { WebClient } from '../network/web-client.ts';

const never = new AbortController().signal;
const sha = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');
const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

let folder: string;
let server: WebServer;
const benches: RenderBench[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  server = await startWebServer();
});
afterEach(async () => {
  for (const bench of benches.splice(0)) bench.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('Git LFS files', () => {
  const content = configMap('big');
  const pointer = (text: string, size = text.length): string =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${sha(text)}\nsize ${size}\n`;

  function lfs(maxArchiveBytes = 1_000_000): Lfs {
    const root = join(folder, 'lfs');
    const objects = new DiskCache({ root, clock: new FakeClock(), random: systemRandom, maxBytes: 1e6, maxAgeMs: 1e9 });
    return new Lfs({
      web: new WebClient({ clock: systemClock, tlsCertificates: folder, proxies: {} }),
      objects,
      limits: { ...defaultLimits, maxArchiveBytes },
      cacheDir: folder,
      withToken: (repository) => Promise.resolve(repository),
    });
  }

  const files = new Map([
    ['1', Buffer.from(pointer(content))],
    ['2', Buffer.from('plain')],
  ]);
  const snapshot: Snapshot = {
    key: 'k',
    revision: 'r',
    tree: new Tree(),
    read: (blobs) => Promise.resolve(new Map(blobs.map(({ oid }) => [oid, files.get(oid) ?? Buffer.alloc(0)]))),
  };
  const both = [
    { oid: '1', size: 1 },
    { oid: '2', size: 1 },
  ];
  const texts = (found: ReadonlyMap<string, Uint8Array>): string[] =>
    [...found.values()].map((bytes) => Buffer.from(bytes).toString());
  const serve = (download: object | undefined, path = '/r.git/info/lfs/objects/batch'): void => {
    const objects = [
      { oid: sha(content), size: content.length, ...(download === undefined ? {} : { actions: { download } }) },
    ];
    server.pages.set(path, { body: JSON.stringify({ transfer: 'basic', objects }) });
  };
  const of = (over: Partial<Repository> = {}): Repository => ({
    ...bareRepository(`${server.url}/r`),
    lfs: true,
    username: 'me',
    password: new SecretValue('hunter2'),
    ...over,
  });

  it('are downloaded once, with the headers of the LFS server and without the password', async () => {
    const bodies: string[] = [];
    server.onBody = (body) => void bodies.push(body);
    serve({ href: `${server.url}/storage/x`, header: { Authorization: 'RemoteAuth once' } });
    server.pages.set('/storage/x', { body: content });
    const found = await lfs().resolved(of(), snapshot).read(both, never);
    expect(texts(found)).toEqual([content, 'plain']);
    const basic = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;
    expect(server.asked.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/r.git/info/lfs/objects/batch', basic],
      ['/storage/x', 'RemoteAuth once'],
    ]);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ operation: 'download', objects: [{ oid: sha(content) }] });
    // Another process reads it from disk.
    expect(texts(await lfs().resolved(of(), snapshot).read(both, never))).toEqual([content, 'plain']);
    expect(server.asked).toHaveLength(2);
  });

  it("are downloaded without the LFS server's headers after a redirect to another host", async () => {
    const stranger = await startWebServer();
    serve({ href: `${server.url}/storage/x`, header: { Authorization: 'RemoteAuth once', 'Private-Token': 'secret' } });
    server.pages.set('/storage/x', { status: 302, headers: { location: `${stranger.url}/x` } });
    stranger.pages.set('/x', { body: content });
    try {
      await lfs().resolved(of(), snapshot).read(both, never);
      const [first] = stranger.asked;
      expect([first?.path, first?.headers.authorization, first?.headers['private-token']]).toEqual([
        '/x',
        undefined,
        undefined,
      ]);
    } finally {
      await stranger.close();
    }
  });

  it('are downloaded without the login from another host that the LFS server names without headers', async () => {
    const stranger = await startWebServer();
    serve({ href: `${stranger.url}/x` });
    stranger.pages.set('/x', { body: content });
    try {
      await lfs().resolved(of(), snapshot).read(both, never);
      expect(stranger.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    } finally {
      await stranger.close();
    }
  });

  it('stay pointers if LFS is not enabled', async () => {
    expect(lfs().resolved(bareRepository(server.url), snapshot)).toBe(snapshot);
    expect(lfs().resolved(of({ lfs: false }), snapshot)).toBe(snapshot);
  });

  it('are refused if they are too big, missing, or differ from their pointer', async () => {
    const fails = async (repository = of(), one = lfs()): Promise<string> =>
      (await failureOf(one.resolved(repository, snapshot).read(both, never))).message;
    serve({ href: `${server.url}/storage/x` });
    server.pages.set('/storage/x', { body: `${content.slice(0, -1)}!` });
    expect(await fails()).toMatch(/does not match its pointer$/);
    expect(await fails(of(), lfs(10))).toMatch(/^files of Git LFS are too big/);
    serve(undefined);
    expect(await fails()).toMatch(/^the LFS server of the repository does not have the file/);
    server.pages.clear();
    expect(await fails()).toMatch(/^the server of the repository has no Git LFS/);
    expect(await fails(of({ url: 'ssh://git@git.example.com/r' }))).toContain('use its https URL');
  });
});

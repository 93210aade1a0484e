import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Secret, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { defaultLimits } from '../limits.ts';
import { tgz } from '../testing/archive.ts';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { renderOne, requestOf } from '../testing/request.ts';
import { startWebServer } from '../testing/web-server.ts';
import type { WebServer } from '../testing/web-server.ts';
import { DiskCache } from './disk-cache.ts';
import { Lfs } from './lfs.ts';
import type { Snapshot } from './snapshot.ts';
import { Tree } from './tree.ts';
import { Web } from './web.ts';

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

describe('an archive over HTTP', () => {
  const archive = (name: string): Buffer => tgz({ 'app/a.yaml': configMap(name), 'other/b.yaml': configMap('b') });

  function made(over: Parameters<typeof renderBench>[0] = {}) {
    const bench = renderBench(over);
    benches.push(bench);
    const url = `${server.url}/app.tar.gz`;
    const render = (revision = '', more = {}, from: Repository = bareRepository(url)) =>
      renderOne(bench.desired, requestOf({ repoURL: url, path: 'app', targetRevision: revision }, from, more), never);
    return { bench, url, render };
  }

  it('10.1: is what lies there, by its digest; asked for with its ETag, downloaded once', async () => {
    let current = archive('one');
    server.pages.set('/app.tar.gz', ({ headers }) =>
      headers['if-none-match'] === sha(current) ? { status: 304 } : { headers: { etag: sha(current) }, body: current },
    );
    const { render } = made();
    const first = await render();
    expect([first.revision, first.sourceType, first.objects.map(({ metadata }) => metadata.name)]).toEqual([
      `sha256:${sha(current)}`,
      'Directory',
      ['one'],
    ]);
    await render();
    expect(server.asked).toHaveLength(1);
    await render('HEAD', { noRevisionCache: true });
    expect(server.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, sha(current)]);
    current = archive('two');
    expect((await render('', { noRevisionCache: true })).revision).toBe(`sha256:${sha(current)}`);
  });

  it('10.1: a digest in targetRevision is demanded, and then found on disk without asking, also after a restart', async () => {
    const current = archive('one');
    server.pages.set('/app.tar.gz', { body: current });
    const { bench, render } = made();
    const wanted = `sha256:${sha(current)}`;
    expect((await render(wanted)).revision).toBe(wanted);
    const { message } = await failureOf(render(`sha256:${sha('other')}`));
    expect(message).toContain(`it has the digest ${wanted}, not sha256:${sha('other')}`);
    const asked = server.asked.length;
    const again = made({ cacheDir: join(bench.root, 'cache') });
    expect((await again.render(wanted)).objects).toHaveLength(1);
    expect(server.asked).toHaveLength(asked);
    expect((await failureOf(render('main'))).message).toContain('must be empty or its digest');
  });

  it('10.5: is held to its limits, gets the credentials of its repository, and says what is wrong without them', async () => {
    const url = `${server.url}/app.tar.gz`;
    server.pages.set('/app.tar.gz', ({ headers }) => ({
      status: headers.authorization === `Basic ${Buffer.from('me:hunter2').toString('base64')}` ? 200 : 401,
      body: archive('x'),
    }));
    const repository: Repository = { ...bareRepository(url), username: 'me', password: new Secret('hunter2') };
    expect((await made().render('', {}, repository)).objects).toHaveLength(1);
    expect((await failureOf(made().render())).message).toBe('failed to download the archive: 401 Unauthorized');
    const small = made({ limits: { maxArchiveBytes: 20 } });
    expect((await failureOf(small.render('', {}, repository))).message).toContain('has more than 20 bytes');
    server.pages.set('/app.tar.gz', { body: tgz([{ name: '../out.yaml', content: 'x' }]) });
    expect((await failureOf(made().render())).message).toContain('illegal filepath in archive');
  });
});

describe('files of Git LFS', () => {
  const content = configMap('big');
  const pointer = (text: string, size = text.length): string =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${sha(text)}\nsize ${size}\n`;

  function lfs(maxArchiveBytes = 1_000_000): Lfs {
    const root = join(folder, 'lfs');
    const objects = new DiskCache({ root, clock: new FakeClock(), random: systemRandom, maxBytes: 1e6, maxAgeMs: 1e9 });
    return new Lfs({
      web: new Web({ tlsCertificates: folder, proxies: {} }),
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
    password: new Secret('hunter2'),
    ...over,
  });

  it('10.1: stand for what their pointers say; downloaded once, with what the server gives along and not with the password', async () => {
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
    // Another process finds it on disk.
    expect(texts(await lfs().resolved(of(), snapshot).read(both, never))).toEqual([content, 'plain']);
    expect(server.asked).toHaveLength(2);
  });

  it('10.1: are left as they are where LFS is not enabled', async () => {
    expect(lfs().resolved(bareRepository(server.url), snapshot)).toBe(snapshot);
    expect(lfs().resolved(of({ lfs: false }), snapshot)).toBe(snapshot);
  });

  it('10.1: what is not what its pointer says, too big, or not there is refused', async () => {
    const fails = async (repository = of(), one = lfs()): Promise<string> =>
      (await failureOf(one.resolved(repository, snapshot).read(both, never))).message;
    serve({ href: `${server.url}/storage/x` });
    server.pages.set('/storage/x', { body: `${content.slice(0, -1)}!` });
    expect(await fails()).toMatch(/is not what its pointer says$/);
    expect(await fails(of(), lfs(10))).toMatch(/^files of Git LFS are too big/);
    serve(undefined);
    expect(await fails()).toMatch(/^the LFS server of the repository does not have the file/);
    server.pages.clear();
    expect(await fails()).toMatch(/^the server of the repository has no Git LFS/);
    expect(await fails(of({ url: 'ssh://git@git.example.com/r' }))).toContain('name it by its https address');
  });
});

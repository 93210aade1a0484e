import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
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
import { createInProcessRunner } from '../../command/in-process.ts';
import type { CommandResult } from '../../command/types.ts';
import { checkUrl } from '../shared/input-checks.ts';
import { Git } from './git.ts';
import { lfsUrlIn } from './lfs-endpoint.ts';
import { Lfs } from './lfs.ts';
import { decidingText } from '../files/snapshot.ts';
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

  /** Commands on the ssh server, and its answer. */
  const commands: string[] = [];
  let grant: Partial<CommandResult> = {};
  beforeEach(() => {
    commands.length = 0;
    grant = {};
  });

  function lfs(maxArchiveBytes = 1_000_000): Lfs {
    const root = join(folder, 'lfs');
    const objects = new DiskCache({ root, clock: new FakeClock(), random: systemRandom, maxBytes: 1e6, maxAgeMs: 1e9 });
    return new Lfs({
      web: new WebClient({ clock: systemClock, tlsCertificates: folder, proxies: {} }),
      objects,
      limits: { ...defaultLimits, maxArchiveBytes },
      cacheDir: folder,
      withToken: (repository) => Promise.resolve(repository),
      runOnServer: (command, remote) => {
        commands.push(`${remote.url.url} ${command}`);
        return Promise.resolve({ exitCode: 0, stdout: Buffer.alloc(0), stderr: '', ...grant });
      },
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

  it('are downloaded too where they decide what a source needs', async () => {
    serve({ href: `${server.url}/storage/x` });
    server.pages.set('/storage/x', { body: content });
    const tree = await Tree.parse(Buffer.from(`100644 blob 1 ${pointer(content).length}\tChart.yaml\0`));
    const found = tree.lookup(['Chart.yaml']);
    if (found.kind !== 'found' || found.node.kind !== 'file') throw new Error('no chart');
    const whole = lfs().resolved(of(), snapshot);
    expect(await decidingText(whole, { file: found.node, folder: [] }, never)).toBe(content);
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
    expect(await fails(of({ url: 'git://git.example.com/r' }))).toContain('without an https or ssh URL');
  });

  const granting = (href: string): Partial<CommandResult> => ({
    stdout: Buffer.from(JSON.stringify({ href, header: { Authorization: 'RemoteAuth ssh' }, expires_in: 60 })),
  });

  it.each([
    ['ssh://git@git.example.com/team/r.git', '/team/r.git'],
    ['git@git.example.com:team/r.git', 'team/r.git'],
  ])('of %s are downloaded from the server that it names, with its grant alone', async (url, path) => {
    grant = granting(`${server.url}/lfs/`);
    serve({ href: `${server.url}/storage/x` }, '/lfs/objects/batch');
    server.pages.set('/storage/x', { body: content });
    expect(texts(await lfs().resolved(of({ url }), snapshot).read(both, never))).toEqual([content, 'plain']);
    expect(commands).toEqual([`${url} git-lfs-authenticate '${path}' download`]);
    expect(server.asked.map(({ path: asked, headers }) => [asked, headers.authorization])).toEqual([
      ['/lfs/objects/batch', 'RemoteAuth ssh'],
      ['/storage/x', undefined],
    ]);
  });

  it.each<[string, Partial<CommandResult>, string, RegExp]>([
    ['refuses', { exitCode: 1, stderr: 'hello\nno such repository' }, 'r', /grants no access to Git LFS: no such repo/],
    ['has no such command', { exitCode: 127, stderr: 'not found' }, 'r', /grants no access to Git LFS: not found/],
    ['greets instead', { stdout: Buffer.from('welcome') }, 'r', /answers git-lfs-authenticate with something else/],
    ['answers a list', { stdout: Buffer.from('[]') }, 'r', /answers git-lfs-authenticate with something else/],
    ['names a file', granting('file:///etc/passwd'), 'r', /names an LFS server without https/],
    ['gets a hostile path', granting('http://x'), "r';id;'", /path has special characters/],
    ['gets a path that is an option', granting('http://x'), '-r', /the repository URL is refused/],
  ])('of an ssh server that %s are refused', async (_title, answer, path, expected) => {
    grant = answer;
    const repository = of({ url: `git@git.example.com:${path}` });
    const { message } = await failureOf(lfs().resolved(repository, snapshot).read(both, never));
    expect(message).toMatch(expected);
    expect(server.asked).toEqual([]);
  });

  const configured = (text: string): Snapshot => {
    const tree = Tree.of([{ path: '.lfsconfig', node: { kind: 'file', oid: 'c', size: text.length } }]);
    if (!('tree' in tree)) throw new Error('no tree');
    files.set('c', Buffer.from(text));
    return { ...snapshot, tree: tree.tree };
  };

  it('are read from the server of .lfsconfig, which gets no credentials if it is another one', async () => {
    const other = await startWebServer();
    const objects = [{ oid: sha(content), size: content.length, actions: { download: { href: `${other.url}/x` } } }];
    other.pages.set('/store/objects/batch', { body: JSON.stringify({ objects }) });
    other.pages.set('/x', { body: content });
    const here = configured(`# where the files are\n[lfs]\n\turl = "${other.url}/store/"\n`);
    expect(texts(await lfs().resolved(of(), here).read(both, never))).toEqual([content, 'plain']);
    expect(other.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    await other.close();
  });

  it('are not read from another ssh server or from the disk, whatever .lfsconfig names', async () => {
    for (const url of ['ssh://git@elsewhere.example.com/r', 'file:///etc', '-oProxyCommand=x']) {
      const here = configured(`[lfs]\nurl = ${url}\n`);
      const repository = of({ url: 'git@git.example.com:r' });
      await expect(lfs().resolved(repository, here).read(both, never)).rejects.toThrow(/refused|without an https/);
    }
    expect(commands).toEqual([]);
  });

  it('over ssh are requested by the program ssh, with the options that git gets', async () => {
    const script = join(folder, 'ssh');
    writeFileSync(script, '#!/bin/sh\nprintf "%s\\n" "$@" >&2\nexit 3\n', { mode: 0o755 });
    const git = new Git({
      commands: createInProcessRunner({ clock: systemClock, env: { ...env, PATH: `${folder}:${env['PATH'] ?? ''}` } }),
      random: systemRandom,
      cacheDir: folder,
      trust: { sshKnownHosts: '/known', tlsCertificates: folder },
    });
    const at = (url: string): Promise<CommandResult> => {
      const remote = { url: checkUrl(url, folder), repository: of({ url }) };
      return git.runOnServer('a command', remote, { signal: never, timeoutMs: 60_000 });
    };
    const { exitCode, stderr } = await at('ssh://git@git.example.com:2222/r');
    expect(exitCode).toBe(3);
    const words = stderr.trim().split('\n');
    expect(words.slice(-5)).toEqual(['-p', '2222', '--', 'git@git.example.com', 'a command']);
    expect(words).toEqual(expect.arrayContaining(['BatchMode=yes', 'StrictHostKeyChecking=yes', 'ProxyCommand=none']));
    expect(() => at('ssh://a%20b@git.example.com/r')).toThrow(/its user is not valid/);
  });
});

it.each([
  ['[lfs]\n  url = https://a.example/x\n', 'https://a.example/x'],
  ['[LFS]\r\n  URL=https://a.example/x\r\n', 'https://a.example/x'],
  ['[remote "origin"]\nlfsurl = https://r.example\n', 'https://r.example'],
  ['[remote "origin"]\nlfsurl = https://r.example\n[lfs]\nurl = https://l.example\n', 'https://l.example'],
  ['[lfs "https://x"]\nurl = https://a.example\n', ''],
  ['; url = https://a.example\n[core]\nurl = x\n', ''],
  ['', ''],
])('.lfsconfig %j names the LFS server %j', (text, expected) => {
  expect(lfsUrlIn(Buffer.from(text))).toBe(expected);
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown, systemClock, systemRandom } from '#base';
import { createDesiredSource, createInProcessRunner } from '#desired';
import { bareRepository } from '#model';
import { silentLogger } from '#telemetry';
import { renderOne, requestOf } from '../../desired/testing/index.ts';
import { temporaryFolder, toolPath, toolsPath } from './support/index.ts';
import { startSshServer } from './support/ssh-server.ts';
import type { SshServer } from './support/ssh-server.ts';

// Git LFS of repositories with an ssh URL: a real sshd, git, ssh and git-lfs-transfer.

const manifest = Buffer.from(
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {a: "${'x'.repeat(300_000)}"}\n`,
);
const digest = createHash('sha256').update(manifest).digest('hex');
const grant = 'RemoteAuth a-grant-of-the-ssh-server';

let folder: ReturnType<typeof temporaryFolder>;
let repository: string;
let lfs: { readonly server: Server; readonly asked: string[] };
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  folder = temporaryFolder('lfs-ssh');
  repository = makeRepository();
  lfs = await startLfsServer();
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await new Promise((done) => lfs.server.close(done));
  folder.remove();
});

/** A bare repository with a pointer to the manifest, which it has too. */
function makeRepository(): string {
  const work = join(folder.path, 'work');
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      encoding: 'utf8',
    });
  mkdirSync(join(work, 'app'), { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${digest}\nsize ${manifest.length}\n`;
  writeFileSync(join(work, 'app', 'big.yaml'), pointer);
  git('add', '--all');
  git('commit', '--quiet', '-m', 'the files');
  const bare = join(folder.path, 'store.git');
  git('clone', '--quiet', '--bare', work, bare);
  const objects = join(bare, 'lfs', 'objects', digest.slice(0, 2), digest.slice(2, 4));
  mkdirSync(objects, { recursive: true });
  writeFileSync(join(objects, digest), manifest);
  return bare;
}

/** An LFS server that serves the manifest to bearers of the grant. */
async function startLfsServer(): Promise<typeof lfs> {
  const asked: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.authorization ?? ''}`);
    request.resume();
    if (request.headers.authorization !== grant) response.writeHead(401).end();
    else if (request.url === '/lfs/object') response.end(manifest);
    else {
      const download = { href: `http://${request.headers.host ?? ''}/lfs/object`, header: { Authorization: grant } };
      response.end(JSON.stringify({ objects: [{ oid: digest, size: manifest.length, actions: { download } }] }));
    }
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, asked };
}

/** An ssh server whose commands are those of the machine and `programs`: paths, or scripts. */
async function serve(name: string, programs: Readonly<Record<string, string>>): Promise<SshServer> {
  const bin = join(folder.path, `bin-${name}`);
  mkdirSync(bin);
  for (const [program, content] of Object.entries(programs)) {
    if (content.startsWith('/')) symlinkSync(content, join(bin, program));
    else {
      writeFileSync(join(bin, program), content);
      chmodSync(join(bin, program), 0o755);
    }
  }
  const ssh = await startSshServer(join(folder.path, `ssh-${name}`), '127.0.0.1', `${bin}:/usr/bin:/bin`);
  closing.push(() => ssh.close());
  return ssh;
}

/** Renders the folder `app` of the repository on that server; returns the data of its objects. */
async function render(ssh: SshServer): Promise<readonly unknown[]> {
  const knownHosts = join(mkdtempSync(join(folder.path, 'trust-')), 'ssh_known_hosts');
  writeFileSync(knownHosts, ssh.knownHosts);
  const stop = new AbortController();
  const clock = systemClock;
  const desired = createDesiredSource({
    ...{ clock, random: systemRandom, logger: silentLogger },
    cacheDir: mkdtempSync(join(folder.path, 'cache-')),
    commands: createInProcessRunner({ clock, env: { PATH: toolsPath() } }),
    reach: { allowLocal: true },
    trust: { sshKnownHosts: knownHosts },
  });
  const running = desired.run(stop.signal);
  const url = `${ssh.url}${repository}`;
  const at = { ...bareRepository(url), sshPrivateKey: new SecretValue(ssh.privateKey), lfs: true };
  const source = { repoURL: url, path: 'app' };
  try {
    const { objects } = await renderOne(desired, requestOf(source, at, { revision: 'main' }), stop.signal);
    return objects.map((object) => object['data']);
  } finally {
    stop.abort(new Shutdown());
    await running.catch(() => undefined);
  }
}

describe('LFS files of a repository with an ssh URL', () => {
  it('come from git-lfs-transfer on the ssh server', async () => {
    const ssh = await serve('transfer', { 'git-lfs-transfer': toolPath('git-lfs-transfer') });
    expect(await render(ssh)).toEqual([{ a: 'x'.repeat(300_000) }]);
    expect(lfs.asked).toEqual([]);
  });

  it('come from the LFS server that git-lfs-authenticate names, with its grant', async () => {
    const port = (lfs.server.address() as AddressInfo).port;
    const answer = JSON.stringify({ href: `http://127.0.0.1:${port}/lfs`, header: { Authorization: grant } });
    const script = `#!/bin/sh\n[ "$2" = download ] || exit 1\n[ -d "$1" ] || exit 1\necho '${answer}'\n`;
    const ssh = await serve('authenticate', { 'git-lfs-authenticate': script });
    expect(await render(ssh)).toEqual([{ a: 'x'.repeat(300_000) }]);
    expect(lfs.asked).toEqual([`POST /lfs/objects/batch ${grant}`, `GET /lfs/object ${grant}`]);
  });

  it('are an error that names both programs if the server has neither', async () => {
    const ssh = await serve('neither', {});
    await expect(render(ssh)).rejects.toThrow(/Git LFS.*git-lfs-authenticate.*git-lfs-transfer/s);
  });
});

import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { eventually } from '#support';
import { createLogger } from '#telemetry';
import { createDesiredSource, createInProcessRunner } from '../../index.ts';
import type { CommandRunner, DesiredSource, SourceReach } from '../../index.ts';
import { serveGit } from '../../testing/git-server.ts';
import { TestRepository } from '../../testing/repository.ts';
import { renderOne, requestOf } from '../../testing/request.ts';

// Real git and ssh on loopback with a test resolver: git cannot resolve these names itself.

type Verdict = 'ok' | { readonly redirect: string };
interface Request {
  readonly host: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

let root = '';
let names: Record<string, (readonly string[])[]> = {};
let asked: string[] = [];
const servers: Server[] = [];
const children: ChildProcess[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'addresses-'));
  names = {};
  asked = [];
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(root, { recursive: true, force: true });
});

/** Returns the answers in turn; the last one repeats. */
const find: NonNullable<SourceReach['find']> = (host) => {
  asked.push(host);
  const answers = names[host] ?? [];
  const answer = answers.length > 1 ? answers.shift() : answers[0];
  return answer === undefined ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(answer);
};

async function serve(
  verdict: (request: IncomingMessage) => Verdict = () => 'ok',
): Promise<{ readonly port: number; readonly seen: Request[] }> {
  const seen: Request[] = [];
  const server = createServer((request, response) => {
    const { host = '', authorization } = request.headers;
    seen.push({ host, path: request.url ?? '', authorization });
    const decided = verdict(request);
    if (decided === 'ok') serveGit(root, request, response);
    else response.writeHead(302, { location: decided.redirect }).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

interface Made {
  readonly source: DesiredSource;
  readonly log: string[];
  readonly head: (repository: Repository | string) => Promise<string>;
}

function bench(
  over: { readonly denied?: readonly string[]; readonly wrap?: (runner: CommandRunner) => CommandRunner } = {},
): Made {
  const log: string[] = [];
  const runner = createInProcessRunner({ clock: systemClock, env: { PATH: env['PATH'] } });
  const source = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } }),
    cacheDir: mkdtempSync(join(root, 'cache-')),
    commands: over.wrap?.(runner) ?? runner,
    limits: { deniedNetworks: over.denied ?? [] },
    trust: { sshKnownHosts: join(root, 'known_hosts') },
    reach: { allowLocal: true, find },
  });
  const head: Made['head'] = (given) => {
    const repository = typeof given === 'string' ? bareRepository(given) : given;
    const at = { source: { repoURL: repository.url, path: '.' }, repository, revision: 'main' };
    return source.resolve(at, 'current', new AbortController().signal);
  };
  return { source, log, head };
}

const repositoryIn = (): { readonly sha: string; readonly path: string } => {
  const made = new TestRepository(root, { 'a.yaml': 'a: 1' });
  return { sha: made.git('rev-parse', 'HEAD'), path: made.path.slice(root.length) };
};

describe('git over HTTP connects to the checked address', () => {
  it('resolves nothing itself; the rules resolve the host once per connection', async () => {
    const { sha, path } = repositoryIn();
    const { port, seen } = await serve();
    names['git.example'] = [['127.0.0.1']];
    const { head } = bench({ denied: ['127.0.0.2'] });
    expect(await head(`http://git.example:${port}${path}`)).toBe(sha);
    expect(seen.every(({ host }) => host === `git.example:${port}`)).toBe(true);
    expect(asked).toEqual(['git.example']);
  });

  it('stays at that address when the DNS answer changes, and refuses the new address next time', async () => {
    const { sha, path } = repositoryIn();
    const { port, seen } = await serve();
    names['flips.example.'] = [['127.0.0.1'], ['169.254.169.254']];
    const { head } = bench();
    expect(await head(`http://flips.example.:${port}${path}`)).toBe(sha);
    const before = seen.length;
    await expect(head(`http://flips.example.:${port}${path}`)).rejects.toThrow(
      /^flips\.example\. \(169\.254\.169\.254\) is a link-local or metadata address: sources may not reach it$/,
    );
    expect(seen).toHaveLength(before);
  });

  it('tries all addresses of the host', async () => {
    const { sha, path } = repositoryIn();
    const { port } = await serve();
    names['two.example'] = [['127.0.0.9', '127.0.0.1']];
    expect(await bench().head(`http://two.example:${port}${path}`)).toBe(sha);
  });

  it('does not connect to a host without an address', async () => {
    await expect(bench().head('http://nothing.example/x.git')).rejects.toThrow(
      'failed to list refs: Could not resolve host: nothing.example',
    );
  });

  it('logs one warning if git is too old for that, and still works', async () => {
    const { sha, path } = repositoryIn();
    const { port } = await serve();
    const wrap = (runner: CommandRunner): CommandRunner => ({
      runCommand: (argv, options) =>
        argv[1] === '--version'
          ? Promise.resolve({ exitCode: 0, stdout: Buffer.from('git version 2.30.2\n'), stderr: '' })
          : runner.runCommand(argv, options),
    });
    const { head, log } = bench({ wrap });
    for (let i = 0; i < 2; i += 1) expect(await head(`http://localhost:${port}${path}`)).toBe(sha);
    expect(log.filter((line) => line.includes('git is older than 2.37'))).toHaveLength(1);
  });
});

describe('redirects of a Git server', () => {
  it('are not followed to a denied address', async () => {
    const inside = await serve();
    const outside = await serve(({ url = '' }) => ({ redirect: `http://127.0.0.2:${inside.port}${url}` }));
    const { head } = bench({ denied: ['127.0.0.2'] });
    await expect(head(`http://127.0.0.1:${outside.port}/x.git`)).rejects.toThrow(/^127\.0\.0\.2 lies in a network/);
    expect(inside.seen).toEqual([]);
  });

  it('are followed to another path of the server with credentials, on every request', async () => {
    const { sha, path } = repositoryIn();
    let from = '/old.git';
    const { port, seen } = await serve(({ url = '' }) =>
      url.startsWith(from) ? { redirect: url.replace(from, path) } : 'ok',
    );
    const repository = { ...bareRepository(`http://127.0.0.1:${port}/old.git`), password: new SecretValue('token') };
    const { head } = bench();
    expect(await head(repository)).toBe(sha);
    expect(await head(repository)).toBe(sha);
    expect(seen.every(({ authorization }) => authorization !== undefined)).toBe(true);
    // The old path now belongs to another repository.
    from = '/none';
    await expect(head(repository)).rejects.toThrow('repository not found');
  });

  it('are followed to another server without credentials', async () => {
    const { sha, path } = repositoryIn();
    const away = await serve();
    const first = await serve(({ url = '' }) => ({
      redirect: `http://127.0.0.1:${away.port}${url.replace('/x.git', path)}`,
    }));
    const repository = {
      ...bareRepository(`http://127.0.0.1:${first.port}/x.git`),
      password: new SecretValue('token'),
    };
    expect(await bench().head(repository)).toBe(sha);
    expect(away.seen.length).toBeGreaterThan(0);
    expect(away.seen.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it('do not carry credentials after another host redirects back to the first', async () => {
    const { path } = repositoryIn();
    let home = 0;
    const away = await serve(({ url = '' }) => ({
      redirect: `http://127.0.0.1:${home}${url.replace('/x.git', path)}`,
    }));
    const first = await serve(({ url = '' }) =>
      url.startsWith('/x.git') ? { redirect: `http://127.0.0.1:${away.port}${url}` } : 'ok',
    );
    home = first.port;
    const repository = { ...bareRepository(`http://127.0.0.1:${home}/x.git`), password: new SecretValue('token') };
    await bench().head(repository);
    const others = first.seen.filter(({ path: asked }) => !asked.startsWith('/x.git'));
    expect(others.length).toBeGreaterThan(0);
    expect(others.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it('of the object request are not followed to a denied address', async () => {
    const { path } = repositoryIn();
    const inside = await serve();
    const outside = await serve(({ url = '', method }) =>
      method === 'POST' ? { redirect: `http://127.0.0.2:${inside.port}${url}` } : 'ok',
    );
    const { head } = bench({ denied: ['127.0.0.2'] });
    await expect(head(`http://127.0.0.1:${outside.port}${path}`)).rejects.toThrow(/returned error: 302/);
    expect(inside.seen).toEqual([]);
  });

  it('through alternates of a dumb HTTP server are not followed to a denied address', async () => {
    const { sha } = repositoryIn();
    const inside = await serve();
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      const files: Readonly<Record<string, string>> = {
        '/x.git/info/refs?service=git-upload-pack': `${sha}\trefs/heads/main\n`,
        '/x.git/HEAD': 'ref: refs/heads/main\n',
        '/x.git/objects/info/http-alternates': `http://127.0.0.2:${inside.port}/y.git/objects/\n`,
        '/x.git/objects/info/alternates': `http://127.0.0.2:${inside.port}/y.git/objects/\n`,
      };
      const body = files[url];
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'text/plain' }).end(body);
    });
    servers.push(server);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const repoURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
    const { source } = bench({ denied: ['127.0.0.2'] });
    const request = requestOf({ repoURL, path: '.' }, bareRepository(repoURL));
    await expect(renderOne(source, request, new AbortController().signal)).rejects.toThrow();
    expect(asked).toContain('/x.git/objects/info/http-alternates');
    expect(inside.seen).toEqual([]);
  });

  it('to anything but a repository are an error', async () => {
    const { port } = await serve(({ url = '' }) => (url === '/login' ? 'ok' : { redirect: '/login' }));
    await expect(bench().head(`http://127.0.0.1:${port}/x.git`)).rejects.toThrow(
      `http://127.0.0.1:${port}/x.git redirects to http://127.0.0.1:${port}/login, which is no Git repository`,
    );
  });
});

const sshd = '/usr/sbin/sshd';
const without = existsSync(sshd) ? '' : ' (left out: this machine has no sshd)';

(existsSync(sshd) ? describe : describe.skip)(
  `git over ssh connects to the address that was looked at${without}`,
  () => {
    async function startSsh(): Promise<{
      readonly port: number;
      readonly key: string;
      readonly privateKey: SecretValue;
    }> {
      if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
      for (const name of ['host', 'user'])
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(root, name)]);
      const port = await freePort();
      const options = [
        ...[`ListenAddress=127.0.0.1:${port}`, `HostKey=${join(root, 'host')}`, 'StrictModes=no', 'UsePAM=no'],
        ...[`AuthorizedKeysFile=${join(root, 'user.pub')}`, 'PidFile=none', 'PermitRootLogin=prohibit-password'],
      ];
      const words = ['-D', '-e', '-f', '/dev/null', ...options.flatMap((option) => ['-o', option])];
      children.push(spawn(sshd, words, { stdio: 'ignore' }));
      await eventually(() => answers(port), 20_000);
      const key = readFileSync(join(root, 'host.pub'), 'utf8').trim();
      return { port, key, privateKey: new SecretValue(readFileSync(join(root, 'user'), 'utf8')) };
    }

    it.each([
      ['its name and port', (port: number) => `[git.example]:${port}`, true],
      ['its name alone', () => 'git.example', true],
      ['another name', () => 'other.example', false],
      ['its address', (port: number) => `[127.0.0.1]:${port}`, false],
    ])('with a host known by %s', async (_what, line, isKnown) => {
      const { sha, path } = repositoryIn();
      const { port, key, privateKey } = await startSsh();
      names['git.example'] = [['127.0.0.1'], ['169.254.169.254']];
      writeFileSync(join(root, 'known_hosts'), `${line(port)} ${key}\n`);
      const url = `ssh://${userInfo().username}@git.example:${port}${root}${path}`;
      const repository = { ...bareRepository(url), sshPrivateKey: privateKey };
      const { head } = bench();
      if (isKnown) expect(await head(repository)).toBe(sha);
      else await expect(head(repository)).rejects.toThrow('is not among the known hosts');
      await expect(head(repository)).rejects.toThrow(/^git\.example \(169\.254\.169\.254\) is a link-local/);
      expect(asked).toEqual(['git.example', 'git.example']);
    });

    it('refuses a wrong key for host and port, even if the host alone has the right one', async () => {
      const { path } = repositoryIn();
      const { port, key, privateKey } = await startSsh();
      names['git.example'] = [['127.0.0.1']];
      const other = readFileSync(join(root, 'user.pub'), 'utf8').trim();
      writeFileSync(join(root, 'known_hosts'), `[git.example]:${port} ${other}\ngit.example ${key}\n`);
      const url = `ssh://${userInfo().username}@git.example:${port}${root}${path}`;
      await expect(bench().head({ ...bareRepository(url), sshPrivateKey: privateKey })).rejects.toThrow(
        'is not among the known hosts',
      );
    });

    it('tries the next address if one is unreachable, and does not connect without addresses', async () => {
      const { sha, path } = repositoryIn();
      const { port, key, privateKey } = await startSsh();
      names['git.example'] = [['127.0.0.9', '127.0.0.1']];
      writeFileSync(join(root, 'known_hosts'), `[git.example]:${port} ${key}\n`);
      const at = (host: string): Repository => ({
        ...bareRepository(`ssh://${userInfo().username}@${host}:${port}${root}${path}`),
        sshPrivateKey: privateKey,
      });
      const { head } = bench();
      expect(await head(at('git.example'))).toBe(sha);
      await expect(head(at('none.example'))).rejects.toThrow('Could not resolve host: none.example');
      await expect(head(at('git%2eexample%40x'))).rejects.toThrow('its host is not valid');
    });
  },
);

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', () => {
      socket.destroy();
      resolve();
    });
  });
}

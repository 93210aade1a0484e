import { generateKeyPairSync, createVerify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { transformFile } from '@swc/core';
import { Secret, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { createInProcessRunner } from '../command/in-process.ts';
import type { CommandRunner } from '../command/types.ts';
import { failureOf } from '../testing/repository.ts';
import { startWebServer } from '../testing/web-server.ts';
import type { WebServer } from '../testing/web-server.ts';
import { azureWorkloadOf, CloudTokens } from './cloud-tokens.ts';
import type { AzureWorkload } from './cloud-tokens.ts';
import { defaultTrust, Git } from './git.ts';
import { checkUrl } from './untrusted.ts';
import { Web } from './web.ts';

const never = new AbortController().signal;
let folder: string;
let server: WebServer;
let bodies: URLSearchParams[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  server = await startWebServer();
  bodies = [];
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function tokens(clock: FakeClock, azureWorkload?: AzureWorkload): CloudTokens {
  const web = new Web({ tlsCertificates: folder, proxies: {} });
  return new CloudTokens({ clock, web, deadlineMs: 60_000, azureWorkload });
}

/** The Basic or Bearer that git would be given. */
function shown(given: {
  readonly username?: string;
  readonly password?: Secret;
  readonly bearerToken?: Secret;
}): string {
  return `${given.username ?? ''}:${given.password?.reveal() ?? ''} ${given.bearerToken?.reveal() ?? ''}`;
}

describe('a token of Google', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyOf = (over: object = {}): Secret =>
    new Secret(
      JSON.stringify({
        client_email: 'robot@example.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        private_key_id: 'k1',
        token_uri: `${server.url}/token`,
        ...over,
      }),
    );
  const of = (googleKey: Secret): Repository => ({ ...bareRepository('https://source.example.com/r'), googleKey });

  it('10.1: is got with a signed text, kept for as long as it is good, and no longer', async () => {
    const clock = new FakeClock();
    let round = 0;
    server.pages.set('/token', () => {
      round += 1;
      return { body: JSON.stringify({ access_token: `t${round}`, expires_in: 3600 }) };
    });
    server.onBody = (body) => void bodies.push(new URLSearchParams(body));
    const one = tokens(clock);
    const repository = of(keyOf());
    expect(shown(await one.credentials(repository, never))).toBe('robot@example.iam.gserviceaccount.com:t1 ');
    await clock.advance(3_200_000);
    expect(shown(await one.credentials(repository, never))).toContain(':t1 ');
    await clock.advance(200_000);
    expect(shown(await one.credentials(repository, never))).toContain(':t2 ');
    const [head = '', claims = '', signature = ''] = (bodies[0]?.get('assertion') ?? '').split('.');
    expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'robot@example.iam.gserviceaccount.com',
      aud: `${server.url}/token`,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    });
  });

  it('10.1: what is wrong with the key is said without it', async () => {
    const one = tokens(new FakeClock());
    const message = async (key: Secret): Promise<string> => (await failureOf(one.credentials(of(key), never))).message;
    expect(await message(new Secret('hunter2'))).toMatch(/gcpServiceAccountKey is no JSON$/);
    expect(await message(keyOf({ client_email: '' }))).toContain('it needs client_email, private_key and token_uri');
    expect(await message(keyOf({ private_key: 'hunter2' }))).toMatch(/has a private_key that cannot be read$/);
    expect(await message(keyOf())).toMatch(/answers with status 404$/);
  });
});

describe('a token of Azure', () => {
  const page = '/tenant/oauth2/v2.0/token';

  it('10.1: by the identity of the workload: the token of its ServiceAccount is read anew each time', async () => {
    server.pages.set(page, { body: JSON.stringify({ access_token: 'azure', expires_in: 0 }) });
    server.onBody = (body) => void bodies.push(new URLSearchParams(body));
    const file = join(folder, 'token');
    const names = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'me', AZURE_AUTHORITY_HOST: `${server.url}/` };
    const one = tokens(new FakeClock(), azureWorkloadOf({ ...names, AZURE_FEDERATED_TOKEN_FILE: file }));
    const repository: Repository = { ...bareRepository('https://dev.azure.com/o/_git/r'), azure: 'workload' };
    for (const text of ['first\n', 'second\n']) {
      writeFileSync(file, text);
      expect(shown(await one.credentials(repository, never))).toBe(': azure');
    }
    expect(bodies.map((body) => body.get('client_assertion'))).toEqual(['first', 'second']);
    expect(bodies[0]?.get('scope')).toBe('499b84ac-1321-427f-aa17-267ca6975798/.default');
    const { message } = await failureOf(tokens(new FakeClock()).credentials(repository, never));
    expect(message).toContain('this pod has none (AZURE_CLIENT_ID');
    expect(azureWorkloadOf(names)).toBeUndefined();
  });

  it('10.1: by a service principal', async () => {
    server.pages.set(page, { body: JSON.stringify({ access_token: 'sp', expires_in: 3600 }) });
    const azure = { tenantId: 'tenant', clientId: 'c', secret: new Secret('hunter2'), authority: server.url };
    const repository = { ...bareRepository('https://dev.azure.com/o/_git/r'), azure };
    expect(shown(await tokens(new FakeClock()).credentials(repository, never))).toBe(': sp');
    server.pages.set(page, { status: 401, body: 'hunter2' });
    const { message } = await failureOf(tokens(new FakeClock()).credentials(repository, never));
    expect(message).toMatch(/^failed to authenticate as the Azure service principal c: .* status 401$/);
  });
});

describe('ssh through a proxy', () => {
  let program = '';
  let built = '';
  beforeAll(async () => {
    built = mkdtempSync(join(tmpdir(), 'ssh-proxy-'));
    writeFileSync(join(built, 'package.json'), '{"type":"module"}');
    const { code } = await transformFile(join(import.meta.dirname, '..', 'ssh-proxy-main.ts'), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    program = join(built, 'ssh-proxy-main.js');
    writeFileSync(program, code);
  });
  afterAll(() => rmSync(built, { recursive: true, force: true }));

  const listening = (onConnection: Parameters<typeof createServer>[1]): Promise<{ port: number; close: () => void }> =>
    new Promise((resolve) => {
      const one = createServer({ allowHalfOpen: true }, onConnection);
      one.listen(0, '127.0.0.1', () =>
        resolve({ port: (one.address() as AddressInfo).port, close: () => void one.close() }),
      );
    });

  /** A SOCKS 5 proxy that wants `me` and `pass`, or nothing; answers with `status`. */
  const socks = (login: boolean, status = 0): ReturnType<typeof listening> =>
    listening((socket) => {
      socket.on('error', () => undefined);
      const steps = [
        () => socket.write(Buffer.from([5, login ? 2 : 0])),
        ...(login
          ? [(data: Buffer) => socket.write(Buffer.from([1, data.toString('latin1', 2, 4) === 'me' ? 0 : 1]))]
          : []),
        (data: Buffer) => {
          const length = data[4] ?? 0;
          const host = data.toString('latin1', 5, 5 + length);
          socket.write(Buffer.from([5, status, 0, 1, 0, 0, 0, 0, 0, 0]));
          if (status !== 0) return socket.end();
          socket.removeAllListeners('data');
          const out = connect({ port: data.readUInt16BE(5 + length), host, allowHalfOpen: true });
          return socket.pipe(out).pipe(socket);
        },
      ];
      socket.on('data', (data: Buffer) => void steps.shift()?.(data));
    });

  const through = (proxyPort: number, port: number, more: Record<string, string> = {}) =>
    createInProcessRunner({ clock: systemClock, env }).runCommand(
      [execPath, program, '127.0.0.1', String(proxyPort), '127.0.0.1', String(port)],
      { stdin: 'hello', env: more, timeoutMs: 20_000, maxBytes: 1000, signal: never },
    );

  it('10.1: bytes pass both ways, with and without a login; a refusal is said', async () => {
    const echo = await listening((socket) => void socket.on('data', (data) => socket.end(`got ${data.toString()}`)));
    for (const login of [true, false]) {
      const proxy = await socks(login);
      const { stdout } = await through(
        proxy.port,
        echo.port,
        login ? { SOCKS5_USER: 'me', SOCKS5_PASSWD: 'pass' } : {},
      );
      expect(Buffer.from(stdout).toString()).toBe('got hello');
      proxy.close();
    }
    const [strict, closed] = [await socks(true), await socks(false, 5)];
    const failed = await through(strict.port, echo.port, { SOCKS5_USER: 'xx', SOCKS5_PASSWD: 'hunter2' });
    expect([failed.exitCode, failed.stderr.includes('refuses user and password')]).toEqual([1, true]);
    expect((await through(strict.port, echo.port)).stderr).toContain('wants credentials that are not there');
    expect((await through(closed.port, echo.port)).stderr).toContain('the connection was refused');
    for (const one of [strict, closed, echo]) one.close();
  });

  it('10.1: git is told so, with the login in the environment; other proxies are refused', async () => {
    const seen: Readonly<Record<string, string>>[] = [];
    const commands: CommandRunner = {
      runCommand: (_argv, options) => {
        seen.push(options.env ?? {});
        return Promise.resolve({ exitCode: 0, stdout: new Uint8Array(), stderr: '' });
      },
    };
    const git = new Git({ commands, random: systemRandom, cacheDir: folder, trust: defaultTrust });
    const list = (proxy: string, url = 'ssh://git@git.example.com:2222/r'): Promise<unknown> => {
      const remote = { url: checkUrl(url, folder), repository: { ...bareRepository(url), proxy } };
      return git.run(['ls-remote', 'source'], { directory: folder, signal: never, timeoutMs: 1000, remote });
    };
    await list('socks5://me:hunt%20er2@proxy.example.com:1081');
    const ssh = seen[0]?.['GIT_SSH_COMMAND'] ?? '';
    expect(ssh).toContain('ssh-proxy-main.js');
    expect(ssh).toContain('proxy.example.com');
    expect(ssh).not.toContain('hunt');
    expect(seen[0]).toMatchObject({ SOCKS5_USER: 'me', SOCKS5_PASSWD: 'hunt er2' });
    expect((await failureOf(list('http://proxy.example.com'))).message).toContain('not reached by socks5://');
    expect((await failureOf(list('nonsense'))).message).toContain('is no URL');
  });
});

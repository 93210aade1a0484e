import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { transformFile } from '@swc/core';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { createInProcessRunner } from '../../command/in-process.ts';
import type { CommandRunner } from '../../command/types.ts';
import { failureOf } from '../../testing/repository.ts';
import { defaultTrust, Git } from './git.ts';
import { checkUrl } from '../shared/input-checks.ts';

const never = new AbortController().signal;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ssh-proxy-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('ssh through a proxy', () => {
  let program = '';
  let built = '';
  beforeAll(async () => {
    built = mkdtempSync(join(tmpdir(), 'ssh-proxy-'));
    writeFileSync(join(built, 'package.json'), '{"type":"module"}');
    const { code } = await transformFile(join(import.meta.dirname, '..', '..', 'ssh-proxy-main.ts'), {
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

  /** A SOCKS 5 proxy that requires `me` and `pass`, or no login, and answers with `status`. */
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

  it('passes bytes both ways, with and without a login, and reports a refusal', async () => {
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

  it('configures git with the login in the environment, and refuses other proxies', async () => {
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
    expect((await failureOf(list('http://proxy.example.com'))).message).toContain('a proxy other than socks5://');
    expect((await failureOf(list('nonsense'))).message).toContain('is no URL');
  });
});

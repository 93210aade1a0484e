import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shutdown, UsageError } from '#base';
import { eventually } from '#support';
import type { CommandOutput } from '../process/output.ts';
import { parseBytes } from './options.ts';
import { refuseToken, render } from './render.ts';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'cli-render-'));
});
afterAll(() => rmSync(root, { recursive: true }));

const run = async (
  argv: readonly string[],
  tokenPath?: string,
  signal = new AbortController().signal,
): Promise<{ readonly exitCode: number; readonly out: string }> => {
  const lines: string[] = [];
  const output = {
    out: (line: string) => lines.push(line),
    err: (line: string) => lines.push(line),
  } as unknown as CommandOutput;
  const exitCode = await render({ argv, env: {}, output, signal }, tokenPath);
  return { exitCode, out: lines.join('\n') };
};

describe('driftless render', () => {
  it('explains itself', async () => {
    const { exitCode, out } = await run(['--help']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^Run helm[\s\S]*Usage:[\s\S]*Examples:[\s\S]*Flags:\n {6}--listen/);
  });

  it.each([
    [[], /needs --listen/],
    [['--listen', 'render.sock'], /is not an address/],
    [['--listen', 'tls:127.0.0.1:0'], /needs --tls-cert/],
    [['--listen', 'unix:/x', 'more'], /takes flags only/],
  ])('refuses %j and says what is right', async (argv, message) => {
    await expect(run(argv)).rejects.toThrow(message);
  });

  it('does not start where a ServiceAccount token can be read, and says what to do', () => {
    const token = join(root, 'token');
    expect(() => refuseToken(token)).not.toThrow();
    writeFileSync(token, 'secret-token');
    expect(() => refuseToken(token)).toThrow(UsageError);
    expect(() => refuseToken(token)).toThrow(/automountServiceAccountToken: false.*--allow-service-account-token/);
    expect(() => refuseToken(token)).not.toThrow(/secret-token/);
  });

  it('checks for a token before it listens, unless that is permitted', async () => {
    const token = join(root, 'mounted-token');
    writeFileSync(token, 'secret-token');
    const listen = ['--listen', `unix:${join(root, 'none', 'render.sock')}`];
    await expect(run(listen, token)).rejects.toThrow('a ServiceAccount token is readable');
    // The next fault: there is no such folder.
    const permitted = run([...listen, '--allow-service-account-token', '--staging-dir', root], token);
    await expect(permitted).rejects.toThrow(/EACCES|ENOENT/);
  });

  it('drops its environment, so that no program can read it', async () => {
    const [stop, path] = [new AbortController(), join(root, 'private', 'render.sock')];
    mkdirSync(join(root, 'private'), { recursive: true, mode: 0o700 });
    process.env['RENDER_TEST_CANARY'] = 'c4nary';
    const argv = ['--listen', `unix:${path}`, '--allow-service-account-token', '--staging-dir', root];
    const running = run(argv, undefined, stop.signal);
    try {
      await eventually(() => expect(existsSync(path)).toBe(true));
      expect(process.env['RENDER_TEST_CANARY']).toBeUndefined();
      expect(process.env['PATH']).toBeDefined();
    } finally {
      stop.abort(new Shutdown());
    }
    expect(await running).toMatchObject({ exitCode: 0 });
  });

  it('--check fails where nobody listens', async () => {
    mkdirSync(join(root, 'private'), { recursive: true, mode: 0o700 });
    await expect(run(['--check', '--listen', `unix:${join(root, 'private', 'none.sock')}`])).rejects.toThrow(
      /the renderer is unavailable: there is no socket/,
    );
  });

  it('reads amounts of memory as Kubernetes writes them', () => {
    expect(['2Gi', '512Mi', '134217728'].map((text) => parseBytes(text, '--memory-limit'))).toEqual([
      2 ** 31,
      2 ** 29,
      2 ** 27,
    ]);
    for (const text of ['', '2G', '1Mi', '-1', 'much'])
      expect(() => parseBytes(text, '--memory-limit')).toThrow(UsageError);
  });
});

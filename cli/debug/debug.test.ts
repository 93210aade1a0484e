import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { DebugSocket, silentLogger } from '#telemetry';
import { runCommandLine } from '../driftless.ts';
import { debugSocketOf, ownNames } from './debug-paths.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'debug-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function debug(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const output = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
    color: false,
    live: false,
    progress: () => undefined,
  };
  const code = await runCommandLine(['debug', ...argv], { env, output, signal: new AbortController().signal });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('driftless debug state', () => {
  it('prints what the controller of the same environment does right now', async () => {
    const path = debugSocketOf({ debugSocket: '', cacheDir: folder });
    const socket = new DebugSocket({
      path,
      logger: silentLogger,
      uid: process.getuid?.(),
      state: () => ({ shard: 3 }),
    });
    const stop = new AbortController();
    const running = socket.run(stop.signal);
    await socket.ready();
    const ways: [readonly string[], Record<string, string>][] = [
      [[], { DRIFTLESS_CACHE_DIR: folder }],
      [['--cache-dir', folder], {}],
      [['--debug-socket', path], {}],
      [[], { DRIFTLESS_DEBUG_SOCKET: path }],
    ];
    for (const [flags, env] of ways)
      expect(await debug(['state', ...flags], env)).toEqual({ code: 0, out: '{"shard":3}', err: '' });
    stop.abort(new Shutdown());
    await running;
  });

  it('says in one line where no controller answers', async () => {
    const { code, err } = await debug(['state', '--cache-dir', folder]);
    expect(code).toBe(1);
    expect(err).toContain(`no controller answers at ${join(folder, 'debug', 'state.sock')}: `);
  });

  it.each([[[]], [['nothing']], [['state', 'more']]])('takes %j for bad usage', async (argv) => {
    expect(await debug(argv)).toMatchObject({ code: 2, err: expect.stringContaining('usage: driftless debug state') });
  });

  it('looks where the controller of this machine is without flags', () => {
    const { cacheDir } = ownNames({ hostname: 'driftless-0', cacheDir: '' });
    expect(cacheDir).toBe(join(tmpdir(), 'driftless', 'driftless-0'));
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiSocket } from '#api';
import { newAbortController, Shutdown } from '#base';
import { silentLogger } from '#telemetry';
import { runCommandLine } from '../driftless.ts';
import { debugSocketOf, ownNames } from '../process/replica-paths.ts';
import { readApiDefaults } from './defaults.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'own-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const page = { kind: 'Costs', subject: 'apps', windowMs: 0, items: [], incomplete: [] };

/** Runs `driftless top apps` as in a pod that has this environment. */
async function top(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const output = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
    color: false,
    live: false,
    progress: () => undefined,
  };
  const command = ['top', 'apps', '-o', 'json', ...argv];
  const code = await runCommandLine(command, {
    env: { HOME: folder, ...env },
    output,
    signal: newAbortController().signal,
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

/** Runs `body` while a controller with this cache directory serves its socket. */
async function serving(body: (path: string) => Promise<void>): Promise<void> {
  const path = debugSocketOf({ debugSocket: '', cacheDir: folder });
  const answer: ConstructorParameters<typeof ApiSocket>[0]['answer'] = (_request, response) =>
    response.end(JSON.stringify(page));
  const socket = new ApiSocket({ path, logger: silentLogger, uid: process.getuid?.(), answer });
  const stop = newAbortController();
  const running = socket.run(stop.signal);
  await socket.ready();
  try {
    await body(path);
  } finally {
    stop.abort(new Shutdown());
    await running;
  }
}

describe('in a pod of the controller, commands read its Unix socket', () => {
  it('without flags, by the environment that they share, or by --socket', () =>
    serving(async (path) => {
      const ways: [readonly string[], Record<string, string>][] = [
        [[], { DRIFTLESS_CACHE_DIR: folder }],
        [[], { DRIFTLESS_DEBUG_SOCKET: path }],
        [['--socket', path], {}],
      ];
      for (const [flags, env] of ways)
        expect(await top(flags, env)).toEqual({ code: 0, out: JSON.stringify(page), err: '' });
    }));

  it('but not if a kubeconfig names a hub', () =>
    serving(async () => {
      const kubeconfig = join(folder, '.kube', 'config');
      mkdirSync(join(folder, '.kube'));
      writeFileSync(kubeconfig, 'not a kubeconfig: [');
      const { code, err } = await top([], { DRIFTLESS_CACHE_DIR: folder });
      expect([code, err]).toEqual([expect.any(Number), expect.stringContaining(kubeconfig)]);
      expect(code).not.toBe(0);
    }));

  it('and a file in its place is not asked', () => {
    mkdirSync(join(folder, 'debug'));
    writeFileSync(join(folder, 'debug', 'state.sock'), '');
    expect(readApiDefaults({ HOME: folder, DRIFTLESS_CACHE_DIR: folder })).toEqual({ kubeconfig: '', socket: '' });
  });

  it('and one line names the socket where none answers', async () => {
    const path = join(folder, 'none.sock');
    const { code, err } = await top(['--socket', path], {});
    expect([code, err]).toEqual([1, expect.stringContaining(`no controller answers at ${path}: `)]);
  });
});

it('a controller without flags has its cache in a folder with its name', () => {
  const { cacheDir } = ownNames({ hostname: 'driftless-0', cacheDir: '' });
  expect(cacheDir).toBe(join(tmpdir(), 'driftless', 'driftless-0'));
});

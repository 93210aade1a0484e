import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown } from '#base';
import { socketPage } from '#support';
import { createLogger } from '#telemetry';
import { ApiSocket } from './api-socket.ts';

describe('the Unix socket of the read API', () => {
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'api-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function serving<T>(path: string, body: (log: string[]) => Promise<T>, uid = process.getuid?.()): Promise<T> {
    const log: string[] = [];
    const write = (line: string): void => void log.push(line);
    const logger = createLogger({ level: 'info', format: 'json', destination: { write } });
    const stop = newAbortController();
    const socket = new ApiSocket({ path, logger, uid, answer: ({ url }, response) => response.end(url) });
    const running = socket.run(stop.signal);
    await socket.ready();
    try {
      return await body(log);
    } finally {
      stop.abort(new Shutdown());
      await running;
    }
  }
  const ask = (path: string): Promise<string> => socketPage(path, 'replica');

  it('answers, and only its own user may open it', async () => {
    const path = join(folder, 'own', 'state.sock');
    await serving(path, async () => {
      expect(await ask(path)).toBe('/api/v1/replica');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(join(folder, 'own')).mode & 0o777).toBe(0o700);
    });
    await expect(ask(path)).rejects.toThrow('ENOENT');
  });

  it('replaces the socket of a process that was killed', async () => {
    const path = join(folder, 'own', 'state.sock');
    mkdirSync(join(folder, 'own'), { mode: 0o700 });
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`;
    spawnSync(process.execPath, ['-e', script]);
    expect(statSync(path).isSocket()).toBe(true);
    expect(await serving(path, () => ask(path))).toBe('/api/v1/replica');
  });

  it.each([
    ['a folder that others may enter', 'open/state.sock', 'is accessible to others: set mode 0700'],
    ['a file in its place', 'own/file', 'exists and is not a socket'],
    ['a link to a folder', 'link/state.sock', 'belongs to another user'],
    ['a path that is too long', `own/${'x'.repeat(120)}`, 'is longer than 107 bytes'],
  ])('is not opened with %s: the log names the reason, and the controller goes on', async (_what, name, reason) => {
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o755);
    mkdirSync(join(folder, 'own'), { mode: 0o700 });
    writeFileSync(join(folder, 'own', 'file'), '');
    symlinkSync(join(folder, 'own'), join(folder, 'link'));
    const path = join(folder, name);
    await serving(path, async (log) => {
      await expect(ask(path)).rejects.toThrow();
      expect(log.join('')).toContain(reason);
      expect(log.join('')).toContain('--debug-socket');
    });
  });

  it("is not opened in another user's folder", async () => {
    const path = join(folder, 'own', 'state.sock');
    const log = await serving(path, (lines) => Promise.resolve(lines.join('')), 4_000_000);
    expect(log).toContain('belongs to another user');
  });
});

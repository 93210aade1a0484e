import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ListenError } from '#telemetry';
import { dashboardFiles, startDashboard } from './index.ts';
import type { RunningDashboard } from './index.ts';

let folder: string;
let dashboard: RunningDashboard;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><script src="assets/a-1.js"></script>');
  writeFileSync(join(folder, 'assets', 'a-1.js'), 'run()');
  writeFileSync(join(folder, 'notes.txt'), 'not for others');
  dashboard = await startDashboard({
    host: '127.0.0.1',
    port: 0,
    files: dashboardFiles(folder),
    api: (_request, response) => void response.end('answer'),
  });
});
afterEach(async () => {
  await dashboard.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string): Promise<Response> => fetch(`${dashboard.url}${path}`);

describe('the files of the dashboard', () => {
  it('are served with a strict policy: no inline script, no other origin, no frame', async () => {
    const answer = await get('/');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(await answer.text()).toContain('assets/a-1.js');
  });

  it('are kept by browsers, but for the page that names them', async () => {
    expect((await get('/')).headers.get('cache-control')).toBe('no-cache');
    expect((await get('/assets/a-1.js')).headers.get('cache-control')).toContain('immutable');
  });

  it.each(['/notes.txt', '/index.html', '/../package.json', '/assets/', '/assets/%2e%2e/notes.txt'])(
    'are no others: %s',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );

  it('must have been built', () => {
    expect(() => dashboardFiles(join(folder, 'assets'))).toThrow('is not built');
    expect(() => dashboardFiles(join(folder, 'none'))).toThrow('run npm run build');
  });
});

describe('the listener of the demo', () => {
  it('passes requests of the read API on', async () => {
    expect(await (await get('/api/v1/replica')).text()).toBe('answer');
  });

  it('refuses a page that rebound its own name to this machine', async () => {
    const { port } = new URL(dashboard.url);
    const status = await new Promise<number | undefined>((resolve) => {
      request({ port, path: '/api/v1/replica', headers: { host: 'evil.example' } }, ({ statusCode }) =>
        resolve(statusCode),
      ).end();
    });
    expect(status).toBe(403);
  });

  it('reports in one line that its port is in use', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, files: dashboardFiles(folder), api: () => undefined };
    await expect(startDashboard(options)).rejects.toBeInstanceOf(ListenError);
    await new Promise((done) => taken.close(done));
  });
});

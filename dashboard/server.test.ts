import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { ListenError } from '#telemetry';
import { startDashboard } from './index.ts';
import type { RunningDashboard, DashboardState } from './index.ts';

let state: DashboardState;
let dashboard: RunningDashboard;
const source = { state: () => Promise.resolve(state) };
const options = { host: '127.0.0.1', port: 0, clock: systemClock, source, assets: 'dashboard/public' };
const row = (sync: string): DashboardState['applications'][number] => ({
  name: 'web',
  cluster: 'c',
  sync,
  health: 'Healthy',
  revision: 'abc',
  operation: '',
  message: '</script><script>alert(1)</script>',
});

beforeEach(async () => {
  state = { applications: [row('OutOfSync')], replicas: [], hints: ['try this'] };
  dashboard = await startDashboard(options);
});
afterEach(() => dashboard.close());

describe('dashboard', () => {
  it('serves a page with the current state, and never runs text of an Application as code', async () => {
    const answer = await fetch(`${dashboard.url}/`);
    const page = await answer.text();
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(page).toContain('"sync":"OutOfSync"');
    expect(page).not.toContain('<script>alert');
  });

  it('serves the state as JSON and nothing else', async () => {
    expect(await (await fetch(`${dashboard.url}/state`)).json()).toEqual(state);
    expect((await fetch(`${dashboard.url}/../package.json`)).status).toBe(404);
  });

  it('sends changes as they happen', async () => {
    const answer = await fetch(`${dashboard.url}/events`);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain('"sync":"OutOfSync"');
    state = { ...state, applications: [row('Synced')] };
    let seen = '';
    while (!seen.includes('"sync":"Synced"')) seen += (await reader.read()).value ?? '';
    expect(seen).toMatch(/^data: \{.*\}\n\n/);
    await reader.cancel();
  });

  it('reports in one line that its port is in use', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    await expect(startDashboard({ ...options, port })).rejects.toBeInstanceOf(ListenError);
    await new Promise((done) => taken.close(done));
  });
});

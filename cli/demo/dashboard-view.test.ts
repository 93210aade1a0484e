import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { forwardToReplica } from './dashboard-view.ts';
import type { ReplicaState } from './replicas.ts';

const servers: Server[] = [];
let folder: string;
let states: ReplicaState[];
let url: string;

async function listening(server: Server, at: string | number): Promise<Server> {
  servers.push(server);
  await new Promise<void>((resolve) => {
    if (typeof at === 'string') server.listen(at, resolve);
    else server.listen(at, '127.0.0.1', resolve);
  });
  return server;
}

/** A replica that answers with its name and the headers that it got. */
async function replica(name: string): Promise<Server> {
  const socket = join(folder, `${name}.sock`);
  states.push({ name, pid: 1, socket, restarts: 0, log: '' });
  return listening(
    createServer(({ url: path, headers }, response) => {
      response.end(JSON.stringify({ name, path, headers }));
    }),
    socket,
  );
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'view-'));
  states = [];
  const front = await listening(createServer(forwardToReplica({ states: () => states })), 0);
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(folder, { recursive: true, force: true });
});

describe('the dashboard of the demo', () => {
  it('asks a replica that runs, and gives it no credentials of the browser', async () => {
    states.push({ name: 'starting', pid: 2, socket: undefined, restarts: 0, log: '' });
    await replica('driftless-1');
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'last-event-id': 'p-1' };
    const answer = (await (await fetch(`${url}/api/v1/replica?x=1`, { headers })).json()) as {
      readonly name: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    };
    expect(answer).toMatchObject({
      name: 'driftless-1',
      path: '/api/v1/replica?x=1',
      headers: { 'last-event-id': 'p-1' },
    });
    expect(answer.headers).not.toHaveProperty('authorization');
    expect(answer.headers).not.toHaveProperty('cookie');
  });

  it('asks another replica when one is dead', async () => {
    states.push({ name: 'dead', pid: 2, socket: join(folder, 'none.sock'), restarts: 0, log: '' });
    await replica('driftless-1');
    expect(await (await fetch(`${url}/api/v1/replica`)).json()).toMatchObject({ name: 'driftless-1' });
  });

  it('answers 503 while no replica runs', async () => {
    const answer = await fetch(`${url}/api/v1/replica`);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { apiVersion: 'driftless.io/v1', kind: 'Error', code: 503, message: 'no replica answers yet' },
    ]);
  });
});

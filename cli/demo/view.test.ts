import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AppSnapshot } from '#controller';
import { appKey } from '#model';
import type { ReplicaState } from './replicas.ts';
import { dashboardSource } from './view.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** Something that answers as a replica does. */
async function replica(name: string, state: object): Promise<ReplicaState> {
  const server = createServer((request, response) => {
    const known = request.url === '/debug/state';
    response.writeHead(known ? 200 : 404, { connection: 'close' }).end(known ? JSON.stringify(state) : '');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { name, pid: 1, port: (server.address() as AddressInfo).port, restarts: 0, log: '' };
}

const app = (name: string, over: Partial<AppSnapshot> = {}): AppSnapshot => ({
  key: appKey('argocd', name),
  project: 'default',
  cluster: 'https://one',
  sync: 'Synced',
  health: 'Healthy',
  healthMessage: '',
  revision: 'abc',
  operation: 'Succeeded',
  operationMessage: 'done',
  differences: [],
  conditions: [],
  ...over,
});

describe('the view of the demo', () => {
  it('11.7: shows what the replicas say of themselves, and those that say nothing', async () => {
    const condition = { type: 'ComparisonError', message: 'no' };
    const states = [
      await replica('driftless-0', { applications: [app('web')], ownedClusters: ['sim-0'] }),
      await replica('driftless-1', {
        applications: [app('api', { cluster: 'https://two', sync: '', health: '', conditions: [condition] })],
        ownedClusters: ['sim-1'],
      }),
      { name: 'driftless-2', pid: 7, port: undefined, restarts: 1, log: '' },
      { name: 'driftless-3', pid: undefined, port: undefined, restarts: 2, log: '' },
    ];
    const source = dashboardSource({
      replicas: { states: () => states },
      clusters: [{ name: 'sim-0', url: 'https://one' }],
      hints: ['try'],
    });
    const row = { revision: 'abc', operation: 'Succeeded' };
    expect(await source.state()).toEqual({
      applications: [
        {
          ...row,
          name: 'api',
          cluster: 'https://two',
          sync: 'Unknown',
          health: 'Unknown',
          message: 'ComparisonError: no',
        },
        { ...row, name: 'web', cluster: 'sim-0', sync: 'Synced', health: 'Healthy', message: 'done' },
      ],
      replicas: [
        { name: 'driftless-0', state: 'running', clusters: ['sim-0'], restarts: 0 },
        { name: 'driftless-1', state: 'running', clusters: ['sim-1'], restarts: 0 },
        { name: 'driftless-2', state: 'starting', clusters: [], restarts: 1 },
        { name: 'driftless-3', state: 'stopped', clusters: [], restarts: 2 },
      ],
      hints: ['try'],
    });
  });
});

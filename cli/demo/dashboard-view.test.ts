import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import type { AppSnapshot } from '#controller';
import { appKey } from '#model';
import { DebugSocket, silentLogger } from '#telemetry';
import type { ReplicaState } from './replicas.ts';
import { dashboardSource } from './dashboard-view.ts';

const stop = new AbortController();
const sockets: Promise<void>[] = [];
let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'view-'))));
afterEach(async () => {
  stop.abort(new Shutdown());
  await Promise.all(sockets.splice(0));
  rmSync(folder, { recursive: true, force: true });
});

/** A server that answers like a replica. */
async function replica(name: string, state: object): Promise<ReplicaState> {
  const socket = join(folder, name, 'state.sock');
  const debug = new DebugSocket({ path: socket, logger: silentLogger, state: () => state, uid: process.getuid?.() });
  sockets.push(debug.run(stop.signal));
  await debug.ready();
  return { name, pid: 1, socket, restarts: 0, log: '' };
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
  it('shows what the replicas say of themselves, and those that say nothing', async () => {
    const condition = { type: 'ComparisonError', message: 'no' };
    const states = [
      await replica('driftless-0', { applications: [app('web')], ownedClusters: ['sim-0'] }),
      await replica('driftless-1', {
        applications: [app('api', { cluster: 'https://two', sync: '', health: '', conditions: [condition] })],
        ownedClusters: ['sim-1'],
      }),
      { name: 'driftless-2', pid: 7, socket: undefined, restarts: 1, log: '' },
      { name: 'driftless-3', pid: undefined, socket: undefined, restarts: 2, log: '' },
    ];
    const source = dashboardSource({
      replicas: { states: () => states },
      clusters: [{ name: 'sim-0', url: 'https://one' }],
      hints: ['try'],
    });
    const applicationRow = { revision: 'abc', operation: 'Succeeded' };
    expect(await source.state()).toEqual({
      applications: [
        {
          ...applicationRow,
          name: 'api',
          cluster: 'https://two',
          sync: 'Unknown',
          health: 'Unknown',
          message: 'ComparisonError: no',
        },
        { ...applicationRow, name: 'web', cluster: 'sim-0', sync: 'Synced', health: 'Healthy', message: 'done' },
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

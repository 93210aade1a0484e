import { describe, expect, it } from '@jest/globals';
import { SharedClients } from './index.ts';
import { clientFor, deployments, noSignal } from './testing/index.ts';

const server = 'https://kubernetes.default.svc';
const connection = { server: 'http://127.0.0.1:1', insecure: false, credentials: {} };

describe('shared clients', () => {
  it('return the client of a cluster that was opened last, until it is closed', async () => {
    const clients = new SharedClients((to) => clientFor({ url: to.server }));
    expect(clients.of(server)).toBeUndefined();
    const first = clients.open(server, connection);
    expect(clients.of(server)).toBe(first);
    const second = clients.open(server, connection);
    await clients.close(server, first);
    expect(clients.of(server)).toBe(second);
    await clients.close(server, second);
    expect(clients.of(server)).toBeUndefined();
    const named = { namespace: 'ns', name: 'a' };
    await expect(second.get(deployments, named, { signal: noSignal })).rejects.toThrow(/closed/);
  });
});

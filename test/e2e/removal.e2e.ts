import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#kube';
import { runMatrix } from '../removal/world.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

/** `DRIFTLESS_REMOVAL_CASES=all` runs every case; by default a fixed sample. */
const wanted = env['DRIFTLESS_REMOVAL_CASES'] ?? '3000';
const limit = wanted === 'all' ? Number.MAX_SAFE_INTEGER : Number(wanted);
const seed = Number(env['DRIFTLESS_SEED'] ?? 1);
const { signal } = new AbortController();

let world: Servers<'real'>;
let client: KubeClient;

beforeAll(async () => {
  const apiserver = ['--runtime-config=api/all=true', '--feature-gates=AllAlpha=true,AllBeta=true'];
  world = await startServers({ names: ['real'], apiserver });
  client = clientOf(world.servers.real);
  for (const name of ['cases', 'fresh']) {
    await world.servers.real.api.create('/api/v1/namespaces', { metadata: { name } });
    await world.servers.real.api.create(`/api/v1/namespaces/${name}/serviceaccounts`, {
      metadata: { name: 'default' },
    });
  }
});
afterAll(async () => {
  await client.close();
  await world.close();
});

describe('what Git drops, on a real API server', () => {
  it('is gone after the sync, in every apply and compare mode and after every switch between them', async () => {
    const authority = world.servers.real.access.ca ?? '';
    const tally = await runMatrix(client, { limit, seed, authority, signal });
    process.stdout.write(`removal matrix on a real API server\n${tally.text()}`);
    expect(tally.wrong).toEqual([]);
    expect(tally.judged).toBeGreaterThan(0);
  }, 14_400_000);
});

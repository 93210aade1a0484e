/** @seconds 330 */
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#kube';
import { runMatrix } from '../removal/world.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

/** A fixed sample of all cases; `npm run removal -- --real` runs more. */
const limit = Number(env['DRIFTLESS_REMOVAL_CASES'] ?? 3000);
const seed = Number(env['DRIFTLESS_SEED'] ?? 1);
const from = Number(env['DRIFTLESS_REMOVAL_FROM'] ?? 0);
/** Runs only the cases whose description matches: `npm run removal -- --only REGEXP`. */
const only = env['DRIFTLESS_REMOVAL_ONLY'] ?? '';
/** `npm run removal -- --engine` has the cases of the engine only; others have a tenth of them. */
const isEngineOnly = env['DRIFTLESS_REMOVAL_ENGINE'] === 'true';
const syncers = [
  ...(isEngineOnly ? [] : ([['the controller', { limit, from, isEngine: false }]] as const)),
  ['the engine', isEngineOnly ? { limit, from, isEngine: true } : { limit: limit / 10, from: 0, isEngine: true }],
] as const;
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
  it.each(syncers)(
    'is gone after a sync by %s, in every mode and after every switch',
    async (who, sample) => {
      const authority = world.servers.real.access.ca ?? '';
      const tally = await runMatrix(client, { ...sample, seed, only, authority, signal });
      process.stdout.write(`removal matrix of ${who} on a real API server\n${tally.text()}`);
      expect(tally.wrong).toEqual([]);
      expect(tally.kept.length).toBeLessThanOrEqual(Math.ceil(sample.limit / 1000));
      expect(tally.judged).toBeGreaterThan(only === '' ? (sample.limit - sample.from) / 3 : 0);
    },
    14_400_000,
  );
});

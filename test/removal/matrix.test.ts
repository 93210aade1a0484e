import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock } from '#base';
import { createKubeClient } from '#kube';
import type { KubeClient } from '#kube';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { silentLogger } from '#telemetry';
import { runMatrix } from './world.ts';

/** A sample. `npm run e2e` has 3,000 cases, the nightly run `DRIFTLESS_REMOVAL_CASES=20000`. */
const limit = Number(env['DRIFTLESS_REMOVAL_CASES'] ?? 100);
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
/** The real server refuses two ports of one key, and chooses the selector of a Job once. */
const without = /containers[.]0[.]ports[.]1[.]protocol|spec[.]manualSelector/;
const { signal } = new AbortController();
let cluster: SimCluster;
let client: KubeClient;

beforeAll(async () => {
  const workloads = { enabled: false, delayMs: 0 };
  cluster = await startSimCluster({ name: 'matrix', clock: systemClock, random: seededRandom(1), workloads });
  for (const name of ['cases', 'fresh'])
    cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  client = createKubeClient(
    { server: cluster.url, insecure: false, credentials: {} },
    {
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      userAgent: 'matrix',
      limits: { qps: 100_000, burst: 100_000 },
    },
  );
});
afterAll(async () => {
  await client.close();
  await cluster.close();
});

describe('what Git drops', () => {
  it.each(syncers)(
    'is gone after a sync by %s, in every mode and after every switch',
    async (who, sample) => {
      const tally = await runMatrix(client, { ...sample, seed, only, without, authority: 'x', signal });
      process.stdout.write(`removal matrix of ${who} on the simulator\n${tally.text()}`);
      expect(tally.wrong).toEqual([]);
      expect(tally.kept.length).toBeLessThanOrEqual(Math.ceil(sample.limit / 1000));
      expect(tally.judged).toBeGreaterThan(only === '' ? (sample.limit - sample.from) / 4 : 0);
    },
    7_200_000,
  );
});

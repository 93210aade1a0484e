import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mapLimit, seededRandom, systemClock } from '#base';
import { readOpenApi } from '#diff';
import type { KindSchema } from '#diff';
import { createKubeClient } from '#kube';
import type { KubeClient } from '#kube';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { silentLogger } from '#telemetry';
import { kindsCorpus } from '../e2e/kinds/index.ts';
import { matrixCases } from './cases.ts';
import { RemovalMatrix } from './matrix.ts';
import { MatrixTally } from './tally.ts';

/** The nightly run has more cases: `DRIFTLESS_REMOVAL_CASES=20000`. */
const limit = Number(env['DRIFTLESS_REMOVAL_CASES'] ?? 300);
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

async function published(apiVersions: ReadonlySet<string>): Promise<ReadonlyMap<string, KindSchema>> {
  const kinds = new Map<string, KindSchema>();
  const index = await client.openApiIndex({ signal });
  for (const apiVersion of apiVersions) {
    const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
    const hash = index.get(path);
    if (hash === undefined) continue;
    for (const [kind, schema] of readOpenApi(await client.openApiDocument(path, hash, { signal }))) kinds.set(kind, schema);
  }
  return kinds;
}

describe('what Git drops', () => {
  it(
    'is gone after the sync, in every apply and compare mode and after every switch between them',
    async () => {
      const discovery = await client.discover({ signal });
      const corpus = kindsCorpus('cases', 'x');
      const kinds = await published(new Set(corpus.map(({ apiVersion }) => apiVersion)));
      const namespaces = { cases: 'cases', fresh: 'fresh' };
      const matrix = new RemovalMatrix({ client, discovery, schemas: { version: '1', kinds }, signal, namespaces });
      const tally = new MatrixTally();
      const cases = matrixCases(corpus, { limit, modes: 2, seed: Number(env['DRIFTLESS_SEED'] ?? 1) });
      let done = 0;
      await mapLimit(cases, 4, async (one) => {
        tally.add(one, await matrix.run(one));
        done += 1;
        if (done % 1000 === 0) process.stdout.write(`removal matrix: ${done} of ${cases.length} cases\n`);
      });
      process.stdout.write(`removal matrix on the simulator\n${tally.text()}`);
      expect(tally.wrong).toEqual([]);
      expect(tally.judged).toBeGreaterThan(cases.length / 4);
    },
    3_600_000,
  );
});

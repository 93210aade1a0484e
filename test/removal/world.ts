import { readOpenApi } from '#diff';
import type { KindSchema } from '#diff';
import type { KubeClient } from '#kube';
import type { LiveSchemas } from '#live';
import { mapLimit } from '#base';
import { kindsCorpus } from '../e2e/kinds/index.ts';
import { matrixCases } from './cases.ts';
import { RemovalMatrix } from './matrix.ts';
import { MatrixTally } from './tally.ts';

/** The sample of a run. */
export interface MatrixRun {
  readonly limit: number;
  readonly seed: number;
  /** PEM of any CA, for webhooks of the corpus. */
  readonly authority: string;
  readonly signal: AbortSignal;
}

const parallelCases = 4;
const casesPerLine = 500;

/** Runs a sample of the matrix on a server with the namespaces `cases` and `fresh`. */
export async function runMatrix(
  client: KubeClient,
  { limit, seed, authority, signal }: MatrixRun,
): Promise<MatrixTally> {
  const discovery = await client.discover({ signal });
  const corpus = kindsCorpus('cases', authority);
  const schemas = await publishedSchemas(client, new Set(corpus.map(({ apiVersion }) => apiVersion)), signal);
  const namespaces = { cases: 'cases', fresh: 'fresh' };
  const matrix = new RemovalMatrix({ client, discovery, schemas, signal, namespaces });
  const tally = new MatrixTally();
  const cases = matrixCases(corpus, { limit, modes: 2, seed });
  let done = 0;
  await mapLimit(cases, parallelCases, async (one) => {
    tally.add(one, await matrix.run(one));
    done += 1;
    if (done % casesPerLine === 0) process.stdout.write(`removal matrix: ${done} of ${cases.length} cases\n`);
  });
  return tally;
}

async function publishedSchemas(
  client: KubeClient,
  apiVersions: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<LiveSchemas> {
  const kinds = new Map<string, KindSchema>();
  const index = await client.openApiIndex({ signal });
  for (const apiVersion of apiVersions) {
    const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
    const hash = index.get(path);
    if (hash === undefined) continue;
    const document = await client.openApiDocument(path, hash, { signal });
    for (const [kind, schema] of readOpenApi(document)) kinds.set(kind, schema);
  }
  return { version: '1', kinds };
}

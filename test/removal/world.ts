import { readOpenApi } from '#diff';
import type { KindSchema } from '#diff';
import { findResource, isAlreadyExists, KubeConnectionError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { gkOf } from '#model';
import type { LiveSchemas } from '#live';
import { DeadlineExceeded, mapLimit } from '#base';
import { eventually } from '#support';
import { kindsCorpus } from '../e2e/kinds/index.ts';
import { matrixCases } from './cases.ts';
import { ObjectSync } from '../../controller/testing/index.ts';
import type { ObjectSyncDeps, SyncMethod } from '../../controller/testing/index.ts';
import { EngineSync } from './engine-sync.ts';
import { foreignTools } from './first-sync.ts';
import type { FirstSync } from './first-sync.ts';
import { customDefinitions, customManifests } from './custom.ts';
import { RemovalMatrix } from './matrix.ts';
import type { MatrixCase, MatrixSync, Verdict } from './matrix.ts';
import { describeCase, MatrixTally } from './tally.ts';

/** The sample of a run. */
export interface MatrixRun {
  readonly limit: number;
  readonly seed: number;
  /** Number of cases to leave out, which an earlier run has had. */
  readonly from?: number;
  /** A regular expression of the descriptions of cases to run; the others are left out. */
  readonly only?: string;
  /** Descriptions of cases that this server cannot judge. */
  readonly without?: RegExp;
  /** The engine under a field manager and an owner of its own, instead of the controller. */
  readonly isEngine: boolean;
  /** PEM of any CA, for webhooks of the corpus. */
  readonly authority: string;
  readonly signal: AbortSignal;
}

const parallelCases = 4;
const casesPerLine = 200;
const modesPerMutation = 3;
const maxAttempts = 3;

/** Runs a sample of the matrix on a server with the namespaces `cases` and `fresh`. */
export async function runMatrix(
  client: KubeClient,
  { limit, seed, from = 0, only = '', without, isEngine, authority, signal }: MatrixRun,
): Promise<MatrixTally> {
  const discovery = await discoveryWithCustomKinds(client, signal);
  const corpus = [...kindsCorpus('cases', authority), ...customManifests('cases')];
  const schemas = await publishedSchemas(client, new Set(corpus.map(({ apiVersion }) => apiVersion)), signal);
  const namespaces = { cases: 'cases', fresh: 'fresh' };
  const access = { client, discovery, schemas, signal };
  const sync = isEngine ? new EngineSync(access) : controllerSync(access);
  // Under another name, the engine removes of Argo CD's fields only what last-applied names, and
  // with server-side apply none.
  const isForeign = (first: FirstSync, method: SyncMethod): boolean =>
    foreignTools.has(first) ||
    (isEngine && (first === 'Argo CD Replace' || (first === 'Argo CD' && method === 'server')));
  const run = isEngine ? 'e' : 'c';
  const matrix = new RemovalMatrix({ client, discovery, sync, isForeign, signal, run, namespaces });
  const tally = new MatrixTally();
  const all = matrixCases(corpus, { limit, modes: modesPerMutation, seed }).slice(from);
  const chosen = new RegExp(only, 'u');
  const cases = all.filter((one) => chosen.test(describeCase(one)) && without?.test(describeCase(one)) !== true);
  const begin = performance.now();
  let done = 0;
  await mapLimit(cases, parallelCases, async (one) => {
    const verdict = await judged(matrix, one);
    const [wrong, kept] = [tally.wrong.length, tally.kept.length];
    tally.add(one, verdict);
    for (const line of tally.wrong.slice(wrong)) process.stdout.write(`removal matrix: WRONG: ${line}\n`);
    for (const line of tally.kept.slice(kept)) process.stdout.write(`removal matrix: ${line}\n`);
    done += 1;
    if (done % casesPerLine === 0 || done === cases.length)
      process.stdout.write(progressText(done, cases.length, tally.wrong, begin));
  });
  return tally;
}

function controllerSync(deps: ObjectSyncDeps): MatrixSync {
  const sync = new ObjectSync(deps);
  return {
    target: (manifest) => sync.target(manifest),
    sync: (target, live, method) => sync.sync(target, live, method),
    compare: async (target, live, how) => {
      const comparison = await sync.compare(target, live, how);
      const { status } = comparison.syncStatus;
      const paths = (): string => comparison.pairs.flatMap(({ diff }) => diff.paths).join(' ');
      return {
        status,
        why: status === 'Unknown' ? JSON.stringify(comparison.conditions) : paths(),
        conditionAfter: (stored) => sync.conditionsAfter(comparison, stored)[0]?.message,
      };
    },
  };
}

/** A busy machine may break off a request of one case among thousands: it is run again. */
async function judged(matrix: RemovalMatrix, one: MatrixCase): Promise<Verdict> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await matrix.run(one);
    } catch (error) {
      const isBroken = error instanceof KubeConnectionError;
      if (!isBroken && !(error instanceof DeadlineExceeded)) throw error;
      if (attempt < maxAttempts) continue;
      // The API server panics on some manifests, and closes the connection each time.
      if (isBroken) return { outcome: 'invalid manifest', detail: error.message };
      throw error;
    }
  }
}

function progressText(done: number, all: number, wrong: readonly string[], begin: number): string {
  const width = 20;
  const full = Math.floor((width * done) / all);
  const bar = `${'#'.repeat(full)}${'.'.repeat(width - full)}`;
  const left = Math.round((((performance.now() - begin) / done) * (all - done)) / 60_000);
  return `removal matrix [${bar}] ${done} of ${all} cases, ${wrong.length} wrong, ${left} min left\n`;
}

/** Creates the CustomResourceDefinitions, and waits until the server serves and describes them. */
async function discoveryWithCustomKinds(client: KubeClient, signal: AbortSignal): Promise<ApiDiscovery> {
  const definitions = customDefinitions();
  const resource = findResource(await client.discover({ signal }), gkOf(definitions[0]!));
  if (resource === undefined) throw new Error('CustomResourceDefinitions are not served');
  for (const definition of definitions)
    await client.create(resource, definition, { signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  return eventually(async () => {
    const discovery = await client.discover({ signal });
    const index = await client.openApiIndex({ signal });
    for (const { apiVersion, kind } of customManifests('cases')) {
      const isServed = findResource(discovery, gkOf({ apiVersion, kind })) !== undefined;
      if (!isServed || !index.has(`apis/${apiVersion}`)) throw new Error(`${kind} is not served`);
    }
    return discovery;
  });
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

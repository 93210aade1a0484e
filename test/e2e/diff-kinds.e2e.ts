import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mapLimit, omit } from '#base';
import { kindKey, readOpenApi } from '#diff';
import type { DiffRules, KindSchema } from '#diff';
import { findResource, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { apiVersionOf, defaultSettings, groupOf, jsonOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import { widgetDefinition } from './diff-corpus.ts';
import { explained } from './kinds/explained.ts';
import { holdersOf, kindsCorpus, LeafTrial, leavesOf, PublishedWords, TrialTally } from './kinds/index.ts';
import type { ValuePath } from './kinds/index.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

/** `DRIFTLESS_E2E_LEAVES=all` tries each value of each object; by default some of each object. */
const every = process.env['DRIFTLESS_E2E_LEAVES'] === 'all';
const someLeaves = 2;
const { signal } = new AbortController();
const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };

let world: Servers<'real'>;
let client: KubeClient;
let discovery: ApiDiscovery;
let corpus: readonly KubeObject[];
let schemas: ReadonlyMap<string, KindSchema>;
const tally = new TrialTally();
const words = new PublishedWords();
const trials = new Map<KubeObject, LeafTrial>();
const refused: { readonly object: KubeObject; readonly message: string }[] = [];

beforeAll(async () => {
  // All APIs of this server, including alpha and beta.
  const apiserver = ['--runtime-config=api/all=true', '--feature-gates=AllAlpha=true,AllBeta=true'];
  world = await startServers({ names: ['real'], apiserver });
  const { access } = world.servers.real;
  client = clientOf(world.servers.real);
  await world.servers.real.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
  for (const name of ['kinds', 'kinds-limits']) {
    await world.servers.real.api.create('/api/v1/namespaces', { metadata: { name } });
    await world.servers.real.api.create(`/api/v1/namespaces/${name}/serviceaccounts`, {
      metadata: { name: 'default' },
    });
  }
  await eventually(async () => {
    discovery = await client.discover({ signal });
    expect(findResource(discovery, { group: 'e2e.driftless.io', kind: 'Widget' })).toBeDefined();
  }, 30_000);
  corpus = kindsCorpus('kinds', access.ca ?? '');
  schemas = await published();
});
afterAll(async () => {
  await client.close();
  await world.close();
});

async function published(): Promise<ReadonlyMap<string, KindSchema>> {
  const kinds = new Map<string, KindSchema>();
  await eventually(async () => {
    const index = await client.openApiIndex({ signal });
    for (const apiVersion of new Set(corpus.map((object) => object.apiVersion))) {
      const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
      const document = await client.openApiDocument(path, index.get(path) ?? '', { signal });
      for (const [kind, schema] of readOpenApi(document)) kinds.set(kind, schema);
      words.add(document);
    }
    expect(corpus.map(kindKey).filter((kind) => !kinds.has(kind))).toEqual([]);
  }, 60_000);
  return kinds;
}

async function begin(object: KubeObject): Promise<void> {
  const gk = { group: groupOf(object.apiVersion), kind: object.kind };
  const resource = findResource(discovery, gk, versionOf(object.apiVersion));
  if (resource === undefined) throw new Error(`${kindKey(object)} is not served`);
  const target = resource.namespaced ? object : { ...object, metadata: omit(object.metadata, 'namespace') };
  const both = { client: rules, server: { ...rules, serverSideApply: true, schemas } };
  const trial = await LeafTrial.begin(
    { client, resource, signal, tally, rules: both, wordsAt: (path) => words.at(object, path) },
    target,
  );
  if (trial instanceof KubeApiError) refused.push({ object, message: `${kindKey(object)}: ${trial.message}` });
  else trials.set(target, trial);
}

/** Served kinds without a manifest in the corpus, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  'v1 Binding': 'asks for something, and is stored nowhere',
  'v1 ComponentStatus': 'cannot be written',
  'authentication.k8s.io/v1 SelfSubjectReview': 'asks for something, and is stored nowhere',
  'authentication.k8s.io/v1 TokenReview': 'asks for something, and is stored nowhere',
  'authorization.k8s.io/v1 LocalSubjectAccessReview': 'asks for something, and is stored nowhere',
  'authorization.k8s.io/v1 SelfSubjectAccessReview': 'asks for something, and is stored nowhere',
  'authorization.k8s.io/v1 SelfSubjectRulesReview': 'asks for something, and is stored nowhere',
  'authorization.k8s.io/v1 SubjectAccessReview': 'asks for something, and is stored nowhere',
  'certificates.k8s.io/v1beta1 PodCertificateRequest': 'only a kubelet can sign one, for a Pod that it runs',
};

describe('every built-in kind on a real API server', () => {
  it('the corpus has every kind that the server serves', () => {
    const served = discovery.served.map(({ group, version, kind }) =>
      kindKey({ apiVersion: apiVersionOf(group, version), kind }),
    );
    const missing = new Set(served.filter((kind) => !corpus.some((object) => kindKey(object) === kind)));
    expect([...missing].sort()).toEqual(Object.keys(leftOut).sort());
  });

  // T-DIFF-1
  it('an applied manifest has no difference, client-side, server-side and by server-side diff', async () => {
    await mapLimit(corpus, 8, begin);
    // Retry: an object may have been applied before one that it refers to.
    await mapLimit(refused.splice(0), 8, ({ object }) => begin(object));
    expect(refused.map(({ message }) => message)).toEqual([]);
    await mapLimit([...trials.values()], 8, (trial) => trial.atRest());
    process.stdout.write(`kinds: ${corpus.length} manifests of ${new Set(corpus.map(kindKey)).size} kinds at rest\n`);
    expect(tally.wrong).toEqual([]);
  });

  // T-DIFF-2
  it('every changed, removed or added value is found, in Git and in the cluster', async () => {
    const work = [...trials].map(([object, trial]) => ({
      trial,
      leaves: some(leavesOf(jsonOf(object)).filter(isSaid)),
      holders: some(holdersOf(jsonOf(object)).filter(isSaid)),
    }));
    // The longest first, so that no long one runs alone at the end.
    work.sort((a, b) => b.leaves.length - a.leaves.length);
    const progress = new Progress(work.reduce((sum, { leaves, holders }) => sum + leaves.length + holders.length, 0));
    await mapLimit(work, 8, async ({ trial, leaves, holders }) => {
      for (const path of leaves) await trial.leaf(path).finally(() => progress.one());
      for (const path of holders) await trial.holder(path).finally(() => progress.one());
    });
    const wrong = tally.wrong.map((text) => ({ text, why: reasonOf(text) }));
    const counts = new Map<string, number>();
    for (const { why } of wrong) if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1);
    const reasons = [...counts].map(([why, count]) => `  ${count} ${why}\n`).join('');
    process.stdout.write(
      `${every ? 'all' : 'some'} values\n${tally.text()}  unlike the server, explained:\n${reasons}`,
    );
    expect(wrong.filter(({ why }) => why === undefined).map(({ text }) => text)).toEqual([]);
  }, 3_600_000);
});

function reasonOf(row: string): string | undefined {
  return explained.find(([pattern]) => pattern.test(row))?.[1];
}

/** Prints the progress and each unexplained row at once, because trying all values takes long. */
class Progress {
  readonly #all: number;
  #done = 0;
  #rows = 0;

  constructor(all: number) {
    this.#all = all;
  }

  one(): void {
    this.#done += 1;
    for (const row of tally.wrong.slice(this.#rows))
      if (reasonOf(row) === undefined) process.stdout.write(`kinds: unexplained: ${row}\n`);
    this.#rows = tally.wrong.length;
    const [before, now] = [this.#done - 1, this.#done].map((done) => Math.floor((20 * done) / this.#all));
    if (before !== now) process.stdout.write(`kinds: ${this.#done} of ${this.#all} values\n`);
  }
}

function isSaid([first, second]: ValuePath): boolean {
  if (first === 'metadata') return ['labels', 'annotations', 'finalizers'].includes(String(second));
  return first !== undefined && first !== 'apiVersion' && first !== 'kind';
}

function some(paths: readonly ValuePath[]): readonly ValuePath[] {
  const step = every ? 1 : Math.max(1, paths.length / someLeaves);
  return paths.filter((_path, i) => Math.floor(i / step) > Math.floor((i - 1) / step));
}

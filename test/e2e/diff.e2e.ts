import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { goJson } from '#base';
import type { Json, JsonObject } from '#base';
import { diffDryRun, diffObjects, dryRunTarget, kindKey, readOpenApi } from '#diff';
import type { DiffRules, KindSchema } from '#diff';
import { findResource, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { defaultSettings, fieldManager, groupOf, jsonOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { eventually } from '#support';
import { corpus, widgetDefinition } from './diff-corpus.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

const { signal } = new AbortController();
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };

let world: Servers<'real'>;
let client: KubeClient;
let discovery: ApiDiscovery;
/** Rules with the schemas that this server publishes. */
let structured: DiffRules;

beforeAll(async () => {
  world = await startServers({ names: ['real'] });
  client = clientOf(world.servers.real);
  discovery = await client.discover({ signal });
  await create(widgetDefinition);
  await eventually(async () => {
    discovery = await client.discover({ signal });
    expect(findResource(discovery, { group: 'e2e.driftless.io', kind: 'Widget' })).toBeDefined();
  }, 30_000);
  for (const name of ['client', 'server', 'mutated'])
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { [name]: 'yes' } } });
  structured = { ...rules, serverSideApply: true, schemas: await published() };
});
afterAll(async () => {
  await client.close();
  await world.close();
});

function resourceOf(object: KubeObject): ApiResource {
  const gk = { group: groupOf(object.apiVersion), kind: object.kind };
  const found = findResource(discovery, gk, versionOf(object.apiVersion));
  if (found === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  return found;
}

function create(object: KubeObject): Promise<KubeObject> {
  return client.create(resourceOf(object), object, { signal, fieldManager: 'kubectl-client-side-apply' });
}

/** A server-side apply as a sync sends it, or as a dry run of server-side diff. */
function apply(target: KubeObject, dryRun: boolean): Promise<KubeObject> {
  const { name = '', namespace = '' } = target.metadata;
  const body = dryRun ? dryRunTarget(target) : target;
  const how = { signal, fieldManager, force: true, dryRun, fieldValidation: 'Ignore' } as const;
  return client.patch(resourceOf(target), { namespace, name }, { type: 'apply', body }, how);
}

async function unlessRefused(answer: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KubeApiError) return undefined;
    throw error;
  }
}

async function published(): Promise<ReadonlyMap<string, KindSchema>> {
  const kinds = new Map<string, KindSchema>();
  const wanted = new Set(corpus('x').map(kindKey));
  await eventually(async () => {
    const index = await client.openApiIndex({ signal });
    for (const apiVersion of new Set(corpus('x').map((object) => object.apiVersion))) {
      const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
      const document = await client.openApiDocument(path, index.get(path) ?? '', { signal });
      for (const [kind, schema] of readOpenApi(document)) kinds.set(kind, schema);
    }
    expect([...wanted].filter((kind) => !kinds.has(kind))).toEqual([]);
  }, 60_000);
  return kinds;
}

type LeafPath = readonly (string | number)[];
const identity = new Set(['apiVersion', 'kind', 'metadata']);

function leaves(value: Json, path: LeafPath = []): readonly LeafPath[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, i) => leaves(item, [...path, i]));
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([key, member]) => leaves(member as Json, [...path, key]));
}

/** Changes a leaf, or removes it if `gone`. */
function mutated(value: Json, path: LeafPath, gone: boolean): Json {
  const [step, ...rest] = path;
  if (step === undefined) {
    if (typeof value === 'boolean') return !value;
    return typeof value === 'number' ? value + 1 : `${value === null ? '' : (value as string)}z`;
  }
  const isLast = gone && rest.length === 0;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return list.flatMap((item, i) => (i !== step ? [item] : isLast ? [] : [mutated(item, rest, gone)]));
  }
  const { [String(step)]: member = null, ...others } = value as JsonObject;
  return isLast ? others : { ...(value as JsonObject), [String(step)]: mutated(member, rest, gone) };
}

function mutations(target: KubeObject): readonly { readonly name: string; readonly object: KubeObject }[] {
  const json = jsonOf(target);
  const paths = leaves(json).filter(([first]) => !identity.has(String(first)));
  return paths.flatMap((path) =>
    [false, true].map((gone) => ({
      name: `${target.kind} ${gone ? 'without ' : ''}${path.join('.')}`,
      object: mutated(json, path, gone) as unknown as KubeObject,
    })),
  );
}

describe('the corpus on a real API server', () => {
  it('client-side: no difference after an apply, and every changed field is found', async () => {
    const missed: string[] = [];
    let count = 0;
    for (const target of corpus('client').filter(({ kind }) => kind !== 'CustomResourceDefinition')) {
      const note = { ...target.metadata.annotations, [lastApplied]: goJson(jsonOf(target)) };
      const live = await create({ ...target, metadata: { ...target.metadata, annotations: note } });
      expect([target.kind, diffObjects(target, live, rules).paths]).toEqual([target.kind, []]);
      for (const { name, object } of mutations(target).filter((one) => !one.name.includes(' without '))) {
        count += 1;
        if (!diffObjects(object, live, rules).modified) missed.push(name);
      }
    }
    process.stdout.write(`client-side: ${count} changed fields, ${missed.length} missed\n`);
    expect(missed).toEqual([]);
    expect(count).toBeGreaterThan(150);
  });

  it('server-side: the structured comparison agrees with server-side diff for every field', async () => {
    const [unlike, missed]: [string[], string[]] = [[], []];
    const counts = { objects: 0, compared: 0, refused: 0, different: 0 };
    for (const target of corpus('server')) {
      const live = await apply(target, false);
      counts.objects += 1;
      const same = { target, live, predicted: await apply(target, true) };
      const found = [
        diffObjects(target, live, structured).paths,
        diffDryRun(same, structured, 'excluded').paths,
        diffDryRun(same, structured, 'included').paths,
      ];
      expect([target.kind, ...found]).toEqual([target.kind, [], [], []]);
      for (const { name, object } of mutations(target)) {
        const predicted = await unlessRefused(apply(object, true));
        counts[predicted === undefined ? 'refused' : 'compared'] += 1;
        if (predicted === undefined) continue;
        const here = diffObjects(object, live, structured).modified;
        const there = diffDryRun({ target: object, live, predicted }, structured, 'excluded').modified;
        if (there) counts.different += 1;
        // The server keeps what stringData wrote; here a key that Git drops is a difference.
        const isOurs = here && name.includes(' without stringData.');
        if (here !== there && !isOurs) unlike.push(`${name}: ${here ? 'only here' : 'only there'}`);
        if (!name.includes(' without ') && !there) missed.push(name);
      }
    }
    process.stdout.write(`server-side: ${JSON.stringify(counts)}, ${unlike.length} unlike, ${missed.length} missed\n`);
    expect({ unlike, missed }).toEqual({ unlike: [], missed: [] });
    expect(counts.compared).toBeGreaterThan(150);
  });

  it('changes by an admission policy are a difference only with IncludeMutationWebhook', async () => {
    const target: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'plain', namespace: 'mutated' },
      data: { key: '1' },
    };
    const live = await apply(target, false);
    const name = 'inject';
    const group = 'admissionregistration.k8s.io/v1';
    await create({
      apiVersion: group,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          namespaceSelector: { matchLabels: { mutated: 'yes' } },
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
          ],
        },
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "add", path: "/data/injected", value: "yes"}]' },
          },
        ],
      },
    });
    await create({
      apiVersion: group,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    });
    let predicted = live;
    await eventually(async () => {
      predicted = await apply(target, true);
      expect(predicted['data']).toEqual({ key: '1', injected: 'yes' });
    }, 60_000);
    expect(diffDryRun({ target, live, predicted }, structured, 'excluded').paths).toEqual([]);
    expect(diffDryRun({ target, live, predicted }, structured, 'included').paths).toEqual(['/data/injected']);
    const other = { ...target, data: { key: '2' } };
    const answer = { target: other, live, predicted: await apply(other, true) };
    expect(diffDryRun(answer, structured, 'excluded').paths).toEqual(['/data/key']);
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { valueAt, deepEqual, seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { canonicalise } from '../normalize/canonical.ts';
import { withDefaults } from '../normalize/defaults.ts';
import { schemaOf } from '../schema/schema.ts';
import { withoutMembers } from '../shared/values.ts';
import { parseMergeExamples } from '../testing/kind-examples.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { fieldOwnersOf, unionOf } from './field-owners.ts';
import { addAll } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { readOpenApi } from './open-api.ts';
import { pruneBelow, pruneWhole } from './prune.ts';
import { fieldSetOf, shapeOfType } from './shape.ts';
import { structuredMerge } from './structured-merge.ts';

const mergeExamples = parseMergeExamples(readFileSync(new URL('../testdata/merges.ndjson', import.meta.url), 'utf8'));

const kube = (object: unknown): KubeObject => object as KubeObject;
const rules = { settings: defaultSettings, ignoreDifferences: [], serverSideApply: true };

const asJson = (object: KubeObject | null): JsonObject => object as unknown as JsonObject;

function stored(object: JsonObject): Json {
  const type = schemaOf(kube(object));
  const names = withoutMembers(object['metadata'] as JsonObject, ['managedFields']);
  const value = canonicalise({ ...withoutMembers(object, ['status']), metadata: names }, type, 'structs');
  return withoutZeros(canonicalise(withDefaults(value, type), type)) ?? {};
}

/** Drops zeros, which Go writes for fields without omitempty and manifests do not have. */
function withoutZeros(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item: Json) => withoutZeros(item) ?? {});
  if (value === null || value === 0 || value === '' || value === false) return undefined;
  if (typeof value !== 'object') return value;
  const members = Object.entries(value).flatMap(([key, member]) => {
    const left = withoutZeros(member as Json);
    return left === undefined ? [] : [[key, left] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

describe('structuredMerge', () => {
  it.each(mergeExamples)('predicts the result of the API server: $name', ({ target, live, after }) => {
    const type = schemaOf(kube(target));
    const predicted = structuredMerge(target, live, fieldOwnersOf(live, {}), shapeOfType(type));
    expect(stored(predicted)).toEqual(stored(after));
    const isChanged = !deepEqual(stored(live), stored(after));
    const result = diffObjects(kube(target), kube(live), rules);
    const [before, then] = [stored(asJson(result.normalizedLive)), stored(asJson(result.predictedLive))];
    expect(!deepEqual(before, then)).toBe(isChanged);
    expect(result.modified || !isChanged).toBe(true);
  });
});

/** A random half of a field set. */
function half(set: FieldSet, chance: () => boolean): FieldSet {
  const children = [...set.children].flatMap(([step, child]): [string, FieldSet][] =>
    chance() ? [[step, half(child, chance)]] : [],
  );
  return { member: set.member && chance(), children: new Map(children) };
}

describe('pruneBelow', () => {
  it('removes the same as pruneWhole', () => {
    const random = seededRandom(12);
    const chance = (): boolean => random.next() < 0.5;
    let gone = 0;
    for (const { live } of mergeExamples) {
      const shape = shapeOfType(schemaOf(kube(live)));
      const all = unionOf([...fieldOwnersOf(live, {}).ours, ...fieldOwnersOf(live, {}).others]);
      for (let i = 0; i < 4; i += 1) {
        const before = fieldSetOf(live, shape);
        const wanted = half(before, chance);
        addAll(wanted, half(all, chance));
        const here = pruneWhole(live, before, { wanted, shape });
        expect(pruneBelow(live, before, { wanted, shape })).toEqual(here);
        if (!deepEqual(here, live)) gone += 1;
      }
    }
    expect(gone).toBeGreaterThan(200);
  });
});

const manager = 'argocd-controller';
const entry = (fieldsV1: object, name = manager, operation = 'Apply'): object =>
  managedEntry(name, operation, fieldsV1);
const meta = (...managedFields: object[]): object => ({ name: 'x', namespace: 'n', managedFields });

describe('unchanged parts', () => {
  it('are shared with live, even beside removed items', () => {
    const variable = (name: string): JsonObject => ({ name, value: name });
    const pod = (env: readonly JsonObject[]): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i', env }] },
    });
    const env = { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } };
    const gone = { 'k:{"name":"B"}': { '.': {}, 'f:name': {}, 'f:value': {} } };
    const owned = { 'f:name': {}, 'f:image': {}, 'f:env': { ...env, ...gone } };
    const fields = { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { '.': {}, ...owned } } } };
    const [kept, others] = [variable('A'), { name: 'Z', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const live = pod([kept, variable('B'), others]);
    const after = structuredMerge(pod([kept]), live, { ours: [fields], others: [] }, shapeOfType(schemaOf(kube(live))));
    const left = valueAt(after, 'spec', 'containers', 0, 'env') as readonly Json[];
    expect(left).toEqual([kept, others]);
    expect(left[1]).toBe(others);
  });
});

describe('an Application with ServerSideApply', () => {
  const app = { name: 'app', image: 'a:1' };
  const sidecar = { name: 'sidecar', image: 'b:1' };
  const deployment = (metadata: object, containers: readonly object[]): KubeObject =>
    kube({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: { spec: { containers } } } });
  const containers = (items: object): object => ({
    'f:spec': { 'f:template': { 'f:spec': { 'f:containers': items } } },
  });
  const ofApp = { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {} } };
  const ofSidecar = { 'k:{"name":"sidecar"}': { '.': {}, 'f:name': {}, 'f:image': {} } };
  const ours = entry(containers({ ...ofApp, ...ofSidecar }));
  const target = deployment({ name: 'x' }, [app]);

  it('differs by a sidecar that Git has dropped', () => {
    const result = diffObjects(target, deployment(meta(ours), [app, sidecar]), rules);
    expect(result.modified).toBe(true);
    expect(result.predictedLive).toMatchObject({ spec: { template: { spec: { containers: [{ name: 'app' }] } } } });
  });

  it('does not differ by a sidecar that another manager injected or co-owns', () => {
    const injected = deployment(meta(entry(containers(ofApp)), entry(containers(ofSidecar), 'injector', 'Update')), [
      app,
      sidecar,
    ]);
    expect(diffObjects(target, injected, rules).modified).toBe(false);
    const shared = deployment(meta(ours, entry(containers(ofSidecar), 'injector')), [app, sidecar]);
    expect(diffObjects(target, shared, rules).modified).toBe(false);
  });

  it('ignores additions of others and finds their changes of our fields', () => {
    const changed = deployment(meta(ours), [{ ...app, image: 'a:2', stdin: true }, sidecar]);
    expect(diffObjects(deployment({ name: 'x' }, [app, sidecar]), changed, rules).paths).toEqual([
      '/spec/template/spec/containers/0/image',
    ]);
  });

  it('uses the sync option of the manifest before its own', () => {
    const live = deployment(meta(ours), [app, sidecar]);
    const option = (value: string): KubeObject =>
      deployment({ name: 'x', annotations: { 'argocd.argoproj.io/sync-options': `ServerSideApply=${value}` } }, [app]);
    const paths = (manifest: KubeObject, serverSideApply: boolean): readonly string[] =>
      diffObjects(manifest, live, { ...rules, serverSideApply }).paths;
    const lost = '/spec/template/spec/containers';
    expect(paths(option('true'), false)).toContain(lost);
    expect(paths(option('true'), true)).toEqual(paths(option('true'), false));
    expect(paths(option('false'), true)).toEqual(paths(option('false'), false));
    // What we own by server-side apply was applied before, however the object is sent now.
    expect(paths(option('false'), true)).toContain(lost);
  });

  it('owns a free-form map of a built-in kind as a whole, as the API server does', () => {
    const revision = (data: object, metadata: object): KubeObject =>
      kube({ apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, data, revision: 1 });
    const live = revision({ spec: { a: 1, b: 2 } }, meta(entry({ 'f:data': {}, 'f:revision': {} })));
    const raw = { type: 'object', description: 'what anybody may put here' };
    const published = readOpenApi({
      components: {
        schemas: {
          Revision: {
            type: 'object',
            'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'ControllerRevision' }],
            properties: { data: { allOf: [{ $ref: '#/components/schemas/Raw' }] }, revision: { type: 'integer' } },
          },
          Raw: raw,
        },
      },
    });
    for (const given of [rules, { ...rules, schemas: published }]) {
      const paths = (data: object): readonly string[] => diffObjects(revision(data, { name: 'x' }), live, given).paths;
      expect(paths({ spec: { a: 1, b: 2 } })).toEqual([]);
      expect(paths({ spec: { b: 2 } })).toEqual(['/data/spec/a']);
    }
  });

  it('reads the list types of a custom resource from its managed fields', () => {
    const widget = (metadata: object, spec: object): KubeObject =>
      kube({ apiVersion: 'e.io/v1', kind: 'Widget', metadata, spec });
    const fields = (spec: object): object => ({ 'f:spec': spec });
    const items = { 'k:{"id":1,"zone":"a"}': { '.': {}, 'f:id': {}, 'f:zone': {}, 'f:size': {} } };
    const theirs = { 'k:{"id":2,"zone":"a"}': { '.': {}, 'f:id': {}, 'f:zone': {} } };
    const live = widget(
      meta(
        entry(fields({ 'f:items': items, 'f:tags': { 'v:"a"': {}, 'v:"b"': {} }, 'f:all': {}, 'f:gone': {} })),
        entry(fields({ 'f:items': theirs, 'f:tags': { 'v:"c"': {} } }), 'other'),
      ),
      {
        items: [
          { id: 1, zone: 'a', size: 3, made: true },
          { id: 2, zone: 'a' },
        ],
        tags: ['a', 'b', 'c'],
        all: [1, 2],
        gone: 1,
        status: 'theirs',
      },
    );
    const same = { items: [{ zone: 'a', id: 1, size: 3 }], tags: ['a', 'b'], all: [1, 2], gone: 1 };
    expect(diffObjects(widget({ name: 'x' }, same), live, rules).modified).toBe(false);
    const other = { items: [{ zone: 'a', id: 1 }], tags: ['a'], all: [1] };
    expect(diffObjects(widget({ name: 'x' }, other), live, rules).predictedLive).toMatchObject({
      spec: { items: [{ id: 1, zone: 'a', made: true }, { id: 2 }], tags: ['a', 'c'], all: [1], status: 'theirs' },
    });
    expect(diffObjects(widget({ name: 'x' }, other), live, rules).predictedLive).not.toHaveProperty('spec.gone');
  });
});

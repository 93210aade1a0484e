import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, isObject, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import { comparedToOf, equalLoosely, equalNamespaceMetadata, equalSourceLists, equalSources } from '#compare';
import type { Application, ApplicationSource } from '#model';
import { decideAutosync } from './application/autosync.ts';
import { refreshDue } from './application/freshness.ts';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
}

/**
 * The schema of a source as the API server enforces it, so that a new field is tested
 * automatically.
 */
const schema = sourceSchema();
/** Pointers and raw JSON in Go, whose presence alone has a meaning: null is absent, `{}` is not. */
const pointers = new Set([
  'plugin',
  'helm.valuesObject',
  'kustomize.patches.target',
  'plugin.parameters.string',
  'plugin.parameters.map',
  'plugin.parameters.array',
]);

function sourceSchema(): Schema {
  const file = new URL('../manifests/crds/application-crd.yaml', import.meta.url);
  const [crd] = parseYamlDocuments(readFileSync(file, 'utf8'));
  const path = ['spec', 'properties', 'source'];
  const found = valueAt(crd, 'spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', ...path);
  if (!isObject(found)) throw new Error('the CRD has no spec.source');
  return found;
}

const word = fc.stringMatching(/^[a-z]{1,4}$/);

/** A value without empty members. */
function real(part: Schema): fc.Arbitrary<Json> {
  if (part.properties !== undefined) {
    const members = Object.entries(part.properties).map(([key, member]) => [key, real(member)] as const);
    const required = [...(part.required ?? [])];
    return fc.record(Object.fromEntries(members), { requiredKeys: required });
  }
  if (part.items !== undefined) return fc.array(real(part.items), { minLength: 1, maxLength: 2 });
  if (part.additionalProperties !== undefined)
    return fc.dictionary(word, real(part.additionalProperties), { minKeys: 1, maxKeys: 2 });
  if (part.type === 'boolean') return fc.constant(true);
  if (part.type === 'object') return fc.constantFrom<Json>({}, { a: 1 }, { a: { b: '' } });
  return part.type === undefined ? fc.constantFrom<Json>(0, 2, '2') : word;
}

type Coin = () => number;

/** The same value with empty members anywhere. */
function padded(value: Json, part: Schema, coin: Coin, path = ''): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => padded(item, part.items ?? {}, coin, path));
  if (!isObject(value) || part.properties === undefined) return value;
  const result: Record<string, Json> = {};
  for (const [key, member] of Object.entries(part.properties)) {
    const here = path === '' ? key : `${path}.${key}`;
    const own = value[key];
    if (own !== undefined) result[key] = padded(own, member, coin, here);
    else if (part.required?.includes(key) !== true && coin() > 0)
      result[key] = pointers.has(here) || coin() === 1 ? null : nothing(member, coin, here);
  }
  return result;
}

function nothing(part: Schema, coin: Coin, path: string): Json {
  if (part.properties !== undefined) return coin() === 0 ? {} : padded({}, part, coin, path);
  if (part.items !== undefined) return [];
  if (part.type === 'object') return {};
  return part.type === 'boolean' ? false : '';
}

/** The value with one change, at its n-th leaf. */
function changed(value: Json, n: number): Json {
  let left = n;
  const walk = (here: Json): Json => {
    if (Array.isArray(here)) {
      if (left-- === 0) return [...(here as readonly Json[]), 'more'];
      return (here as readonly Json[]).map(walk);
    }
    if (isObject(here)) return Object.fromEntries(Object.entries(here).map(([key, member]) => [key, walk(member!)]));
    if (left-- !== 0) return here;
    return typeof here === 'string' ? `${here}x` : typeof here === 'number' ? here + 1 : false;
  };
  const result = walk(value);
  return left >= 0 ? { ...(value as JsonObject), repoURL: 'https://elsewhere' } : result;
}

const sources = real(schema) as unknown as fc.Arbitrary<ApplicationSource & JsonObject>;
const coins = fc.infiniteStream(fc.nat(2)).map(
  (stream): Coin =>
    () =>
      Number(stream.next().value),
);

function tried(source: ApplicationSource, before: ApplicationSource, several: boolean): Application {
  const result = several ? { sources: [before], source: { repoURL: '' }, revisions: ['sha1'] } : { source: before };
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec: {
      ...(several ? { sources: [source] } : { source }),
      destination: { server: 'https://c' },
      syncPolicy: { automated: {} },
    },
    status: {
      reconciledAt: '2026-01-01T00:00:00Z',
      sync: {
        status: 'OutOfSync',
        comparedTo: several ? { ...comparedTo, sources: [before] } : { ...comparedTo, source: before },
      },
      operationState: {
        operation: { sync: {} },
        phase: 'Failed',
        message: 'boom',
        startedAt: '2026-01-01T00:00:00Z',
        syncResult: { revision: several ? '' : 'sha1', ...result },
      },
    },
  };
}

const comparedTo = { source: { repoURL: '' }, destination: { server: 'https://c' } };

function decision(app: Application, several: boolean): string {
  return decideAutosync({
    app,
    syncStatus: { status: 'OutOfSync', ...(several ? { revisions: ['sha1'] } : { revision: 'sha1' }) },
    resources: [{ kind: 'ConfigMap', name: 'c', status: 'OutOfSync' }],
    revisionsMayHaveChanges: true,
    retryLatestRevision: false,
    backoff: { backoffMs: 2000, factor: 3, capMs: 300_000, timeoutMs: 0 },
    driftSeenAt: undefined,
    unread: false,
    stale: [],
    pruneBlocked: false,
    claimed: new Set(),
    kept: new Map(),
    contested: new Map(),
    now: 0,
  }).do;
}

const isFresh = (app: Application): boolean =>
  refreshDue(app, undefined, { now: Date.UTC(2026, 0, 1), comparedAt: undefined, softMs: 0, hardMs: 0 }) === undefined;

describe('a source that was already attempted', () => {
  it('is not synced again for empty members, anywhere, in Git or in the status', () => {
    fc.assert(
      fc.property(sources, coins, fc.boolean(), fc.boolean(), (source, coin, inSpec, several) => {
        const same = padded(source, schema, coin) as unknown as ApplicationSource;
        const app = inSpec ? tried(same, source, several) : tried(source, same, several);
        expect(decision(app, several)).toBe('refuse');
        expect(isFresh(app)).toBe(true);
        expect(equalSources(source, same)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('is synced again for any effective change', () => {
    fc.assert(
      fc.property(sources, coins, fc.nat(30), fc.boolean(), (source, coin, place, several) => {
        const other = changed(source, place) as unknown as ApplicationSource;
        const before = padded(source, schema, coin) as unknown as ApplicationSource;
        expect(decision(tried(other, before, several), several)).toBe('start');
        expect(isFresh(tried(other, before, several))).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  const git = { repoURL: 'https://git/x' };
  it.each<[string, JsonObject, JsonObject, boolean]>([
    ['empty blocks as absent', { helm: {}, kustomize: {}, directory: { jsonnet: {} } }, {}, true],
    ['member order as irrelevant', { path: 'p', chart: 'c' }, { chart: 'c', path: 'p' }, true],
    ['list order as relevant', { helm: { valueFiles: ['a', 'b'] } }, { helm: { valueFiles: ['b', 'a'] } }, false],
    ['an empty list element as an element', { helm: { valueFiles: [''] } }, { helm: { valueFiles: [] } }, false],
    [
      'empty members of list elements as absent',
      { helm: { parameters: [{ name: 'a', value: '', forceString: false }] } },
      { helm: { parameters: [{ name: 'a' }] } },
      true,
    ],
    ['empty valuesObject as a value, because it takes precedence', { helm: { valuesObject: {} } }, { helm: {} }, false],
    [
      'every member of valuesObject as relevant',
      { helm: { valuesObject: { a: false } } },
      { helm: { valuesObject: {} } },
      false,
    ],
    ['null values as absent', { helm: { valuesObject: null } }, {}, true],
    ['a plugin without a name as set, because it is discovered', { plugin: {} }, {}, false],
    [
      'an empty array parameter of a plugin as set',
      { plugin: { parameters: [{ name: 'a', array: [] }] } },
      { plugin: { parameters: [{ name: 'a' }] } },
      false,
    ],
    [
      'an empty patch target as set, because it selects everything',
      { kustomize: { patches: [{ patch: 'p', target: {} }] } },
      { kustomize: { patches: [{ patch: 'p' }] } },
      false,
    ],
    [
      'zero replicas as set',
      { kustomize: { replicas: [{ name: 'a', count: 0 }] } },
      { kustomize: { replicas: [{ name: 'a' }] } },
      false,
    ],
    [
      'an empty label value as set',
      { kustomize: { commonLabels: { a: '' } } },
      { kustomize: { commonLabels: {} } },
      false,
    ],
    ['an empty label map as absent', { kustomize: { commonLabels: {} } }, {}, true],
  ])('treats %s', (_name, a, b, same) => {
    expect(equalSources({ ...git, ...a }, { ...git, ...b })).toBe(same);
    expect(equalSourceLists([{ ...git, ...a }], [{ ...git, ...b }])).toBe(same);
  });

  it('without a value equals an empty one, and a missing list equals an empty list', () => {
    expect(equalSources(undefined, { repoURL: '' })).toBe(true);
    expect(equalSourceLists(undefined, [])).toBe(true);
    expect(equalSourceLists(undefined, [git])).toBe(false);
  });
});

it('an empty label value in the namespace metadata still requires the label', () => {
  expect(equalNamespaceMetadata({ labels: { a: '' } }, { labels: {} })).toBe(false);
  expect(equalNamespaceMetadata({ labels: {} }, undefined)).toBe(true);
  expect(equalNamespaceMetadata({ labels: { a: 'b', c: '' } }, { labels: { c: '', a: 'b' }, annotations: {} })).toBe(
    true,
  );
});

it('destinations and ignore rules are compared by meaning', () => {
  expect(equalLoosely({ server: 's', name: '' }, { server: 's' })).toBe(true);
  expect(equalLoosely([{ kind: 'A', jsonPointers: [] }], [{ kind: 'A' }])).toBe(true);
  expect(equalLoosely([{ kind: 'A' }], [{ kind: 'B' }])).toBe(false);
  expect(equalLoosely([], undefined)).toBe(true);
  expect(comparedToOf({ destination: { server: 's' }, sources: [{ repoURL: 'a' }] }).sources).toEqual([
    { repoURL: 'a' },
  ]);
});

it('what is compared loosely is equal when a source with it as an unknown member is', () => {
  const leaf = fc.constantFrom<Json>(null, '', false, 0, 1, 'a', true);
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
    ),
  }));
  const source = (unknown: Json): ApplicationSource => ({ repoURL: 'r', unknown }) as ApplicationSource;
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(equalLoosely(a, b)).toBe(equalSources(source(a), source(b)));
      expect(equalLoosely(a, a)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

describe('the stored comparedTo', () => {
  const spec = {
    source: { repoURL: 'https://git/a', path: 'p', directory: { recurse: true } },
    destination: { server: 'https://a', namespace: 'n' },
  };
  const decoded = { ...spec, source: { ...spec.source, directory: { recurse: true, jsonnet: {} } } };

  it('stays as another controller wrote it while its meaning is the same', () => {
    expect(comparedToOf(spec, decoded)).toBe(decoded);
  });

  it('is written again when its meaning changes', () => {
    const other = { ...spec, source: { ...spec.source, path: 'q' } };
    expect(comparedToOf(other, decoded)).toEqual(other);
    expect(
      comparedToOf({ ...spec, ignoreDifferences: [{ kind: 'Secret', jsonPointers: ['/data'] }] }, decoded),
    ).not.toBe(decoded);
    expect(comparedToOf(spec)).toEqual(spec);
  });
});

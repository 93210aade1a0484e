import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { asStored } from '../normalize/defaults.ts';
import { canonicalQuantity, milliQuantity } from '../normalize/quantity.ts';
import { schemaOf } from '../schema/schema.ts';
import { parseKindExamples } from '../testing/kind-examples.ts';
import type { KindExample } from '../testing/kind-examples.ts';
import { changedAt, otherAt, valuePathsIn } from '../testing/leaves.ts';
import { diffObjects } from './diff.ts';

const kindExamples = parseKindExamples(readFileSync(new URL('../testdata/kinds.ndjson', import.meta.url), 'utf8'));

const kube = (object: unknown): KubeObject => object as KubeObject;

const byKind = new Map<string, KindExample[]>();
for (const example of kindExamples) {
  const kind = `${example.raw.apiVersion} ${example.raw.kind}`;
  byKind.set(kind, [...(byKind.get(kind) ?? []), example]);
}

function stored(object: Json): Json {
  const type = schemaOf(kube(object));
  return type === undefined ? object : asStored(object, type);
}

const rules = { settings: defaultSettings, ignoreDifferences: [] };

function applied({ raw, stored: present }: KindExample): KubeObject {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(raw) };
  const metadata = { ...(present['metadata'] as JsonObject), uid: 'u', resourceVersion: '1', annotations };
  return kube({ ...present, metadata });
}

const identity = new Set(['apiVersion', 'kind', 'metadata']);

function isModified(target: Json, live: KubeObject): boolean {
  return diffObjects(kube(target), live, rules).modified;
}

describe('apply, then compare', () => {
  // T-DIFF-1
  it('an applied manifest does not differ', () => {
    const different = kindExamples.filter(
      (example) => diffObjects(kube(example.raw), applied(example), rules).modified,
    );
    expect(different.map(({ raw }) => raw)).toEqual([]);
  });

  /**
   * The API server ignores these: `stringData` overrides `data`, and sessions without affinity have
   * no settings.
   */
  const overruled = [
    // An update ignores the first two, and podCIDR decides about the first of podCIDRs.
    'Namespace spec.finalizers.0',
    'Namespace without spec.finalizers.0',
    'Node spec.podCIDRs.0',
    'Secret data.k0',
    'Secret without data.k0',
    // An update that empties an allocated list keeps it.
    ...['Service without spec.ipFamilies.0', 'Service without spec.clusterIPs.0'],
    ...['Service without spec.ipFamilies.0', 'Service without spec.clusterIPs.0'],
    'Service spec.sessionAffinityConfig.clientIP.timeoutSeconds',
    'Service without spec.clusterIPs.0',
  ];

  // T-DIFF-2
  it('finds every changed and removed field', () => {
    const missed: string[] = [];
    let count = 0;
    for (const example of kindExamples) {
      const live = applied(example);
      for (const path of valuePathsIn(example.raw).filter(([first]) => !identity.has(String(first)))) {
        const [other, less] = [otherAt(example.raw, path), changedAt(example.raw, path, undefined)];
        count += 2;
        if (!isModified(other, live)) missed.push(`${example.raw.kind} ${path.join('.')}`);
        const isStoredAlike = deepEqual(stored(less), stored(example.raw));
        if (!isStoredAlike && !isModified(less, live)) missed.push(`${example.raw.kind} without ${path.join('.')}`);
      }
    }
    expect(missed).toEqual(overruled);
    expect(count).toBeGreaterThan(5000);
  });

  // T-DIFF-2
  it('finds every added label and annotation', () => {
    for (const example of kindExamples) {
      const live = applied(example);
      for (const more of [{ labels: { a: 'b' } }, { annotations: { a: 'b' } }])
        expect(isModified({ ...example.raw, metadata: { name: 'x', ...more } }, live)).toBe(true);
    }
  });
});

/** Adds a field that our types do not know to each object inside, and counts them. */
function newer(value: Json, count: { places: number }, depth = 0): Json {
  if (Array.isArray(value)) return value.map((item: Json) => newer(item, count, depth + 1));
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([key, member]) => [key, newer(member as Json, count, depth + 1)] as const);
  if (depth === 0) return Object.fromEntries(members);
  count.places += 1;
  return Object.fromEntries([...members, [nextField, nextValue]]);
}
const nextField = 'fieldOfTheNextMinorVersion';
const nextValue: Json = {
  list: [{ name: 'a', nested: '9223372036854775807' }, 'text'],
  flag: false,
  empty: {},
  zero: 0,
};

function places(value: Json): number {
  if (Array.isArray(value)) return (value as readonly Json[]).reduce<number>((sum, item) => sum + places(item), 0);
  if (value === null || typeof value !== 'object') return 0;
  return Object.entries(value).reduce((sum, [key, member]) => {
    if (key !== nextField) return sum + places(member as Json);
    return sum + Number(deepEqual(member, nextValue));
  }, 0);
}

// T-JS-11
describe('objects of a Kubernetes version newer than our types', () => {
  // T-JS-11
  it('keep and compare fields that our types do not know, at every depth', () => {
    const [lost, unseen, untrue]: [string[], string[], string[]] = [[], [], []];
    let all = 0;
    for (const [kind, [example]] of byKind) {
      if (example === undefined) continue;
      const count = { places: 0 };
      const raw = newer(example.raw, count) as KindExample['raw'];
      all += count.places;
      if (places(stored(raw)) !== count.places) lost.push(kind);
      const live = applied({ raw, stored: newer(example.stored, { places: 0 }) as JsonObject });
      if (isModified(raw, live)) untrue.push(kind);
      const inNext = valuePathsIn(raw).filter((path) => path.includes(nextField) && path.at(-1) === 'nested');
      for (const path of inNext.filter(([first]) => !identity.has(String(first))))
        if (!isModified(otherAt(raw, path), live)) unseen.push(`${kind} ${path.join('.')}`);
    }
    // A map of base64 strings, which cannot have such a field.
    const noPlace = ['v1 Secret data.fieldOfTheNextMinorVersion.list.0.nested'];
    expect([lost, unseen, untrue]).toEqual([[], noPlace, []]);
    expect(all).toBeGreaterThan(250);
  });
});

describe('numbers with a million digits', () => {
  it.each([['1'], ['0.'], ['-1'], ['1.5']])('are not quantities, and compare as text: %s…', (head) => {
    const text = `${head}${'7'.repeat(1_000_000)}`;
    expect([canonicalQuantity(text) === undefined, milliQuantity(text) === undefined]).toEqual([true, true]);
    const withLimit = (memory: string): JsonObject => ({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'x' },
      spec: { limits: [{ type: 'Pod', max: { memory } }] },
    });
    const example = { raw: withLimit(text), stored: withLimit(text) } as KindExample;
    expect([
      isModified(withLimit(text), applied(example)),
      isModified(withLimit(`${text}7`), applied(example)),
    ]).toEqual([false, true]);
  });
});

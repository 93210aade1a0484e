import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { deepEqual, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { canonicalise } from './canonical.ts';
import { asStored } from './defaults.ts';
import { diffObjects } from './diff.ts';
import { canonicalQuantity, milliQuantity } from './quantity.ts';
import { kinds } from './schema-data.ts';
import { schemaOf } from './schema.ts';

const kube = (object: unknown): KubeObject => object as KubeObject;

interface Example {
  readonly raw: JsonObject & { readonly apiVersion: string; readonly kind: string };
  readonly stored: JsonObject;
}

/** Manifests of every kind with what Kubernetes' own code makes of them (scripts/generate-schema-data.mjs). */
const examples = readFileSync(new URL('./testdata/kinds.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => parseJson(line) as unknown as Example);
const byKind = new Map<string, Example[]>();
for (const example of examples) {
  const kind = `${example.raw.apiVersion} ${example.raw.kind}`;
  byKind.set(kind, [...(byKind.get(kind) ?? []), example]);
}

function stored(object: Json): Json {
  const type = schemaOf(kube(object));
  return type === undefined ? object : asStored(object, type);
}

describe('12.3: the form in which the API server stores an object', () => {
  it('12.3: there are examples of every kind', () => {
    expect([...byKind.keys()].sort()).toEqual(Object.keys(kinds).sort());
    expect(examples.length).toBeGreaterThan(900);
  });

  it.each([...byKind])('12.3: %s', (_kind, ofKind) => {
    for (const { raw, stored: expected } of ofKind) {
      expect(stored(raw)).toEqual(canonicalise(expected, schemaOf(raw)));
      expect(stored(stored(raw))).toEqual(stored(raw));
    }
  });
});

const rules = { settings: defaultSettings, ignoreDifferences: [] };

function applied({ raw, stored: present }: Example): KubeObject {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(raw) };
  const metadata = { ...(present['metadata'] as JsonObject), uid: 'u', resourceVersion: '1', annotations };
  return kube({ ...present, metadata });
}

const identity = new Set(['apiVersion', 'kind', 'metadata']);

function isModified(target: Json, live: KubeObject): boolean {
  return diffObjects(kube(target), live, rules).modified;
}

function leaves(value: Json, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, i) => leaves(item, [...path, i]));
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([key, member]) => leaves(member as Json, [...path, key]));
}

function changed(value: Json, path: readonly (string | number)[]): Json {
  const [step, ...rest] = path;
  if (step === undefined) {
    if (typeof value === 'boolean') return !value;
    return typeof value === 'number' ? value + 7 : `${value as string}z`;
  }
  if (Array.isArray(value)) return value.map((item: Json, i) => (i === step ? changed(item, rest) : item));
  const object = value as JsonObject;
  return { ...object, [step]: changed(object[step] as Json, rest) };
}

function removed(value: Json, path: readonly (string | number)[]): Json {
  const [step, ...rest] = path;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return rest.length === 0
      ? list.filter((_item, i) => i !== step)
      : list.map((item, i) => (i === step ? removed(item, rest) : item));
  }
  const { [String(step)]: gone, ...others } = value as JsonObject;
  return rest.length === 0 ? others : { ...others, [String(step)]: removed(gone as Json, rest) };
}

describe('12.3: apply, then compare', () => {
  it('12.3: T-DIFF-1: what was applied is no difference', () => {
    const different = examples.filter((example) => diffObjects(kube(example.raw), applied(example), rules).modified);
    expect(different.map(({ raw }) => raw)).toEqual([]);
  });

  /** What the API server itself passes over: `stringData` wins, and sessions without affinity have no settings. */
  const overruled = [
    'Secret data.k0',
    'Secret without data.k0',
    'Service spec.sessionAffinityConfig.clientIP.timeoutSeconds',
  ];

  it('12.3: T-DIFF-2: any field that is changed, or removed, is found', () => {
    const missed: string[] = [];
    let count = 0;
    for (const example of examples) {
      const live = applied(example);
      for (const path of leaves(example.raw).filter(([first]) => !identity.has(String(first)))) {
        const [other, less] = [changed(example.raw, path), removed(example.raw, path)];
        count += 2;
        if (!isModified(other, live)) missed.push(`${example.raw.kind} ${path.join('.')}`);
        const isStoredAlike = deepEqual(stored(less), stored(example.raw));
        if (!isStoredAlike && !isModified(less, live)) missed.push(`${example.raw.kind} without ${path.join('.')}`);
      }
    }
    expect(missed).toEqual(overruled);
    expect(count).toBeGreaterThan(5000);
  });

  it('12.3: T-DIFF-2: a label or an annotation that is added is found', () => {
    for (const example of examples) {
      const live = applied(example);
      for (const more of [{ labels: { a: 'b' } }, { annotations: { a: 'b' } }])
        expect(isModified({ ...example.raw, metadata: { name: 'x', ...more } }, live)).toBe(true);
    }
  });
});

/** The same with a field that no type of today has, in each of its objects; how many went in. */
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

describe('T-JS-11: objects of a minor version that is newer than the types of this program', () => {
  it('T-JS-11: lose nothing of what these types do not know, wherever it stands, and it is compared', () => {
    const [lost, unseen, untrue]: [string[], string[], string[]] = [[], [], []];
    let all = 0;
    for (const [kind, [example]] of byKind) {
      if (example === undefined) continue;
      const count = { places: 0 };
      const raw = newer(example.raw, count) as Example['raw'];
      all += count.places;
      if (places(stored(raw)) !== count.places) lost.push(kind);
      const live = applied({ raw, stored: newer(example.stored, { places: 0 }) as JsonObject });
      if (isModified(raw, live)) untrue.push(kind);
      const inNext = leaves(raw).filter((path) => path.includes(nextField) && path.at(-1) === 'nested');
      for (const path of inNext.filter(([first]) => !identity.has(String(first))))
        if (!isModified(changed(raw, path), live)) unseen.push(`${kind} ${path.join('.')}`);
    }
    // A map of texts in base64, in which no field can come to be.
    const noPlace = ['v1 Secret data.fieldOfTheNextMinorVersion.list.0.nested'];
    expect([lost, unseen, untrue]).toEqual([[], noPlace, []]);
    expect(all).toBeGreaterThan(250);
  });
});

describe('14.1: amounts of a million digits', () => {
  it.each([['1'], ['0.'], ['-1'], ['1.5']])(
    '14.1: are no quantities, and compared as the texts that they are: %s…',
    (head) => {
      const text = `${head}${'7'.repeat(1_000_000)}`;
      expect([canonicalQuantity(text) === undefined, milliQuantity(text) === undefined]).toEqual([true, true]);
      const withLimit = (memory: string): JsonObject => ({
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: { name: 'x' },
        spec: { limits: [{ type: 'Pod', max: { memory } }] },
      });
      const example = { raw: withLimit(text), stored: withLimit(text) } as Example;
      expect([
        isModified(withLimit(text), applied(example)),
        isModified(withLimit(`${text}7`), applied(example)),
      ]).toEqual([false, true]);
    },
  );
});

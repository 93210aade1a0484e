import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { deepEqual, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, defaultSettings, fieldManager } from '#model';
import type { KubeObject } from '#model';
import { asKube } from './client-side-apply.ts';
import { asStored } from './defaults.ts';
import { diffObjects } from './diff.ts';
import type { FieldSet } from './field-set.ts';
import { kinds } from './schema-data.ts';
import { schemaOf } from './schema.ts';
import { fieldSetOf, shapeOf, stepOf } from './shape.ts';
import type { Shape } from './shape.ts';
import { changedAt, holdersOf, leavesOf, otherAt, placesIn } from './testing/leaves.ts';
import type { Steps } from './testing/leaves.ts';
import { without } from './values.ts';

/** Thousands of comparisons each. */
const limitMs = 600_000;

const rules = { settings: defaultSettings, ignoreDifferences: [] };
const modes = { client: rules, server: { ...rules, serverSideApply: true } } as const;
type Mode = keyof typeof modes;

/** As the API server stores it; what that is, kinds.test.ts holds to Kubernetes' own code. */
function stored(object: JsonObject): JsonObject {
  const type = schemaOf(asKube(object));
  return (type === undefined ? object : asStored(object, type)) as JsonObject;
}

function written(set: FieldSet): JsonObject {
  const inner = [...set.children].map(([step, child]) => [step, written(child)] as const);
  return { ...(set.member && inner.length > 0 ? { '.': {} } : {}), ...Object.fromEntries(inner) };
}

/** What the API server notes of a server-side apply. */
function fieldsOf(manifest: JsonObject): JsonObject {
  const metadata = without(manifest['metadata'] as JsonObject, ['name']);
  const said = { ...without(manifest, ['apiVersion', 'kind']), metadata };
  return written(fieldSetOf(said, shapeOf(schemaOf(asKube(manifest)))));
}

interface Applied {
  readonly mode: Mode;
  /** The manifest that was applied last. */
  readonly last: JsonObject;
  /** What the server has now. */
  readonly now: JsonObject;
  /** Who owns what the server has now, beside us: nobody, or who changed it since; that one may have taken all that we had. */
  readonly others?: 'too' | 'all';
}

function liveOf({ mode, last, now, others }: Applied): KubeObject {
  const { metadata: said, ...rest } = stored(now);
  const metadata = { ...(said as JsonObject), uid: 'u', resourceVersion: '1' };
  if (mode === 'client') {
    const noted = {
      ...((metadata as JsonObject)['annotations'] as JsonObject),
      [annotations.lastApplied]: JSON.stringify(last),
    };
    return asKube({ ...rest, metadata: { ...metadata, annotations: noted } });
  }
  const entry = { apiVersion: last['apiVersion'] ?? '', fieldsType: 'FieldsV1' };
  const ours = { ...entry, manager: fieldManager, operation: 'Apply', fieldsV1: fieldsOf(last) };
  const theirs = { ...entry, manager: 'kubectl-edit', operation: 'Update', fieldsV1: fieldsOf(now) };
  const managedFields = [...(others === 'all' ? [] : [ours]), ...(others === undefined ? [] : [theirs])];
  return asKube({ ...rest, metadata: { ...metadata, managedFields } });
}

const counts: Record<string, number> = {};

/** Notes what is not found, and what is found although it is no difference. */
class Finder {
  readonly wrong: string[] = [];
  readonly #mode: Mode;
  #place = '';

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  at(path: Steps): void {
    this.#place = path.join('.');
  }

  expect(
    what: string,
    differs: boolean,
    [target, live]: readonly [target: JsonObject, live: Omit<Applied, 'mode'>],
  ): void {
    const key = `${this.#mode}-side, ${what}`;
    counts[key] = (counts[key] ?? 0) + 1;
    const { modified } = diffObjects(asKube(target), liveOf({ mode: this.#mode, ...live }), modes[this.#mode]);
    if (modified !== differs) this.wrong.push(`${this.#place} ${what}`);
  }

  /** All that Git or somebody else may do to one value. */
  value(object: JsonObject, other: JsonObject, less: JsonObject): void {
    const isFilledInAgain = deepEqual(stored(less), stored(object));
    this.expect('as applied', false, [object, { last: object, now: object }]);
    this.expect('changed in Git', true, [other, { last: object, now: object }]);
    this.expect('removed from Git', !isFilledInAgain, [less, { last: object, now: object }]);
    this.expect('added in Git', !isFilledInAgain, [object, { last: less, now: less }]);
    this.expect('changed in the cluster', true, [object, { last: object, now: other }]);
    this.expect('removed in the cluster', !isFilledInAgain, [object, { last: object, now: less }]);
    if (this.#mode === 'server')
      this.expect('changed and owned by others', true, [object, { last: object, now: other, others: 'all' }]);
  }
}

afterAll(() => {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  process.stdout.write(`12.1: ${total} mutations: ${JSON.stringify(counts, null, 1)}\n`);
});

/** What no comparison can find, and why. */
const overruled: Readonly<Record<string, readonly string[]>> = {
  // Without affinity to clients, the API server takes the settings of it away.
  'v1 Service': ['spec.sessionAffinityConfig.clientIP.timeoutSeconds'],
};

describe.each(['client', 'server'] as const)('12.1: each leaf of each kind, applied %s-side', (mode) => {
  it.each(Object.keys(kinds))(
    `12.1: T-DIFF-2: %s, ${mode}-side: what is changed, removed or added is found`,
    (key) => {
      const [apiVersion = '', kind = ''] = key.split(' ');
      const finder = new Finder(mode);
      for (const { path, object, other, zero } of leavesOf(apiVersion, kind)) {
        if (overruled[key]?.includes(path.join('.')) === true) continue;
        finder.at(path);
        const changed = (value: Json | undefined): JsonObject => changedAt(object, path, value) as JsonObject;
        finder.value(object, changed(other), changed(undefined));
        const zeroed = zero === undefined ? object : changed(zero);
        const isSame = deepEqual(stored(zeroed), stored(object));
        finder.expect('nothing in Git, something in the cluster', !isSame, [zeroed, { last: zeroed, now: object }]);
      }
      for (const { path, object, more, empty, whole } of holdersOf(apiVersion, kind)) {
        finder.at(path);
        finder.expect('one more in the cluster', whole[mode], [object, { last: object, now: more, others: 'too' }]);
        finder.expect('one more in Git', true, [more, { last: object, now: object }]);
        finder.expect('one less in Git', true, [object, { last: more, now: more }]);
        const isEmptied = whole[mode] && !deepEqual(stored(empty), stored(object));
        finder.expect('none in Git, one in the cluster', isEmptied, [
          empty,
          { last: empty, now: object, others: 'too' },
        ]);
      }
      expect(finder.wrong.filter((place) => !lost(key, mode, place))).toEqual([]);
    },
    limitMs,
  );
});

/**
 * The server folds `stringData` into `data` and forgets whose it was: what Git has dropped of it stays. And it fills much into claim templates, in
 * which nobody can change anything: what it adds is passed over, as in Argo CD.
 */
function lost(key: string, mode: Mode, place: string): boolean {
  if (key === 'v1 Secret' && mode === 'server')
    return ['stringData.k removed from Git', 'stringData one less in Git'].includes(place);
  const inClaim =
    key === 'apps/v1 StatefulSet' && mode === 'client' && place.startsWith('spec.volumeClaimTemplates.0.');
  return inClaim && /(?:labels|annotations|limits|requests|matchLabels) (?:one more|none in Git)/.test(place);
}

interface Example {
  readonly raw: JsonObject;
}

/** Manifests with many fields at once, of every kind, by Kubernetes' own code (scripts/generate-schema-data.mjs). */
const examples = readFileSync(new URL('./testdata/kinds.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (parseJson(line) as unknown as Example).raw);

/** Would the API server refuse a server-side apply, because items of a list cannot be told apart? */
function isRefused(value: Json, shape: Shape): boolean {
  if (Array.isArray(value)) {
    const { listKeys } = shape;
    const list = value as readonly Json[];
    const steps = new Set(list.map((item) => stepOf(item, shape)));
    const isVague = listKeys !== undefined && (steps.size < list.length || list.some((item) => lacksKey(item, shape)));
    return isVague || list.some((item) => isRefused(item, shape.items()));
  }
  if (value === null || typeof value !== 'object') return false;
  return Object.entries(value).some(([key, member]) => isRefused(member as Json, shape.member(key)));
}

function lacksKey(item: Json, shape: Shape): boolean {
  if (item === null || typeof item !== 'object') return false;
  return (
    shape.listKeys?.some((key) => ((item as JsonObject)[key] ?? shape.items().keyDefault(key) ?? '') === '') === true
  );
}

describe.each(['client', 'server'] as const)('12.1: manifests with many fields, applied %s-side', (mode) => {
  /** `stringData` wins over `data`; the rest as above. */
  const passedOver = ['Secret data.k0', 'Secret stringData.k0 removed from Git', 'Service spec.sessionAffinityConfig'];

  it(
    `12.1: T-DIFF-2: any value of theirs, ${mode}-side, that is changed, removed or added is found`,
    () => {
      const wrong: string[] = [];
      const taken = examples.filter((raw) => mode === 'client' || !isRefused(raw, shapeOf(schemaOf(asKube(raw)))));
      expect(taken.length).toBeGreaterThan(800);
      for (const object of taken) {
        const finder = new Finder(mode);
        for (const path of placesIn(object)) {
          if (['apiVersion', 'kind', 'metadata'].includes(String(path[0])) || isEmptyAt(object, path)) continue;
          finder.at([object['kind'] as string, ...path]);
          finder.value(object, otherAt(object, path) as JsonObject, changedAt(object, path, undefined) as JsonObject);
        }
        wrong.push(...finder.wrong);
      }
      expect(
        wrong.map((text) => text.replace('.', ' ')).filter((text) => !passedOver.some((one) => text.startsWith(one))),
      ).toEqual([]);
    },
    limitMs,
  );
});

/** Lists and maps without anything in them are holders, not values. */
function isEmptyAt(object: JsonObject, path: Steps): boolean {
  const value = path.reduce<Json>(
    (here, step) => (here as Readonly<Record<string | number, Json>>)[step] ?? null,
    object,
  );
  return value !== null && typeof value === 'object';
}

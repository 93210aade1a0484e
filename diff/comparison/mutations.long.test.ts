import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, defaultSettings, fieldManager } from '#model';
import type { KubeObject } from '#model';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { fieldSetOf, listItemStep, shapeOfType } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';
import { asStored } from '../normalize/defaults.ts';
import { kinds } from '../schema/schema-data.ts';
import { schemaOf } from '../schema/schema.ts';
import { asKube, withoutMembers } from '../shared/values.ts';
import { parseKindExamples } from '../testing/kind-examples.ts';
import { changedAt, containersOf, leavesOf, otherAt, valuePathsIn } from '../testing/leaves.ts';
import type { FieldSteps } from '../testing/leaves.ts';
import { diffObjects } from './diff.ts';

const kindExamples = parseKindExamples(readFileSync(new URL('../testdata/kinds.ndjson', import.meta.url), 'utf8'));

/** Each test runs thousands of comparisons. */
const limitMs = 600_000;

const rules = { settings: defaultSettings, ignoreDifferences: [] };
const modes = { client: rules, server: { ...rules, serverSideApply: true } } as const;
type ApplyMode = keyof typeof modes;

/** The stored form; normalize/defaults.test.ts compares it with Kubernetes' own code. */
function stored(object: JsonObject): JsonObject {
  const type = schemaOf(asKube(object));
  return (type === undefined ? object : asStored(object, type)) as JsonObject;
}

function fieldsV1Of(set: FieldSet): JsonObject {
  const inner = [...set.children].map(([step, child]) => [step, fieldsV1Of(child)] as const);
  return { ...(set.member && inner.length > 0 ? { '.': {} } : {}), ...Object.fromEntries(inner) };
}

/** The `fieldsV1` that the API server records for a server-side apply. */
function fieldsOf(manifest: JsonObject): JsonObject {
  const metadata = withoutMembers(manifest['metadata'] as JsonObject, ['name']);
  const applied = { ...withoutMembers(manifest, ['apiVersion', 'kind']), metadata };
  return fieldsV1Of(fieldSetOf(applied, shapeOfType(schemaOf(asKube(manifest)))));
}

interface LiveState {
  readonly mode: ApplyMode;
  /** The manifest applied last. */
  readonly last: JsonObject;
  /** The object on the server. */
  readonly now: JsonObject;
  /**
   * Whether another manager changed `now`: as co-owner (`too`), or taking over all fields (`all`).
   */
  readonly others?: 'too' | 'all';
}

function liveOf({ mode, last, now, others }: LiveState): KubeObject {
  const { metadata: before, ...rest } = stored(now);
  const metadata = { ...(before as JsonObject), uid: 'u', resourceVersion: '1' };
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

/** Collects mutations that are missed, and unchanged objects that are reported as different. */
class MutationCheck {
  readonly wrong: string[] = [];
  readonly #mode: ApplyMode;
  #path = '';

  constructor(mode: ApplyMode) {
    this.#mode = mode;
  }

  at(path: FieldSteps): void {
    this.#path = path.join('.');
  }

  expect(
    what: string,
    differs: boolean,
    [target, live]: readonly [target: JsonObject, live: Omit<LiveState, 'mode'>],
  ): void {
    const key = `${this.#mode}-side, ${what}`;
    counts[key] = (counts[key] ?? 0) + 1;
    const { modified } = diffObjects(asKube(target), liveOf({ mode: this.#mode, ...live }), modes[this.#mode]);
    if (modified !== differs) this.wrong.push(`${this.#path} ${what}`);
  }

  /** All mutations of one value in Git or in the cluster. */
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
  process.stdout.write(`${total} mutations: ${JSON.stringify(counts, null, 1)}\n`);
});

/** Fields whose mutations no comparison can find. */
const overruled: Readonly<Record<string, readonly string[]>> = {
  // Without client affinity, the API server drops its settings.
  'v1 Service': ['spec.sessionAffinityConfig.clientIP.timeoutSeconds'],
  // Only the finalize subresource changes them.
  'v1 Namespace': ['spec.finalizers', 'spec.finalizers.0'],
  // The API server keeps the first range equal to podCIDR.
  'v1 Node': ['spec.podCIDR', 'spec.podCIDRs.0'],
};

describe.each(['client', 'server'] as const)('each leaf of each kind, applied %s-side', (mode) => {
  // T-DIFF-2
  it.each(Object.keys(kinds))(
    `%s, ${mode}-side: finds every change, removal and addition`,
    (key) => {
      const [apiVersion = '', kind = ''] = key.split(' ');
      const check = new MutationCheck(mode);
      for (const { path, object, other, zero } of leavesOf(apiVersion, kind)) {
        if (overruled[key]?.includes(path.join('.')) === true) continue;
        check.at(path);
        const changed = (value: Json | undefined): JsonObject => changedAt(object, path, value) as JsonObject;
        check.value(object, changed(other), changed(undefined));
        const zeroed = zero === undefined ? object : changed(zero);
        const isSame = deepEqual(stored(zeroed), stored(object));
        check.expect('zero in Git, set in the cluster', !isSame, [zeroed, { last: zeroed, now: object }]);
      }
      for (const { path, object, withAnother: more, empty, whole } of containersOf(apiVersion, kind)) {
        if (overruled[key]?.includes(path.join('.')) === true) continue;
        check.at(path);
        check.expect('one more in the cluster', whole[mode], [object, { last: object, now: more, others: 'too' }]);
        check.expect('one more in Git', true, [more, { last: object, now: object }]);
        check.expect('one less in Git', true, [object, { last: more, now: more }]);
        const isEmptied = whole[mode] && !deepEqual(stored(empty), stored(object));
        check.expect('none in Git, one in the cluster', isEmptied, [
          empty,
          { last: empty, now: object, others: 'too' },
        ]);
      }
      expect(check.wrong.filter((path) => !isOverruled(key, mode, path))).toEqual([]);
    },
    limitMs,
  );
});

/**
 * The API server folds `stringData` into `data` and loses its owner, so what Git drops of it stays.
 * Additions to claim templates, which are immutable, are ignored as in Argo CD.
 */
function isOverruled(key: string, mode: ApplyMode, path: string): boolean {
  if (key === 'v1 Secret' && mode === 'server')
    return [
      'stringData.k removed from Git',
      'stringData one less in Git',
      // Here the live Secret keeps its stringData, which no API server does.
      'stringData none in Git, one in the cluster',
    ].includes(path);
  // The API server allocates what an empty list leaves open.
  if (key === 'v1 Service' && /^spec[.](?:clusterIPs|ipFamilies)(?:[.]0 removed from| none in) Git/.test(path))
    return true;
  const inClaim = key === 'apps/v1 StatefulSet' && mode === 'client' && path.startsWith('spec.volumeClaimTemplates.0.');
  return inClaim && /(?:labels|annotations|limits|requests|matchLabels) (?:one more|none in Git)/.test(path);
}

/** Whether the API server would reject a server-side apply because list items share their keys. */
function isRefused(value: Json, shape: OwnershipShape): boolean {
  if (Array.isArray(value)) {
    const { listKeys } = shape;
    const list = value as readonly Json[];
    const steps = new Set(list.map((item) => listItemStep(item, shape)));
    const isVague = listKeys !== undefined && (steps.size < list.length || list.some((item) => lacksKey(item, shape)));
    return isVague || list.some((item) => isRefused(item, shape.items()));
  }
  if (value === null || typeof value !== 'object') return false;
  return Object.entries(value).some(([key, member]) => isRefused(member as Json, shape.member(key)));
}

function lacksKey(item: Json, shape: OwnershipShape): boolean {
  if (item === null || typeof item !== 'object') return false;
  return (
    shape.listKeys?.some((key) => ((item as JsonObject)[key] ?? shape.items().keyDefault(key) ?? '') === '') === true
  );
}

describe.each(['client', 'server'] as const)('manifests with many fields, applied %s-side', (mode) => {
  /** `stringData` overrides `data`; the rest as above. */
  const passedOver = [
    ...['Secret data.k0', 'Secret stringData.k0 removed from Git', 'Service spec.sessionAffinityConfig'],
    ...['Service spec.clusterIPs.0 removed from Git', 'Service spec.ipFamilies.0 removed from Git'],
    ...['Namespace spec.finalizers', 'Node spec.podCIDR'],
  ];

  // T-DIFF-2
  it(
    `${mode}-side: finds every change, removal and addition of a value`,
    () => {
      const wrong: string[] = [];
      const taken = kindExamples
        .map(({ raw }) => raw)
        .filter((raw) => mode === 'client' || !isRefused(raw, shapeOfType(schemaOf(asKube(raw)))));
      expect(taken.length).toBeGreaterThan(800);
      for (const object of taken) {
        const check = new MutationCheck(mode);
        for (const path of valuePathsIn(object)) {
          if (['apiVersion', 'kind', 'metadata'].includes(String(path[0]))) continue;
          check.at([object.kind, ...path]);
          check.value(object, otherAt(object, path) as JsonObject, changedAt(object, path, undefined) as JsonObject);
        }
        wrong.push(...check.wrong);
      }
      expect(
        wrong.map((text) => text.replace('.', ' ')).filter((text) => !passedOver.some((one) => text.startsWith(one))),
      ).toEqual([]);
    },
    limitMs,
  );
});

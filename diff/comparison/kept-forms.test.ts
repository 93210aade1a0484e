import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cloneJson } from '#base';
import { annotations, defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { diffObjects } from './diff.ts';
import type { DiffResult } from './result.ts';

const kube = (object: object): KubeObject => object as KubeObject;
const role = 'rbac.authorization.k8s.io/v1';

/** Manifests of a few kinds in several states, so that states meet each other again. */
const manifests: readonly object[] = ['1', '2'].flatMap((value) => [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: value } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'x' }, data: { a: value, b: 'b' } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: value } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'eA==', b: null } },
  { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x', annotations: {} }, spec: { a: value, empty: '' } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: {
      replicas: Number(value),
      paused: false,
      template: { spec: { containers: [{ name: 'a', image: `i:${value}`, resources: { limits: { cpu: '1000m' } } }] } },
    },
  },
  {
    apiVersion: role,
    kind: 'ClusterRole',
    metadata: { name: 'r' },
    aggregationRule: { clusterRoleSelectors: [] },
    rules: [{ apiGroups: [value], resources: ['x'], verbs: ['get'] }],
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', annotations: { [annotations.ignoreDifferences]: '{jsonPointers: [/data/b]}' } },
    data: { a: value, b: value },
  },
]);

const rule = (over: Partial<ResourceIgnoreDifferences>): ResourceIgnoreDifferences => ({
  group: '*',
  kind: '*',
  ...over,
});
/** Each list is used by many comparisons, like that of an Application. */
const ruleLists: readonly (readonly ResourceIgnoreDifferences[])[] = [
  [],
  [],
  [rule({ jsonPointers: ['/data/a'] })],
  [rule({ jsonPointers: ['/spec', '/rules'] })],
  [rule({ jqPathExpressions: ['.data.a'] })],
  [rule({ managedFieldsManagers: ['hpa'] })],
];
const ignoring: Settings['overrides'] = {
  all: { useOpenLibs: false, knownTypeFields: [], ignoreDifferences: { jsonPointers: ['/data/b'] } },
};
const settings: readonly Settings[] = [
  defaultSettings,
  { ...defaultSettings, ignoreAggregatedRoles: !defaultSettings.ignoreAggregatedRoles },
  { ...defaultSettings, overrides: ignoring },
  { ...defaultSettings, tracking: { ...defaultSettings.tracking, method: 'annotation+label' } },
];

const hpa = {
  manager: 'hpa',
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': { 'f:a': {} }, 'f:spec': { 'f:replicas': {} } },
};

/** A live object: what was applied, what it is now, and how both are written. */
const liveObjects: readonly KubeObject[] = manifests.flatMap((now, i) => {
  const metadata = { uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
  const as = (applied: object | string | undefined, over: object = {}): KubeObject => {
    const text = typeof applied === 'string' ? applied : JSON.stringify(applied);
    const { annotations: own = {}, ...named } = (now as unknown as KubeObject).metadata;
    const notes = { ...own, ...(applied === undefined ? {} : { [annotations.lastApplied]: text }) };
    return kube({ ...now, metadata: { ...named, ...metadata, annotations: notes, ...over } });
  };
  const gone = { ...now, data: { ...(now as { readonly data?: object }).data, gone: '1' } };
  const other = manifests[(i + manifests.length / 2) % manifests.length];
  return [
    as(undefined),
    as(now),
    as(other),
    as('{'),
    as(gone),
    kube({ ...as(gone), data: gone.data }),

    as(now, { managedFields: [hpa] }),
    as(now, { labels: { a: 'b' } }),
  ];
});

/** Pairs of the same object only: the same kind and name. */
const pairs = manifests.map(kube).flatMap((target) =>
  liveObjects
    .filter((live) => live.kind === target.kind && live.metadata.name === target.metadata.name)
    .flatMap((live) => [
      { target, live },
      { target: live, live },
    ]),
);

const enough = 10_000_000;

/** Comparisons of one target with its live states, so that kept forms are met often. */
const steps = fc.constantFrom(...new Set(pairs.map(({ target }) => target))).chain((target) =>
  fc.array(
    fc.record({
      pair: fc.constantFrom(...pairs.filter((pair) => pair.target === target)),
      settings: fc.constantFrom(...settings),
      ignoreDifferences: fc.constantFrom(...ruleLists),
      serverSideApply: fc.boolean(),
      // Without steps, an expression fails instead of selecting something.
      left: fc.constantFrom(enough, 0),
    }),
    { minLength: 20, maxLength: 60 },
  ),
);

it('compares objects that were compared before, by any rules, as if they were new', () => {
  fc.assert(
    fc.property(steps, (all) => {
      for (const { pair, left, ...rules } of all) {
        const withWork = (steps: number): DiffRules => ({ ...rules, work: { left: steps } });
        const compareFresh = (steps: number): DiffResult =>
          diffObjects(cloneJson(pair.target), cloneJson(pair.live), withWork(steps));
        // The first comparison with these rules also pays for compiling them.
        compareFresh(enough);
        const fresh = compareFresh(left);
        for (let i = 0; i < 2; i += 1) expect(diffObjects(pair.target, pair.live, withWork(left))).toEqual(fresh);
      }
    }),
    { numRuns: 60 },
  );
});

it('returns the same form for a live object that is compared again', () => {
  const rules = { settings: defaultSettings, ignoreDifferences: [] };
  const plain = pairs.filter(
    ({ target: { kind, metadata } }) => kind === 'ConfigMap' && metadata.annotations === undefined,
  );
  expect(plain.length).toBeGreaterThan(10);
  for (const { target, live } of plain) {
    const [first, second] = [diffObjects(target, live, rules), diffObjects(target, live, rules)];
    if (!first.modified) expect(second.normalizedLive).toBe(first.normalizedLive);
  }
});

it('reads the manifest that was applied last to each live object', () => {
  const rules = { settings: defaultSettings, ignoreDifferences: [] };
  const target = kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: '1' } });
  const liveOf = (applied: object): KubeObject => {
    const notes = { [annotations.lastApplied]: JSON.stringify({ ...target, data: applied }) };
    return { ...target, data: { a: '1', b: '2' }, metadata: { name: 'c', annotations: notes } };
  };
  const [theirs, ours] = [liveOf({ a: '1' }), liveOf({ a: '1', b: '2' })];
  for (const live of [theirs, ours, theirs, ours])
    expect(diffObjects(target, live, rules).modified).toBe(live === ours);
});

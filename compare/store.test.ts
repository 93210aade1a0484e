import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defined, omit, runSteps } from '#base';
import { JqAnswers } from '#diff';
import type { JqAnswer } from '#diff';
import type { KindState, UnreadObject } from '#live';
import { appKey, defaultSettings, keyOf, refOf, resourceKey, versionOf } from '#model';
import type { Application, ApplicationSpec, KubeObject, ResourceKey, Settings } from '#model';
import { compareState, rulesOf } from './comparison.ts';
import type { CompareFacts, Comparison } from './types.ts';
import { foldRows } from './fold.ts';
import type { ComparedRow } from './fold.ts';
import { managedResources, treeRoots } from './managed.ts';
import { pairUp } from './pairing.ts';
import { compareResource } from './row.ts';
import { RowStore } from './store.ts';
import { normalizeTargets } from './targets.ts';

const kinds = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Secret' },
  { apiVersion: 'v1', kind: 'Namespace' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
  { apiVersion: 'example.com/v1', kind: 'Thing' },
] as const;
const clusterScoped = new Set(['Namespace']);
const names = ['a', 'b', 'apps'];
const notes: readonly Readonly<Record<string, string>>[] = [
  {},
  {},
  { 'argocd.argoproj.io/hook': 'PreSync' },
  { 'argocd.argoproj.io/hook': 'PreSync', 'argocd.argoproj.io/sync-wave': '2' },
  { 'argocd.argoproj.io/hook': 'PreDelete' },
  { 'argocd.argoproj.io/hook': 'Skip' },
  { 'argocd.argoproj.io/sync-wave': '3' },
  { 'argocd.argoproj.io/sync-options': 'Prune=confirm' },
  { 'argocd.argoproj.io/compare-options': 'IgnoreExtraneous' },
  { 'argocd.argoproj.io/ignore-healthcheck': 'true' },
];
const ids = ['own', 'other', 'copy', 'none'] as const;

/** Form of a generated object: which one it is, and its variant. */
interface GoShape {
  readonly kind: number;
  readonly name: number;
  readonly note: number;
  readonly data: number;
}
const shape = fc.record<GoShape>({
  kind: fc.nat(kinds.length - 1),
  name: fc.nat(names.length - 1),
  note: fc.nat(notes.length - 1),
  data: fc.nat(2),
});

function manifest({ kind, name, note, data }: GoShape): KubeObject {
  const which = kinds[kind]!;
  return {
    ...which,
    metadata: { name: names[name]!, annotations: notes[note]! },
    ...(which.kind === 'Deployment' ? { spec: { replicas: data } } : { data: { key: String(data) } }),
  };
}

const jqRule = { useOpenLibs: false, knownTypeFields: [], ignoreDifferences: { jqPathExpressions: ['.data.key'] } };
const oddRule = {
  useOpenLibs: false,
  knownTypeFields: [],
  ignoreDifferences: { jqPathExpressions: ['.data | limit(1; .[])'] },
};
const settingsOf: readonly Settings[] = [
  defaultSettings,
  { ...defaultSettings, version: 'jq', overrides: { ConfigMap: jqRule, Secret: oddRule } },
  { ...defaultSettings, version: 'label', tracking: { ...defaultSettings.tracking, method: 'label' } },
];
const specs: readonly Partial<ApplicationSpec>[] = [
  {},
  { ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }] },
  { syncPolicy: { syncOptions: ['Delete=confirm'] } },
  { syncPolicy: { managedNamespaceMetadata: { labels: { team: 'x' } } } },
];

/** An event in the generated history. */
type WorldEvent =
  | { readonly on: 'live'; readonly shape: GoShape; readonly id: (typeof ids)[number]; readonly status: number }
  | { readonly on: 'gone'; readonly shape: GoShape }
  | { readonly on: 'twin'; readonly shape: GoShape }
  | { readonly on: 'push'; readonly shapes: readonly GoShape[] }
  | {
      readonly on: 'spec' | 'settings' | 'degraded' | 'unread' | 'forbidden' | 'unknown' | 'failed';
      readonly which: number;
    };

const event: fc.Arbitrary<WorldEvent> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      on: fc.constant('live' as const),
      shape,
      id: fc.constantFrom('own' as const, ...ids),
      status: fc.nat(2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ on: fc.constant('gone' as const), shape }) },
  { weight: 1, arbitrary: fc.record({ on: fc.constant('twin' as const), shape }) },
  { weight: 2, arbitrary: fc.record({ on: fc.constant('push' as const), shapes: fc.array(shape, { maxLength: 5 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      on: fc.constantFrom('spec', 'settings', 'degraded', 'unread', 'forbidden', 'unknown', 'failed'),
      which: fc.nat(9),
    }),
  },
);

/** Initial content of Git, so that most events concern desired objects. */
const pushed: readonly GoShape[] = [0, 1, 3, 5].map((kind) => ({ kind, name: 0, note: 0, data: 0 }));
const touch: fc.Arbitrary<WorldEvent> = fc.record({
  on: fc.constant('live' as const),
  shape: fc.record({
    kind: fc.constantFrom(0, 1, 3, 5),
    name: fc.constant(0),
    note: fc.constantFrom(0, 0, 0, 0, 2, 9),
    data: fc.nat(1),
  }),
  id: fc.constantFrom('own' as const, 'own' as const, 'own' as const, ...ids),
  status: fc.nat(2),
});

/** One Application in a small world: what Git and the cluster hold after some events. */
class FakeWorld {
  #targets: readonly KubeObject[] = [];
  readonly #live = new Map<ResourceKey, KubeObject>();
  readonly #flags = { spec: 0, settings: 0, degraded: 0, unread: 0, forbidden: 0, unknown: 0, failed: 0 };
  #versions = 0;
  readonly #jqSteps: number | undefined;

  constructor(limit?: number) {
    this.#jqSteps = limit;
  }

  /** Returns the keys that changed in the cluster. */
  apply(what: WorldEvent): readonly ResourceKey[] {
    if (what.on === 'push') this.#targets = what.shapes.map(manifest);
    else if (what.on === 'live' || what.on === 'gone' || what.on === 'twin') return this.#change(what);
    else this.#flags[what.on] = what.which;
    return [];
  }

  #change(what: Extract<WorldEvent, { shape: GoShape }>): readonly ResourceKey[] {
    const [target] = normalizeTargets([manifest(what.shape)], this.#rules()).targets;
    if (target === undefined) return [];
    const key = keyOf(target);
    const before = this.#live.get(key);
    if (what.on === 'gone') return this.#live.delete(key) ? [key] : [];
    if (what.on === 'twin') return before === undefined ? [] : [this.#twin(before)];
    this.#versions += 1;
    const uid = before?.metadata.uid ?? `uid-${this.#versions}`;
    const id = { own: 'demo', other: 'other', copy: 'demo', none: '' }[what.id];
    const { group, kind, namespace, name } = refOf(target);
    const claims = `${id}:${group}/${kind}:${namespace}/${what.id === 'copy' ? 'original' : name}`;
    const untracked = omit({ ...target.metadata.annotations }, 'argocd.argoproj.io/tracking-id');
    const annotations = id === '' ? untracked : { ...untracked, 'argocd.argoproj.io/tracking-id': claims };
    this.#live.set(key, {
      ...target,
      metadata: { ...target.metadata, annotations, uid, resourceVersion: String(this.#versions) },
      status: kind === 'Application' ? { health: { status: ['Healthy', 'Degraded', 'Missing'][what.status] } } : {},
    });
    return [key];
  }

  /** The same object under a second group, as some API servers store it. */
  #twin(before: KubeObject): ResourceKey {
    const twin = { ...before, apiVersion: 'twin.example.com/v1' };
    this.#live.set(keyOf(twin), twin);
    return keyOf(twin);
  }

  #rules(): Parameters<typeof normalizeTargets>[1] {
    return {
      instance: 'demo',
      destinationNamespace: 'apps',
      tracking: this.#settings().tracking,
      isNamespaced: ({ kind }) => !clusterScoped.has(kind),
      isExcluded: () => false,
    };
  }

  #settings(): Settings {
    return settingsOf[this.#flags.settings % settingsOf.length]!;
  }

  facts(): CompareFacts {
    const { degraded, unread, forbidden, unknown, failed, spec } = this.#flags;
    const app: Application = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'a', namespace: 'argocd', uid: 'app-uid' },
      spec: {
        source: { repoURL: 'https://git/x' },
        destination: { namespace: 'apps' },
        ...specs[spec % specs.length]!,
      },
    };
    const normal = normalizeTargets(this.#targets, this.#rules());
    const hidden = new Set<ResourceKey>(normal.targets.filter((_, i) => i + 1 === unread).map(keyOf));
    const objects = new Map([...this.#live].filter(([key]) => !hidden.has(key)));
    const forbiddenKind = kinds[forbidden - 1]?.kind;
    const unknownKind = kinds[unknown - 1]?.kind;
    return {
      app,
      key: appKey('argocd', 'a'),
      instance: 'demo',
      settings: this.#settings(),
      rendered: {
        targets: failed === 1 ? [] : normal.targets,
        revisions: ['sha'],
        sourceTypes: ['Directory'],
        conditions: normal.conditions,
        failed: failed === 1,
        mayHaveChanges: true,
      },
      live: {
        objects: failed === 2 ? new Map() : objects,
        unread: normal.targets.filter((target) => hidden.has(keyOf(target))).map(unreadOf),
        degraded: degradedKinds(degraded),
        conditions: [],
        failed: failed === 2,
      },
      requested: ['main'],
      isNamespaced: ({ kind }) => (kind === unknownKind ? undefined : !clusterScoped.has(kind)),
      permitted: ({ kind }) => kind !== forbiddenKind,
      permittedKind: ({ kind }) => kind !== forbiddenKind,
      ...(failed === 5 ? {} : { policyVersion: `${forbiddenKind} ${unknownKind}` }),
      persistResourceHealth: true,
      ...defined({ jqSteps: this.#jqSteps }),
    };
  }
}

function degradedKinds(which: number): readonly KindState[] {
  const found = kinds[which - 1];
  if (found === undefined) return [];
  const group = found.apiVersion.includes('/') ? found.apiVersion.split('/')[0]! : '';
  return [{ group, kind: found.kind, version: versionOf(found.apiVersion), state: 'degraded', objects: 0 }];
}

function unreadOf(target: KubeObject): UnreadObject {
  return { ...refOf(target), key: keyOf(target), version: versionOf(target.apiVersion), message: 'no answer' };
}

const key = appKey('argocd', 'a');

/**
 * Adds to the facts which objects changed since an earlier comparison, if the keys are the same.
 */
function withChanges(
  facts: CompareFacts,
  since: CompareFacts['live']['objects'] | undefined,
  all: boolean,
): CompareFacts {
  const { objects } = facts.live;
  if (since?.size !== objects.size || [...objects.keys()].some((one) => !since.has(one))) return facts;
  const keys = [...objects].filter(([one, object]) => all || object !== since.get(one)).map(([one]) => one);
  return { ...facts, live: { ...facts.live, changes: { since, keys: new Set(keys) } } };
}

/** Everything that a comparison contains. */
function serialized(comparison: Comparison): string {
  const resourceHealth = [...comparison.resourceHealth];
  return JSON.stringify({ ...comparison, resourceHealth });
}

/** Like a cache: the same version of an object is the same object. */
const bodies = new Map<string, KubeObject>();

function cached(object: KubeObject): KubeObject {
  const { uid, resourceVersion } = object.metadata;
  const id = `${uid} ${resourceVersion}`;
  const known = bodies.get(id) ?? object;
  bodies.set(id, known);
  return known;
}

function manyConfigMaps(count: number, changed: number | undefined): CompareFacts {
  const world = new FakeWorld();
  const facts = world.facts();
  const targets = Array.from({ length: count }, (_, i): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c${i}`, namespace: 'apps' },
    data: { key: '1' },
  }));
  const live = targets.map((target, i): [ResourceKey, KubeObject] => [
    keyOf(target),
    cached({
      ...target,
      metadata: { ...target.metadata, uid: `u${i}`, resourceVersion: i === changed ? '2' : '1' },
      data: { key: i === changed ? '2' : '1' },
    }),
  ]);
  return { ...facts, rendered: { ...facts.rendered, targets }, live: { ...facts.live, objects: new Map(live) } };
}

describe('RowStore', () => {
  const histories = fc.array(fc.tuple(event, fc.nat(9)), { minLength: 1, maxLength: 14 });

  it('equals a full comparison if only changed resources are compared (D6)', () => {
    fc.assert(
      fc.property(histories, fc.constantFrom(Infinity, 1000), (history, maxBytes) => {
        const [world, store] = [new FakeWorld(), new RowStore(100, maxBytes)];
        for (const [what, odds] of history) {
          const changed = world.apply(what);
          const facts = world.facts();
          // Occasionally compare everything, as at a resync.
          const told = odds < 5 ? changed : [];
          const outcome = store.compare(facts, odds === 0 ? undefined : new Set(told));
          expect(serialized(outcome.comparison)).toBe(serialized(compareState(facts)));
        }
        const facts = world.facts();
        const published = (comparison: Comparison): unknown => managedResources(comparison, facts.settings);
        expect(published(store.compare(facts, new Set()).comparison)).toEqual(published(compareState(facts)));
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    );
  });

  /** Mostly changes of existing live objects: these are compared incrementally. */
  const touches = fc.array(
    fc.tuple(fc.oneof({ weight: 1, arbitrary: event }, { weight: 3, arbitrary: touch }), fc.nat(9)),
    {
      minLength: 2,
      maxLength: 5,
    },
  );

  it('equals a full comparison if it is incremental, over random histories (D6)', () => {
    let byDifference = 0;
    fc.assert(
      fc.property(touches, fc.boolean(), (history, scripted) => {
        const [world, store] = [new FakeWorld(), new RowStore(0)];
        world.apply({ on: 'push', shapes: pushed });
        if (scripted) world.apply({ on: 'settings', which: 1 });
        let before: Comparison | undefined;
        for (const [what, odds] of history) {
          const changed = world.apply(what);
          // The cache may name the changed objects; sometimes one too many.
          const facts = withChanges(world.facts(), odds % 2 === 0 ? store.lastObjects(key) : undefined, odds === 2);
          const { comparison } = store.compare(facts, odds === 0 ? undefined : new Set(odds < 5 ? changed : []));
          expect(serialized(comparison)).toBe(serialized(compareState(facts)));
          // The pairs are identical values only after an incremental comparison.
          if (comparison.pairs.some((pair, i) => pair === before?.pairs[i])) byDifference += 1;
          before = comparison;
        }
        const facts = world.facts();
        const [outcome, full] = [store.compare(facts, new Set()), new RowStore().compare(facts, undefined)];
        expect(outcome.counters).toEqual(full.counters);
        expect(managedResources(outcome.comparison, facts.settings)).toEqual(
          managedResources(full.comparison, facts.settings),
        );
        expect(treeRoots(outcome.comparison)).toEqual(treeRoots(full.comparison));
      }),
      // 50,000 in the long run (DRIFTLESS_LONG_FACTOR=50).
      { numRuns: 5 * (fc.readConfigureGlobal().numRuns ?? 100) },
    );
    expect(byDifference).toBeGreaterThan(150);
  });

  it('keeps the identity of unchanged rows of a big Application, and of the values derived from them', () => {
    const store = new RowStore();
    const facts = (changed?: number): CompareFacts => {
      const made = manyConfigMaps(500, changed);
      return { ...made, policyVersion: 'p', rendered: { ...made.rendered, targets: many.rendered.targets } };
    };
    const many = manyConfigMaps(500, undefined);
    const before = store.compare(facts(), undefined);
    const [roots, resources] = [treeRoots(before.comparison), managedResources(before.comparison, defaultSettings)];
    const after = store.compare(facts(7), new Set([resourceKey('', 'ConfigMap', 'apps', 'c7')]));
    const others = after.comparison.pairs.filter((pair, i) => pair !== before.comparison.pairs[i]);
    expect([after.made, after.comparison.syncStatus.status, others.map(({ key }) => key)]).toEqual([
      1,
      'OutOfSync',
      ['/ConfigMap/apps/c7'],
    ]);
    expect(treeRoots(after.comparison)).toBe(roots);
    const shared = managedResources(after.comparison, defaultSettings).filter((one) => resources.includes(one));
    expect(shared).toHaveLength(499);
    expect(store.compare(facts(7), new Set()).comparison.resources).toBe(after.comparison.resources);
  });

  it('compares in as many steps as there are resources, with an equal result', () => {
    const steps = (count: number): number => {
      const facts = manyConfigMaps(count, undefined);
      const work = new RowStore().steps(facts, undefined);
      let taken = 0;
      while (work.next().done !== true) taken += 1;
      return taken;
    };
    const [small, large] = [steps(100), steps(400)];
    expect(small).toBeGreaterThan(200);
    expect((large - small) / 3).toBeCloseTo(small, -1);
    // An Application forgotten during the comparison is not stored again.
    const store = new RowStore();
    const facts = manyConfigMaps(100, undefined);
    const work = store.steps(facts, undefined);
    work.next();
    store.forget(facts.key);
    const outcome = runSteps(work);
    expect([serialized(outcome.comparison), store.size]).toEqual([serialized(compareState(facts)), 0]);
  });

  it('equals a full comparison also if ignore rules exceed the jq budget', () => {
    const ordinary = shape.map((one) => ({ ...one, kind: 0, note: 0 }));
    const small: fc.Arbitrary<WorldEvent> = fc.oneof(
      fc.record({
        on: fc.constant('live' as const),
        shape: ordinary,
        id: fc.constant('own' as const),
        status: fc.nat(2),
      }),
      fc.record({ on: fc.constant('gone' as const), shape: ordinary }),
      fc.record({ on: fc.constant('push' as const), shapes: fc.array(ordinary, { maxLength: 4 }) }),
    );
    fc.assert(
      fc.property(fc.array(small, { maxLength: 12 }), fc.integer({ min: 10, max: 80 }), (history, limit) => {
        const [world, store] = [new FakeWorld(limit), new RowStore()];
        world.apply({ on: 'settings', which: 1 });
        for (const what of history) {
          const changed = world.apply(what);
          const facts = world.facts();
          expect(serialized(store.compare(facts, new Set(changed)).comparison)).toBe(serialized(compareState(facts)));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('folds rows into an equal comparison in any order', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 14 }), fc.infiniteStream(fc.nat()), (history, odds) => {
        const world = new FakeWorld();
        for (const what of history) world.apply(what);
        const facts = world.facts();
        const { frame, resources } = pairUp(facts);
        const rules = rulesOf(facts);
        const rows = resources.map((one): ComparedRow => ({ facts: one, row: compareResource(one, rules) }));
        const shuffled = rows
          .map((row) => ({ row, odd: Number(odds.next().value) }))
          .sort((a, b) => a.odd - b.odd)
          .map(({ row }) => row);
        expect(foldRows(facts, frame, shuffled)).toEqual(foldRows(facts, frame, rows));
      }),
      { numRuns: 300 },
    );
  });

  it('compares one row of a hundred if one resource changed', () => {
    const store = new RowStore();
    const counted = (changed: number | undefined, keys: readonly ResourceKey[] | undefined): readonly unknown[] => {
      const outcome = store.compare(manyConfigMaps(100, changed), keys && new Set(keys));
      return [outcome.made, outcome.comparison.syncStatus.status, outcome.counters.outOfSync];
    };
    expect(counted(undefined, undefined)).toEqual([100, 'Synced', 0]);
    expect(counted(7, [])).toEqual([1, 'OutOfSync', 1]);
    expect(counted(7, [])).toEqual([0, 'OutOfSync', 1]);
    const key = resourceKey('', 'ConfigMap', 'apps', 'c7');
    // A resource named as changed is compared, whatever its version.
    expect(counted(7, [key])).toEqual([1, 'OutOfSync', 1]);
    expect(counted(undefined, undefined)).toEqual([100, 'Synced', 0]);
    store.forget(appKey('argocd', 'a'));
    expect([store.size, counted(undefined, [])[0]]).toEqual([0, 100]);
  });

  describe('beyond its bytes', () => {
    const withName = (name: string, count: number): CompareFacts => {
      const facts = manyConfigMaps(count, undefined);
      return { ...facts, key: appKey('argocd', name) };
    };
    const bytesOf = (count: number): number => {
      const store = new RowStore();
      store.compare(withName('a', count), undefined);
      return store.heldBytes;
    };

    it('keeps only the names of the objects of the largest Application', () => {
      const store = new RowStore(undefined, bytesOf(10) + bytesOf(3));
      for (const name of ['a', 'b', 'c']) store.compare(withName(name, 4), undefined);
      expect(store.heldBytes).toBe(3 * bytesOf(4));
      store.compare(withName('large', 12), undefined);
      expect(store.heldBytes).toBe(3 * bytesOf(4));
      const rows = store.rowsOf(appKey('argocd', 'large'));
      expect(rows).toHaveLength(12);
      for (const { key, status, isTrimmed, diff } of rows) {
        expect([status.status, isTrimmed, diff.modified]).toEqual(['Synced', true, false]);
        for (const side of [diff.normalizedLive, diff.predictedLive]) {
          expect(side === null ? '' : keyOf(side)).toBe(key);
          expect(side).not.toHaveProperty('data');
        }
      }
      // The others are reused, the large one is compared whole.
      expect(store.compare(withName('a', 4), new Set()).made).toBe(0);
      expect(store.compare(withName('large', 12), new Set()).made).toBe(12);
    });

    it('counts what changes add and take away, one resource at a time', () => {
      const store = new RowStore(undefined, 2 * bytesOf(100));
      const facts = { ...manyConfigMaps(100, undefined), policyVersion: 'p' };
      store.compare(facts, undefined);
      const before = store.heldBytes;
      const live = new Map(facts.live.objects);
      const keys = [...live.keys()];
      let version = 1000;
      const resize = (position: number, length: number): number => {
        const key = keys[position];
        const object = key === undefined ? undefined : live.get(key);
        if (key === undefined || object === undefined) throw new Error('there is no object');
        const metadata = { ...object.metadata, resourceVersion: String((version += 1)) };
        live.set(key, { ...object, metadata, data: { key: 'x'.repeat(length) } });
        return store.compare({ ...facts, live: { ...facts.live, objects: new Map(live) } }, new Set([key])).made;
      };
      for (let i = 0; i < 40; i += 1) expect(resize(0, i % 2 === 0 ? before / 2 : 1)).toBe(1);
      expect(store.heldBytes).toBeLessThan(1.1 * before);
      expect([0, 1, 2].map((position) => resize(position, before / 4))).toEqual([1, 1, 1]);
      expect(store.heldBytes).toBeGreaterThan(1.7 * before);
      resize(3, before / 2);
      expect([store.heldBytes, store.rowsOf(facts.key).length]).toEqual([0, 100]);
      expect(resize(4, 1)).toBe(100);
    });

    it('keeps nothing of an Application that is forgotten', () => {
      const store = new RowStore();
      store.compare(withName('a', 4), undefined);
      store.forget(appKey('argocd', 'a'));
      expect([store.heldBytes, store.bytesOf(appKey('argocd', 'a'))]).toEqual([0, 0]);
    });
  });

  it('compares again if a restored etcd serves other contents under an old resourceVersion', () => {
    const store = new RowStore();
    const facts = manyConfigMaps(2, undefined);
    expect(store.compare(facts, undefined).comparison.syncStatus.status).toBe('Synced');
    const objects = new Map(
      [...facts.live.objects].map(([key, object]) => [key, { ...object, data: { key: 'restored' } }]),
    );
    const restored = store.compare({ ...facts, live: { ...facts.live, objects } }, new Set());
    expect([restored.made, restored.comparison.syncStatus.status]).toEqual([2, 'OutOfSync']);
  });

  it('compares again if jq could not answer yet', () => {
    const store = new RowStore();
    const settings = { ...defaultSettings, version: 'odd', overrides: { ConfigMap: oddRule } };
    const comparedBy = (answer: JqAnswer): readonly unknown[] => {
      const jq = new JqAnswers();
      const facts = { ...manyConfigMaps(1, 0), settings, jq };
      let found = store.compare(facts, new Set());
      for (let open = jq.openQuestions(); open.length > 0; open = jq.openQuestions()) {
        for (const { key } of open) jq.put(key, answer);
        found = store.compare(facts, new Set());
      }
      return [found.made, found.comparison.syncStatus.status];
    };
    expect(comparedBy({ problem: 'takes too long', transient: true })).toEqual([1, 'Unknown']);
    expect(comparedBy({ paths: [['data', 'key']] })).toEqual([1, 'Synced']);
    expect(comparedBy({ problem: 'is not asked' })).toEqual([0, 'Synced']);
  });

  it('compares again if a script judges the health or an object has no version', () => {
    const store = new RowStore();
    let times = 0;
    const said = ['Progressing', 'Healthy'] as const;
    const healthScripts = {
      run: (group: string, { kind }: KubeObject) =>
        group === 'example.com' && kind === 'Thing' ? { status: said[times++ % 2]! } : undefined,
    };
    const settings = { ...defaultSettings, version: 'scripts', healthScripts };
    const thing: KubeObject = {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 't', namespace: 'apps', uid: 'u', resourceVersion: '1' },
    };
    const bare: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'apps', uid: 'v' },
    };
    const base = manyConfigMaps(3, undefined);
    const objects = new Map([...base.live.objects, [keyOf(thing), thing], [keyOf(bare), bare]]);
    const facts = { ...base, settings, live: { ...base.live, objects } };
    const first = store.compare(facts, undefined);
    const second = store.compare(facts, new Set());
    expect([first.made, second.made]).toEqual([5, 2]);
    expect([first.comparison.health.status, second.comparison.health.status]).toEqual(['Progressing', 'Healthy']);
  });
});

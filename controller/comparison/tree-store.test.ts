import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { buildTree } from '#compare';
import type { TreeRows } from '#compare';
import type { LiveOwner, LiveRow } from '#live';
import { appKey, resourceKey } from '#model';
import type { ResourceKey } from '#model';
import { FakeClock } from '#support';
import { TreeStore } from './tree-store.ts';
import type { StoredTreeQuery } from './tree-store.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'twin-of-d'] as const;
type Name = (typeof names)[number];
const keyOf = (name: Name): ResourceKey => resourceKey('', kindOf(name), 'apps', name);
const kindOf = (name: Name): string => (name === 'e' ? 'Pod' : 'Thing');
const uidOf = (name: Name, uid: number): string => `${name === 'twin-of-d' ? 'd' : name}-${uid}`;

interface Stored {
  readonly name: Name;
  readonly uid: number;
  readonly version: number;
  readonly owners: readonly { readonly of: Name; readonly uid: number; readonly how: 'uid' | 'name' | 'other group' }[];
}

const stored = fc.record({
  name: fc.constantFrom(...names),
  uid: fc.constantFrom(0, 0, 0, 1),
  owners: fc.array(
    fc.record({
      of: fc.constantFrom('a', 'b', 'c', 'd', 'f'),
      uid: fc.constantFrom(0, 0, 0, 1),
      how: fc.constantFrom('uid', 'uid', 'name', 'other group'),
    }),
    { maxLength: 2 },
  ),
});
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ on: fc.constant('put' as const), object: stored }) },
  { weight: 4, arbitrary: fc.record({ on: fc.constant('touch' as const), name: fc.constantFrom(...names) }) },
  { weight: 2, arbitrary: fc.record({ on: fc.constant('gone' as const), name: fc.constantFrom(...names) }) },
  { weight: 1, arbitrary: fc.record({ on: fc.constant('forbid' as const), name: fc.constantFrom(...names) }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** A reference cluster: answers as `live` promises, but scans every object for each answer. */
class SmallCluster {
  readonly objects = new Map<Name, Stored>();
  forbidden: Name | undefined;
  wholeReads = 0;
  #version = 0;
  readonly #seen: ReadonlyMap<ResourceKey, string>[] = [];

  happen(what: Happening): void {
    this.#version += 1;
    if (what.on === 'put') {
      const owners = what.object.owners.filter(({ of }) => of < what.object.name);
      this.objects.set(what.object.name, { ...what.object, owners, version: this.#version });
    } else if (what.on === 'gone') this.objects.delete(what.name);
    else if (what.on === 'forbid') this.forbidden = this.forbidden === undefined ? what.name : undefined;
    else {
      const known = this.objects.get(what.name);
      if (known !== undefined) this.objects.set(what.name, { ...known, version: this.#version });
    }
  }

  query(roots: StoredTreeQuery['roots']): StoredTreeQuery {
    return {
      key: appKey('argocd', 'demo'),
      app: { apiVersion: '', kind: '', metadata: { name: 'demo' }, spec: { destination: {} } },
      project: { apiVersion: '', kind: '', metadata: {}, spec: {} },
      roots,
      permitted: ({ name }) => name !== this.forbidden,
      premise: String(this.forbidden),
      isApplication: () => true,
      cluster: this.cluster,
      clock: new FakeClock(),
    };
  }

  readonly cluster: StoredTreeQuery['cluster'] = {
    tree: ({ roots, excluded }) => {
      if (roots.length > 1) this.wholeReads += 1;
      const found = new Map<ResourceKey, LiveRow>();
      const visit = (key: ResourceKey): void => {
        const object = [...this.objects.values()].find(({ name }) => keyOf(name) === key);
        if (object === undefined || found.has(key) || excluded.includes(key)) return;
        found.set(key, this.#row(object));
        for (const child of this.#children(object)) visit(keyOf(child.name));
      };
      for (const root of roots) visit(root);
      return Promise.resolve([...found.values()]);
    },
    list: () => Promise.resolve([]),
    machines: () => Promise.resolve([]),
    rows: (keys) => {
      const found = [...this.objects.values()].filter(({ name }) => keys.includes(keyOf(name)));
      return Promise.resolve(new Map(found.map((object) => [keyOf(object.name), this.#row(object)])));
    },
    changesSince: (version) => {
      const now = this.#look();
      const before = version === undefined ? undefined : this.#seen[version];
      this.#seen.push(now);
      const at = this.#seen.length - 1;
      if (before === undefined) return Promise.resolve({ version: at, changed: undefined });
      const keys = [...new Set([...before.keys(), ...now.keys()])].filter((key) => before.get(key) !== now.get(key));
      const owners = (key: ResourceKey): readonly LiveOwner[] => {
        const object = [...this.objects.values()].find(({ name }) => keyOf(name) === key);
        return object === undefined ? [] : ownersOf(object);
      };
      return Promise.resolve({ version: at, changed: keys.map((key) => ({ key, owners: owners(key) })) });
    },
  };

  /** The row of each object, and its owners. */
  #look(): ReadonlyMap<ResourceKey, string> {
    const all = [...this.objects.values()];
    return new Map(
      all.map((object) => {
        const on = all.filter((other) => this.#hangsOn(object, other)).map(({ name }) => name);
        return [keyOf(object.name), JSON.stringify([this.#row(object), on])];
      }),
    );
  }

  #hangsOn(child: Stored, owner: Stored): boolean {
    return child.owners.some(({ of, uid, how }) => of === owner.name && (how === 'name' || uid === owner.uid));
  }

  /** One object in two API groups shows once, under the key that sorts first. */
  #children(owner: Stored): readonly Stored[] {
    const children = [...this.objects.values()].filter((child) => this.#hangsOn(child, owner));
    return children.filter(
      (child) =>
        !children.some(
          (o) => uidOf(o.name, o.uid) === uidOf(child.name, child.uid) && keyOf(o.name) < keyOf(child.name),
        ),
    );
  }

  #row(object: Stored): LiveRow {
    const { name, uid, version } = object;
    const owners = ownersOf(object);
    const exists = ({ key, uid: id }: LiveOwner): boolean =>
      [...this.objects.values()].some((o) => keyOf(o.name) === key && (id === '' || uidOf(o.name, o.uid) === id));
    return {
      key: keyOf(name),
      group: '',
      version: 'v1',
      kind: kindOf(name),
      namespace: 'apps',
      name,
      uid: uidOf(name, uid),
      resourceVersion: String(version),
      createdAt: '',
      owners,
      parents: owners.filter(exists).map(({ key }) => key),
      health: null,
      deleting: false,
      images: [`i${version}`],
    };
  }
}

function ownersOf({ owners }: Stored): readonly LiveOwner[] {
  return owners.map(({ of, uid, how }) => ({
    key: how === 'other group' ? resourceKey('other', kindOf(of), 'apps', of) : keyOf(of),
    version: 'v1',
    uid: how === 'name' ? '' : uidOf(of, uid),
  }));
}

const signal = new AbortController().signal;
const shown = (query: StoredTreeQuery, rows: TreeRows): unknown => buildTree({ ...query, rows, nodeLabels: [] });
const roots = (['a', 'b', 'f'] as const).map((name) => ({ key: keyOf(name), version: 'v1', live: name !== 'f' }));

describe('incremental tree', () => {
  it('equals the tree read in full, over random histories', async () => {
    const [counts, reads] = [{ reads: 0 }, { whole: 0 }];
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 2, maxLength: 12 }), async (history) => {
        const [small, store] = [new SmallCluster(), new TreeStore(0)];
        for (const name of ['a', 'b'] as const) small.happen({ on: 'put', object: { name, uid: 0, owners: [] } });
        small.happen({ on: 'put', object: { name: 'c', uid: 0, owners: [{ of: 'a', uid: 0, how: 'uid' }] } });
        await store.read(small.query(roots), signal);
        for (const what of history) {
          small.happen(what);
          const query = small.query(roots);
          const before = small.wholeReads;
          const rows = await store.read(query, signal);
          counts.reads += 1;
          reads.whole += small.wholeReads > before ? 1 : 0;
          expect(shown(query, rows)).toEqual(shown(query, await new TreeStore().read(query, signal)));
        }
      }),
      // Use more rounds for a long run.
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    );
    expect(reads.whole / counts.reads).toBeLessThan(0.6);
  });

  it('reads only a changed object, and for a new object only the subtree of its owner', async () => {
    const [small, store] = [new SmallCluster(), new TreeStore(0)];
    for (const name of ['a', 'b'] as const) small.happen({ on: 'put', object: { name, uid: 0, owners: [] } });
    const query = small.query(roots);
    const first = buildTree({ ...query, rows: await store.read(query, signal), nodeLabels: [] });
    small.happen({ on: 'touch', name: 'a' });
    small.happen({ on: 'put', object: { name: 'e', uid: 0, owners: [{ of: 'b', uid: 0, how: 'uid' }] } });
    const second = buildTree({ ...query, rows: await store.read(query, signal), nodeLabels: [] });
    expect(small.wholeReads).toBe(1);
    expect(second.tree.nodes.map(({ name }) => name)).toEqual(['e', 'a', 'b', 'f']);
    expect(second.tree.nodes.find(({ name }) => name === 'b')).not.toBe(
      first.tree.nodes.find(({ name }) => name === 'b'),
    );
    small.happen({ on: 'touch', name: 'a' });
    const third = buildTree({ ...query, rows: await store.read(query, signal), nodeLabels: [] });
    const same = third.tree.nodes.filter((node) => second.tree.nodes.includes(node)).map(({ name }) => name);
    expect(same).toEqual(['e', 'b', 'f']);
  });

  it('is forgotten with its application, and read in full if nothing is remembered', async () => {
    const [small, store] = [new SmallCluster(), new TreeStore(0)];
    small.happen({ on: 'put', object: { name: 'a', uid: 0, owners: [] } });
    const query = small.query(roots);
    await store.read(query, signal);
    await store.read(query, signal);
    expect(small.wholeReads).toBe(1);
    store.forget(query.key);
    await store.read(query, signal);
    expect(small.wholeReads).toBe(2);
  });
});

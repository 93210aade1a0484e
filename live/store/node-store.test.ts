import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { resourceKey } from '#model';
import type { ResourceKey } from '#model';
import { ChangeLog } from './change-log.ts';
import { ObjectBody } from '../objects/object-body.ts';
import { rowOf } from '../objects/stored-node.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import { clusterScoped, nodeOf, object } from '../testing/nodes.ts';
import type { NodeSpec } from '../testing/nodes.ts';
import { NodeStore } from './node-store.ts';

function storeOf(...specs: readonly NodeSpec[]): NodeStore {
  const store = new NodeStore();
  for (const spec of specs) store.put(nodeOf(object(spec)));
  return store;
}

function walked(store: NodeStore, ...roots: readonly ResourceKey[]): readonly string[] {
  const names: string[] = [];
  store.walk(roots, (node) => names.push(node.name) > 0);
  return names;
}

const pod = (name: string): ResourceKey => resourceKey('', 'Pod', 'ns', name);
const owned = (name: string, by: string): NodeSpec => ({
  kind: 'Pod',
  name,
  owners: [{ kind: 'Pod', name: by, uid: `uid-${by}` }],
});

describe('bodies', () => {
  const managed = { kind: 'ConfigMap', name: 'a', app: 'app' };

  it('are reported when the store no longer holds them, once', () => {
    const store = new NodeStore();
    const left: unknown[] = [];
    store.onBodyLeft = (body) => left.push(body);
    const [first, second, third] = [nodeOf(object(managed)), nodeOf(object(managed)), nodeOf(object(managed))];
    const fetched = new ObjectBody(object(managed));
    store.put(first);
    store.keepFetched(first, 'v2', fetched);
    expect(left).toEqual([]);
    store.put(second);
    expect(left.splice(0)).toEqual([first.body, fetched]);
    store.put(second, true);
    expect(left).toEqual([]);
    store.remove(second.key);
    expect(left.splice(0)).toEqual([second.body]);
    store.put(third);
    const { body } = third;
    store.dropBodies('/ConfigMap');
    expect(left.splice(0)).toEqual([body]);
    store.remove(third.key);
    expect([left, body === undefined]).toEqual([[], false]);
  });
});

describe('whole objects that were read on demand', () => {
  it('count while they are kept, and leave no bytes when they are dropped', () => {
    const store = new NodeStore();
    const node = nodeOf(object({ kind: 'ConfigMap', name: 'a' }));
    store.put(node);
    const [left, bytes]: [unknown[], number] = [[], store.sizes.bytes];
    store.onBodyLeft = (body) => left.push(body);
    const body = new ObjectBody(object({ kind: 'ConfigMap', name: 'a' }));
    store.keepFetched(node, 'v2', body);
    expect(store.sizes.bytes).toBeGreaterThan(bytes);
    store.dropFetched(node);
    expect([store.sizes.bytes, node.fetched, left]).toEqual([bytes, undefined, [body]]);
  });
});

describe('walk', () => {
  it('visits parents before children, each once, with the parents that exist', () => {
    const both = {
      kind: 'Pod',
      name: 'c',
      owners: [
        { name: 'a', uid: 'uid-a' },
        { name: 'b', uid: 'uid-b' },
        { name: 'gone', uid: 'g' },
      ],
    };
    const store = storeOf(both, owned('b', 'a'), { kind: 'Pod', name: 'a' }, { kind: 'Pod', name: 'other' });
    const parents = new Map<string, readonly ResourceKey[]>();
    store.walk([pod('a'), pod('a'), pod('missing')], (node, of) => {
      parents.set(node.name, of);
      return true;
    });
    expect([...parents.keys()]).toEqual(['a', 'c', 'b']);
    expect(parents.get('c')).toEqual([pod('a'), pod('b')]);
  });

  it('skips the children of a node that the visitor refuses', () => {
    const store = storeOf({ kind: 'Pod', name: 'a' }, owned('b', 'a'), owned('c', 'b'));
    const names: string[] = [];
    store.walk([pod('a')], (node) => {
      names.push(node.name);
      return node.name !== 'b';
    });
    expect(names).toEqual(['a', 'b']);
  });

  // T-CACHE-6
  it.each([1, 2, 1000])('ends in a circle of %s owners', (length) => {
    const ring = Array.from({ length }, (_, i) => owned(`n${i}`, `n${(i + 1) % length}`));
    const store = storeOf(...ring);
    expect(walked(store, pod('n0'))).toHaveLength(length);
    expect([...store.appsOf(store.get(pod('n0'))!)]).toEqual([]);
  });

  it('walks a chain deeper than any stack', () => {
    const chain = Array.from({ length: 30_000 }, (_, i) =>
      i === 0 ? { kind: 'Pod', name: 'n0' } : owned(`n${i}`, `n${i - 1}`),
    );
    expect(walked(storeOf(...chain), pod('n0'))).toHaveLength(30_000);
  });

  it('reaches other namespaces only from cluster-scoped parents', () => {
    const store = storeOf(
      { kind: 'ClusterRole', name: 'root' },
      { kind: 'Pod', name: 'here', namespace: 'one', owners: [{ kind: 'ClusterRole', name: 'root', uid: 'uid-root' }] },
      { kind: 'Pod', name: 'there', namespace: 'two', owners: [{ kind: 'Pod', name: 'here', uid: 'uid-here' }] },
    );
    expect(walked(store, resourceKey('', 'ClusterRole', '', 'root'))).toEqual(['root', 'here']);
  });

  it('visits an object of two groups once, with the key that sorts first', () => {
    const owners = [{ kind: 'Pod', name: 'a', uid: 'uid-a' }];
    const store = storeOf(
      { kind: 'Pod', name: 'a' },
      { kind: 'Ingress', name: 'web', apiVersion: 'networking.k8s.io/v1', uid: 'same', owners },
      { kind: 'Ingress', name: 'web', apiVersion: 'extensions/v1beta1', uid: 'same', owners },
    );
    const groups: string[] = [];
    store.walk([pod('a')], (node) => groups.push(node.group) > 0);
    expect(groups).toEqual(['', 'extensions']);
  });

  it('finds what an object owns by its UID, whatever group the reference names', () => {
    const owner = { apiVersion: 'extensions/v1beta1', kind: 'Deployment', name: 'web', uid: 'uid-web' };
    const store = storeOf(
      { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' },
      { kind: 'ReplicaSet', name: 'web-1', apiVersion: 'apps/v1', owners: [owner] },
    );
    expect(walked(store, resourceKey('apps', 'Deployment', 'ns', 'web'))).toEqual(['web', 'web-1']);
  });

  // T-CACHE-7
  it('does not take an owner of the same name with another uid for the owner', () => {
    const store = storeOf({ kind: 'Pod', name: 'a', uid: 'new' }, owned('b', 'a'));
    expect(walked(store, pod('a'))).toEqual(['a']);
    store.put(nodeOf(object({ kind: 'Pod', name: 'a' })));
    expect(walked(store, pod('a'))).toEqual(['a', 'b']);
  });
});

describe('inferred owners', () => {
  it('are the Service of Endpoints and the ServiceAccount of a token', () => {
    const token = {
      metadata: {
        annotations: { 'kubernetes.io/service-account.name': 'sa', 'kubernetes.io/service-account.uid': 'uid-sa' },
      },
    };
    const secret = object({ kind: 'Secret', name: 'token', rest: { type: 'kubernetes.io/service-account-token' } });
    const store = storeOf(
      { kind: 'Service', name: 'web' },
      { kind: 'Endpoints', name: 'web' },
      { kind: 'ServiceAccount', name: 'sa' },
    );
    store.put(nodeOf({ ...secret, metadata: { ...secret.metadata, ...token.metadata } }));
    expect(walked(store, resourceKey('', 'Service', 'ns', 'web'))).toEqual(['web', 'web']);
    expect(walked(store, resourceKey('', 'ServiceAccount', 'ns', 'sa'))).toEqual(['sa', 'token']);
  });

  const set = (templates: readonly string[]): NodeSpec => ({
    kind: 'StatefulSet',
    apiVersion: 'apps/v1',
    name: 'web',
    rest: { spec: { volumeClaimTemplates: templates.map((name) => ({ metadata: { name } })) } },
  });
  const claim = (name: string): NodeSpec => ({ kind: 'PersistentVolumeClaim', name });
  const setKey = resourceKey('apps', 'StatefulSet', 'ns', 'web');

  it.each([
    ['set first', [set(['data']), claim('data-web-0'), claim('x-data-web-0'), claim('data-web-x'), claim('data-web')]],
    [
      'claims first',
      [claim('data-web-0'), claim('x-data-web-0'), claim('data-web-x'), claim('data-web'), set(['data'])],
    ],
  ])('include the StatefulSet of a claim (%s)', (_order, specs) => {
    const store = storeOf(...specs);
    expect(walked(store, setKey)).toEqual(['web', 'data-web-0']);
    expect([...store.select({ namespaces: ['ns'], topLevelOnly: true })].map((node) => node.name).sort()).toEqual([
      'data-web',
      'data-web-x',
      'web',
      'x-data-web-0',
    ]);
  });

  it('are removed with the StatefulSet or its templates', () => {
    const store = storeOf(set(['data']), claim('data-web-0'));
    store.put(nodeOf(object(set([]))));
    expect(walked(store, setKey)).toEqual(['web']);
    store.put(nodeOf(object(set(['data']))));
    store.put(nodeOf(object(claim('data-web-0'))));
    expect(walked(store, setKey)).toEqual(['web', 'data-web-0']);
    store.remove(setKey);
    expect([...store.select({ namespaces: ['ns'], topLevelOnly: true })].map((node) => node.name)).toEqual([
      'data-web-0',
    ]);
  });
});

describe('appsOf', () => {
  it('is the Application of a root, and that of the roots above a child', () => {
    const store = storeOf({ kind: 'Pod', name: 'a', app: 'shop' }, owned('b', 'a'), owned('c', 'b'), {
      kind: 'Pod',
      name: 'free',
    });
    expect([...store.appsOf(store.get(pod('a'))!)]).toEqual(['shop']);
    expect([...store.appsOf(store.get(pod('c'))!)]).toEqual(['shop']);
    expect([...store.appsOf(store.get(pod('free'))!)]).toEqual([]);
    expect([...store.ofApp('shop')].map((node) => node.name)).toEqual(['a']);
  });

  it('ignores a tracking id that an owner passed on to its child', () => {
    const store = storeOf({ ...owned('b', 'gone'), app: 'shop', original: 'gone' });
    expect(store.get(pod('b'))?.app).toBeUndefined();
    expect([...store.ofApp('shop')]).toEqual([]);
  });

  it('has the own Application of an object that was given an owner, and that of the owner', () => {
    const store = storeOf({ kind: 'Pod', name: 'a', app: 'parent' }, { ...owned('b', 'a'), app: 'shop' });
    expect([...store.appsOf(store.get(pod('b'))!)]).toEqual(['shop', 'parent']);
  });
});

describe('NodeStore compared with a plain model', () => {
  const step = fc.record({
    act: fc.constantFrom('put', 'remove'),
    name: fc.constantFrom('a', 'b', 'c', 'd', 'data-a-0'),
    kind: fc.constantFrom('Pod', 'PersistentVolumeClaim', 'StatefulSet'),
    owner: fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { nil: undefined }),
    app: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
    uid: fc.constantFrom('1', '2'),
  });

  it('answers every query like a scan of all nodes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const store = new NodeStore();
        const model = new Map<ResourceKey, StoredNode>();
        for (const { act, name, kind, owner, app, uid } of steps) {
          const isSet = kind === 'StatefulSet';
          const node = nodeOf(
            object({
              kind,
              name,
              uid: `${kind}-${name}-${uid}`,
              apiVersion: isSet ? 'apps/v1' : 'v1',
              owners: owner === undefined ? [] : [{ kind: 'Pod', name: owner, uid: `Pod-${owner}-${uid}` }],
              ...(app === undefined ? {} : { app }),
              ...(isSet ? { rest: { spec: { volumeClaimTemplates: [{ metadata: { name: 'data' } }] } } } : {}),
            }),
          );
          if (act === 'put') {
            store.put(node);
            model.set(node.key, node);
          } else {
            store.remove(node.key);
            model.delete(node.key);
          }
        }
        const all = [...model.values()];
        expect(store.size).toBe(all.length);
        const isOwner = (of: StoredNode, by: StoredNode): boolean => {
          const named = of.ownerRefs.some((ref) => (ref.uid === '' ? ref.key === by.key : ref.uid === by.uid));
          const claimed =
            by.kind === 'StatefulSet' && of.kind === 'PersistentVolumeClaim' && of.name === `data-${by.name}-0`;
          return named || claimed;
        };
        for (const node of all) {
          const children = store
            .children(node)
            .map((child) => child.key)
            .sort();
          expect(children).toEqual(
            all
              .filter((other) => isOwner(other, node))
              .map((other) => other.key)
              .sort(),
          );
        }
        for (const app of ['x', 'y'])
          expect([...store.ofApp(app)].map((n) => n.key).sort()).toEqual(
            all
              .filter((n) => n.app === app)
              .map((n) => n.key)
              .sort(),
          );
        for (const kind of ['Pod', 'PersistentVolumeClaim'])
          expect(store.countOfKind('', kind)).toBe(all.filter((n) => n.kind === kind).length);
      }),
    );
  });
});

describe('the change log', () => {
  const kinds = ['Pod', 'ClusterRole', 'StatefulSet', 'PersistentVolumeClaim'] as const;
  const change = fc.record({
    kind: fc.constantFrom(...kinds),
    name: fc.constantFrom('a', 'b', 'data-a-0'),
    uid: fc.nat(1),
    // The owner reference. 0: none, 1: by UID, 2: by UID in another group, 3 and 4: by name only.
    link: fc.nat(4),
    owner: fc.record({ kind: fc.constantFrom(...kinds), name: fc.constantFrom('a', 'b'), uid: fc.nat(1) }),
    on: fc.constantFrom('put', 'put', 'remove'),
  });
  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
  const idOf = (kind: string, name: string, uid: number): string => `${kind}-${name}-${uid}`;

  function happen(store: NodeStore, { kind, name, uid, link, owner, on }: Change): void {
    const apiVersion = kind === 'StatefulSet' ? 'apps/v1' : 'v1';
    const by = {
      ...owner,
      apiVersion: link === 2 ? 'other/v1' : 'v1',
      uid: link > 2 ? '' : idOf(owner.kind, owner.name, owner.uid),
    };
    const rest = kind === 'StatefulSet' ? { spec: { volumeClaimTemplates: [{ metadata: { name: 'data' } }] } } : {};
    const node = nodeOf(
      object({ kind, name, apiVersion, uid: idOf(kind, name, uid), owners: link === 0 ? [] : [by], rest }),
    );
    if (on === 'put') store.put(node);
    else store.remove(node.key);
  }

  /** The rows that readers see, with the children of each. */
  function seen(
    store: NodeStore,
  ): ReadonlyMap<ResourceKey, { readonly row: string; readonly below: ReadonlySet<ResourceKey> }> {
    const keys = kinds.flatMap((kind) =>
      ['a', 'b', 'data-a-0'].map((name) =>
        resourceKey(kind === 'StatefulSet' ? 'apps' : '', kind, clusterScoped.has(kind) ? '' : 'ns', name),
      ),
    );
    const nodes = keys.map((key) => store.get(key)).filter((node) => node !== undefined);
    const parents = (node: StoredNode): readonly ResourceKey[] => store.parents(node).map(({ key }) => key);
    return new Map(
      nodes.map((node) => [
        node.key,
        { row: JSON.stringify(rowOf(node, parents(node))), below: new Set(store.children(node).map(({ key }) => key)) },
      ]),
    );
  }

  it('has all objects whose rows have changed, and those with another owner', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.array(change, { maxLength: 4 }), (earlier, later) => {
        const store = new NodeStore();
        for (const one of earlier) happen(store, one);
        const [before, version] = [seen(store), store.log.version];
        for (const one of later) happen(store, one);
        const [after, named] = [seen(store), store.log.since(version)];
        for (const key of new Set([...before.keys(), ...after.keys()])) {
          const [old, now] = [before.get(key), after.get(key)];
          if (old?.row !== now?.row) expect(named).toContain(key);
          for (const child of new Set([...(old?.below ?? []), ...(now?.below ?? [])]))
            if (old?.below.has(child) !== now?.below.has(child)) expect(named).toContain(child);
        }
      }),
      // The default is too few to reach rare states.
      { numRuns: 10 * (fc.readConfigureGlobal().numRuns ?? 100) },
    );
  });

  it('is undefined for versions that are too old or unknown', () => {
    const log = new ChangeLog(3);
    const [first, second] = [pod('a'), pod('b')];
    for (const key of [first, second, first]) log.add(key);
    expect([...(log.since(0) ?? [])]).toEqual([first, second]);
    expect([...(log.since(2) ?? [])]).toEqual([first]);
    log.add(second);
    expect([log.since(0), log.since(5), log.since(4)?.size]).toEqual([undefined, undefined, 0]);
  });
});

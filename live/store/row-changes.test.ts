import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultSettings, keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { FakeClock } from '#support';
import { object } from '../testing/nodes.ts';
import { createNodeReader, hasSameFacts } from '../objects/stored-node.ts';
import { ChangeBatch } from './change-batch.ts';
import { ClusterCache } from './cluster-cache.ts';
import { NodeStore } from './node-store.ts';

function version(name: string, uid: string, resourceVersion: string, labels: Record<string, string> = {}): KubeObject {
  const { metadata, ...rest } = object({ kind: 'ConfigMap', name, uid });
  return { ...rest, metadata: { ...metadata, resourceVersion, labels } };
}

interface Followed {
  readonly cache: ClusterCache;
  readonly seen: string[];
  /** Keys that a consumer of the changes knows. */
  readonly known: Set<ResourceKey>;
}

function followed(isFilled = true): Followed {
  const store = new NodeStore();
  const clock = new FakeClock();
  const changes = new ChangeBatch({ server: 'https://a', store, clock, batchMs: 50, emit: () => undefined });
  const seen: string[] = [];
  const known = new Set<ResourceKey>();
  const cache = new ClusterCache({
    store,
    changes,
    readNode: createNodeReader(defaultSettings, () => true, { keep: ({ metadata }) => metadata.labels?.['keep'] }),
    onRow: ({ key, name, change }) => {
      seen.push(`${change} ${name}`);
      if (change === 'deleted') known.delete(key);
      else known.add(key);
    },
  });
  if (isFilled) cache.startEmitting();
  return { cache, seen, known };
}

describe('changes of rows', () => {
  it('are emitted once for each version, whatever Applications think of it', () => {
    const { cache, seen } = followed();
    cache.put(cache.read(version('a', 'u1', '1')));
    cache.put(cache.read(version('a', 'u1', '1')));
    cache.put(cache.read(version('a', 'u1', '2')));
    cache.delete(version('a', 'u1', '3'));
    cache.delete(version('a', 'u1', '3'));
    expect(seen).toEqual(['created a', 'updated a', 'deleted a']);
  });

  it('are emitted for another content of one version, as of a restored server', () => {
    const { cache, seen } = followed();
    cache.put(cache.read(version('a', 'u1', '1', { keep: 'one' })));
    cache.putListed(cache.read(version('a', 'u1', '1', { keep: 'two' })), cache.nextList(), false);
    cache.put(cache.read(version('a', 'u1', '1', { keep: 'three' })));
    expect(seen).toEqual(['created a', 'updated a', 'updated a']);
  });

  it('report an object that was replaced under its name as deleted and created', () => {
    const { cache, seen } = followed();
    cache.put(cache.read(version('a', 'u1', '1')));
    cache.put(cache.read(version('a', 'u2', '5')));
    expect(seen).toEqual(['created a', 'deleted a', 'created a']);
  });

  it('are not emitted before the first fill, and not for rows that leave the cache without a deletion', () => {
    const filling = followed(false);
    filling.cache.put(filling.cache.read(version('a', 'u1', '1')));
    expect(filling.seen).toEqual([]);
    const { cache, seen } = followed();
    const node = cache.read(version('a', 'u1', '1'));
    cache.put(node);
    cache.forget(node.key, false);
    cache.put(cache.read(version('a', 'u1', '1')));
    expect(seen).toEqual(['created a', 'created a']);
  });

  it('lead a consumer to the content of the cache, through events, lists and own writes', () => {
    const step = fc.record({
      act: fc.constantFrom('put', 'delete', 'list', 'observe'),
      name: fc.constantFrom('a', 'b', 'c'),
      uid: fc.constantFrom('1', '2'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { cache, known } = followed();
        steps.forEach(({ act, name, uid }, i) => {
          const current = version(name, `${name}-${uid}`, String(10 + i));
          if (act === 'put') cache.put(cache.read(current));
          else if (act === 'delete') cache.delete(current);
          else if (act === 'observe') cache.observe(current);
          else {
            const list = cache.nextList();
            cache.putListed(cache.read(current), list, true);
            cache.commitList(cache.store.ofKind('', 'ConfigMap'), list, String(10 + i));
          }
          const stored = [...cache.store.ofKind('', 'ConfigMap')].map(({ key }) => key);
          expect([...known].sort()).toEqual(stored.sort());
        });
      }),
    );
  });
});

describe('facts of the owner of the caches', () => {
  it('are kept in the row, follow its versions, and count as a difference for an audit', () => {
    const { cache } = followed();
    const before = version('a', 'u1', '1', { keep: 'one' });
    cache.put(cache.read(before));
    expect(cache.store.get(keyOf(before))?.kept).toBe('one');
    cache.put(cache.read(version('a', 'u1', '2', { keep: 'two' })));
    expect(cache.store.get(keyOf(before))?.kept).toBe('two');
    cache.put(cache.read(version('a', 'u1', '3')));
    expect(cache.store.get(keyOf(before))?.kept).toBeUndefined();
    const restored = cache.read(version('a', 'u1', '1', { keep: 'two' }));
    expect(hasSameFacts(cache.read(before), restored)).toBe(false);
    expect(hasSameFacts(cache.read(before), cache.read(before))).toBe(true);
  });
});

describe('a selection of rows', () => {
  it('is that of a plain filter, by kinds, namespaces and owners', () => {
    const { cache } = followed();
    const all = [
      object({ kind: 'ConfigMap', name: 'a', namespace: 'x' }),
      object({ kind: 'ConfigMap', name: 'b', namespace: 'y' }),
      object({ kind: 'Pod', name: 'c', namespace: 'x', owners: [{ kind: 'ConfigMap', name: 'a', uid: 'uid-a' }] }),
      object({ kind: 'Namespace', name: 'x' }),
    ];
    for (const each of all) cache.put(cache.read(each));
    const kindsOf = fc.subarray(['ConfigMap', 'Pod', 'Namespace', 'Gone']);
    const query = fc.record(
      { kinds: kindsOf, namespaces: fc.subarray(['x', 'y', '', 'gone']), topLevelOnly: fc.boolean() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(query, ({ kinds, ...rest }) => {
        const selected = cache.store.select({
          ...rest,
          ...(kinds === undefined ? {} : { kinds: kinds.map((kind) => ({ group: '', kind })) }),
        });
        const { namespaces, topLevelOnly } = rest;
        const wanted = all.filter(({ kind, metadata }) => {
          const { namespace = '', ownerReferences = [] } = metadata;
          const isWithin = namespaces === undefined || (namespace !== '' && namespaces.includes(namespace));
          const isOfKind = kinds === undefined || kinds.includes(kind);
          return isWithin && isOfKind && !(topLevelOnly === true && ownerReferences.length > 0);
        });
        expect([...selected].map(({ key }) => key).sort()).toEqual(wanted.map(keyOf).sort());
      }),
    );
  });
});

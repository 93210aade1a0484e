import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyOf } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import { NodeStore } from '../store/node-store.ts';
import { nodeOf, object } from '../testing/nodes.ts';
import type { NodeSpec } from '../testing/nodes.ts';
import { tracked, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';
import { ObjectBody } from '../objects/object-body.ts';
import { rowOf } from '../objects/stored-node.ts';
import { evidenceOf } from './evidence.ts';
import type { EvidenceSources } from './evidence.ts';
import type { KindTrust } from '../watch/kind-watch.ts';
import { machinesOf } from './machines.ts';

const app = 'shop';
const kinds = ['ConfigMap', 'Secret', 'Pod', 'Node', 'StatefulSet', 'PersistentVolumeClaim'] as const;
const names = ['a', 'b', 'data-a-0'];

/** A change of the cache. */
type CacheEvent =
  | { readonly on: 'put'; readonly spec: NodeSpec; readonly version: number }
  | { readonly on: 'gone'; readonly kind: string; readonly name: string }
  | { readonly on: 'listed' | 'doubt'; readonly kind: string };

const kind = fc.constantFrom(...kinds);
const name = fc.constantFrom(...names);
const change: fc.Arbitrary<CacheEvent> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      on: fc.constant('put' as const),
      version: fc.nat(3),
      spec: fc
        .record({
          kind,
          name,
          uid: fc.nat(1),
          owners: fc.array(fc.tuple(kind, name, fc.nat(1)), { maxLength: 2 }),
          isOurs: fc.boolean(),
        })
        .map(({ kind, name, uid, owners, isOurs }): NodeSpec => ({
          kind,
          name,
          uid: `${kind}-${name}-${uid}`,
          owners: owners.map(([kind, name, uid]) => ({ kind, name, uid: `${kind}-${name}-${uid}` })),
          ...(isOurs ? { app } : {}),
          rest: restOf(kind),
        })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ on: fc.constant('gone' as const), kind, name }) },
  { weight: 1, arbitrary: fc.record({ on: fc.constantFrom('listed' as const, 'doubt' as const), kind }) },
);

function restOf(kind: string): Record<string, unknown> {
  if (kind === 'Pod') return { spec: { nodeName: 'a', containers: [{ resources: { requests: { cpu: '1' } } }] } };
  if (kind === 'StatefulSet') return { spec: { volumeClaimTemplates: [{ metadata: { name: 'data' } }] } };
  return {};
}

const targets: readonly KubeObject[] = [
  object({ kind: 'ConfigMap', name: 'a' }),
  object({ kind: 'Secret', name: 'b' }),
];

class Cache {
  readonly store = new NodeStore();
  readonly #trust = new Map<string, KindTrust>();

  apply(event: CacheEvent): void {
    if (event.on === 'put') {
      const made = object(event.spec);
      this.store.put(nodeOf({ ...made, metadata: { ...made.metadata, resourceVersion: String(event.version) } }));
    } else if (event.on === 'gone') this.store.remove(keyOf(object({ kind: event.kind, name: event.name })));
    else {
      const { generation } = this.#trustOf(event.kind);
      this.#trust.set(event.kind, { generation: generation + 1, isTrusted: event.on === 'listed' });
    }
  }

  #trustOf(kind: string): KindTrust {
    return this.#trust.get(kind) ?? { generation: 1, isTrusted: true };
  }

  evidence(over: Partial<EvidenceSources> = {}): string | undefined {
    const trustOf = ({ kind }: GroupKind): KindTrust => this.#trustOf(kind);
    return evidenceOf({ app, targets }, { store: this.store, degradedVersion: 1, trustOf, ...over });
  }

  /** Everything that a comparison and its tree read. */
  answers(): string {
    const roots = new Set<ResourceKey>(targets.map(keyOf));
    for (const node of this.store.ofApp(app)) roots.add(node.key);
    const bodies = [...roots].map((key) => this.store.get(key)?.body?.parse() ?? null);
    const rows: unknown[] = [];
    const pods: ResourceKey[] = [];
    this.store.walk(roots, (node, parents) => {
      rows.push({ ...rowOf(node, parents), version: node.resourceVersion });
      if (node.details?.pod !== undefined) pods.push(node.key);
      return true;
    });
    const sorted = rows.map((row) => JSON.stringify(row)).sort();
    return JSON.stringify([bodies, sorted, machinesOf(this.store, pods)]);
  }
}

describe('evidence', () => {
  it('is equal only if the live objects, the tree and the machines are the same', () => {
    let sameCount = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 2, maxLength: 30 }), (history) => {
        const cache = new Cache();
        const seen = new Map<string, string>();
        for (const event of history) {
          cache.apply(event);
          const evidence = cache.evidence();
          if (evidence === undefined) continue;
          const answers = cache.answers();
          if (seen.has(evidence)) sameCount += 1;
          expect(seen.get(evidence) ?? answers).toBe(answers);
          seen.set(evidence, answers);
        }
      }),
      { numRuns: 1000 },
    );
    expect(sameCount).toBeGreaterThan(500);
  });

  const base = (): Cache => {
    const cache = new Cache();
    cache.apply({ on: 'put', version: 1, spec: { kind: 'ConfigMap', name: 'a', app } });
    cache.apply({
      on: 'put',
      version: 1,
      spec: { kind: 'Pod', name: 'a', owners: [{ kind: 'ConfigMap', name: 'a', uid: 'uid-a' }], rest: restOf('Pod') },
    });
    return cache;
  };

  it('differs after each change of an input, and is equal otherwise', () => {
    const changes: readonly (readonly [string, (cache: Cache) => string | undefined])[] = [
      [
        'a new version',
        (cache) => after(cache, { on: 'put', version: 2, spec: { kind: 'ConfigMap', name: 'a', app } }),
      ],
      [
        'a target appears',
        (cache) => after(cache, { on: 'put', version: 1, spec: { kind: 'Secret', name: 'b', app: 'other' } }),
      ],
      ['a root disappears', (cache) => after(cache, { on: 'gone', kind: 'ConfigMap', name: 'a' })],
      ['a new root', (cache) => after(cache, { on: 'put', version: 1, spec: { kind: 'ConfigMap', name: 'b', app } })],
      ['a child disappears', (cache) => after(cache, { on: 'gone', kind: 'Pod', name: 'a' })],
      [
        'an owner outside of the tree',
        (cache) => {
          const outer = { kind: 'Secret', name: 'out', uid: 'uid-out' };
          const owners = [{ kind: 'ConfigMap', name: 'a', uid: 'uid-a' }, outer];
          cache.apply({ on: 'put', version: 1, spec: { kind: 'Secret', name: 'child', owners } });
          const before = cache.evidence();
          const outside = after(cache, { on: 'put', version: 1, spec: { kind: 'Secret', name: 'out' } });
          return before === outside ? base().evidence() : outside;
        },
      ],
      ['its machine', (cache) => after(cache, { on: 'put', version: 1, spec: machine })],
      ['a list', (cache) => after(cache, { on: 'listed', kind: 'ConfigMap' })],
      ['kinds that are not fresh', (cache) => cache.evidence({ degradedVersion: 2 })],
    ];
    const before = known(base().evidence());
    for (const [what, changed] of changes) expect([what, known(changed(base()))]).not.toEqual([what, before]);
    expect(base().evidence()).toBe(before);
    const other = after(base(), { on: 'put', version: 1, spec: { kind: 'Secret', name: 'of-others', app: 'other' } });
    expect(other).toBe(before);
  });

  it('is undefined if a kind of the tree is in doubt or not watched, or a body is not cached', () => {
    expect(after(base(), { on: 'doubt', kind: 'ConfigMap' })).toBeUndefined();
    expect(after(base(), { on: 'doubt', kind: 'Pod' })).toBeUndefined();
    expect(after(base(), { on: 'doubt', kind: 'Secret' })).toBeUndefined();
    expect(after(base(), { on: 'doubt', kind: 'Node' })).toBe(known(base().evidence()));
    expect(base().evidence({ trustOf: () => undefined })).toBeUndefined();
    // Only tracked objects are kept whole.
    expect(after(base(), { on: 'put', version: 1, spec: { kind: 'Secret', name: 'b' } })).toBeUndefined();
    const cache = base();
    cache.apply({ on: 'put', version: 1, spec: { kind: 'PersistentVolumeClaim', name: 'a', app } });
    expect(known(cache.evidence())).not.toBe(base().evidence());
    cache.store.dropBodies('/PersistentVolumeClaim');
    expect(cache.evidence()).toBeUndefined();
  });

  it('exists for an untracked target that was read from the server, until it changes', () => {
    const cache = base();
    const target = { on: 'put', version: 1, spec: { kind: 'Secret', name: 'b' } } as const;
    expect(after(cache, target)).toBeUndefined();
    const node = cache.store.get(keyOf(object(target.spec)));
    if (node === undefined) throw new Error('the target is in the cache');
    cache.store.keepFetched(node, 'v1', new ObjectBody(object(target.spec)));
    expect(known(cache.evidence())).not.toBe(base().evidence());
    expect(after(cache, { ...target, version: 2 })).toBeUndefined();
  });
});

describe('evidence of a watched cluster', () => {
  const auditing = { tuning: { auditMs: 600_000 } };
  const evidenceIn = (w: LiveWorld): Promise<string | undefined> =>
    w.cluster().evidence({ app, targets: [] }, w.signal);

  it('does not exist without audits', async () => {
    const w = await world((server) => server.put(tracked('a')));
    expect(await evidenceIn(w)).toBeUndefined();
    await w.stop();
  });

  it('stays the same over audits that find nothing, and ends after two that failed', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    const before = known(await evidenceIn(w));
    await w.clock.advance(5 * 650_000);
    expect(await evidenceIn(w)).toBe(before);
    w.server.faults.set('list configmaps', 500);
    await w.clock.advance(650_000);
    expect(await evidenceIn(w)).toBe(before);
    await w.clock.advance(2 * 650_000);
    expect(await evidenceIn(w)).toBeUndefined();
    w.server.faults.clear();
    await w.clock.advance(650_000);
    expect(await evidenceIn(w)).toBe(before);
    await w.stop();
  });

  it('changes when an audit finds a lost event', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    const before = known(await evidenceIn(w));
    w.server.silent.add('configmaps');
    w.server.put(tracked('a', 'shop', { data: { x: 'lost' } }));
    w.server.silent.delete('configmaps');
    expect(await evidenceIn(w)).toBe(before);
    await w.clock.advance(2 * 650_000);
    expect(known(await evidenceIn(w))).not.toBe(before);
    await w.stop();
  });

  it.each(['an event', 'the response of our write'])(
    'changes by %s with a known version and another content, as of a restored server',
    async (news) => {
      const w = await world((server) => server.put(tracked('a')), auditing);
      const first = w.server.put(tracked('a', 'shop', { data: { by: 'hand' } }));
      const version = Number(first.metadata.resourceVersion) + 1;
      const lost = { ...first, metadata: { ...first.metadata, resourceVersion: String(version) }, data: { by: 'us' } };
      const other = (): KubeObject => w.server.put(tracked('a', 'shop', { data: { by: 'another' } }));
      if (news === 'an event') w.cluster().observe(lost);
      else other();
      await w.clock.advance(60_000);
      const before = known(await evidenceIn(w));
      const { length } = w.changes;
      if (news === 'an event') other();
      else w.cluster().observe(lost);
      await w.clock.advance(60_000);
      expect(known(await evidenceIn(w))).not.toBe(before);
      expect(w.changes.slice(length)).toMatchObject([{ key: keyOf(first) }]);
      await w.stop();
    },
  );

  it('does not exist while discovery cannot read a group', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    known(await evidenceIn(w));
    w.server.failedGroups.set('apps', 'no answer');
    await w.clock.advance(700_000);
    expect(await evidenceIn(w)).toBeUndefined();
    await w.stop();
  });
});

const machine: NodeSpec = {
  kind: 'Node',
  name: 'a',
  namespace: '',
  rest: { status: { nodeInfo: { kernelVersion: '6' }, capacity: { cpu: '4' } } },
};

/** Evidence that must exist: two absent ones would compare as equal. */
function known(evidence: string | undefined): string {
  if (evidence === undefined) throw new Error('there is no evidence');
  return evidence;
}

function after(cache: Cache, event: CacheEvent): string | undefined {
  cache.apply(event);
  return cache.evidence();
}

import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { omit } from '#base';
import { PublisherBench, hourMs, ownerTerms } from '../testing/bench.ts';
import type { ApplicationTree, HostInfo, ManagedResource, TreeNode } from '../types.ts';
import { encode } from './encode.ts';
import { managedResourcesPart, treeParts } from './json.ts';
import type { DocumentPart } from './runs.ts';

// Publishing a difference has the same result as publishing everything, at the cost of the change.

const clock = { monotonic: () => 0 };
const treeKey = 'app|resources-tree|web|1.8.3';
const managedKey = 'app|managed-resources|web|1.8.3';
const channel = 'publish app|managed-resources|web|1.8.3';

let bench: PublisherBench | undefined;
afterEach(async () => {
  await bench?.stop();
  bench = undefined;
});

const started = async (options?: ConstructorParameters<typeof PublisherBench>[0]): Promise<PublisherBench> => {
  bench = new PublisherBench(options);
  return bench.start();
};

/** A node that counts how often its text is built. */
class Counted {
  made = 0;

  node(name: string, resourceVersion: string): TreeNode {
    const count = (): void => void (this.made += 1);
    return {
      version: 'v1',
      kind: 'ConfigMap',
      namespace: 'prod',
      name,
      get resourceVersion() {
        count();
        return resourceVersion;
      },
    };
  }
}

const treeOf = (nodes: readonly TreeNode[]): ApplicationTree => ({ nodes, orphanedNodes: [] });
const node = (name: string, resourceVersion = '1'): TreeNode => ({
  version: 'v1',
  kind: 'ConfigMap',
  namespace: 'prod',
  name,
  resourceVersion,
});
const nodes = (count: number): readonly TreeNode[] => Array.from({ length: count }, (_, i) => node(`node-${i}`));
const resource = (name: string, value: string): ManagedResource => {
  const state = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } };
  return {
    group: '',
    kind: 'ConfigMap',
    namespace: 'prod',
    name,
    targetState: state,
    liveState: state,
    normalizedLiveState: state,
    predictedLiveState: state,
    hook: false,
    resourceVersion: value,
    modified: false,
  };
};

/** Uncompressed text in the store under each key. */
function textsIn({ store }: PublisherBench): ReadonlyMap<string, string> {
  return new Map(
    [...store.values].map(([key, bytes]) => [key, (key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()]),
  );
}

describe('an edit', () => {
  it('in a tree of 5,000 nodes rebuilds only the text of the few neighbors', async () => {
    const { publisher, store } = await started({ compression: 'gzip', maxBytes: 1 << 26 });
    const counted = new Counted();
    const before = Array.from({ length: 5000 }, (_, i) => counted.node(`node-${i}`, '1'));
    await publisher.setTree('web', treeOf(before), ownerTerms);
    expect(counted.made).toBe(5000);
    const edited = before.with(2500, counted.node('node-2500', '2'));
    await publisher.setTree('web', treeOf(edited), ownerTerms);
    expect(counted.made - 5000).toBeGreaterThan(0);
    expect(counted.made - 5000).toBeLessThanOrEqual(128);
    const text = gunzipSync(store.values.get(`${treeKey}.gz`) ?? Buffer.alloc(0)).toString();
    const read = JSON.parse(text) as { nodes: readonly TreeNode[] };
    expect(read.nodes.map(({ resourceVersion }) => resourceVersion)).toEqual(
      before.map((_, i) => (i === 2500 ? '2' : '1')),
    );
  });

  it('of new objects with equal texts compresses and writes nothing, and is recognized again', async () => {
    const { publisher, clock: time } = await started({ compression: 'gzip', maxBytes: 1 << 26 });
    const counted = new Counted();
    const make = (): readonly TreeNode[] => Array.from({ length: 500 }, (_, i) => counted.node(`node-${i}`, '1'));
    await publisher.setTree('web', treeOf(make()), ownerTerms);
    bench?.writes();
    const again = make();
    await publisher.setTree('web', treeOf(again), ownerTerms);
    expect(counted.made).toBe(1000);
    await publisher.setTree('web', treeOf([...again]), ownerTerms);
    await time.advance(1000);
    expect(counted.made).toBe(1000);
    expect(bench?.writes()).toEqual([]);
  });

  it('at the front moves only the ends of nearby runs', async () => {
    const before = nodes(2000);
    const pieces = async (given: readonly TreeNode[]): Promise<readonly string[]> => {
      const [one] = await encode(treeParts(treeOf(given), 0), [], { compression: 'none', clock }, ownerTerms.signal);
      return one?.pieces.map(({ hash }) => hash) ?? [];
    };
    const [old, now] = [await pieces(before), await pieces([node('a new one'), ...before])];
    expect(old.length).toBeGreaterThan(30);
    expect(now.filter((hash) => !old.includes(hash)).length).toBeLessThanOrEqual(3);
  });

  it('uses no unaccounted memory: pieces are as big as their bytes', async () => {
    const parts = [managedResourcesPart(Array.from({ length: 300 }, (_, i) => resource(`r-${i}`, '1')))];
    const [one] = await encode(parts, [], { compression: 'gzip', clock }, ownerTerms.signal);
    const sizes = one?.pieces.map(({ bytes }) => [bytes.length, bytes.buffer.byteLength]) ?? [];
    expect(sizes.length).toBeGreaterThan(10);
    expect(sizes.filter(([length, held]) => length !== held)).toEqual([]);
  });
});

describe('a tree in several keys', () => {
  const part = (n: number): string => `set app|resources-tree|web|${n}|1.8.3 ${hourMs}`;
  const first = `set ${treeKey} ${hourMs}`;

  it('is written where it changed, and its readers are notified', async () => {
    const world = await started({ treeShardSize: 2 });
    const before = nodes(6);
    await world.publisher.setTree('web', treeOf(before), ownerTerms);
    expect(world.writes()).toEqual([part(2), part(1), first, channel]);
    await world.publisher.setTree('web', treeOf(before.with(3, node('node-3', '2'))), ownerTerms);
    expect(world.writes()).toEqual([part(1), channel]);
    await world.publisher.setTree('web', treeOf(before.slice(0, 4)), ownerTerms);
    expect(world.writes()).toEqual([part(1), first, 'del app|resources-tree|web|2|1.8.3', channel]);
  });

  it('does not let a key expire while another one is written repeatedly', async () => {
    const world = await started({ treeShardSize: 2 });
    let tree = nodes(4);
    await world.publisher.setTree('web', treeOf(tree), ownerTerms);
    world.writes();
    for (let i = 0; i < 9; i += 1) {
      await world.clock.advance(hourMs / 10);
      tree = tree.with(3, node('node-3', `v${i}`));
      await world.publisher.setTree('web', treeOf(tree), ownerTerms);
    }
    const writes = world.writes();
    expect(writes.filter((command) => command === part(1)).length).toBeGreaterThanOrEqual(9);
    expect(writes.filter((command) => command === first)).toHaveLength(1);
  });

  it('is written completely after a loss, and after a change of servers', async () => {
    const world = await started({ treeShardSize: 2 });
    const before = nodes(6);
    await world.publisher.setTree('web', treeOf(before), ownerTerms);
    await world.publisher.setTree('web', treeOf(before.with(3, node('node-3', '2'))), ownerTerms);
    world.writes();
    world.store.values.delete('app|resources-tree|web|2|1.8.3');
    await world.clock.advance(2000);
    expect(world.writes()).toEqual([part(2), part(1), first, channel]);
    world.store.runId = 'second';
    world.store.values.clear();
    world.store.cut('reset');
    await world.clock.advance(5000);
    expect(world.writes()).toEqual([part(2), part(1), first, channel]);
  });

  it('does not treat a key as written if its write was overtaken or failed', async () => {
    const world = await started({ treeShardSize: 2 });
    const before = nodes(4);
    await world.publisher.setTree('web', treeOf(before), ownerTerms);
    let open = (): void => undefined;
    const slow = {
      ...ownerTerms,
      fence: <T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> =>
        new Promise<void>((resolve) => (open = resolve)).then(() => send(ownerTerms.signal)),
    };
    const other = world.publisher.setTree('web', treeOf(before.with(3, node('node-3', '2'))), slow);
    await world.clock.advance(1);
    world.writes();
    // Equal to the first value, while the write of the one in between is in flight.
    const back = world.publisher.setTree('web', treeOf(before), ownerTerms);
    await world.clock.advance(1);
    open();
    await world.clock.advance(1);
    await Promise.all([other, back]);
    expect(world.writes()).toEqual([part(1), channel, part(1), channel]);
    expect(textsIn(world).get('app|resources-tree|web|1|1.8.3')).not.toContain('"2"');
    world.store.refusals.set('set', ['refused', 'OOM']);
    const refused = world.publisher.setTree('web', treeOf(before.with(3, node('node-3', '3'))), ownerTerms);
    await world.clock.advance(1);
    world.store.refusals.clear();
    await world.clock.advance(5000);
    await refused;
    expect(textsIn(world).get('app|resources-tree|web|1|1.8.3')).toContain('"3"');
  });
});

describe('a storm', () => {
  const may = { ...ownerTerms, mayWait: true };
  const set = (key: string): string => `set ${key} ${hourMs}`;

  it('is published at once, then at most twice a second, and its last version always', async () => {
    const world = await started();
    for (let i = 0; i < 100; i += 1) {
      await world.publisher.setTree('web', treeOf([node('a', `${i}`)]), may);
      await world.publisher.setManagedResources('web', [resource('a', `${i}`)], may);
      if (i === 0) expect(world.writes()).toEqual([set(treeKey), channel, set(managedKey)]);
      await world.clock.advance(20);
    }
    await world.clock.advance(500);
    const writes = world.writes();
    expect(writes.filter((command) => command === set(treeKey))).toHaveLength(4);
    expect(writes.filter((command) => command === set(managedKey))).toHaveLength(4);
    expect(textsIn(world).get(treeKey)).toContain('"99"');
    expect(textsIn(world).get(managedKey)).toContain('"99"');
    await world.clock.advance(2000);
    expect(world.writes()).toEqual([]);
  });

  it('does not delay urgent values, and never overwrites one with an older value', async () => {
    const world = await started();
    await world.publisher.setTree('web', treeOf([node('a', 'first')]), may);
    await world.publisher.setTree('web', treeOf([node('a', 'held')]), may);
    await world.publisher.setTree('web', treeOf([node('a', 'asked for')]), ownerTerms);
    expect(textsIn(world).get(treeKey)).toContain('"asked for"');
    await world.clock.advance(5000);
    expect(world.writes()).toEqual([set(treeKey), channel, set(treeKey), channel]);
    expect(textsIn(world).get(treeKey)).toContain('"asked for"');
  });

  it('does not publish a delayed value after a removal, or after another replica owns the Application', async () => {
    const world = await started();
    for (const end of ['remove', 'forget'] as const) {
      await world.publisher.setTree('web', treeOf([node('a', `${end} 1`)]), may);
      await world.publisher.setTree('web', treeOf([node('a', `${end} 2`)]), may);
      if (end === 'remove') await world.publisher.remove('web', ownerTerms);
      else world.publisher.forget('web');
      world.writes();
      await world.clock.advance(5000);
      expect(world.writes()).toEqual([]);
    }
  });
});

/** A change of a tree or of its store. `place` is taken modulo the size. */
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('edit', 'insert', 'remove'), place: fc.nat(500) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('anew', 'hosts', 'orphans'), place: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('flush', 'forget', 'restart', 'hour'), place: fc.nat(1) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

interface Shown {
  readonly nodes: readonly TreeNode[];
  readonly orphanedNodes: readonly TreeNode[];
  readonly hosts: readonly HostInfo[];
  readonly resources: readonly ManagedResource[];
}

/** The tree after an event; unaffected objects keep their identity. */
function after(shown: Shown, { do: what, place }: Event, step: number): Shown {
  const { nodes: old, resources } = shown;
  const at = old.length === 0 ? 0 : place % old.length;
  const name = old[at]?.name ?? 'none';
  const made = what === 'insert' ? `new-${step}` : name;
  const splice = <T>(list: readonly T[], fresh: T): readonly T[] =>
    list.toSpliced(at, what === 'insert' ? 0 : 1, ...(what === 'remove' ? [] : [fresh]));
  if (what === 'edit' || what === 'insert' || what === 'remove')
    return {
      ...shown,
      nodes: splice(old, node(made, `v${step}`)),
      resources: splice(resources, resource(made, `v${step}`)),
    };
  if (what === 'hosts')
    return { ...shown, hosts: Array.from({ length: place }, (_, i) => ({ name: `h${i}`, systemInfo: {} })) };
  if (what === 'orphans') return { ...shown, orphanedNodes: old.slice(0, place * 20) };
  if (what === 'anew')
    return { ...shown, nodes: old.map((one) => ({ ...one })), resources: resources.map((one) => ({ ...one })) };
  return shown;
}

function isFault({ do: what }: Event): boolean {
  return what === 'flush' || what === 'restart' || what === 'forget' || what === 'hour';
}

async function befall({ store, publisher, clock: time }: PublisherBench, { do: what }: Event): Promise<void> {
  if (what === 'flush') store.values.clear();
  if (what === 'restart') {
    store.runId += '+';
    store.values.clear();
    store.cut('restart');
  }
  if (what === 'forget') publisher.forget('web');
  if (what === 'hour') await time.advance(hourMs);
}

/** The expected bytes, from a new publisher. */
async function whole(part: DocumentPart): Promise<string> {
  const [one] = await encode([part], [], { compression: 'none', clock }, ownerTerms.signal);
  return Buffer.concat(one?.pieces.map(({ bytes }) => bytes) ?? []).toString();
}

async function expected(shown: Shown, shardSize: number, ending: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const [i, part] of treeParts(shown, shardSize).entries())
    texts.set(`app|resources-tree|web${i === 0 ? '' : `|${i}`}|1.8.3${ending}`, await whole(part));
  texts.set(managedKey + ending, await whole(managedResourcesPart(shown.resources)));
  return texts;
}

/** Decodes the parts of a tree like Argo CD: concatenates the lists of all keys. */
function read(texts: ReadonlyMap<string, string>, ending: string): unknown {
  const first = texts.get(treeKey + ending) ?? 'null';
  const { shardsCount = 1 } = JSON.parse(first) as { readonly shardsCount?: number };
  const parts = [first];
  for (let i = 1; i < shardsCount; i += 1)
    parts.push(texts.get(`app|resources-tree|web|${i}|1.8.3${ending}`) ?? 'null');
  const lists = parts.map((text) => JSON.parse(text) as Partial<ApplicationTree>);
  return {
    nodes: lists.flatMap((list) => list.nodes ?? []),
    orphanedNodes: lists.flatMap((list) => list.orphanedNodes ?? []),
    hosts: lists.flatMap((list) => list.hosts ?? []),
  };
}

describe('published by difference', () => {
  const setups = fc.record({
    size: fc.constantFrom(0, 3, 40, 200),
    shardSize: fc.constantFrom(0, 0, 7, 50),
    compression: fc.constantFrom('gzip' as const, 'none' as const),
    maxBytes: fc.constantFrom(1 << 22, 1 << 22, 2000),
  });

  it('equals publishing everything, over random histories', async () => {
    await fc.assert(
      fc.asyncProperty(setups, fc.array(event, { maxLength: 12 }), async (setup, history) => {
        const { size, shardSize, compression, maxBytes } = setup;
        const world = await new PublisherBench({ treeShardSize: shardSize, compression, maxBytes }).start();
        const ending = compression === 'gzip' ? '.gz' : '';
        let shown: Shown = {
          nodes: nodes(size),
          orphanedNodes: [],
          hosts: [],
          resources: nodes(size).map(({ name }) => resource(name, '1')),
        };
        try {
          for (const [step, one] of [{ do: 'edit', place: 0 } as const, ...history].entries()) {
            await befall(world, one);
            shown = after(shown, one, step);
            await world.publisher.setTree('web', shown, ownerTerms);
            await world.publisher.setManagedResources('web', shown.resources, ownerTerms);
            await world.clock.advance(isFault(one) ? 6000 : 100);
            // The listener for lost values publishes again what is not in memory any more.
            await world.publisher.setTree('web', shown, ownerTerms);
            await world.publisher.setManagedResources('web', shown.resources, ownerTerms);
            await world.clock.advance(100);
            const found = textsIn(world);
            expect(found).toEqual(await expected(shown, shardSize, ending));
            expect(read(found, ending)).toEqual(omit(shown, 'resources'));
          }
        } finally {
          await world.stop();
        }
      }),
      { numRuns: 40 },
    );
  });
});

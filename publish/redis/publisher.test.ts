import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { OwnershipLost, Shutdown } from '#base';
import { Bench, hourMs, mine } from '../testing/bench.ts';
import type { ApplicationTree, ClusterReport, PublishTerms } from '../types.ts';
import { lifeOf } from './create.ts';

const { signal } = mine;
const tree = (...names: string[]): ApplicationTree => ({
  nodes: names.map((name) => ({ version: 'v1', kind: 'ConfigMap', namespace: 'prod', name })),
  orphanedNodes: [],
});
const cluster = (count: number, attemptedAt = '2026-01-01T00:00:00Z'): ClusterReport => ({
  connectionState: { status: 'Successful', message: '', attemptedAt },
  cacheInfo: {},
  applicationsCount: count,
});
const treeKey = 'app|resources-tree|web|1.8.3';
const managedKey = 'app|managed-resources|web|1.8.3';
const channel = 'app|managed-resources|web|1.8.3';
const setTree = `set ${treeKey} ${hourMs}`;
const setManaged = `set ${managedKey} ${hourMs}`;

let bench: Bench;
afterEach(() => bench.stop());

describe('what is written', () => {
  it('11.1: the tree, then the message that wakes its readers, then the managed resources', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    await bench.publisher.setManagedResources('web', [], mine);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`, setManaged]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"name":"a"');
  });

  it('11.1: compressed as a whole when it is to be', async () => {
    bench = await new Bench({ compression: 'gzip' }).start();
    await bench.publisher.setTree('web', tree('a'), mine);
    const bytes = bench.store.values.get(`${treeKey}.gz`) ?? Buffer.alloc(0);
    expect(gunzipSync(bytes).toString()).toMatch(/^\{"nodes":\[.*\]\}\n$/);
  });

  it('11.1, T-REDIS-1: what did not change is not written again, and its readers are not woken', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    await bench.publisher.setManagedResources('web', [], mine);
    bench.writes();
    await bench.publisher.setTree('web', tree('a'), mine);
    await bench.publisher.setManagedResources('web', [], mine);
    await bench.clock.advance(30 * 60_000);
    expect(bench.writes()).toEqual([]);
  });

  it('11.1: the parts of a big tree, the first one last; those that it has no more go', async () => {
    bench = await new Bench({ treeShardSize: 1 }).start();
    await bench.publisher.setTree('web', tree('a', 'b', 'c'), mine);
    const part = (n: number): string => `set app|resources-tree|web|${n}|1.8.3 ${hourMs}`;
    expect(bench.writes()).toEqual([part(2), part(1), setTree, `publish ${channel}`]);
    await bench.publisher.setTree('web', tree('a'), mine);
    const gone = 'del app|resources-tree|web|1|1.8.3 app|resources-tree|web|2|1.8.3';
    expect(bench.writes()).toEqual([setTree, gone, `publish ${channel}`]);
  });

  it('11.1: managed resources that there are none to show of are deleted; an application that is gone is, too', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    await bench.publisher.setManagedResources('web', [], mine);
    await bench.publisher.setManagedResources('web', undefined, mine);
    expect(bench.writes().at(-1)).toBe(`del ${managedKey}`);
    await bench.publisher.remove('web', mine);
    expect(bench.writes()).toEqual([`del ${managedKey}`, `del ${treeKey}`, `publish ${channel}`]);
    await bench.publisher.remove('other', mine);
    expect(bench.writes()).toContain('del app|resources-tree|other|1.8.3');
  });

  it('11.1: again before it expires, without waking anybody', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    bench.writes();
    await bench.clock.advance(hourMs * 0.7);
    expect(bench.writes()).toEqual([]);
    await bench.clock.advance(hourMs * 0.25);
    expect(bench.writes()).toEqual([setTree]);
  });

  it('11.1: a cluster info when something but its times changed, and else once a minute', async () => {
    bench = await new Bench().start();
    const set = 'set cluster|info|https://a|1.8.3 600000';
    await bench.publisher.setClusterInfo('https://a', cluster(1), mine);
    expect(bench.writes()).toEqual([set]);
    await bench.clock.advance(10_000);
    await bench.publisher.setClusterInfo('https://a', cluster(1, '2026-01-01T00:00:10Z'), mine);
    expect(bench.writes()).toEqual([]);
    await bench.publisher.setClusterInfo('https://a', cluster(2, '2026-01-01T00:00:10Z'), mine);
    expect(bench.writes()).toEqual([set]);
    await bench.clock.advance(60_000);
    await bench.publisher.setClusterInfo('https://a', cluster(2, '2026-01-01T00:01:20Z'), mine);
    expect(bench.writes()).toEqual([set]);
  });

  it('11.1: at rest 1,000 Applications cost fewer than one write a second', async () => {
    bench = await new Bench({ maxBytes: 1 << 26 }).start();
    for (let i = 0; i < 1000; i += 1) {
      await bench.publisher.setTree(`app-${i}`, tree('a'), mine);
      await bench.publisher.setManagedResources(`app-${i}`, [], mine);
    }
    bench.writes();
    const beginning = bench.clock.monotonic();
    while (bench.clock.monotonic() - beginning < 2 * hourMs) {
      await bench.publisher.setClusterInfo('https://a', cluster(1000, String(bench.clock.now())), mine);
      await bench.clock.advance(60_000);
    }
    const writes = bench.writes().length;
    expect(writes).toBeGreaterThan(2000);
    expect(writes).toBeLessThan((2 * hourMs) / 1000);
  });

  it('11.1: nothing at all with a negative expiration; of 0, the default of everything else', async () => {
    bench = await new Bench({ appStateTtlMs: undefined }).start();
    await bench.publisher.setTree('web', tree('a'), mine);
    expect(bench.writes()).toEqual([]);
    expect([
      lifeOf(0, 86_400_000),
      lifeOf(0, 0),
      lifeOf(500, 1),
      lifeOf(-1, 1),
      lifeOf(0, -1),
      lifeOf(7000, 1),
    ]).toEqual([86_400_000, hourMs, hourMs, undefined, undefined, 7000]);
  });

  it('11.1: a stopped caller gets its reason', async () => {
    bench = await new Bench().start();
    const stopped = { ...mine, signal: AbortSignal.abort(new Shutdown()) };
    await expect(bench.publisher.setTree('web', tree('a'), stopped)).rejects.toThrow(Shutdown);
    expect(bench.writes()).toEqual([]);
  });
});

describe('a store that loses things', () => {
  it('11.1, T-REDIS-1: is filled again within 5 s of a flush, and its readers are told', async () => {
    bench = await new Bench().start();
    for (let i = 0; i < 300; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), mine);
    bench.store.values.clear();
    await bench.clock.advance(5000);
    expect(bench.store.values.size).toBe(300);
    expect(bench.writes()).toContain('publish app|managed-resources|app-299|1.8.3');
    expect(await bench.metric('driftless_publish_lost_total')).toBe('300');
  });

  it('11.1: gets a single value back that it gave up for memory', async () => {
    bench = await new Bench().start();
    for (let i = 0; i < 300; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), mine);
    bench.writes();
    bench.store.values.delete('app|resources-tree|app-250|1.8.3');
    await bench.clock.advance(60_000);
    expect(bench.writes()).toEqual([
      `set app|resources-tree|app-250|1.8.3 ${hourMs}`,
      'publish app|managed-resources|app-250|1.8.3',
    ]);
  });

  it('11.1: gets everything again when another process answers (failover, restart), and nothing when the same does', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    bench.writes();
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect([bench.store.connected, bench.writes()]).toEqual([true, []]);
    bench.store.runId = 'second';
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
  });

  it('11.1: gets everything again after each connection when it does not tell which process it is', async () => {
    bench = new Bench();
    bench.store.runId = '';
    await bench.start();
    await bench.publisher.setTree('web', tree('a'), mine);
    bench.writes();
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
  });

  it('11.1: names the applications whose values are not in memory any more, so that they are compared again', async () => {
    bench = await new Bench({ maxBytes: 200 }).start();
    const lost: string[] = [];
    bench.publisher.onLost((instance) => lost.push(instance));
    for (const name of ['one', 'two', 'three']) await bench.publisher.setTree(name, tree(name), mine);
    bench.store.values.clear();
    bench.writes();
    await bench.clock.advance(2000);
    expect(lost).toEqual(['one']);
    await bench.publisher.setTree('one', tree('one'), mine);
    expect([...bench.store.values.keys()].sort()).toEqual([
      'app|resources-tree|one|1.8.3',
      'app|resources-tree|three|1.8.3',
      'app|resources-tree|two|1.8.3',
    ]);
  });

  it('11.1: a user who may not ask for keys gets one line, and values are renewed all the same', async () => {
    bench = new Bench();
    bench.store.refusals.set('exists', ['forbidden', 'NOPERM no EXISTS']);
    await bench.start();
    await bench.publisher.setTree('web', tree('a'), mine);
    await bench.clock.advance(hourMs);
    expect(bench.lines.filter((line) => line.includes('NOPERM'))).toHaveLength(1);
    expect(bench.writes().filter((command) => command === setTree)).toHaveLength(2);
  });
});

describe('a store that does not work', () => {
  it('11.1: that is down costs passes no time and one line; the last value of each key is written when it is back', async () => {
    bench = new Bench();
    bench.store.away = 'connect ECONNREFUSED';
    await bench.start();
    for (let i = 0; i < 50; i += 1) {
      expect(await bench.pass(bench.publisher.setTree('web', tree(`v${i}`), mine), 0)).toBe(true);
    }
    await bench.clock.advance(600_000);
    expect(bench.lines).toEqual([expect.stringMatching(/WARNING.*Redis takes no writes.*ECONNREFUSED/)]);
    expect(await bench.metric('driftless_publish_up')).toBe('0');
    expect(await bench.metric('driftless_publish_waiting')).toBe('1');
    bench.store.away = undefined;
    await bench.clock.advance(3000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"v49"');
    expect(bench.lines.at(-1)).toMatch(/Redis takes writes again/);
    expect(await bench.metric('driftless_publish_up')).toBe('1');
    expect(bench.lines).toHaveLength(2);
  });

  it('11.1: that hangs holds a pass up for two seconds, the next ones not at all, and gets another connection', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    bench.store.hangs = true;
    expect(await bench.pass(bench.publisher.setTree('web', tree('b'), mine), 1900)).toBe(false);
    await bench.clock.advance(5000);
    expect(await bench.pass(bench.publisher.setTree('web', tree('c'), mine), 0)).toBe(true);
    expect(bench.lines).toEqual([expect.stringContaining('took longer than 5 s')]);
    bench.store.hangs = false;
    await bench.clock.advance(10_000);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"c"');
  });

  it('11.1: one value whose right to be written takes long holds no other up, and its next version comes after it', async () => {
    bench = await new Bench().start();
    let open = (): void => undefined;
    const slow: PublishTerms = {
      signal,
      fence: (send) => new Promise<void>((resolve) => (open = resolve)).then(() => send(signal)),
    };
    const first = bench.publisher.setTree('web', tree('a'), slow);
    await bench.clock.advance(1);
    for (let i = 0; i < 40; i += 1)
      expect(await bench.pass(bench.publisher.setTree(`app-${i}`, tree('a'), mine), 1)).toBe(true);
    expect(bench.store.values.size).toBe(40);
    const second = bench.publisher.setTree('web', tree('b'), mine);
    await bench.clock.advance(1);
    expect(bench.store.values.size).toBe(40);
    open();
    await bench.clock.advance(1);
    await Promise.all([first, second]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"b"');
    expect(bench.writes().filter((command) => command === setTree)).toHaveLength(2);
  });

  it('11.1: that is full is tried with one value every two seconds, not with all of them', async () => {
    bench = await new Bench().start();
    bench.store.refusals.set('set', ['refused', "OOM command not allowed when used memory > 'maxmemory'."]);
    for (let i = 0; i < 20; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), mine);
    bench.writes();
    await bench.clock.advance(20_000);
    expect(bench.writes().length).toBeLessThanOrEqual(11);
    expect(bench.lines).toEqual([expect.stringContaining('OOM')]);
    bench.store.refusals.clear();
    await bench.clock.advance(3000);
    expect(bench.store.values.size).toBe(20);
  });

  it('11.1: one value that it never takes does not keep the others from it', async () => {
    bench = await new Bench().start();
    const act = bench.store.act.bind(bench.store);
    bench.store.act = (command, subject, body) => {
      if (subject.includes('|huge|')) bench.store.refusals.set('set', ['refused', 'ERR string too long']);
      return act(command, subject, body).finally(() => bench.store.refusals.clear());
    };
    await bench.pass(bench.publisher.setTree('huge', tree('a'), mine), 2500);
    await bench.pass(bench.publisher.setTree('web', tree('a'), mine), 2500);
    await bench.clock.advance(4000);
    expect([...bench.store.values.keys()]).toEqual([treeKey]);
  });
});

describe('memory that runs out', () => {
  it('11.1: what is being written is written whole, though its bytes are given up meanwhile', async () => {
    bench = await new Bench({ maxBytes: 200 }).start();
    let open = (): void => undefined;
    const slow: PublishTerms = {
      signal,
      fence: (send) => new Promise<void>((resolve) => (open = resolve)).then(() => send(signal)),
    };
    const first = bench.publisher.setTree('web', tree('new'), slow);
    await bench.clock.advance(1);
    const second = bench.publisher.setTree('other', tree('a', 'b', 'c'), mine);
    await bench.clock.advance(1);
    open();
    await Promise.all([first, second]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"new"');
    expect(await bench.metric('driftless_publish_waiting')).toBe('0');
  });

  it('11.1: a removal, which takes no memory, is not given up for it', async () => {
    bench = await new Bench({ maxBytes: 200 }).start();
    await bench.publisher.setTree('web', tree('a'), mine);
    bench.store.away = 'down';
    bench.store.cut('down');
    await bench.clock.advance(1000);
    await bench.publisher.remove('web', mine);
    for (let i = 0; i < 5; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a', 'b'), mine);
    bench.store.away = undefined;
    await bench.clock.advance(5000);
    expect(bench.store.values.has(treeKey)).toBe(false);
  });
});

describe('ownership', () => {
  /** The right to write, to be taken away. */
  const right = (): { terms: PublishTerms; lose: () => void } => {
    const state = { owner: true };
    const fence: PublishTerms['fence'] = (send) =>
      state.owner ? send(signal) : Promise.reject(new OwnershipLost('application web'));
    return {
      terms: { signal, fence },
      lose: () => {
        state.owner = false;
      },
    };
  };

  it('11.1, T-REDIS-2: once it is lost nothing is written: not what waits, not to renew, not after a flush, no deletion', async () => {
    bench = await new Bench().start();
    const { terms, lose } = right();
    await bench.publisher.setTree('web', tree('a'), terms);
    bench.store.away = 'down';
    bench.store.cut('down');
    await bench.clock.advance(1000);
    await bench.publisher.setManagedResources('web', [], terms);
    await bench.publisher.remove('other', terms);
    bench.writes();
    lose();
    bench.store.away = undefined;
    bench.store.runId = 'second';
    bench.store.values.clear();
    await bench.clock.advance(2 * hourMs);
    await bench.publisher.setTree('web', tree('b'), terms);
    expect(bench.writes()).toEqual([]);
    expect(await bench.metric('driftless_publish_waiting')).toBe('0');
  });

  it('11.1: that comes back finds what the other replica wrote, and replaces it', async () => {
    bench = await new Bench().start();
    await bench.publisher.setTree('web', tree('a'), mine);
    const ours = bench.store.values.get(treeKey);
    bench.publisher.forget('web');
    bench.store.values.set(treeKey, Buffer.from('of another replica'));
    bench.writes();
    await bench.clock.advance(2 * hourMs);
    expect(bench.writes()).toEqual([]);
    await bench.publisher.setTree('web', tree('a'), mine);
    expect(bench.store.values.get(treeKey)).toEqual(ours);
    bench.publisher.forget('never published');
  });

  it('11.1: that ends in the middle of a write ends the write: nobody is woken', async () => {
    bench = await new Bench().start();
    const lease = new AbortController();
    const terms: PublishTerms = { signal, fence: (send) => send(lease.signal) };
    const act = bench.store.act.bind(bench.store);
    bench.store.act = (command, subject, body) => {
      if (command === 'set') lease.abort(new OwnershipLost('application web'));
      return act(command, subject, body);
    };
    await bench.publisher.setTree('web', tree('a'), terms);
    expect(bench.writes()).toEqual([setTree]);
  });
});

describe('a tree of 20,000 nodes', () => {
  it('11.1: is made in slices: others get their turn meanwhile', async () => {
    bench = await new Bench({ compression: 'gzip', maxBytes: 1 << 26 }).start();
    const names = Array.from({ length: 20_000 }, (_, i) => `a-name-as-long-as-names-in-real-life-are-${i}`);
    let turns = 0;
    let over = false;
    const turn = (): void => {
      turns += 1;
      if (!over) setImmediate(turn);
    };
    turn();
    await bench.publisher.setTree('web', tree(...names), mine);
    over = true;
    expect(turns).toBeGreaterThan(10);
    const text = gunzipSync(bench.store.values.get(`${treeKey}.gz`) ?? Buffer.alloc(0)).toString();
    expect((JSON.parse(text) as { nodes: unknown[] }).nodes).toHaveLength(20_000);
  });
});

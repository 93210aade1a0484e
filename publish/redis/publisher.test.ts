import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { OwnershipLost, Shutdown } from '#base';
import { PublisherBench, hourMs, ownerTerms } from '../testing/bench.ts';
import type { ApplicationTree, ClusterReport, PublishTerms } from '../types.ts';
import { ttlOf } from './create.ts';
import { StoreError } from './link.ts';

const { signal } = ownerTerms;
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

let bench: PublisherBench;
afterEach(() => bench.stop());

describe('what is written', () => {
  it('the tree, then the message for its readers, then the managed resources', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    await bench.publisher.setManagedResources('web', [], ownerTerms);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`, setManaged]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"name":"a"');
  });

  it('compressed as a whole with compression', async () => {
    bench = await new PublisherBench({ compression: 'gzip' }).start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    const bytes = bench.store.values.get(`${treeKey}.gz`) ?? Buffer.alloc(0);
    expect(gunzipSync(bytes).toString()).toMatch(/^\{"nodes":\[.*\]\}\n$/);
  });

  // T-REDIS-1
  it('an unchanged value is not written again, and its readers are not notified', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    await bench.publisher.setManagedResources('web', [], ownerTerms);
    bench.writes();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    await bench.publisher.setManagedResources('web', [], ownerTerms);
    await bench.clock.advance(30 * 60_000);
    expect(bench.writes()).toEqual([]);
  });

  it('the parts of a big tree, the first one last; surplus parts are deleted', async () => {
    bench = await new PublisherBench({ treeShardSize: 1 }).start();
    await bench.publisher.setTree('web', tree('a', 'b', 'c'), ownerTerms);
    const part = (n: number): string => `set app|resources-tree|web|${n}|1.8.3 ${hourMs}`;
    expect(bench.writes()).toEqual([part(2), part(1), setTree, `publish ${channel}`]);
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    const gone = 'del app|resources-tree|web|1|1.8.3 app|resources-tree|web|2|1.8.3';
    expect(bench.writes()).toEqual([setTree, gone, `publish ${channel}`]);
  });

  it('managed resources are deleted when there are none, and with a deleted application', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    await bench.publisher.setManagedResources('web', [], ownerTerms);
    await bench.publisher.setManagedResources('web', undefined, ownerTerms);
    expect(bench.writes().at(-1)).toBe(`del ${managedKey}`);
    await bench.publisher.remove('web', ownerTerms);
    expect(bench.writes()).toEqual([`del ${managedKey}`, `del ${treeKey}`, `publish ${channel}`]);
    await bench.publisher.remove('other', ownerTerms);
    expect(bench.writes()).toContain('del app|resources-tree|other|1.8.3');
  });

  it('again before it expires, without notifying readers', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    bench.writes();
    await bench.clock.advance(hourMs * 0.7);
    expect(bench.writes()).toEqual([]);
    await bench.clock.advance(hourMs * 0.25);
    expect(bench.writes()).toEqual([setTree]);
  });

  it('a cluster info when more than its times changed, otherwise once a minute', async () => {
    bench = await new PublisherBench().start();
    const set = 'set cluster|info|https://a|1.8.3 600000';
    await bench.publisher.setClusterInfo('https://a', cluster(1), ownerTerms);
    expect(bench.writes()).toEqual([set]);
    await bench.clock.advance(10_000);
    await bench.publisher.setClusterInfo('https://a', cluster(1, '2026-01-01T00:00:10Z'), ownerTerms);
    expect(bench.writes()).toEqual([]);
    await bench.publisher.setClusterInfo('https://a', cluster(2, '2026-01-01T00:00:10Z'), ownerTerms);
    expect(bench.writes()).toEqual([set]);
    await bench.clock.advance(60_000);
    await bench.publisher.setClusterInfo('https://a', cluster(2, '2026-01-01T00:01:20Z'), ownerTerms);
    expect(bench.writes()).toEqual([set]);
  });

  it('fewer than one write a second for 1,000 idle Applications', async () => {
    bench = await new PublisherBench({ maxBytes: 1 << 26 }).start();
    for (let i = 0; i < 1000; i += 1) {
      await bench.publisher.setTree(`app-${i}`, tree('a'), ownerTerms);
      await bench.publisher.setManagedResources(`app-${i}`, [], ownerTerms);
    }
    bench.writes();
    const beginning = bench.clock.monotonic();
    while (bench.clock.monotonic() - beginning < hourMs) {
      await bench.publisher.setClusterInfo('https://a', cluster(1000, String(bench.clock.now())), ownerTerms);
      await bench.clock.advance(60_000);
    }
    const writes = bench.writes().length;
    expect(writes).toBeGreaterThan(1000);
    expect(writes).toBeLessThan(hourMs / 1000);
  });

  it('nothing with a negative expiration; the default expiration with 0', async () => {
    bench = await new PublisherBench({ appStateTtlMs: undefined }).start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    expect(bench.writes()).toEqual([]);
    // Publishing again would change nothing.
    expect(bench.publisher.stands('web')).toBe(true);
    expect([ttlOf(0, 86_400_000), ttlOf(0, 0), ttlOf(500, 1), ttlOf(-1, 1), ttlOf(0, -1), ttlOf(7000, 1)]).toEqual([
      86_400_000,
      hourMs,
      hourMs,
      undefined,
      undefined,
      7000,
    ]);
  });

  it('an aborted caller gets its reason', async () => {
    bench = await new PublisherBench().start();
    const stopped = { ...ownerTerms, signal: AbortSignal.abort(new Shutdown()) };
    await expect(bench.publisher.setTree('web', tree('a'), stopped)).rejects.toThrow(Shutdown);
    expect(bench.writes()).toEqual([]);
  });
});

describe('a store that loses data', () => {
  // T-REDIS-1
  it('is filled again within 5 s of a flush, and its readers are notified', async () => {
    bench = await new PublisherBench().start();
    for (let i = 0; i < 300; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), ownerTerms);
    bench.store.values.clear();
    await bench.clock.advance(5000);
    expect(bench.store.values.size).toBe(300);
    expect(bench.writes()).toContain('publish app|managed-resources|app-299|1.8.3');
    expect(await bench.metric('driftless_publish_lost_total')).toBe('300');
  });

  it('gets a single evicted value back', async () => {
    bench = await new PublisherBench().start();
    for (let i = 0; i < 300; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), ownerTerms);
    bench.writes();
    bench.store.values.delete('app|resources-tree|app-250|1.8.3');
    await bench.clock.advance(60_000);
    expect(bench.writes()).toEqual([
      `set app|resources-tree|app-250|1.8.3 ${hourMs}`,
      'publish app|managed-resources|app-250|1.8.3',
    ]);
  });

  it('gets everything again when another server process answers (failover, restart), and nothing from the same one', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    bench.writes();
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect([bench.store.connected, bench.writes()]).toEqual([true, []]);
    bench.store.runId = 'second';
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
  });

  it('gets everything again after each connection when the server process is unknown', async () => {
    bench = new PublisherBench();
    bench.store.runId = '';
    await bench.start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    bench.writes();
    bench.store.cut('reset');
    await bench.clock.advance(5000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
  });

  it('reports applications whose values were evicted from memory, so that they are compared again', async () => {
    bench = await new PublisherBench({ maxBytes: 200 }).start();
    const lost: string[] = [];
    bench.publisher.onLost((instance) => lost.push(instance));
    for (const name of ['one', 'two', 'three']) await bench.publisher.setTree(name, tree(name), ownerTerms);
    bench.store.values.clear();
    bench.writes();
    await bench.clock.advance(2000);
    expect(lost).toEqual(['one']);
    await bench.publisher.setTree('one', tree('one'), ownerTerms);
    expect([...bench.store.values.keys()].sort()).toEqual([
      'app|resources-tree|one|1.8.3',
      'app|resources-tree|three|1.8.3',
      'app|resources-tree|two|1.8.3',
    ]);
  });

  it('logs one line without permission to query keys, and still renews values', async () => {
    bench = new PublisherBench();
    bench.store.refusals.set('exists', ['forbidden', 'NOPERM no EXISTS']);
    await bench.start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    await bench.clock.advance(hourMs);
    expect(bench.lines.filter((line) => line.includes('NOPERM'))).toHaveLength(1);
    expect(bench.writes().filter((command) => command === setTree)).toHaveLength(2);
  });
});

describe('the state of an Application', () => {
  it('stands while tree and managed resources are published, and ends with a removal', async () => {
    bench = await new PublisherBench().start();
    const { publisher } = bench;
    const stands = [publisher.stands('web')];
    await publisher.setTree('web', tree('a'), ownerTerms);
    stands.push(publisher.stands('web'));
    await publisher.setManagedResources('web', [], ownerTerms);
    stands.push(publisher.stands('web'));
    // The publisher itself renews and restores what it holds.
    bench.store.values.clear();
    await bench.clock.advance(3 * hourMs);
    stands.push(publisher.stands('web'));
    await publisher.setManagedResources('web', undefined, ownerTerms);
    stands.push(publisher.stands('web'));
    expect(stands).toEqual([false, false, true, true, false]);
  });

  it('does not stand while a newer value waits to be published', async () => {
    bench = await new PublisherBench().start();
    const { publisher, clock } = bench;
    await publisher.setTree('web', tree('a'), ownerTerms);
    await publisher.setManagedResources('web', [], ownerTerms);
    await publisher.setTree('web', tree('b'), { ...ownerTerms, mayWait: true });
    const whileItWaits = publisher.stands('web');
    await clock.advance(hourMs);
    expect([whileItWaits, publisher.stands('web')]).toEqual([false, true]);
  });

  it('stands for half of its lifetime after it was evicted from memory', async () => {
    bench = await new PublisherBench({ maxBytes: 200 }).start();
    const { publisher, clock } = bench;
    await publisher.setTree('web', tree('a'), ownerTerms);
    await publisher.setManagedResources('web', [], ownerTerms);
    for (const name of ['other', 'third']) await publisher.setTree(name, tree(name), ownerTerms);
    await clock.advance(hourMs / 2 - 2000);
    expect(publisher.stands('web')).toBe(true);
    await clock.advance(2000);
    expect(publisher.stands('web')).toBe(false);
  });
});

describe('a store that fails', () => {
  it('that is down does not delay passes and logs one line; the last value of each key is written afterwards', async () => {
    bench = new PublisherBench();
    bench.store.away = 'connect ECONNREFUSED';
    await bench.start();
    for (let i = 0; i < 50; i += 1) {
      expect(await bench.pass(bench.publisher.setTree('web', tree(`v${i}`), ownerTerms), 0)).toBe(true);
    }
    await bench.clock.advance(600_000);
    expect(bench.lines).toEqual([expect.stringMatching(/level=warning.*Redis rejects writes.*ECONNREFUSED/)]);
    expect(await bench.metric('driftless_publish_up')).toBe('0');
    expect(await bench.metric('driftless_publish_waiting')).toBe('1');
    bench.store.away = undefined;
    await bench.clock.advance(3000);
    expect(bench.writes()).toEqual([setTree, `publish ${channel}`]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"v49"');
    expect(bench.lines.at(-1)).toMatch(/Redis accepts writes again/);
    expect(await bench.metric('driftless_publish_up')).toBe('1');
    expect(bench.lines).toHaveLength(2);
  });

  it('that hangs delays one pass by two seconds, the next ones not at all, and gets another connection', async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    bench.store.hangs = true;
    expect(await bench.pass(bench.publisher.setTree('web', tree('b'), ownerTerms), 1900)).toBe(false);
    await bench.clock.advance(5000);
    expect(await bench.pass(bench.publisher.setTree('web', tree('c'), ownerTerms), 0)).toBe(true);
    expect(bench.lines).toEqual([expect.stringContaining('took longer than 5 s')]);
    bench.store.hangs = false;
    await bench.clock.advance(10_000);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"c"');
  });

  it('a value that waits long for its fence blocks no other, and its next version follows it', async () => {
    bench = await new PublisherBench().start();
    let open = (): void => undefined;
    const slow: PublishTerms = {
      signal,
      fence: (send) => new Promise<void>((resolve) => (open = resolve)).then(() => send(signal)),
    };
    const first = bench.publisher.setTree('web', tree('a'), slow);
    await bench.clock.advance(1);
    for (let i = 0; i < 40; i += 1)
      expect(await bench.pass(bench.publisher.setTree(`app-${i}`, tree('a'), ownerTerms), 1)).toBe(true);
    expect(bench.store.values.size).toBe(40);
    const second = bench.publisher.setTree('web', tree('b'), ownerTerms);
    await bench.clock.advance(1);
    expect(bench.store.values.size).toBe(40);
    open();
    await bench.clock.advance(1);
    await Promise.all([first, second]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"b"');
    expect(bench.writes().filter((command) => command === setTree)).toHaveLength(2);
  });

  it.each([
    [3, true],
    [0, false],
  ])(
    'a write that Redis refuses for a moment is repeated up to %i times before Redis counts as down',
    async (...row) => {
      const [retries, isUp] = row;
      bench = await new PublisherBench({ retries }).start();
      const act = bench.store.act.bind(bench.store);
      let refused = 0;
      bench.store.act = (command, subject, body) => {
        if (command !== 'set' || refused >= 3) return act(command, subject, body);
        refused += 1;
        return Promise.reject(new StoreError('refused', 'LOADING Redis is loading the dataset in memory'));
      };
      const writing = bench.publisher.setTree('web', tree('a'), ownerTerms);
      await bench.clock.advance(100);
      await writing;
      expect([refused, bench.store.values.has(treeKey)]).toEqual([isUp ? 3 : 1, isUp]);
    },
  );

  it('that is full gets one attempt every two seconds, not one per value', async () => {
    bench = await new PublisherBench().start();
    bench.store.refusals.set('set', ['refused', "OOM command not allowed when used memory > 'maxmemory'."]);
    for (let i = 0; i < 20; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a'), ownerTerms);
    bench.writes();
    await bench.clock.advance(20_000);
    expect(bench.writes().length).toBeLessThanOrEqual(11);
    expect(bench.lines).toEqual([expect.stringContaining('OOM')]);
    bench.store.refusals.clear();
    await bench.clock.advance(3000);
    expect(bench.store.values.size).toBe(20);
  });

  it('a value that always fails does not block the others', async () => {
    bench = await new PublisherBench().start();
    const act = bench.store.act.bind(bench.store);
    bench.store.act = (command, subject, body) => {
      if (subject.includes('|huge|')) bench.store.refusals.set('set', ['refused', 'ERR string too long']);
      return act(command, subject, body).finally(() => bench.store.refusals.clear());
    };
    await bench.pass(bench.publisher.setTree('huge', tree('a'), ownerTerms), 2500);
    await bench.pass(bench.publisher.setTree('web', tree('a'), ownerTerms), 2500);
    await bench.clock.advance(4000);
    expect([...bench.store.values.keys()]).toEqual([treeKey]);
  });
});

describe('limited memory', () => {
  it('a value that is evicted during its write is still written completely', async () => {
    bench = await new PublisherBench({ maxBytes: 200 }).start();
    let open = (): void => undefined;
    const slow: PublishTerms = {
      signal,
      fence: (send) => new Promise<void>((resolve) => (open = resolve)).then(() => send(signal)),
    };
    const first = bench.publisher.setTree('web', tree('new'), slow);
    await bench.clock.advance(1);
    const second = bench.publisher.setTree('other', tree('a', 'b', 'c'), ownerTerms);
    await bench.clock.advance(1);
    open();
    await Promise.all([first, second]);
    expect(bench.store.values.get(treeKey)?.toString()).toContain('"new"');
    expect(await bench.metric('driftless_publish_waiting')).toBe('0');
  });

  it('a removal, which takes no memory, is not evicted', async () => {
    bench = await new PublisherBench({ maxBytes: 200 }).start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    bench.store.away = 'down';
    bench.store.cut('down');
    await bench.clock.advance(1000);
    await bench.publisher.remove('web', ownerTerms);
    for (let i = 0; i < 5; i += 1) await bench.publisher.setTree(`app-${i}`, tree('a', 'b'), ownerTerms);
    bench.store.away = undefined;
    await bench.clock.advance(5000);
    expect(bench.store.values.has(treeKey)).toBe(false);
  });
});

describe('ownership', () => {
  /** Ownership that the test can revoke. */
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

  // T-REDIS-2
  it('after a loss nothing is written: no waiting value, renewal, refill or deletion', async () => {
    bench = await new PublisherBench().start();
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

  it("that returns finds the other replica's values, and replaces them", async () => {
    bench = await new PublisherBench().start();
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    const ours = bench.store.values.get(treeKey);
    bench.publisher.forget('web');
    bench.store.values.set(treeKey, Buffer.from('of another replica'));
    bench.writes();
    await bench.clock.advance(2 * hourMs);
    expect(bench.writes()).toEqual([]);
    await bench.publisher.setTree('web', tree('a'), ownerTerms);
    expect(bench.store.values.get(treeKey)).toEqual(ours);
    bench.publisher.forget('never published');
  });

  it('that is lost during the delay of a retry ends the write, even if its signal is late', async () => {
    bench = await new PublisherBench().start();
    let isOwner = true;
    const check = (): void => {
      if (!isOwner) throw new OwnershipLost('application web');
    };
    bench.store.refusals.set('set', ['refused', 'LOADING Redis is loading the dataset in memory']);
    const written = bench.publisher.setTree('web', tree('a'), { signal, fence: (send) => send(signal, check) });
    await bench.clock.advance(1);
    expect(bench.writes()).toEqual([setTree]);
    isOwner = false;
    bench.store.refusals.clear();
    await bench.clock.advance(10_000);
    await written;
    expect(bench.writes()).toEqual([]);
  });

  it('that is lost during a write ends the write: readers are not notified', async () => {
    bench = await new PublisherBench().start();
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
  it('is built in slices, so that other work can run', async () => {
    bench = await new PublisherBench({ compression: 'gzip', maxBytes: 1 << 26 }).start();
    const names = Array.from({ length: 20_000 }, (_, i) => `a-name-as-long-as-names-in-real-life-are-${i}`);
    let turns = 0;
    let over = false;
    const turn = (): void => {
      turns += 1;
      if (!over) setImmediate(turn);
    };
    turn();
    await bench.publisher.setTree('web', tree(...names), ownerTerms);
    over = true;
    expect(turns).toBeGreaterThan(10);
    const text = gunzipSync(bench.store.values.get(`${treeKey}.gz`) ?? Buffer.alloc(0)).toString();
    expect((JSON.parse(text) as { nodes: unknown[] }).nodes).toHaveLength(20_000);
  });
});

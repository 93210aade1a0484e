import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom, UsageError } from '#base';
import { FakeClock } from '#support';
import { problemText } from './problem-text.ts';
import { OpenedFleetMember } from './fleet-member.ts';
import type { FleetDocument, FleetDocumentName, FleetDocuments, FleetOptions } from './types.ts';

const items = ['a', 'b/c', 'd e', '', 'ü', 'f#0/2'];
const leaseMs = 30_000;

/** A linearizable store in memory. */
class MemoryDocuments {
  readonly #documents = new Map<FleetDocumentName, FleetDocument>();
  readonly #followers = new Set<{ readonly name: FleetDocumentName; readonly changed: () => void }>();
  #version = 0;
  requests = 0;
  /** How long each request takes. */
  delay: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  /** The store as one member sees it. `fault` replaces its answers. */
  way(isWatched = true): FleetDocuments & { fault: ((signal: AbortSignal) => Promise<never>) | undefined } {
    const way = {
      fault: undefined as ((signal: AbortSignal) => Promise<never>) | undefined,
      read: async (name: FleetDocumentName, signal: AbortSignal) => {
        if (way.fault !== undefined) return way.fault(signal);
        this.requests += 1;
        await this.delay(signal);
        return this.#documents.get(name);
      },
      write: async (name: FleetDocumentName, content: string, version: string | undefined, signal: AbortSignal) => {
        if (way.fault !== undefined) return way.fault(signal);
        this.requests += 1;
        await this.delay(signal);
        return this.put(name, content, version);
      },
      ...(isWatched && {
        watch: (name: FleetDocumentName, changed: () => void) => {
          const follower = { name, changed };
          this.#followers.add(follower);
          return () => void this.#followers.delete(follower);
        },
      }),
    };
    return way;
  }

  put(name: FleetDocumentName, content: string, version = this.#documents.get(name)?.version): string | undefined {
    if (this.#documents.get(name)?.version !== version) return undefined;
    this.#version += 1;
    this.#documents.set(name, { content, version: String(this.#version) });
    for (const follower of this.#followers) if (follower.name === name) follower.changed();
    return String(this.#version);
  }

  content(name: FleetDocumentName): string | undefined {
    return this.#documents.get(name)?.content;
  }

  get followers(): number {
    return this.#followers.size;
  }
}

let clock: FakeClock;
let store: MemoryDocuments;
let joined: OpenedFleetMember[];
let warnings: string[];
beforeEach(() => {
  clock = new FakeClock();
  store = new MemoryDocuments();
  joined = [];
  warnings = [];
});
afterEach(async () => {
  const ends = joined.map((member) => member.leave());
  await clock.advance(leaseMs);
  await Promise.all(ends);
  expect(store.followers).toBe(0);
  expect(clock.pending).toBe(0);
});

function join(name: string, more: Partial<FleetOptions> = {}): OpenedFleetMember {
  const options = { documents: store.way(), name, members: 2, algorithm: 'round-robin', ...more } as const;
  const warn = (message: string): void => void warnings.push(message);
  const deps = { clock, random: seededRandom(joined.length + 1), bootMs: () => clock.monotonic(), warn };
  const member = new OpenedFleetMember(options, deps);
  member.setItems(items);
  joined.push(member);
  return member;
}

const ownedBy = (member: OpenedFleetMember): readonly string[] => items.filter((item) => member.owns(item));

describe('a fleet', () => {
  it.each([
    ['with a store that reports changes', true],
    ['with a store that only reads and writes', false],
  ])('%s gives each item to one member, whatever its name', async (_how, isWatched) => {
    const members = ['one', 'two', 'standby'].map((name) => join(name, { documents: store.way(isWatched) }));
    await clock.advance(leaseMs);
    const owned = members.map(ownedBy);
    expect(owned.flat().sort()).toEqual([...items].sort());
    expect(owned.map((some) => some.length).sort()).toEqual([0, 3, 3]);
    const owners = members[0]?.owners();
    for (const item of items) expect(members.filter((member) => member.owns(item))).toHaveLength(1);
    expect([...(owners?.keys() ?? [])].sort()).toEqual([...items].sort());
    for (const [i, name] of ['one', 'two', 'standby'].entries())
      expect(items.filter((item) => owners?.get(item) === name)).toEqual(owned[i]);
    expect(members.flatMap((member) => member.problems())).toEqual([
      expect.stringMatching(/^this member stands by: it waits for a free slot of 2 \(held: [^;]*\)$/),
    ]);
  });

  it('gives the items of a member that leaves to the standby within a second, and those of a silent one after the lease', async () => {
    const ways = ['one', 'two', 'three'].map(() => store.way());
    const members = ways.map((documents, i) => join(`member-${i}`, { documents }));
    await clock.advance(leaseMs);
    const standby = members.find((member) => ownedBy(member).length === 0);
    const [leaving, silent] = members.filter((member) => member !== standby);
    if (standby === undefined || leaving === undefined || silent === undefined) throw new Error('no member stands by');
    const given = ownedBy(leaving);
    const left = leaving.leave();
    await clock.advance(1000);
    await left;
    expect(ownedBy(standby)).toEqual(given);
    const way = ways[members.indexOf(silent)];
    if (way !== undefined) way.fault = hang;
    let bothOwn = 0;
    for (let waited = 0; waited < 2 * leaseMs; waited += 250) {
      await clock.advance(250);
      if (items.some((item) => silent.owns(item) && standby.owns(item))) bothOwn += 1;
    }
    expect(bothOwn).toBe(0);
    expect(ownedBy(standby)).toEqual(items);
    expect(ownedBy(silent)).toEqual([]);
  });

  describe.each([
    ['with a store that reports changes', true, 2],
    ['with a store that only reads and writes', false, 5],
  ])('%s', (_how, isWatched, maxRate) => {
    let members: OpenedFleetMember[];
    /** Advances until the members own all items, and no item has two owners meanwhile. */
    async function timeUntilOwned(by: readonly OpenedFleetMember[], wanted: readonly string[]): Promise<number> {
      let waitedMs = 0;
      for (; !wanted.every((item) => by.some((member) => member.owns(item))); waitedMs += 10) {
        if (waitedMs > 2 * leaseMs) throw new Error('an item has no owner');
        await clock.advance(10);
        for (const item of wanted) expect(members.filter((member) => member.owns(item)).length).toBeLessThan(2);
      }
      return waitedMs;
    }
    beforeEach(() => {
      store.delay = (signal) => clock.sleep(20, signal);
      members = ['one', 'two', 'three'].map((name) =>
        join(name, { documents: store.way(isWatched), members: 3, algorithm: 'consistent-hashing' }),
      );
    });

    it('gives the first items to owners within a second', async () => {
      expect(await timeUntilOwned(members, items)).toBeLessThan(1000);
    });

    it('gives a new item to an owner within a second', async () => {
      await clock.advance(leaseMs + 1234);
      for (const member of members) member.setItems([...items, 'new']);
      expect(await timeUntilOwned(members, [...items, 'new'])).toBeLessThan(1000);
    });

    it.each([0, 1, 2])('gives the items of member %i to the others within a second when it leaves', async (which) => {
      await clock.advance(2 * leaseMs + 1234);
      const [leaving] = members.splice(which, 1);
      const left = leaving?.leave();
      expect(await timeUntilOwned(members, items)).toBeLessThan(1000);
      await left;
    });

    it('sends few requests at rest', async () => {
      await clock.advance(2 * leaseMs);
      const before = store.requests;
      await clock.advance(60_000);
      expect((store.requests - before) / 60 / members.length).toBeLessThan(maxRate);
    });
  });

  it.each([
    [3, 10_000, 1.5],
    [10, 10_000, 3],
    [30, 10_000, 6],
    [3, 1000, 12],
    [10, 1000, 15],
    [30, 1000, 20],
  ])('of %i members that renew each %i ms sends few requests at rest', async (count, heartbeatMs, maxRate) => {
    store.delay = (signal) => clock.sleep(20, signal);
    for (let i = 0; i < count; i += 1) {
      join(`member-${i}`, { members: count, heartbeatMs, algorithm: 'consistent-hashing' });
      await clock.advance(137);
    }
    await clock.advance(leaseMs);
    const before = store.requests;
    await clock.advance(20_000);
    const rate = (store.requests - before) / 20 / count;
    expect(rate).toBeLessThan(maxRate);
  });

  it('reads the documents less often if told to', async () => {
    const members = ['one', 'two'].map((name) => join(name, { documents: store.way(false), pollMs: 5000 }));
    await clock.advance(2 * leaseMs);
    const before = store.requests;
    await clock.advance(60_000);
    expect((store.requests - before) / 60 / members.length).toBeLessThan(1);
  });

  it('has no use for a member that has left', async () => {
    const one = join('one', { members: 1 });
    await clock.advance(leaseMs);
    await Promise.all([one.leave(), clock.advance(1000)]);
    expect(ownedBy(one)).toEqual([]);
    await expect(one.write('a', () => Promise.resolve())).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
    for (const use of [() => one.setItems(['a']), () => one.resize(2)])
      expect(use).toThrow(expect.objectContaining({ code: 'SHUTDOWN', message: expect.stringContaining('has left') }));
  });

  it('leaves the items of a member to its successor, if told to', async () => {
    const options = { members: 2, successorMs: 20_000 };
    const [leaving, other] = ['one', 'two'].map((name) => join(name, options));
    await clock.advance(leaseMs);
    const given = ownedBy(leaving!);
    const left = leaving?.leave();
    await clock.advance(5000);
    await left;
    const successor = join('three', options);
    await clock.advance(5000);
    expect(ownedBy(successor)).toEqual(given);
    expect(ownedBy(other!)).toEqual(items.filter((item) => !given.includes(item)));
  });

  it.each([
    [{ algorithm: 'consistant-hashing' as never }, 'algorithm must be one of legacy, round-robin, consistent-hashing'],
    [{ successorMs: -1 }, 'successorMs'],
    [{ successorMs: Number.NaN }, 'successorMs'],
    [{ heartbeatMs: 10 }, 'heartbeatMs'],
    [{ members: 0 }, 'members'],
  ])('refuses %j', (options: Partial<FleetOptions>, message) => {
    expect(() => join('one', options)).toThrow(UsageError);
    expect(() => join('one', options)).toThrow(message);
  });

  it('shares its items among more members after a resize, and reports changes', async () => {
    const members = [join('one', { members: 1 }), join('two', { members: 1 })];
    await clock.advance(leaseMs);
    const owner = members.find((member) => ownedBy(member).length > 0);
    expect(owner === undefined ? [] : ownedBy(owner)).toEqual(items);
    const lost: string[] = [];
    owner?.onChange(() => {
      throw new Error('no listener');
    });
    owner?.onChange((change) => lost.push(...change.lost));
    for (const member of members) member.resize(2);
    await clock.advance(leaseMs);
    expect(members.map((member) => ownedBy(member).length)).toEqual([3, 3]);
    expect(lost).toHaveLength(3);
    expect(warnings).toEqual(['a listener of the fleet failed: no listener']);
  });
});

describe('a write', () => {
  it('is refused for items of others, and delays their hand-over until it has ended', async () => {
    const [one, two] = [join('one', { members: 1 }), join('two', { members: 1 })];
    await clock.advance(leaseMs);
    const [owner, other] = one.owns('a') ? [one, two] : [two, one];
    await expect(other.write('a', () => Promise.resolve())).rejects.toMatchObject({
      code: 'OWNERSHIP_LOST',
      message: 'this replica no longer owns the item a',
    });
    await expect(owner.write('unknown', () => Promise.resolve())).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
    let end = (): void => undefined;
    const writes = items.map((item) =>
      owner.write(item, () => new Promise<void>((resolve) => (end = chained(end, resolve)))),
    );
    for (const member of [one, two]) member.resize(2);
    await clock.advance(5000);
    expect(ownedBy(other)).toEqual([]);
    end();
    await Promise.all(writes);
    await clock.advance(5000);
    expect(ownedBy(other)).toHaveLength(3);
  });

  it('is stopped before the lease ends if the store is silent', async () => {
    const silent = store.way();
    const one = join('one', { members: 1, documents: silent });
    await clock.advance(leaseMs);
    let checked: () => void = () => undefined;
    const write = one.write('a', (check, signal) => {
      checked = check;
      check();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    const ended = expect(write).rejects.toThrow('the right to write to a ended before the write did');
    silent.fault = () => Promise.reject(new Error('no store'));
    await clock.advance(leaseMs);
    await ended;
    expect(checked).toThrow('this replica no longer owns the item a');
    expect(one.problems().join()).toContain('cannot reach the documents of the fleet, retrying: no store');
    expect(one.problems().join()).toContain('writes of this member');
    expect(one.problems().join()).not.toMatch(/ConfigMap|hub|replica|shard|--/);
    silent.fault = undefined;
    await clock.advance(leaseMs);
    expect(one.owns('a')).toBe(true);
  });
});

describe('problems of a fleet', () => {
  it.each([
    [
      'ConfigMap fleet/argocd-app-controller-shard-cm cannot be read (x): it is rewritten',
      'the document "holders" cannot',
    ],
    ['ConfigMap fleet/driftless-ownership cannot be read (x): it is rewritten', 'the document "table" cannot be read'],
    [
      'has too little CPU. Raise its CPU request or limit, or --heartbeat-seconds',
      'Give it more, or raise heartbeatMs',
    ],
  ])('are in the words of its user: %s', (message, expected) => {
    expect(problemText(message)).toContain(expected);
    expect(problemText(message)).not.toMatch(/ConfigMap|--/);
  });
});

describe('bad input of a fleet', () => {
  it.each([
    [{ name: '' }, 'name must be a text that is not empty, not ""'],
    [{ members: 0 }, 'members must be a whole number from 1 to 10,000, not 0'],
    [{ members: 1.5 }, 'members must be'],
    [{ heartbeatMs: 10 }, 'heartbeatMs must be a number from 1,000 to 60,000, not 10'],
    [{ heartbeatMs: Number.NaN }, 'heartbeatMs must be'],
  ])('%j is refused', (more, message) => {
    expect(() => join('one', more)).toThrow(message);
  });

  it('names an item that is no text, and keeps the others', async () => {
    const one = join('one', { members: 1 });
    expect(() => one.setItems(['a', '\ud800'])).toThrow('is not well-formed Unicode');
    await clock.advance(leaseMs);
    expect(ownedBy(one)).toEqual(items);
  });

  it('replaces damaged documents, and never has two owners meanwhile', async () => {
    const members = [join('one'), join('two')];
    await clock.advance(leaseMs);
    for (const name of ['holders', 'table'] as const) store.put(name, '{"data": [');
    for (let waited = 0; waited < 4 * leaseMs; waited += 250) {
      await clock.advance(250);
      const owned = members.flatMap(ownedBy);
      expect(new Set(owned).size).toBe(owned.length);
    }
    expect(members.flatMap(ownedBy).sort()).toEqual([...items].sort());
    expect(JSON.parse(store.content('holders') ?? '')).toHaveProperty('data');
  });
});

function chained(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OwnershipLost, seededRandom, Shutdown } from '#base';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { Application } from '#model';
import { createOwnership } from './ownership.ts';
import { formatSlots, parseSlots, slotsConfigMap } from '../documents/slots-document.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { formatTable, tableConfigMap, tableKey } from '../documents/table-document.ts';
import { clusterOf } from '../testing/cluster.ts';
import { loneReplica } from '../testing/lone-replica.ts';
import { SimulatedHub } from '../testing/simulated-hub.ts';
import type { NetworkLine } from '../testing/simulated-hub.ts';
import { MachineClock, VirtualTime } from '../testing/virtual-time.ts';
import { timingOf } from '../timing/timing.ts';
import type { Ownership } from './types.ts';

const heartbeatMs = 10_000;
const { renewMs, validMs } = timingOf(heartbeatMs);
const cluster = clusterOf('a');
const { server } = cluster;

/** One replica with its own machine and network. */
class Single {
  readonly time = new VirtualTime();
  readonly machine = new MachineClock(this.time, { rate: 1, skew: 0 });
  readonly hub = new SimulatedHub(this.time, { latency: () => 1, fate: () => 'arrives' });
  readonly line: NetworkLine = { clock: this.machine, cutUntil: 0, cut: 'all' };
  readonly client = this.hub.client(this.line);
  readonly ownership: Ownership;
  readonly #end = new AbortController();
  readonly #run: Promise<void>;

  constructor() {
    this.hub.put('StatefulSet', 'argocd-application-controller', { spec: { replicas: 1 } });
    this.ownership = createOwnership(loneReplica(this.client, this.machine, heartbeatMs));
    this.#run = this.ownership.run(this.#end.signal);
    this.ownership.update([cluster], [] as Application[]);
  }

  play(ms: number): Promise<void> {
    return this.time.play(this.time.now + ms, () => false);
  }

  /** Runs `act` before the next write to the hub. */
  beforeNextWrite(act: () => void): void {
    const { replace } = this.client;
    this.client.replace = (...request) => {
      this.client.replace = replace;
      act();
      return replace(...request);
    };
  }

  /** Another client writes the slots unchanged: only the version differs. */
  touchSlots(): void {
    this.hub.put('ConfigMap', slotsConfigMap, { data: this.hub.get('ConfigMap', slotsConfigMap)?.['data'] });
  }

  async stop(): Promise<void> {
    this.#end.abort(new Shutdown());
    this.line.cutUntil = 0;
    await this.play(10_000);
    await this.#run;
  }
}

it('a table published between the two reads makes no hub look new', async () => {
  const time = new VirtualTime();
  const machine = new MachineClock(time, { rate: 1, skew: 0 });
  const hub = new SimulatedHub(time, { latency: () => 1, fate: () => 'arrives' });
  hub.put('StatefulSet', 'argocd-application-controller', { spec: { replicas: 1 } });
  const client = hub.client({ clock: machine, cutUntil: 0, cut: 'all' });
  const [{ get }, written]: [typeof client, string[]] = [{ ...client }, []];
  let slotsReadAt = Number.NEGATIVE_INFINITY;
  // Each turn's first read of the table comes before it is published, and the slots are lost.
  client.get = (resource, object, options) => {
    if (object.name === slotsConfigMap) slotsReadAt = time.now;
    const isFirst = object.name === tableConfigMap && time.now - slotsReadAt > 50;
    return get(resource, isFirst ? { ...object, name: 'none' } : object, options);
  };
  // No hint wakes it: each turn begins long after the one before.
  client.list = (_resource, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  client.create = (_resource, object) => {
    written.push(object.metadata.name ?? '', JSON.stringify(object['data']));
    return Promise.reject(new KubeConnectionError('https://hub', 'connection reset', undefined));
  };
  const entries = new Map([[server, { names: ['a'], shards: [0], homes: [0], waits: [[]], everyone: 0 }]]);
  const rest = { replicas: 1, algorithm: 'legacy', slots: 1, movedAt: new Map() } as const;
  hub.put('ConfigMap', tableConfigMap, formatTable({ epoch: 1000, ...rest, entries }));
  const end = new AbortController();
  const ownership = createOwnership(loneReplica(client, machine, heartbeatMs, { replicas: 1 }));
  ownership.update([cluster], [] as Application[]);
  const run = ownership.run(end.signal);
  await time.play(time.now + 5000, () => false);
  // Whoever published the table may hold a slot.
  expect(written.slice(0, 2)).toEqual([slotsConfigMap, expect.stringContaining('unknown/')]);
  end.abort(new Shutdown());
  await time.play(time.now + 10_000, () => false);
  await run;
});

/** A fleet of up to two replicas. */
class Pair {
  readonly time = new VirtualTime();
  readonly hub = new SimulatedHub(this.time, { latency: () => 1, fate: () => 'arrives' });
  readonly clusters = Array.from({ length: 8 }, (_, i) => clusterOf(`c${i}`));
  readonly lines = [0, 1].map((): NetworkLine => ({
    clock: new MachineClock(this.time, { rate: 1, skew: 0 }),
    cutUntil: 0,
    cut: 'all',
  }));
  readonly #ends = [0, 1].map(() => new AbortController());
  readonly #runs: Promise<void>[] = [];
  /** Called when a replica is about to read the slots. */
  beforeSlots: (ordinal: number) => void = () => undefined;

  start(ordinal: 0 | 1): Ownership {
    const line = this.lines[ordinal]!;
    const client = this.hub.client(line);
    const { get } = client;
    client.get = (resource, object, options) => {
      if (object.name === slotsConfigMap) this.beforeSlots(ordinal);
      return get(resource, object, options);
    };
    const own = { hostname: `ctl-${ordinal}`, random: seededRandom(1 + ordinal) };
    const ownership = createOwnership(loneReplica(client, line.clock, heartbeatMs, own));
    this.#runs.push(ownership.run(this.#ends[ordinal]!.signal));
    ownership.update(this.clusters, [] as Application[]);
    return ownership;
  }

  play(ms: number): Promise<void> {
    return this.time.play(this.time.now + ms, () => false);
  }

  scale(replicas: number): void {
    this.hub.put('StatefulSet', 'argocd-application-controller', { spec: { replicas } });
  }

  owned(ownership: Ownership): number {
    return this.clusters.filter((each) => ownership.ownsCluster(each.server)).length;
  }

  slots(): ReadonlyMap<number, SlotRecord> {
    const found = parseSlots(this.hub.get('ConfigMap', slotsConfigMap)?.['data'] as Record<string, unknown>);
    return found.state === 'ok' ? found.value : new Map();
  }

  /** The slots show news of the first replica. */
  touch(): void {
    const now = this.slots();
    const first = now.get(0)!;
    const slots = new Map(now).set(0, { ...first, warm: (first.warm ?? 0) + 1 });
    this.hub.put('ConfigMap', slotsConfigMap, { data: formatSlots(slots, 2) });
  }

  leave(ordinal: number): void {
    this.#ends[ordinal]?.abort(new Shutdown());
  }

  async end(): Promise<void> {
    for (const end of this.#ends) end.abort(new Shutdown());
    await this.play(10_000);
    await Promise.all(this.#runs);
  }
}

describe('a read of the slots alone', () => {
  it('does not hide that the claim of a released slot was removed', async () => {
    const pair = new Pair();
    pair.scale(2);
    const first = pair.start(0);
    pair.start(1);
    await pair.play(60_000);
    expect(pair.owned(first)).toBe(4);
    pair.scale(1);
    pair.lines[1]?.clock.stop(700);
    await pair.play(690);
    pair.leave(1);
    while (pair.slots().has(1)) await pair.play(1);
    // The next poll comes after 30 ms at the earliest.
    await pair.play(25);
    expect(pair.owned(first)).toBe(8);
    await pair.end();
  });

  it('does not delay the table of a replica whose lease has lapsed and was renewed', async () => {
    const pair = new Pair();
    pair.scale(2);
    pair.start(0);
    const second = pair.start(1);
    await pair.play(60_000);
    expect(pair.owned(second)).toBe(4);
    Object.assign(pair.lines[1] ?? {}, { cutUntil: pair.time.now + validMs + 1000 });
    await pair.play(validMs + 500);
    expect(second.leaseLeftMs()).toBe(0);
    // The event of a write arrives after the response to a read that shows it.
    pair.beforeSlots = (ordinal) => {
      if (ordinal === 1 && second.leaseLeftMs() === 0) pair.time.at(pair.time.now + 1, () => pair.touch());
    };
    while (second.leaseLeftMs() === 0) await pair.play(1);
    await pair.play(500);
    expect(pair.owned(second)).toBe(4);
    await pair.end();
  });
});

describe('an immutable ConfigMap', () => {
  it.each([slotsConfigMap, tableConfigMap])('%s is deleted and written again', async (name) => {
    const single = new Single();
    await single.play(60_000);
    const old = single.hub.get('ConfigMap', name);
    single.hub.put('ConfigMap', name, { ...old, immutable: true });
    // A second cluster needs a new table, a renewal new slots.
    single.ownership.update([cluster, clusterOf('b')], [] as Application[]);
    await single.play(60_000);
    expect(single.hub.get('ConfigMap', name)?.['immutable']).toBeUndefined();
    expect(single.ownership.ownedParts(clusterOf('b').server)?.owned).toEqual([0]);
    await single.stop();
  });

  it('that may not be deleted is a condition that names the missing right', async () => {
    const single = new Single();
    await single.play(60_000);
    single.client.delete = () =>
      Promise.reject(new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, ''));
    single.hub.put('ConfigMap', slotsConfigMap, { ...single.hub.get('ConfigMap', slotsConfigMap), immutable: true });
    await single.play(10_000);
    expect(single.ownership.conditions()).toMatchObject([
      { type: 'HubUnreadable', message: expect.stringContaining('update, delete, list') as unknown },
    ]);
    await single.stop();
  });
});

describe('writes to the hub', () => {
  let single: Single;

  beforeEach(async () => {
    single = new Single();
    await single.play(10_000);
    single.ownership.assertOwns(server);
  });

  afterEach(() => single.stop());

  it('a lost race is retried at once, based on the new state', async () => {
    single.beforeNextWrite(() => single.touchSlots());
    await single.play(renewMs + 500);
    expect(single.ownership.leaseLeftMs()).toBeGreaterThan(validMs - renewMs);
  });

  /** The hub never answers a write, whether it commits it or not. */
  function leaveWritesUnanswered(commits: boolean): void {
    const { replace } = single.client;
    const never = new AbortController().signal;
    single.client.replace = (resource, object, options) => {
      if (commits) void replace(resource, object, { ...options, signal: never });
      return new Promise((_, reject) => {
        options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true });
      });
    };
  }

  it('renewals that a slow hub commits and does not answer keep the lease, from when they were sent', async () => {
    leaveWritesUnanswered(true);
    for (let ms = 0; ms < 4 * validMs; ms += 250) {
      await single.play(250);
      expect(single.ownership.leaseLeftMs()).toBeGreaterThan(0);
      single.ownership.assertOwns(server);
      // Not from when a read showed it: the deadline of a write is 5 s.
      if (ms > renewMs + 5000) expect(single.ownership.leaseLeftMs()).toBeLessThanOrEqual(validMs - 5000);
    }
  });

  it('renewals that are neither answered nor committed renew nothing', async () => {
    leaveWritesUnanswered(false);
    await single.play(validMs);
    expect(single.ownership.leaseLeftMs()).toBe(0);
    expect(() => single.ownership.assertOwns(server)).toThrow(OwnershipLost);
  });

  it.each(['before its deadline', 'after it'])(
    'a renewal without an answer and a suspend %s renews nothing',
    async (when) => {
      const { replace } = single.client;
      const never = new AbortController().signal;
      let writes = 0;
      single.client.replace = (resource, object, options) => {
        writes += 1;
        const isFirst = writes === 1;
        const suspendIn = (ms: number): void =>
          single.time.at(single.time.now + ms, () => single.machine.suspend(60_000));
        if (isFirst) void replace(resource, object, { ...options, signal: never });
        if (isFirst && when === 'before its deadline') {
          suspendIn(1000);
          // A write to a cluster detects the suspend while the renewal still waits.
          single.time.at(single.time.now + 61_500, () => expect(() => single.ownership.assertOwns(server)).toThrow());
        }
        return new Promise((_, reject) => {
          const giveUp = (): void => {
            reject(options.signal.reason as Error);
            // Before the read that shows it.
            if (isFirst && when === 'after it') suspendIn(5);
          };
          options.signal.addEventListener('abort', giveUp, { once: true });
        });
      };
      await single.play(renewMs + 5000);
      expect(writes).toBe(1);
      for (let ms = 0; ms < 70_000 + validMs; ms += 250) {
        await single.play(250);
        if (ms > 60_000) expect(single.ownership.leaseLeftMs()).toBe(0);
      }
    },
  );

  it('a read that spans a suspend is discarded', async () => {
    const known = single.ownership.facts().epoch ?? 0;
    const { get } = single.client;
    const text = (epoch: number): string => {
      const data = single.hub.get('ConfigMap', tableConfigMap)?.['data'] as Record<string, string>;
      return JSON.stringify({ ...(JSON.parse(data[tableKey] ?? '') as object), epoch });
    };
    const publish = (epoch: number): void => {
      single.hub.put('ConfigMap', tableConfigMap, { data: { [tableKey]: text(epoch) } });
    };
    let reads = 0;
    single.client.get = async (...request) => {
      reads += 1;
      if (reads > 2) throw new KubeConnectionError('https://hub', 'no more answers', undefined);
      if (reads === 1) publish(known + 1000);
      if (reads === 2) single.machine.suspend(60_000);
      return get(...request);
    };
    await single.play(renewMs + 61_000);
    expect(reads).toBeGreaterThan(2);
    expect(single.ownership.facts().epoch).toBe(known);
    single.client.get = get;
    await single.play(1000);
    expect(single.ownership.facts().epoch).toBeGreaterThanOrEqual(known + 1000);
  });

  it('renewals keep whatever else is in the shard mapping', async () => {
    const mapping = single.hub.get('ConfigMap', slotsConfigMap);
    const data = { ...(mapping?.['data'] as object), note: 'of others' };
    single.hub.put('ConfigMap', slotsConfigMap, { data, binaryData: { more: 'AA==' } });
    await single.play(2 * renewMs);
    const renewed = single.hub.get('ConfigMap', slotsConfigMap);
    expect(renewed).toMatchObject({ data: { note: 'of others' }, binaryData: { more: 'AA==' } });
    expect(renewed?.['data']).not.toEqual(data);
  });

  it('renewals that lose every race renew nothing, and back off', async () => {
    const { replace } = single.client;
    let tries = 0;
    single.client.replace = (...request) => {
      tries += 1;
      single.touchSlots();
      return replace(...request);
    };
    await single.play(validMs);
    expect(single.ownership.leaseLeftMs()).toBe(0);
    expect(() => single.ownership.assertOwns(server)).toThrow(OwnershipLost);
    // Two reads and a write take 6 ms.
    expect(tries).toBeGreaterThan(50);
    expect(tries).toBeLessThan((validMs - renewMs) / 12);
    single.client.replace = replace;
  });

  it('a renewal answered after a suspend renews nothing, even if the suspend was detected before the response', async () => {
    let thaw = Number.NaN;
    const refused: unknown[] = [];
    single.beforeNextWrite(() => {
      thaw = single.time.now + 60_000;
      single.machine.suspend(60_000);
      single.line.cut = 'writes';
      // The request arrives; nothing after it does.
      single.time.at(single.time.now + 2, () => (single.line.cutUntil = thaw + 60_000));
      // The first callback on the machine after the thaw.
      single.time.at(thaw, () => {
        void single.ownership
          .writing(server, undefined, async () => undefined)
          .catch((error: unknown) => refused.push(error));
      });
    });
    await single.play(renewMs + 60_000);
    expect(single.time.now).toBeGreaterThan(thaw);
    for (let ms = 0; ms < validMs; ms += 1000) {
      expect(single.ownership.leaseLeftMs()).toBe(0);
      await single.play(1000);
    }
    expect(refused).toEqual([expect.any(OwnershipLost)]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { partKey } from '../distribution/parts.ts';
import type { SlotClaims } from '../documents/claims.ts';
import { ProtocolMember } from './member.ts';
import type { LocalInstant, WriteIntent, LocalState } from './member-types.ts';
import { nextTable } from './plan.ts';
import type { PlanContext, PlanInputs } from './plan.ts';
import { unknownHolder } from '../documents/slots-document.ts';
import type { ParseResult, SlotRecord, SlotHolders } from '../documents/slots-document.ts';
import { tableSum } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';
import { protocolVersion, timingOf } from '../timing/timing.ts';

/* The writes of a replica, one situation at a time, and which table follows another. */

const timing = timingOf(10_000);

function inputs(...ids: readonly string[]): PlanInputs {
  const clusters = ids.map((id) => ({ id, server: `https://${id}`, name: id }));
  return { algorithm: 'round-robin', clusters, weights: new Map() };
}

function at(ms: number): LocalInstant {
  return { monotonic: ms, wall: ms };
}

function record(slot: number, changes: Partial<SlotRecord> = {}): SlotRecord {
  const { leaseMs } = timing;
  const incarnation = `p${slot}/0`;
  return { slot, holder: `ctl-${slot}`, incarnation, renewals: 1, acked: 0, heartbeat: 0, leaseMs, ...changes };
}

const missing = { state: 'missing' } as const;

function ok<T>(value: T): ParseResult<T> {
  return { state: 'ok', value };
}

function slotsOf(...records: readonly SlotRecord[]): ParseResult<SlotHolders> {
  return ok(new Map(records.map((each) => [each.slot, each])));
}

const context: PlanContext = {
  replicas: 2,
  settled: () => false,
  holders: [0, 1],
  live: [0, 1],
  absent: new Set(),
  epochFloor: 0,
  nonce: 7,
  now: 0,
  longestLeaseMs: timing.leaseMs,
};

function tableOf(before: TableDocument | undefined, of: PlanInputs, changes: Partial<PlanContext> = {}): TableDocument {
  const table = nextTable(before, of, { ...context, ...changes });
  if (table === undefined) throw new Error('the table before will do');
  return table;
}

/** A table that gives everything to one slot, and makes it wait for the other one of 0 and 1. */
function withShard(table: TableDocument, epoch: number, slot: number): TableDocument {
  const waits = [[{ slot: 1 - slot, epoch }]];
  const entries = [...table.entries].map(([server, entry]) => {
    const each = entry.shards.map(() => slot);
    return [
      server,
      { ...entry, shards: each, homes: each, waits: each.map(() => waits[0] ?? []), everyone: 0 },
    ] as const;
  });
  return { ...table, epoch, entries: new Map(entries) };
}

/** One replica with a fixed slot, and the hub that it reads. */
class Actor {
  /** The claims beside the table. */
  claims: SlotClaims = new Map();
  readonly member: ProtocolMember;
  readonly world: LocalState;
  #now = 0;

  constructor(slot: number, world: Partial<LocalState> = {}) {
    this.member = new ProtocolMember({ name: `ctl-${slot}`, process: `p${slot}`, timing });
    const usual = { inputs: inputs('a'), replicas: 2, fixedSlot: slot, drained: true, leaving: false };
    this.world = { ...usual, ...world };
  }

  look(table: ParseResult<TableDocument>, slots: ParseResult<SlotHolders>, isNew = false): void {
    this.#now += 100;
    const [since, slotsSince, until] = [this.#now, this.#now, this.#now];
    this.member.observe({ table, claims: this.claims, slots, since, slotsSince, until, isNew }, at(this.#now));
  }

  wants(changes: Partial<LocalState> = {}): WriteIntent | undefined {
    return this.member.intent({ ...this.world, ...changes }, at(this.#now));
  }

  /** Time passes without a turn. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  now(): LocalInstant {
    return at(this.#now);
  }

  /** Reads once and carries out one intent. */
  does(table: TableDocument, slots: ParseResult<SlotHolders>): WriteIntent | undefined {
    this.look(ok(table), slots);
    const intent = this.wants();
    if (intent?.write === 'claims') this.claims = intent.claims;
    if (intent !== undefined) this.member.wrote(intent, this.now(), this.now());
    return intent;
  }

  /** Reads and carries out intents until there are none. Returns the resulting slots. */
  async settle(
    table: ParseResult<TableDocument>,
    others: readonly SlotRecord[] = [],
  ): Promise<ParseResult<SlotHolders>> {
    let slots = slotsOf(...others);
    for (;;) {
      this.look(table, slots);
      const intent = this.wants();
      if (intent?.write === 'claims') this.claims = intent.claims;
      if (intent === undefined || intent.write === 'table') return slots;
      this.#now += 10;
      this.member.wrote(intent, at(this.#now), at(this.#now));
      if (intent.write === 'slots') slots = ok(intent.slots);
    }
  }
}

function slotsWritten(intent: WriteIntent | undefined): SlotHolders {
  if (intent?.write !== 'slots') throw new Error(`no write to the slots: ${JSON.stringify(intent)}`);
  return intent.slots;
}

describe('what a replica writes', () => {
  const table = tableOf(undefined, inputs('a', 'b'));

  it('no claim of a slot with a live holder', () => {
    const actor = new Actor(0);
    actor.look(ok(table), slotsOf(record(0), record(1)));
    expect(actor.wants()).toBeUndefined();
  });

  it('no claim in an empty hub before a second look', () => {
    const actor = new Actor(0);
    actor.look(missing, missing, true);
    expect(actor.wants()).toBeUndefined();
    for (let looks = 0; looks < 15; looks += 1) actor.look(missing, missing, true);
    expect([...slotsWritten(actor.wants()).keys()]).toEqual([0]);
  });

  it('placeholders into every slot when the mapping is lost and the table is not', () => {
    const actor = new Actor(0);
    actor.look(ok(table), missing);
    expect([...slotsWritten(actor.wants()).values()].map(({ holder }) => holder)).toEqual([
      unknownHolder,
      unknownHolder,
    ]);
  });

  it('placeholders into free slots when its own record is older than its last write: the mapping is a backup', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table));
    const mine = slots.state === 'ok' ? slots.value.get(1) : undefined;
    expect(mine?.acked).toBe(table.epoch);
    actor.look(ok(table), slotsOf({ ...record(1), ...mine, renewals: 1, acked: 0 }));
    const written = slotsWritten(actor.wants());
    expect(written.get(0)?.holder).toBe(unknownHolder);
    expect(written.get(1)).toMatchObject({ incarnation: mine?.incarnation, acked: table.epoch });
  });

  it('placeholders when its own record is missing though the slot is free', async () => {
    const actor = new Actor(1);
    await actor.settle(ok(table));
    actor.look(ok(table), slotsOf(record(2, { acked: table.epoch })));
    expect(slotsWritten(actor.wants()).get(0)?.holder).toBe(unknownHolder);
  });

  it('no claim of a free slot until a lease has passed while no holder has acknowledged the table: it may be a backup', () => {
    const actor = new Actor(1);
    const older = slotsOf(record(0, { acked: table.epoch - 1 }));
    actor.look(ok(table), older);
    expect(actor.wants()).toBeUndefined();
    for (let ms = 100; ms < timing.leaseMs; ms += 100) {
      actor.look(ok(table), older);
      expect(actor.wants()).toBeUndefined();
    }
    actor.look(ok(table), older);
    expect(slotsWritten(actor.wants()).has(1)).toBe(true);
  });

  it('a table with a new epoch, for everyone, when another holder obeys other content of the same epoch', async () => {
    const actor = new Actor(0, { inputs: inputs('a', 'b') });
    const obeying = record(1, { acked: table.epoch, version: 1 });
    const calm = await actor.settle(ok(table), [{ ...obeying, sum: tableSum(table) }]);
    actor.sleep(timing.publishMs);
    actor.look(ok(table), calm);
    expect(actor.wants()).toBeUndefined();
    const others = { ...obeying, sum: tableSum(withShard(table, table.epoch, 1)) };
    actor.look(ok(table), slotsOf(...(calm.state === 'ok' ? calm.value.values() : []), others));
    const intent = actor.wants();
    const written = intent?.write === 'table' ? intent.table : undefined;
    expect(written?.epoch).toBeGreaterThan(table.epoch);
    expect([...(written?.entries.values() ?? [])].map(({ everyone }) => everyone)).toEqual(
      [1, 2, 3].map(() => written?.epoch),
    );
  });

  it('its claim beside a table that it publishes, and the claims of others', async () => {
    const actor = new Actor(0);
    actor.claims = new Map([[1, { incarnation: 'p1/0', leaseMs: timing.leaseMs }]]);
    const slots = await actor.settle(missing, [record(1)]);
    actor.sleep(timing.publishMs);
    actor.look(missing, slots);
    const intent = actor.wants();
    const incarnation = slots.state === 'ok' ? slots.value.get(0)?.incarnation : undefined;
    expect(incarnation).toMatch(/^p0\/\d+$/);
    expect(intent?.write === 'table' && Object.fromEntries(intent.claims)).toEqual({
      0: { incarnation, leaseMs: timing.leaseMs },
      1: { incarnation: 'p1/0', leaseMs: timing.leaseMs },
    });
  });

  it('no acknowledgment before all its writes have landed', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    const newer = tableOf(table, inputs('a', 'b', 'c'));
    actor.look(ok(newer), slots);
    expect(actor.wants({ drained: false })).toBeUndefined();
    expect(slotsWritten(actor.wants()).get(1)?.acked).toBe(newer.epoch);
  });

  it('a finer split of its clusters stops nothing', async () => {
    const actor = new Actor(1);
    const mine = withShard(table, table.epoch, 1);
    const slots = await actor.settle(ok(mine), [record(0, { acked: mine.epoch })]);
    const into = (parts: number): TableDocument => {
      const { clusters, ...rest } = inputs('a');
      const split = { ...rest, clusters: clusters.map((cluster) => ({ ...cluster, parts })) };
      const cold = { isReady: () => false, settled: () => true, epochFloor: mine.epoch };
      return tableOf(mine, split, cold);
    };
    const [entry] = [...into(4).entries.values()].filter(({ shards }) => shards.length === 4);
    expect([entry?.shards, entry?.waits.flat(), entry?.everyone]).toEqual([[1, 1, 1, 1], [], 0]);
    actor.look(ok(into(4)), slots);
    expect([...(actor.member.taken().get('https://a') ?? [])]).toEqual([0, 1, 2, 3]);
  });

  it('acknowledges a table only after the parts that it kept for their next owner are released', async () => {
    const actor = new Actor(1);
    const mine = withShard(table, table.epoch, 1);
    const slots = await actor.settle(ok(mine), [record(0, { acked: mine.epoch })]);
    actor.look(ok(mine), slots);
    expect(actor.member.taken().size).toBe(mine.entries.size);
    const newer = withShard(table, table.epoch + 1000, 0);
    actor.look(ok(newer), slots);
    expect(actor.member.taken().size).toBe(mine.entries.size);
    expect(actor.wants()).toBeUndefined();
    const own = slots.state === 'ok' ? (slots.value.get(1) ?? record(1)) : record(1);
    actor.look(ok(newer), slotsOf(record(0, { acked: newer.epoch }), own));
    expect(actor.member.taken().size).toBe(0);
    expect(slotsWritten(actor.wants()).get(1)?.acked).toBe(newer.epoch);
  });

  it('a release of its slot in one write when it leaves, but not before all its writes have landed', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table), [record(0, { acked: table.epoch, version: protocolVersion })]);
    actor.look(ok(table), slots);
    expect(actor.wants({ leaving: true, drained: false })).toBeUndefined();
    const written = slotsWritten(actor.wants({ leaving: true }));
    expect(written.get(1)).toMatchObject({ released: true, landing: new Map(), acked: table.epoch });
  });

  it.each([
    ['no other replica', []],
    ['an older release', [{ version: protocolVersion - 1 }]],
    ['a release without a version', [{}]],
  ])('a release without a trace beside %s, which would not remove its record', async (_, others) => {
    const actor = new Actor(1);
    const records = others.map((each) => record(0, { acked: table.epoch, ...each }));
    const slots = await actor.settle(ok(table), records);
    actor.look(ok(table), slots);
    const [first] = [actor.wants({ leaving: true })];
    expect(first).toMatchObject({ write: 'claims', why: 'release', claims: new Map() });
    actor.claims = new Map();
    actor.member.wrote(first!, actor.now(), actor.now());
    actor.look(ok(table), slots);
    expect([...slotsWritten(actor.wants({ leaving: true })).keys()]).toEqual(records.map(({ slot }) => slot));
  });

  it('a release that names writes without an answer, but not while a request runs', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    actor.look(ok(table), slots);
    const landing = new Map([['https://a', 9000]]);
    const leaving = { leaving: true, drained: false };
    // The turn that releases the parts cannot know of all writes to them.
    expect(actor.wants({ ...leaving, landing })).toBeUndefined();
    expect(actor.wants(leaving)).toBeUndefined();
    const written = slotsWritten(actor.wants({ ...leaving, landing }));
    expect(written.get(1)).toMatchObject({ released: true, landing, acked: table.epoch });
  });

  it('no acknowledgment of another table while writes of the holder before may land', () => {
    const actor = new Actor(1);
    const newer = tableOf(table, inputs('a', 'b', 'c'));
    const landing = new Map([['https://a', 5000]]);
    const before = record(1, { incarnation: 'p9/0', acked: table.epoch, released: true, landing });
    let slots = slotsOf(record(0, { acked: newer.epoch }), before);
    const start = actor.now().monotonic;
    while (actor.now().monotonic < start + 4900) {
      const intent = actor.does(newer, slots);
      if (intent?.write === 'slots') slots = ok(intent.slots);
      const mine = slots.state === 'ok' ? slots.value.get(1) : undefined;
      expect(mine).toMatchObject({ incarnation: 'p1/0', acked: 0 });
      expect(mine?.landing?.get('https://a')).toBeLessThanOrEqual(5000);
    }
    for (let looks = 0; looks < 5; looks += 1) {
      const intent = actor.does(newer, slots);
      if (intent?.write === 'slots') slots = ok(intent.slots);
    }
    expect(slots.state === 'ok' && slots.value.get(1)?.acked).toBe(newer.epoch);
  });

  it('its claim beside the table before any acknowledgment', () => {
    const actor = new Actor(1);
    const free = slotsOf(record(0, { acked: table.epoch }));
    const claimed = actor.does(table, free);
    const { incarnation } = slotsWritten(claimed).get(1)!;
    expect(actor.does(table, ok(slotsWritten(claimed)))).toMatchObject({ write: 'claims' });
    expect(actor.claims).toEqual(new Map([[1, { incarnation, leaseMs: timing.leaseMs }]]));
    expect(slotsWritten(actor.does(table, ok(slotsWritten(claimed)))).get(1)?.acked).toBe(table.epoch);
  });

  it('nothing while a rival claim stands beside the table, for the lease of the rival', () => {
    const actor = new Actor(1);
    const rival = { incarnation: 'p9/0', leaseMs: 2 * timing.leaseMs };
    actor.claims = new Map([[1, rival]]);
    let slots = slotsWritten(actor.does(table, slotsOf(record(0, { acked: table.epoch }))));
    for (let ms = 0; ms < 2 * timing.leaseMs; ms += 100) {
      const intent = actor.does(table, ok(slots));
      if (intent !== undefined) slots = slotsWritten(intent);
      expect(slots.get(1)?.acked).toBe(0);
      expect(actor.claims.get(1)).toBe(rival);
    }
    for (let looks = 0; looks < 3; looks += 1) {
      const intent = actor.does(table, ok(slots));
      if (intent?.write === 'slots') slots = intent.slots;
    }
    expect(slots.get(1)?.acked).toBe(table.epoch);
  });

  it('its claim at once when the holder it replaces is known to be gone', () => {
    const actor = new Actor(1);
    actor.claims = new Map([[1, { incarnation: 'p9/0', leaseMs: timing.leaseMs }]]);
    const dead = record(1, { incarnation: 'p9/0' });
    let slots = slotsOf(record(0, { acked: table.epoch }), dead);
    for (let ms = 0; ms <= timing.leaseMs + 200; ms += 100) {
      const intent = actor.does(table, slots);
      if (intent?.write === 'slots') slots = ok(intent.slots);
    }
    const claimed = actor.member.slot(actor.now());
    expect(claimed).toBe(1);
    for (let looks = 0; looks < 2; looks += 1) {
      const intent = actor.does(table, slots);
      if (intent?.write === 'slots') slots = ok(intent.slots);
    }
    expect(slots.state === 'ok' ? slots.value.get(1)?.acked : undefined).toBe(table.epoch);
  });

  it('nothing that takes up parts once it is leaving', async () => {
    const actor = new Actor(1);
    const waiting = tableOf(undefined, inputs('a', 'b'));
    const slots = await actor.settle(ok(waiting), [record(0), record(2, { acked: waiting.epoch })]);
    expect(actor.member.slot(at(0))).toBe(1);
    expect(actor.member.taken().size).toBe(0);
    actor.wants({ leaving: true, drained: false });
    const acknowledged = slots.state === 'ok' ? [...slots.value.values()] : [];
    actor.look(ok(waiting), slotsOf(...acknowledged, record(0, { acked: waiting.epoch, renewals: 2 })));
    expect(actor.member.taken().size).toBe(0);
  });

  it('no release in the turn that gives its parts back: writes to them may be in flight', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    expect(actor.member.taken().size).toBeGreaterThan(0);
    actor.look(ok(table), slots);
    expect(actor.wants({ fixedSlot: 0 })).toBeUndefined();
    expect(actor.member.taken().size).toBe(0);
    actor.look(ok(table), slots);
    expect(actor.wants({ fixedSlot: 0 })).toMatchObject({ write: 'claims', claims: new Map() });
  });

  it('its claim again before it obeys a table, when it keeps a slot whose claim was released', () => {
    const single = tableOf(undefined, inputs('a', 'b'), { replicas: 1, holders: [0], live: [0] });
    const actor = new Actor(1, { replicas: 1 });
    const mine = record(1, { incarnation: 'p1/0', acked: single.epoch });
    actor.look(ok(single), slotsOf(record(0, { acked: single.epoch })));
    const claimed = slotsWritten(actor.wants({ replicas: 2 }));
    actor.member.wrote({ write: 'slots', slots: claimed, count: 2, why: 'claim' }, actor.now(), actor.now());
    actor.claims = new Map([[1, { incarnation: 'p1/0', leaseMs: timing.leaseMs }]]);
    const slots = slotsOf(record(0, { acked: single.epoch }), { ...mine, ...claimed.get(1) });
    actor.look(ok(single), slots);
    expect(actor.member.table()).toBe(single);
    const acknowledged = actor.wants();
    actor.member.wrote(acknowledged!, actor.now(), actor.now());
    actor.look(ok(single), ok(slotsWritten(acknowledged)));
    const released = actor.wants();
    expect(released).toMatchObject({ write: 'claims', why: 'release', claims: new Map() });
    actor.member.wrote(released!, actor.now(), actor.now());
    actor.claims = new Map();
    actor.look(ok(single), ok(slotsWritten(acknowledged)));
    expect(actor.member.table()).toBeUndefined();
    expect(actor.wants({ replicas: 2 })).toMatchObject({ write: 'claims', why: 'record of a claim' });
  });

  it('what a newer table requires, also when the claims beside the table are lost', async () => {
    const actor = new Actor(1);
    const slots = await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    actor.claims = new Map();
    const newer = tableOf(table, inputs('a', 'b', 'c'));
    actor.look(ok(newer), slots);
    expect(actor.member.table()).toBe(newer);
    expect(slotsWritten(actor.wants()).get(1)?.acked).toBe(newer.epoch);
  });

  describe('after its lease has run out', () => {
    const acked = table.epoch;

    /** Its own clock has passed the lease; others have not taken the slot yet. */
    async function lapsed(): Promise<{ readonly actor: Actor; readonly slots: SlotHolders }> {
      const actor = new Actor(1);
      const slots = await actor.settle(ok(table), [record(0, { acked })]);
      if (slots.state !== 'ok') throw new Error('no slots');
      expect(actor.member.slot(actor.now())).toBe(1);
      actor.sleep(timing.validMs);
      return { actor, slots: slots.value };
    }

    it('a renewal that keeps its acknowledgment: others may have counted on it', async () => {
      const { actor, slots } = await lapsed();
      actor.look(ok(table), ok(slots));
      expect(actor.member.taken().size).toBe(0);
      expect(slotsWritten(actor.wants()).get(1)).toMatchObject({ incarnation: 'p1/0', acked });
    });

    it('a claim under a new name, if its record is gone', async () => {
      const { actor } = await lapsed();
      actor.look(ok(table), slotsOf(record(0, { acked, renewals: 2 })));
      expect(slotsWritten(actor.wants()).get(1)).toMatchObject({ incarnation: 'p1/1', acked: 0 });
    });

    it('nothing of its own into unreadable slots, nor when they show its old record again', async () => {
      const { actor, slots } = await lapsed();
      actor.look(ok(table), { state: 'broken', why: 'no JSON' });
      expect([...slotsWritten(actor.wants()).values()].map(({ holder }) => holder)).toEqual([
        unknownHolder,
        unknownHolder,
      ]);
      // They may have named a successor meanwhile.
      actor.look(ok(table), ok(slots));
      expect(actor.wants()).toBeUndefined();
    });
  });

  it('its record over a placeholder in its slot: the mapping was lost with its claim', async () => {
    const actor = new Actor(1);
    await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    const placeholder = record(1, { holder: unknownHolder, incarnation: 'unknown/p0/7' });
    actor.look(ok(table), slotsOf(record(0, { acked: table.epoch }), placeholder));
    expect(actor.member.slot(actor.now())).toBe(1);
    expect(slotsWritten(actor.wants()).get(1)).toMatchObject({ holder: 'ctl-1', incarnation: 'p1/0' });
  });

  describe('when the mapping is lost, placeholders', () => {
    const wide = { ...table, slots: 5, leaseMs: 90_000 };
    const written = (actor: Actor): readonly SlotRecord[] => [...slotsWritten(actor.wants()).values()];

    it('into every slot that the published table names, for its longest lease', () => {
      const actor = new Actor(1);
      actor.look(ok(wide), missing);
      expect(written(actor).map(({ slot, leaseMs }) => [slot, leaseMs])).toEqual(
        [0, 1, 2, 3, 4].map((slot) => [slot, 90_000]),
      );
    });

    it('into every slot that the obeyed table names, if that is lost, too', async () => {
      const actor = new Actor(1);
      await actor.settle(ok(wide), [record(0, { acked: wide.epoch })]);
      actor.look(missing, missing);
      expect(written(actor).map(({ slot }) => slot)).toEqual([0, 1, 2, 3, 4]);
    });

    it('into every slot that was ever seen with a holder', () => {
      const actor = new Actor(1);
      actor.look(ok(table), slotsOf(record(0), record(7)));
      actor.look(ok(table), missing);
      expect(written(actor)).toHaveLength(8);
    });

    it('for the longest lease that was ever seen', () => {
      const actor = new Actor(1);
      actor.look(ok(table), slotsOf(record(0), record(1, { leaseMs: 120_000 })));
      actor.look(ok(table), slotsOf(record(0)));
      actor.look(ok(table), missing);
      expect(new Set(written(actor).map(({ leaseMs }) => leaseMs))).toEqual(new Set([120_000]));
    });
  });

  it('no free slot for a dead holder before it has acknowledged the newest table itself', async () => {
    const actor = new Actor(1);
    const dead = record(0, { acked: table.epoch });
    let slots = await actor.settle(ok(table), [dead]);
    const newer = tableOf(table, inputs('a', 'b', 'c'));
    // The dead holder's record may be the only other one that names the newest epoch.
    for (let ms = 0; ms <= timing.leaseMs + 200; ms += 100) {
      actor.look(ok(newer), slots);
      const intent = actor.wants({ drained: false });
      if (intent === undefined) continue;
      expect(slotsWritten(intent).has(0)).toBe(true);
      actor.member.wrote(intent, actor.now(), actor.now());
      slots = ok(slotsWritten(intent));
    }
    const steps: string[] = [];
    for (let looks = 0; looks < 3; looks += 1) {
      actor.look(ok(newer), slots);
      const intent = actor.wants();
      if (intent?.write !== 'slots') break;
      actor.member.wrote(intent, actor.now(), actor.now());
      slots = ok(intent.slots);
      steps.push(intent.why);
    }
    expect(steps).toEqual(['acknowledgment', 'a dead holder']);
  });

  it('the claim of a dead holder out of the register first, and then its slot free', async () => {
    const actor = new Actor(1);
    actor.claims = new Map([[0, { incarnation: 'p0/0', leaseMs: timing.leaseMs }]]);
    let slots = await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    const steps: string[] = [];
    for (let ms = 0; ms <= timing.leaseMs + 500; ms += 100) {
      actor.look(ok(table), slots);
      const intent = actor.wants();
      if (intent === undefined || intent.write === 'table') continue;
      actor.member.wrote(intent, actor.now(), actor.now());
      if (intent.write === 'claims') actor.claims = intent.claims;
      else slots = ok(intent.slots);
      const isHeld = slots.state === 'ok' && slots.value.has(0);
      if (intent.why !== 'renewal')
        steps.push(`${intent.why}: ${actor.claims.has(0) ? 'claim' : ''} ${isHeld ? 'slot' : ''}`);
    }
    expect(steps).toEqual(['a dead holder:  slot', 'a dead holder:  ']);
  });

  it('another table when nothing but time has passed, and moved parts have rested', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const weights = new Map(ids.map((id) => [partKey(`https://${id}`, 0, 1), 1]));
    const of = { ...inputs(...ids), algorithm: 'consistent-hashing', weights } as const;
    const first = tableOf(undefined, of);
    const entries = [...first.entries].map(([server, entry]) => {
      const all = server === '' ? entry.shards : entry.shards.map(() => 0);
      return [server, { ...entry, shards: all, homes: all, everyone: 0 }] as const;
    });
    // Everything has moved to one shard a millisecond ago.
    const movedAt = new Map([...weights.keys()].map((part) => [part, 1]));
    const uneven = ok({ ...first, entries: new Map(entries), movedAt });
    const actor = new Actor(0, { inputs: of });
    const others = [record(1, { acked: first.epoch, version: 1 })];
    const wantsAfter = async (ms: number): Promise<WriteIntent['write'] | undefined> => {
      actor.sleep(ms);
      const slots = await actor.settle(uneven, others);
      actor.look(uneven, slots);
      return actor.wants()?.write;
    };
    expect(await wantsAfter(0)).toBeUndefined();
    expect(await wantsAfter(300_000)).toBeUndefined();
    expect(await wantsAfter(300_000)).toBe('table');
  });

  it('nothing more for a slot that has another holder now', async () => {
    const actor = new Actor(1);
    await actor.settle(ok(table), [record(0, { acked: table.epoch })]);
    expect(actor.member.slot(at(0))).toBe(1);
    actor.look(ok(table), slotsOf(record(0), record(1, { holder: 'twin', incarnation: 'twin/0' })));
    expect([actor.wants(), actor.member.slot(at(0))]).toEqual([undefined, undefined]);
  });
});

describe('the next table', () => {
  const first = tableOf(undefined, inputs('a', 'b'));
  const settled = tableOf(first, inputs('a', 'b', 'c'), { settled: () => true });

  it('has a higher epoch than any known one', () => {
    expect(settled.epoch).toBeGreaterThan(first.epoch);
    const after = tableOf(undefined, inputs('a'), { epochFloor: settled.epoch });
    expect(after.epoch).toBeGreaterThan(settled.epoch + 100_000);
  });

  it('waits for everyone with a new cluster', () => {
    expect(settled.entries.get('https://c')?.everyone).toBe(settled.epoch);
    expect(settled.entries.get('https://a')?.everyone).toBe(0);
  });

  it('still waits for everyone with a cluster whose table before a holder has not acknowledged', () => {
    const everyoneOf = (changes: Partial<PlanContext>): number | undefined => {
      const next = tableOf(settled, inputs('a', 'b', 'c', 'd'), changes);
      return next.entries.get('https://c')?.everyone;
    };
    expect(everyoneOf({ settled: ({ slot }) => slot === 0 })).toBe(settled.epoch);
    expect(everyoneOf({ settled: () => true })).toBe(0);
    expect(everyoneOf({ settled: () => false, holders: [] })).toBe(0);
  });

  it('waits for everyone where a name now means other clusters, though the names of the cluster are the same', () => {
    const { clusters, ...rest } = inputs('a', 'b', 'c');
    const twin = { id: 'z', server: 'https://z', name: 'a' };
    const shared = tableOf(settled, { ...rest, clusters: [...clusters, twin] }, { settled: () => true });
    expect(shared.entries.get('https://a')).toMatchObject({ names: ['a'], everyone: shared.epoch });
    expect(shared.entries.get('https://b')?.everyone).toBe(0);
  });

  it('waits for everyone with Applications without a cluster when any name changes, and only then', () => {
    const { clusters, ...rest } = inputs('a', 'b', 'c');
    const renamed = clusters.map((each) => (each.id === 'b' ? { ...each, name: 'd' } : each));
    const other = tableOf(settled, { ...rest, clusters: renamed }, { settled: () => true });
    expect(other.entries.get('')?.everyone).toBe(other.epoch);
    const moved = tableOf(settled, inputs('a', 'b', 'c'), { replicas: 1, settled: () => true });
    expect(moved.entries.get('')?.everyone).toBe(0);
  });

  it('waits for all previous owners of a part that moves again before the first has released it', () => {
    const pinned = (shard: number): PlanInputs => ({
      ...inputs(),
      clusters: [{ id: 'a', server: 'https://a', name: 'a', shard }],
    });
    const of = { replicas: 3, holders: [0, 1, 2], live: [0, 1, 2] };
    const zero = tableOf(tableOf(undefined, pinned(0), of), pinned(0), { ...of, settled: () => true, replicas: 4 });
    const one = tableOf(zero, pinned(1), of);
    const two = tableOf(one, pinned(2), of);
    const waits = (epochs: readonly (readonly [number, TableDocument])[]): object => ({
      waits: [epochs.map(([slot, { epoch }]) => ({ slot, epoch }))],
    });
    expect(one.entries.get('https://a')).toMatchObject({ shards: [1], ...waits([[0, one]]) });
    expect(two.entries.get('https://a')).toMatchObject({ shards: [2], ...waits([[0, one], [1, two]]) }); // prettier-ignore
    // A part that goes back to an owner that never released it waits only for the one between.
    const back = tableOf(one, pinned(0), of);
    expect(back.entries.get('https://a')).toMatchObject({ shards: [0], ...waits([[1, back]]) });
  });

  it('waits for the previous owner of a part that moves', () => {
    const moved = tableOf(settled, inputs('a', 'b', 'c'), { replicas: 1, settled: () => true });
    const [server] = [...settled.entries].find(([key, { shards }]) => key !== '' && shards[0] === 1)!;
    expect(moved.entries.get(server)).toMatchObject({ shards: [0], waits: [[{ slot: 1, epoch: moved.epoch }]] });
  });

  it('leaves clusters with their owners until a new slot is held', () => {
    const wider = tableOf(settled, inputs('a', 'b', 'c'), { replicas: 3, settled: () => true });
    for (const [server, { homes, shards }] of wider.entries)
      if (homes.length === 1 && homes[0] === 2) expect(shards).toEqual(settled.entries.get(server)?.shards);
    expect([...wider.entries.values()].flatMap(({ shards }) => shards)).not.toContain(2);
    expect([...wider.entries.values()].flatMap(({ homes }) => homes)).toContain(2);
  });

  it('gives the clusters of an absent slot to live holders', () => {
    const without = tableOf(settled, inputs('a', 'b', 'c'), { live: [0], holders: [0], absent: new Set([1]) });
    expect(new Set([...without.entries.values()].flatMap(({ shards }) => shards))).toEqual(new Set([0]));
  });

  it('leaves the clusters of an absent slot with their stand-ins, whatever the load of these', () => {
    const of = inputs('a', 'b', 'c', 'd', 'e', 'f');
    const shorthanded = { replicas: 3, absent: new Set([2]), settled: () => true };
    const three = tableOf(undefined, of, { replicas: 3, holders: [0, 1, 2], live: [0, 1, 2] });
    const standIns = tableOf(three, of, shorthanded);
    const owners = (table: TableDocument): unknown =>
      [...table.entries].map(([server, { shards }]) => [server, shards]);
    const [busy] = standIns.entries.get('https://c')?.shards ?? [];
    const own = of.clusters.filter(({ server }) => standIns.entries.get(server)?.homes[0] === busy);
    const heavier = { ...of, weights: new Map(own.map(({ server }) => [partKey(server, 0, 1), 100])) };
    expect(owners(nextTable(standIns, heavier, { ...context, ...shorthanded }) ?? standIns)).toEqual(owners(standIns));
  });
});

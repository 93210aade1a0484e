import { describe, expect, it } from '@jest/globals';
import type { Claims } from './claims.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import type { Instant, Observation } from './member-types.ts';
import type { SlotRecord } from './slots-document.ts';
import { SuspendDetector } from './suspend-detector.ts';
import type { TableDocument, TableEntry } from './table-document.ts';
import { Tenure } from './tenure.ts';
import { timingOf } from './timing.ts';

/*
 * The rules of letting go and taking up, one at a time. Each is one of several that stand behind each other, so that a schedule of the
 * simulation rarely shows that one is missing.
 */

const timing = timingOf(10_000);
const own = 1;
const other = 0;

function at(ms: number): Instant {
  return { monotonic: ms, wall: ms };
}

function record(slot: number, acked = 0): SlotRecord {
  return { slot, holder: `ctl-${slot}`, incarnation: `p${slot}/0`, renewals: acked + 1, acked, heartbeat: 0 };
}

/** One cluster of one part. */
function table(epoch: number, entry: Partial<TableEntry> = {}): TableDocument {
  const whole = { names: ['a'], shards: [own], homes: [own], waits: [[]], everyone: 0, ...entry };
  const entries = new Map([['https://a', whole]]);
  return { epoch, replicas: 2, algorithm: 'legacy', slots: 2, entries, movedAt: new Map() };
}

interface Seen {
  readonly table: TableDocument;
  readonly slots: readonly SlotRecord[];
  /** When both were read. */
  readonly ms: number;
  /** Who claimed which slot last, as it stands beside the table. */
  readonly claims?: Claims;
}

/** The holder of slot 1, as far as it is told what to do. */
class Holder {
  readonly hub = new HubKnowledge(timing);
  readonly tenure = new Tenure(timing);
  #observation: Observation | undefined;

  /** Writes its record, at `ms`. */
  renew(acked: number, ms: number): void {
    this.tenure.renewed(record(own, acked), at(ms), at(ms), this.tenure.lease() !== undefined);
  }

  look({ table: value, slots, ms, claims = new Map() }: Seen): void {
    const found = new Map(slots.map((each) => [each.slot, each]));
    this.#observation = {
      table: { state: 'ok', value },
      claims,
      slots: { state: 'ok', value: found },
      since: ms,
      slotsSince: ms,
      until: ms,
      isNew: false,
    };
    this.hub.observe(this.#observation, at(ms));
    this.tenure.adopt(this.#observation, this.hub);
    this.tenure.takeUp(this.hub);
  }

  owned(): readonly string[] {
    return [...this.tenure.taken().keys()];
  }
}

/** It has claimed its slot, and obeys the table, without having taken anything up. */
function holder(first: TableDocument): Holder {
  const replica = new Holder();
  replica.renew(0, 1000);
  replica.look({ table: first, slots: [record(own), record(other)], ms: 2000 });
  expect(replica.tenure.table()).toBe(first);
  expect(replica.owned()).toEqual([]);
  return replica;
}

describe('13.6: what a holder obeys and takes up', () => {
  it('13.6: takes up what the table gives when it has acknowledged that, and not before', () => {
    const replica = holder(table(4000));
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 2100 });
    expect(replica.owned()).toEqual([]);
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('13.6: obeys no table that was read before its claim: it may have lost what that gives since', () => {
    const replica = new Holder();
    replica.renew(0, 1000);
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 999 });
    expect(replica.tenure.table()).toBeUndefined();
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 1000 });
    expect(replica.tenure.table()?.epoch).toBe(4000);
  });

  it('13.6: obeys no table that is older than one that somebody has acknowledged', () => {
    const replica = new Holder();
    replica.renew(0, 1000);
    replica.look({ table: table(4000), slots: [record(own), record(other, 5000)], ms: 2000 });
    expect(replica.tenure.table()).toBeUndefined();
  });

  it('13.6: does not go back to a table that is older than its own, though nobody has acknowledged that', () => {
    const replica = holder(table(5000));
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 2100 });
    expect(replica.tenure.table()?.epoch).toBe(5000);
  });

  it('13.6: takes up nothing while somebody obeys a newer table than its own', () => {
    const replica = holder(table(4000, { waits: [[{ slot: other, epoch: 4000 }]] }));
    replica.renew(4000, 2200);
    // The other one let go under 4000, and took it up again under 5000.
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other, 5000)], ms: 2300 });
    expect(replica.owned()).toEqual([]);
  });

  it('13.6: waits for who is named, until that has acknowledged the table', () => {
    const replica = holder(table(4000, { waits: [[{ slot: other, epoch: 4000 }]] }));
    replica.renew(4000, 2200);
    const seen = table(4000);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 3000)], ms: 2300 });
    expect(replica.owned()).toEqual([]);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('13.6: waits for everyone where the table says so', () => {
    const seen = table(4000, { everyone: 4000 });
    const replica = holder(seen);
    replica.renew(4000, 2200);
    replica.look({ table: seen, slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.owned()).toEqual([]);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it.each([
    ['by its name', { waits: [[{ slot: 2, epoch: 4000 }]] }],
    ['with everyone', { everyone: 4000 }],
  ])('14.4: waits %s for who is not in a mapping that was set back, and may write', (_how, entry) => {
    // Slot 2 was claimed, is cut off, and had the cluster until the table of today, which was made without knowing of it.
    const claims = new Map([[2, { incarnation: 'p2/0', leaseMs: timing.leaseMs }]]);
    const seen = table(4000, entry);
    const replica = holder(seen);
    replica.look({ table: seen, slots: [record(own), record(other, 4000), record(2)], ms: 2100, claims });
    replica.renew(4000, 2200);
    const slots = [record(own, 4000), record(other, 4000)];
    for (let ms = 2300; ms <= 2300 + timing.leaseMs; ms += 500) {
      replica.renew(4000, ms);
      replica.look({ table: seen, slots, ms, claims });
      expect([ms, replica.owned()]).toEqual([ms, []]);
    }
    const over = 3000 + timing.leaseMs;
    replica.renew(4000, over);
    replica.look({ table: seen, slots, ms: over, claims });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('13.6: lets go at once of what a newer table gives to another one', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.owned()).toEqual(['https://a']);
    replica.look({
      table: table(5000, { shards: [other] }),
      slots: [record(own, 4000), record(other)],
      ms: 2400,
    });
    expect(replica.owned()).toEqual([]);
  });

  it('13.6: keeps what it has under a newer table that leaves it there', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.look({ table: table(5000), slots: [record(own, 4000), record(other)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('13.6: forgets what it had when the lease has run out by its own clock, even if it is renewed later', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.renew(4000, 2200 + timing.validMs + 1);
    expect(replica.owned()).toEqual([]);
    expect([replica.tenure.acked(), replica.tenure.table()]).toEqual([0, undefined]);
  });

  it('13.6: has nothing left to take up under a table that gives all to others', () => {
    const replica = holder(table(4000, { shards: [other] }));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.tenure.isOpen()).toBe(false);
  });

  it('13.1: what it will get is not its own, nor open', () => {
    const seen = table(4000, { shards: [other] });
    const replica = holder(seen);
    replica.renew(4000, 2200);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 4000)], ms: 2300 });
    expect([...replica.tenure.announced().keys()]).toEqual(['https://a']);
    expect([replica.owned(), replica.tenure.isOpen()]).toEqual([[], false]);
  });

  it('13.6: keeps what it took up when who was waited for comes back under the same table', () => {
    const second = { names: ['b'], shards: [own], homes: [own], waits: [[{ slot: other, epoch: 4000 }]], everyone: 0 };
    const first = table(4000, { waits: [[{ slot: 2, epoch: 4000 }]] });
    const seen = { ...first, entries: new Map([...first.entries, ['https://b', second]]) };
    const replica = holder(seen);
    replica.renew(4000, 2200);
    replica.look({ table: seen, slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.owned()).toEqual(['https://a']);
    replica.look({ table: seen, slots: [record(own, 4000), record(other), record(2)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });
});

describe('13.6: the lease', () => {
  it('13.6: counts from the sending of the renewal, not from the answer, whatever becomes of the wall clock', () => {
    const tenure = new Tenure(timing);
    const sent = { monotonic: 1000, wall: 1000 };
    tenure.renewed(record(own), sent, { monotonic: 3000, wall: -100_000 }, false);
    expect(tenure.leaseLeft({ monotonic: 3000, wall: -100_000 })).toBe(timing.validMs - 2000);
  });

  it('13.6: ends a margin before others may take the slot', () => {
    const tenure = new Tenure(timing);
    tenure.renewed(record(own), at(1000), at(1000), false);
    expect(tenure.leaseLeft(at(1000 + timing.leaseMs - timing.marginMs - 1))).toBe(1);
    expect(tenure.leaseLeft(at(1000 + timing.leaseMs - timing.marginMs))).toBe(0);
  });

  it('13.6: leaves nothing behind when it has run out', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.tenure.lapse(at(2200 + timing.validMs));
    expect([replica.owned(), replica.tenure.table()]).toEqual([[], undefined]);
  });

  it('13.6: is over at once when the clocks by which it was measured cannot be trusted', () => {
    const replica = holder(table(4000));
    replica.tenure.distrust();
    expect(replica.tenure.leaseLeft(at(2300))).toBe(0);
  });

  it.each([1, 2, 5, 10, 60])(
    '13.6: leaves time for a webhook, and for a second renewal, at a heartbeat of %i s',
    (s) => {
      const { leaseMs, marginMs, validMs, renewMs } = timingOf(s * 1000);
      expect(marginMs).toBeGreaterThan(10_000);
      expect(validMs + marginMs).toBe(leaseMs);
      expect(2 * renewMs).toBeLessThan(validMs);
    },
  );

  it('13.6: is measured by a clock that is known to have stood still', () => {
    const clocks = { monotonic: 1000, boot: 50_000 };
    const detector = new SuspendDetector({ monotonic: () => clocks.monotonic, boot: () => clocks.boot });
    clocks.monotonic += 100;
    clocks.boot += 100;
    expect(detector.wasSuspended()).toBe(false);
    clocks.boot += 20_000;
    expect([detector.wasSuspended(), detector.wasSuspended()]).toEqual([true, false]);
  });
});

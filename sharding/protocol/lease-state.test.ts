import { describe, expect, it } from '@jest/globals';
import type { SlotClaims } from '../documents/claims.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import type { LocalInstant, HubObservation } from './member-types.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { SuspendDetector } from '../timing/suspend-detector.ts';
import { tableSum, unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument, TableEntry } from '../documents/table-document.ts';
import { LeaseState } from './lease-state.ts';
import { longestLeaseMs, timingOf } from '../timing/timing.ts';

/*
 * The rules for releasing and taking up parts, one at a time. They overlap, so random schedules of
 * the simulation rarely reveal that one is missing.
 */

const timing = timingOf(10_000);
const own = 1;
const other = 0;

function at(ms: number): LocalInstant {
  return { monotonic: ms, wall: ms };
}

function record(slot: number, acked = 0): SlotRecord {
  return { slot, holder: `ctl-${slot}`, incarnation: `p${slot}/0`, renewals: acked + 1, acked, heartbeat: 0 };
}

/** A table with one cluster of one part. */
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
  /** The last claims of slots, beside the table. */
  readonly claims?: SlotClaims;
}

/** The holder of slot 1, driven by the test. */
class Holder {
  readonly hub = new HubKnowledge(timing);
  readonly leaseState = new LeaseState(timing);
  #observation: HubObservation | undefined;

  /** Writes its record at `ms`. */
  renew(acked: number, ms: number): void {
    this.leaseState.renewed(record(own, acked), at(ms), at(ms), this.leaseState.lease() !== undefined);
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
    this.leaseState.adopt(this.#observation, this.hub);
    this.leaseState.releaseInTurn(this.hub, at(ms));
    this.leaseState.takeUp(this.hub);
  }

  owned(): readonly string[] {
    return [...this.leaseState.taken().keys()];
  }
}

/** A holder that has claimed its slot and obeys the table, but has taken nothing up. */
function holder(first: TableDocument): Holder {
  const replica = new Holder();
  replica.renew(0, 1000);
  replica.look({ table: first, slots: [record(own), record(other)], ms: 2000 });
  expect(replica.leaseState.table()).toBe(first);
  expect(replica.owned()).toEqual([]);
  return replica;
}

describe('obeying and taking up', () => {
  it('takes up what the table gives after acknowledging it, and not before', () => {
    const replica = holder(table(4000));
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 2100 });
    expect(replica.owned()).toEqual([]);
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('obeys no table that was read before its claim: it may have been replaced since', () => {
    const replica = new Holder();
    replica.renew(0, 1000);
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 999 });
    expect(replica.leaseState.table()).toBeUndefined();
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 1000 });
    expect(replica.leaseState.table()?.epoch).toBe(4000);
  });

  it('obeys no table that is older than an acknowledged one', () => {
    const replica = new Holder();
    replica.renew(0, 1000);
    replica.look({ table: table(4000), slots: [record(own), record(other, 5000)], ms: 2000 });
    expect(replica.leaseState.table()).toBeUndefined();
  });

  it('does not go back to a table older than its own, even if no holder has acknowledged that', () => {
    const replica = holder(table(5000));
    replica.look({ table: table(4000), slots: [record(own), record(other)], ms: 2100 });
    expect(replica.leaseState.table()?.epoch).toBe(5000);
  });

  it('takes up nothing while another holder obeys a newer table', () => {
    const replica = holder(table(4000, { waits: [[{ slot: other, epoch: 4000 }]] }));
    replica.renew(4000, 2200);
    // The other one released under 4000, and took up again under 5000.
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other, 5000)], ms: 2300 });
    expect(replica.owned()).toEqual([]);
  });

  it('takes up nothing while another holder obeys other content under the same epoch', () => {
    const edited = table(4000);
    const others = { ...record(other, 4000), sum: tableSum(table(4000, { shards: [other] })) };
    const replica = holder(edited);
    replica.renew(4000, 2200);
    replica.look({ table: edited, slots: [record(own, 4000), others], ms: 2300 });
    expect(replica.owned()).toEqual([]);
    replica.look({ table: edited, slots: [record(own, 4000), { ...others, sum: tableSum(table(4000)) }], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('takes up beside other content of a holder that is gone', () => {
    const edited = table(4000);
    const gone = { ...record(other, 4000), sum: tableSum(table(4000, { shards: [other] })) };
    const replica = holder(edited);
    let ms = 2000;
    for (; ms < 5000 + longestLeaseMs; ms += 1000) {
      replica.renew(4000, ms);
      replica.look({ table: edited, slots: [record(own, 4000), gone], ms: ms + 1 });
      if (ms < longestLeaseMs) expect(replica.owned()).toEqual([]);
    }
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('waits for a named holder until that has acknowledged the table', () => {
    const replica = holder(table(4000, { waits: [[{ slot: other, epoch: 4000 }]] }));
    replica.renew(4000, 2200);
    const seen = table(4000);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 3000)], ms: 2300 });
    expect(replica.owned()).toEqual([]);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('waits for everyone where the table requires it', () => {
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
  ])('waits %s for a writer that a restored mapping hides', (_how, entry) => {
    // Slot 2 was claimed, is disconnected, and owned the cluster until today's table, which was
    // made without knowing it.
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

  it('releases at once what a newer table gives to another holder', () => {
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

  describe('a part whose next owner waits for us', () => {
    const moved = table(5000, { shards: [other], waits: [[{ slot: own, epoch: 5000 }]] });

    function owner(): Holder {
      const replica = holder(table(4000));
      replica.renew(4000, 2200);
      replica.look({ table: table(4000), slots: [record(own, 4000), record(other, 4000)], ms: 2300 });
      expect(replica.owned()).toEqual(['https://a']);
      return replica;
    }

    it('is kept until the next owner has acknowledged the table', () => {
      const replica = owner();
      replica.look({ table: moved, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
      expect([replica.owned(), replica.leaseState.isReleasing()]).toEqual([['https://a'], true]);
      replica.look({ table: moved, slots: [record(own, 4000), record(other, 5000)], ms: 2500 });
      expect([replica.owned(), replica.leaseState.isReleasing()]).toEqual([[], false]);
    });

    it('is kept for a heartbeat at most', () => {
      const replica = owner();
      const slots = [record(own, 4000), record(other, 4000)];
      replica.look({ table: moved, slots, ms: 2400 });
      // A newer table does not extend the time.
      const again = { ...moved, epoch: 6000 };
      replica.look({ table: again, slots, ms: 2400 + timing.releaseMs - 1 });
      expect(replica.owned()).toEqual(['https://a']);
      replica.look({ table: again, slots, ms: 2400 + timing.releaseMs });
      expect([replica.owned(), replica.leaseState.isReleasing()]).toEqual([[], false]);
    });

    it('is released at once when its next owner does not wait, whatever else is kept', () => {
      const entry = { names: ['b'], shards: [own], homes: [own], waits: [[]], everyone: 0 };
      const both = (first: TableDocument, second: TableEntry): TableDocument => ({
        ...first,
        entries: new Map([...first.entries, ['https://b', second]]),
      });
      const replica = holder(both(table(4000), entry));
      replica.renew(4000, 2200);
      const slots = [record(own, 4000), record(other, 4000)];
      replica.look({ table: both(table(4000), entry), slots, ms: 2300 });
      expect(replica.owned()).toEqual(['https://a', 'https://b']);
      const earlier = [[{ slot: own, epoch: 4000 }]];
      replica.look({ table: both(moved, { ...entry, shards: [other], waits: earlier }), slots, ms: 2400 });
      expect(replica.owned()).toEqual(['https://a']);
    });

    it('is released at once when others may write for its Applications under earlier names', () => {
      const withUnresolved = (first: TableDocument, entry: Partial<TableEntry>): TableDocument => {
        const whole = { names: [], shards: [own], homes: [own], waits: [[]], everyone: 0, ...entry };
        return { ...first, entries: new Map([...first.entries, [unresolvedDestination, whole]]) };
      };
      const before = withUnresolved(table(4000), {});
      const replica = holder(before);
      replica.renew(4000, 2200);
      const slots = [record(own, 4000), record(other, 4000)];
      replica.look({ table: before, slots, ms: 2300 });
      expect(replica.owned()).toEqual(['https://a', unresolvedDestination]);
      const given = { shards: [other], waits: [[{ slot: own, epoch: 5000 }]] };
      replica.look({ table: withUnresolved(moved, { ...given, everyone: 5000 }), slots, ms: 2400 });
      expect(replica.owned()).toEqual(['https://a']);
    });

    it('keeps nothing that others get when the slots do not show its claim', () => {
      const replica = owner();
      const rival = { ...record(own, 4000), incarnation: 'rival/0' };
      replica.look({ table: moved, slots: [rival, record(other, 4000)], ms: 2400 });
      expect(replica.owned()).toEqual([]);
      const unshown = owner();
      unshown.look({ table: moved, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
      unshown.look({ table: moved, slots: [record(other, 4000)], ms: 2450 });
      expect(unshown.owned()).toEqual([]);
    });

    it('is kept again when a newer table gives it back', () => {
      const replica = owner();
      const slots = [record(own, 4000), record(other, 4000)];
      replica.look({ table: moved, slots, ms: 2400 });
      replica.look({ table: table(6000), slots, ms: 2500 });
      expect([replica.owned(), replica.leaseState.isReleasing()]).toEqual([['https://a'], false]);
    });

    it('is released with the slot', () => {
      const replica = owner();
      replica.look({ table: moved, slots: [record(own, 4000), record(other, 4000)], ms: 2400 });
      expect(replica.leaseState.releaseParts()).toBe(true);
      expect([replica.owned(), replica.leaseState.isReleasing()]).toEqual([[], false]);
    });
  });

  it('keeps what a newer table leaves to it', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.look({ table: table(5000), slots: [record(own, 4000), record(other)], ms: 2400 });
    expect(replica.owned()).toEqual(['https://a']);
  });

  it('forgets its parts when the lease has run out by its own clock, even if it is renewed later', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.renew(4000, 2200 + timing.validMs + 1);
    expect(replica.owned()).toEqual([]);
    expect([replica.leaseState.acked(), replica.leaseState.table()]).toEqual([0, undefined]);
  });

  it('has nothing left to take up under a table that gives everything to others', () => {
    const replica = holder(table(4000, { shards: [other] }));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    expect(replica.leaseState.isOpen()).toBe(false);
  });

  it('neither owns nor waits for announced parts', () => {
    const seen = table(4000, { shards: [other] });
    const replica = holder(seen);
    replica.renew(4000, 2200);
    replica.look({ table: seen, slots: [record(own, 4000), record(other, 4000)], ms: 2300 });
    expect([...replica.leaseState.announced().keys()]).toEqual(['https://a']);
    expect([replica.owned(), replica.leaseState.isOpen()]).toEqual([[], false]);
  });

  it('keeps what it took up when a holder it waited for returns under the same table', () => {
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

describe('the lease', () => {
  it('counts from the sending of the renewal, not from the response, whatever the wall clock does', () => {
    const leaseState = new LeaseState(timing);
    const sent = { monotonic: 1000, wall: 1000 };
    leaseState.renewed(record(own), sent, { monotonic: 3000, wall: -100_000 }, false);
    expect(leaseState.leaseLeft({ monotonic: 3000, wall: -100_000 })).toBe(timing.validMs - 2000);
  });

  it('ends a margin before others may take the slot', () => {
    const leaseState = new LeaseState(timing);
    leaseState.renewed(record(own), at(1000), at(1000), false);
    expect(leaseState.leaseLeft(at(1000 + timing.leaseMs - timing.marginMs - 1))).toBe(1);
    expect(leaseState.leaseLeft(at(1000 + timing.leaseMs - timing.marginMs))).toBe(0);
  });

  it('ends when the wall clock says so, too: the monotonic clock may have stood still', () => {
    const leaseState = new LeaseState(timing);
    leaseState.renewed(record(own), at(1000), at(1000), false);
    expect(leaseState.leaseLeft({ monotonic: 1500, wall: 1000 + timing.validMs })).toBe(0);
  });

  it('leaves a busy machine three seconds for a renewal, at any heartbeat', () => {
    const { validMs, renewMs } = timingOf(1000);
    expect(validMs - renewMs).toBeGreaterThanOrEqual(3000);
  });

  it('leaves nothing behind when it has run out', () => {
    const replica = holder(table(4000));
    replica.renew(4000, 2200);
    replica.look({ table: table(4000), slots: [record(own, 4000), record(other)], ms: 2300 });
    replica.leaseState.dropLapsedLease(at(2200 + timing.validMs));
    expect([replica.owned(), replica.leaseState.table()]).toEqual([[], undefined]);
  });

  it('is over at once when its clocks cannot be trusted', () => {
    const replica = holder(table(4000));
    replica.leaseState.expireLease();
    expect(replica.leaseState.leaseLeft(at(2300))).toBe(0);
  });

  it.each([1, 2, 5, 10, 60])('leaves time for a webhook and a second renewal at a heartbeat of %i s', (s) => {
    const { leaseMs, marginMs, validMs, renewMs } = timingOf(s * 1000);
    expect(marginMs).toBeGreaterThan(10_000);
    expect(validMs + marginMs).toBe(leaseMs);
    expect(2 * renewMs).toBeLessThan(validMs);
  });

  it('is measured by a clock that is known to have stood still', () => {
    const clocks = { monotonic: 1000, boot: 50_000 };
    const detector = new SuspendDetector({ monotonic: () => clocks.monotonic, boot: () => clocks.boot });
    clocks.monotonic += 100;
    clocks.boot += 100;
    expect(detector.wasSuspended()).toBe(false);
    clocks.boot += 20_000;
    expect([detector.wasSuspended(), detector.wasSuspended()]).toEqual([true, false]);
  });
});

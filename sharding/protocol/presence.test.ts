import { describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { isProvablyGone } from '../documents/process-location.ts';
import type { ProcessLocation } from '../documents/process-location.ts';
import type { SlotClaims } from '../documents/claims.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import { HolderPresence } from './presence.ts';
import { UnseenClaims } from './unseen-claims.ts';
import { formatSlots, parseSlots, slotsKey, unknownHolder } from '../documents/slots-document.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { longestLeaseMs, protocolVersion, timingOf } from '../timing/timing.ts';

/* Conclusions that a replica may draw from the records of others, one rule at a time. */

const timing = timingOf(10_000);
const { leaseMs } = timing;

function record(changes: Partial<SlotRecord> = {}): SlotRecord {
  return { slot: 0, holder: 'ctl-0', incarnation: 'p0/0', renewals: 1, acked: 0, heartbeat: 0, leaseMs, ...changes };
}

function look(presence: HolderPresence, holder: SlotRecord, ms: number): boolean {
  const slots = new Map([[holder.slot, holder]]);
  presence.observe({ slots, sentAt: ms, answeredAt: ms, replicas: 2, epoch: 0 });
  return presence.isExpired(holder.slot);
}

/**
 * Looks every second from the first sight of the record: how long until its holder counts as gone.
 */
function silenceOf(holder: SlotRecord, limitMs: number): number | undefined {
  const presence = new HolderPresence(timing);
  for (let ms = 0; ms <= limitMs; ms += 1000) if (look(presence, holder, ms)) return ms;
  return undefined;
}

describe('a holder is ready to take over a part', () => {
  it('not when its lease has ended, nor when its slot is free, although it is not absent yet', () => {
    const presence = new HolderPresence(timing);
    look(presence, record({ warm: 0 }), 0);
    expect(presence.isReady(0, true, 0)).toBe(true);
    for (let ms = 1000; ms <= leaseMs + 1000; ms += 1000) look(presence, record({ warm: 0 }), ms);
    expect(presence.isReady(0, true, leaseMs + 1000)).toBe(false);
    presence.observe({ slots: new Map(), sentAt: leaseMs, answeredAt: leaseMs, replicas: 2, epoch: 0 });
    expect(presence.isReady(0, true, leaseMs)).toBe(false);
  });
});

describe('a holder is gone', () => {
  it('after a lease of silence', () => {
    expect(silenceOf(record(), 2 * leaseMs)).toBe(leaseMs + 1000);
  });

  it("after the lease in its record, if that is longer than the observer's", () => {
    expect(silenceOf(record({ leaseMs: 90_000 }), 100_000)).toBe(91_000);
  });

  it('after the longest lease, if an older release wrote its record without one', () => {
    expect(silenceOf(omit(record(), 'leaseMs'), 2 * longestLeaseMs)).toBe(longestLeaseMs + 1000);
  });

  it('not while it renews', () => {
    const presence = new HolderPresence(timing);
    for (let ms = 0; ms <= 3 * leaseMs; ms += 1000)
      expect(look(presence, record({ renewals: 1 + Math.floor(ms / 6000) }), ms)).toBe(false);
  });

  it('not because the observer could not look for a lease', () => {
    const presence = new HolderPresence(timing);
    look(presence, record(), 0);
    expect(look(presence, record(), 3 * leaseMs)).toBe(false);
  });

  it('and is not waited for any more; a live one is, until it has acknowledged this very table', () => {
    const hub = new HubKnowledge(timing);
    const settled = (acked: number, ms: number): boolean => {
      const slots = { state: 'ok', value: new Map([[0, record({ acked, renewals: 1 + acked })]]) } as const;
      hub.observe(
        { table: { state: 'missing' }, claims: new Map(), slots, since: ms, slotsSince: ms, until: ms, isNew: false },
        { monotonic: ms, wall: ms },
      );
      return hub.settled({ slot: 0, epoch: 5000 });
    };
    expect([settled(0, 0), settled(4000, 1000), settled(5000, 2000)]).toEqual([false, false, true]);
    const silent: boolean[] = [];
    for (let ms = 3000; ms <= 4000 + leaseMs; ms += 1000) silent.push(settled(4000, ms));
    expect([silent[0], silent.at(-1)]).toEqual([false, true]);
  });

  it('after its lease, when a restored mapping hides that it holds a slot', () => {
    const hub = new HubKnowledge(timing);
    const claim = { incarnation: 'p2/0', leaseMs: 2 * leaseMs };
    const settled = (ms: number, shows: boolean, claims: SlotClaims = new Map([[2, claim]])): boolean => {
      const two = record({ slot: 2, incarnation: 'p2/0', acked: 4000, renewals: ms });
      const slots = { state: 'ok', value: new Map(shows ? [[2, two]] : []) } as const;
      hub.observe(
        { table: { state: 'missing' }, claims, slots, since: ms, slotsSince: ms, until: ms, isNew: false },
        { monotonic: ms, wall: ms },
      );
      return hub.settled({ slot: 2, epoch: 5000 });
    };
    expect(settled(0, true)).toBe(false);
    const hidden: boolean[] = [];
    for (let ms = 1000; ms <= 1000 + 2 * leaseMs; ms += 1000) hidden.push(settled(ms, false));
    expect(new Set(hidden)).toEqual(new Set([false]));
    expect(hub.hidden()).toEqual([2]);
    expect(settled(2000 + 2 * leaseMs, false)).toBe(true);
    expect(hub.hidden()).toEqual([]);
    // Released in order: first from the register, then from the slots. No wait is needed.
    const after = 3000 + 2 * leaseMs;
    expect(settled(after, true)).toBe(false);
    expect([settled(after + 100, true, new Map()), settled(after + 200, false, new Map())]).toEqual([false, true]);
  });

  it.each<[string, ProcessLocation | undefined, boolean]>([
    ['of the same place and number', { place: 'pod/1', pid: 7, isRunning: () => true }, true],
    ['of the same place, whose number nobody has', { place: 'pod/1', pid: 9, isRunning: () => false }, true],
    ['of the same place that runs', { place: 'pod/1', pid: 9, isRunning: ({ pid }) => pid === 7 }, false],
    ['of another place', { place: 'pod/2', pid: 7, isRunning: () => false }, false],
    ['of who does not know its place', undefined, false],
  ])('at once only when its process was one %s', (_which, own, gone) => {
    expect(isProvablyGone(record({ home: { place: 'pod/1', pid: 7 } }), own)).toBe(gone);
  });
});

describe('the table is planned by', () => {
  const live = (slot: number, changes: Partial<SlotRecord> = {}): SlotRecord =>
    record({ slot, holder: `ctl-${slot}`, incarnation: `p${slot}/0`, ...changes });

  /** Reports whether the holder of `own` plans beside `others`, who were silent for `silentMs`. */
  function plans(own: number, others: readonly SlotRecord[], silentMs = 0): boolean {
    const hub = new HubKnowledge(timing);
    for (const ms of [0, silentMs]) {
      const slots = { state: 'ok', value: new Map(others.map((each) => [each.slot, each])) } as const;
      hub.observe(
        { table: { state: 'missing' }, claims: new Map(), slots, since: ms, slotsSince: ms, until: ms, isNew: false },
        { monotonic: ms, wall: ms },
      );
    }
    return hub.isPlanner(own, { monotonic: silentMs, wall: silentMs });
  }

  it('the holder of the lowest slot', () => {
    expect([plans(0, [live(1)]), plans(1, [live(0)])]).toEqual([true, false]);
  });

  it('a holder with a newer protocol first, since it knows all fields', () => {
    expect(plans(0, [live(1, { version: protocolVersion + 1 })])).toBe(false);
    expect(plans(1, [live(0, { version: protocolVersion - 1 })])).toBe(true);
  });

  it('the next holder, when the lowest was silent for half a lease', () => {
    expect([plans(1, [live(0)], leaseMs / 2), plans(1, [live(0)], leaseMs / 2 + 1)]).toEqual([false, true]);
  });

  it('no unknown holder and no replica of Argo CD', () => {
    expect(plans(1, [live(0, { holder: unknownHolder })])).toBe(true);
    expect(plans(1, [live(0, { incarnation: 'argocd/ctl-0' })])).toBe(true);
  });
});

describe('an unknown holder', () => {
  it('is not live, so its slot counts as idle, and others stand in for it after its lease', () => {
    const presence = new HolderPresence(timing);
    look(presence, record({ holder: unknownHolder }), 0);
    expect([presence.isLive(0), presence.live(), [...presence.idle().keys()]]).toEqual([false, [], [0, 1]]);
  });
});

describe('a slot without a holder', () => {
  function seen(presence: HolderPresence, holders: readonly SlotRecord[], ms: number): void {
    const slots = new Map(holders.map((holder) => [holder.slot, holder]));
    presence.observe({ slots, sentAt: ms, answeredAt: ms, replicas: 2, epoch: 0 });
  }

  it('is absent after a lease, because its replica may be starting', () => {
    const presence = new HolderPresence(timing);
    seen(presence, [record()], 1000);
    expect([...presence.absent(999 + leaseMs)]).toEqual([]);
    expect(presence.absences(1000)).toEqual([1000 + leaseMs]);
    expect([...presence.absent(1000 + leaseMs)]).toEqual([1]);
  });

  it('is absent a moment after its holder is known to have died', () => {
    const presence = new HolderPresence(timing);
    const dead = record({ slot: 1 });
    let diedAt = 0;
    for (; !presence.isExpired(1); diedAt += 1000) seen(presence, [record({ renewals: diedAt }), dead], diedAt);
    diedAt -= 1000;
    seen(presence, [record()], diedAt + 1);
    expect([...presence.absent(diedAt + timing.standInMs - 1)]).toEqual([]);
    expect([...presence.absent(diedAt + timing.standInMs)]).toEqual([1]);
  });
});

describe('a claim that only the register shows', () => {
  const claims: SlotClaims = new Map([[2, { incarnation: 'p2/0', leaseMs }]]);

  function unseen(times: readonly number[], holders: readonly SlotRecord[] = []): number | undefined {
    const found = new UnseenClaims(timing);
    for (const ms of times)
      found.observe({
        table: { state: 'missing' },
        claims,
        slots: { state: 'ok', value: new Map(holders.map((holder) => [holder.slot, holder])) },
        since: ms,
        slotsSince: ms,
        until: ms,
        isNew: false,
      });
    return found.of(2)?.until;
  }

  it('counts from when it was seen first, or anew after this replica could not look', () => {
    expect(unseen([0, timing.validMs])).toBe(leaseMs);
    // It may have been in the slots, and renewed there, meanwhile.
    expect(unseen([0, timing.validMs + 1])).toBe(timing.validMs + 1 + leaseMs);
  });

  it('needs no wait when its holder has another slot: the register was edited by hand', () => {
    expect(unseen([0], [record({ incarnation: 'p2/0' })])).toBeUndefined();
    expect(unseen([0], [record({ incarnation: 'p3/0' })])).toBe(leaseMs);
  });
});

it("not when its name was removed from Argo CD's key only", () => {
  const data = formatSlots(new Map([[0, record()]]), 1);
  const found = parseSlots({ ...data, [slotsKey]: '[]' });
  expect(found.state === 'ok' && found.value.get(0)?.holder).toBe('ctl-0');
});

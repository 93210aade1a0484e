import { describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { isGone } from './home.ts';
import type { Home } from './home.ts';
import type { Claims } from './claims.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import { Presence } from './presence.ts';
import { formatSlots, parseSlots, slotsKey } from './slots-document.ts';
import type { SlotRecord } from './slots-document.ts';
import { longestLeaseMs, timingOf } from './timing.ts';

/* What one replica may conclude from others' records, one rule at a time. */

const timing = timingOf(10_000);
const { leaseMs } = timing;

function record(changes: Partial<SlotRecord> = {}): SlotRecord {
  return { slot: 0, holder: 'ctl-0', incarnation: 'p0/0', renewals: 1, acked: 0, heartbeat: 0, leaseMs, ...changes };
}

function look(presence: Presence, holder: SlotRecord, ms: number): boolean {
  const slots = new Map([[holder.slot, holder]]);
  presence.observe({ slots, sentAt: ms, answeredAt: ms, replicas: 2, epoch: 0 });
  return presence.isExpired(holder.slot);
}

/** Looks every second from the first of the record on: how long until its holder counts as gone. */
function silenceOf(holder: SlotRecord, limitMs: number): number | undefined {
  const presence = new Presence(timing);
  for (let ms = 0; ms <= limitMs; ms += 1000) if (look(presence, holder, ms)) return ms;
  return undefined;
}

describe('13.6: a holder is gone', () => {
  it('13.6: after its whole lease without a sign of life', () => {
    expect(silenceOf(record(), 2 * leaseMs)).toBe(leaseMs + 1000);
  });

  it('13.6: after the lease that stands in its record, when that is longer than that of who waits', () => {
    expect(silenceOf(record({ leaseMs: 90_000 }), 100_000)).toBe(91_000);
  });

  it('13.6: after the longest lease, when an older release wrote its record without one', () => {
    expect(silenceOf(omit(record(), 'leaseMs'), 2 * longestLeaseMs)).toBe(longestLeaseMs + 1000);
  });

  it('13.6: not while it renews', () => {
    const presence = new Presence(timing);
    for (let ms = 0; ms <= 3 * leaseMs; ms += 1000)
      expect(look(presence, record({ renewals: 1 + Math.floor(ms / 6000) }), ms)).toBe(false);
  });

  it('13.6: not because nobody could look for a lease', () => {
    const presence = new Presence(timing);
    look(presence, record(), 0);
    expect(look(presence, record(), 3 * leaseMs)).toBe(false);
  });

  it('13.6: and is not waited for any more; one that lives is, until it has acknowledged this very table', () => {
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

  it('14.4: who holds a slot that a mapping which was set back does not show is waited for, for its lease', () => {
    const hub = new HubKnowledge(timing);
    const claim = { incarnation: 'p2/0', leaseMs: 2 * leaseMs };
    const settled = (ms: number, shows: boolean, claims: Claims = new Map([[2, claim]])): boolean => {
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
    // Given back in order: first out of the register, then free. Nobody is waited for.
    const after = 3000 + 2 * leaseMs;
    expect(settled(after, true)).toBe(false);
    expect([settled(after + 100, true, new Map()), settled(after + 200, false, new Map())]).toEqual([false, true]);
  });

  it.each<[string, Home | undefined, boolean]>([
    ['of the same place and number', { place: 'pod/1', pid: 7, isRunning: () => true }, true],
    ['of the same place, whose number nobody has', { place: 'pod/1', pid: 9, isRunning: () => false }, true],
    ['of the same place that runs', { place: 'pod/1', pid: 9, isRunning: (pid) => pid === 7 }, false],
    ['of another place', { place: 'pod/2', pid: 7, isRunning: () => false }, false],
    ['of who does not know its place', undefined, false],
  ])('13.6: at once only when its process was one %s', (_which, own, gone) => {
    expect(isGone(record({ home: { place: 'pod/1', pid: 7 } }), own)).toBe(gone);
  });
});

it("13.6: a holder whose name was taken out of Argo CD's key alone still holds its slot", () => {
  const data = formatSlots(new Map([[0, record()]]), 1);
  const found = parseSlots({ ...data, [slotsKey]: '[]' });
  expect(found.state === 'ok' && found.value.get(0)?.holder).toBe('ctl-0');
});

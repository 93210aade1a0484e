import { describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { anyServer, formatSlots, membersKey, parseSlots, slotsKey } from '../documents/slots-document.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { longestLeaseMs } from '../timing/timing.ts';
import { LandingTracker } from './landing-tracker.ts';

function record(changes: Partial<SlotRecord> = {}): SlotRecord {
  const landing = new Map([['https://a', 10_000]]);
  const rest = { renewals: 1, acked: 5000, heartbeat: 0, released: true, landing } as const;
  return { slot: 0, holder: 'ctl-0', incarnation: 'p0/0', ...rest, ...changes };
}

function slotsOf(...records: readonly SlotRecord[]): ReadonlyMap<number, SlotRecord> {
  return new Map(records.map((each) => [each.slot, each]));
}

describe('a write without an answer may land', () => {
  it('for as long as the record says, from when it was seen first', () => {
    const tracker = new LandingTracker();
    for (const now of [1000, 6000, 10_999]) {
      tracker.observe(slotsOf(record()), now);
      expect([tracker.isLanding('https://a', 5000), tracker.isLanding('https://b', 5000)]).toEqual([true, false]);
    }
    expect(tracker.remaining(0, 9000)).toEqual(new Map([['https://a', 2000]]));
    tracker.observe(slotsOf(record()), 11_000);
    expect(tracker.isLanding('https://a', 5000)).toBe(false);
    expect(tracker.remaining(0, 11_000).size).toBe(0);
  });

  it('to any server, for a holder that had not acknowledged the names', () => {
    const tracker = new LandingTracker();
    tracker.observe(slotsOf(record()), 1000);
    expect(tracker.isLanding('https://b', 5001)).toBe(true);
  });

  it('to any server that the record does not name', () => {
    const tracker = new LandingTracker();
    tracker.observe(slotsOf(record({ landing: new Map([[anyServer, 10_000]]) })), 1000);
    expect(tracker.isLanding('https://b', 0)).toBe(true);
  });

  it('no longer than the first record of a claim said, and anew when that claim is released', () => {
    const tracker = new LandingTracker();
    const held = omit(record(), 'released');
    tracker.observe(slotsOf(held), 0);
    tracker.observe(slotsOf({ ...held, renewals: 2 }), 5000);
    expect(tracker.ends(5000)).toEqual([10_000]);
    tracker.observe(slotsOf(record({ renewals: 3 })), 6000);
    expect(tracker.ends(6000)).toEqual([16_000]);
  });

  it('still after its record was lost, and not after a newer record without it', () => {
    const tracker = new LandingTracker();
    tracker.observe(slotsOf(record()), 1000);
    tracker.observe(slotsOf(), 2000);
    expect(tracker.isLanding('https://a', 0)).toBe(true);
    const next = omit(record({ incarnation: 'p1/0' }), 'landing');
    tracker.observe(slotsOf(next), 3000);
    expect(tracker.isLanding('https://a', 0)).toBe(false);
  });
});

describe('the record of a released slot', () => {
  it('is free for Argo CD, and read back unchanged', () => {
    const data = formatSlots(slotsOf(record()), 1);
    expect(JSON.parse(data[slotsKey] ?? '')).toEqual([{ ShardNumber: 0, ControllerName: '', HeartbeatTime: null }]);
    expect(parseSlots(data)).toEqual({ state: 'ok', value: slotsOf(record()) });
  });

  it.each([
    ['no object', '7', { [anyServer]: longestLeaseMs }],
    ['an absurd time', '{"https://a":1e12}', { 'https://a': longestLeaseMs }],
    ['no time', '{"https://a":"soon"}', { 'https://a': longestLeaseMs }],
  ])('waits the longest lease if its times are %s', (_what, text, expected) => {
    const data = formatSlots(slotsOf(record()), 1);
    const members = (data[membersKey] ?? '').replace('{"https://a":10000}', text);
    const found = parseSlots({ ...data, [membersKey]: members });
    const landing = found.state === 'ok' ? found.value.get(0)?.landing : undefined;
    expect(Object.fromEntries(landing ?? [])).toEqual(expected);
  });
});

import { expect, it } from '@jest/globals';
import type { SlotRecord } from '../documents/slots-document.ts';
import { BackupWatch } from './backup-watch.ts';

const leaseMs = 30_000;

function record(slot: number, changes: Partial<SlotRecord> = {}): SlotRecord {
  const rest = { holder: `ctl-${slot}`, incarnation: `p${slot}/0`, renewals: 5, acked: 0, heartbeat: 100_000 };
  return { slot, ...rest, ...changes };
}

/** Observes one list of holders after the other, from 200 s on; since when they may be a backup. */
function since(...looks: readonly (readonly SlotRecord[])[]): number | undefined {
  const watch = new BackupWatch();
  looks.forEach((records, i) => {
    const now = 200_000 + 1000 * i;
    watch.observe(new Map(records.map((each) => [each.slot, each])), leaseMs, { monotonic: now, wall: now });
  });
  return watch.since();
}

const old = [record(0), record(1)];
const recent = [record(0), record(1, { heartbeat: 180_000 })];

it.each<[string, number | undefined, readonly (readonly SlotRecord[])[]]>([
  ['all records are old', 200_000, [old, old]],
  ['one record is recent', undefined, [recent, recent]],
  ['there is no holder', undefined, [[], []]],
  ['the holder of an old record renews', undefined, [old, [record(0, { renewals: 6 }), record(1)]]],
  ['another replica claims a slot beside old records', 200_000, [old, [...old, record(2)]]],
  ['another replica claims the slot of an old record', 200_000, [old, [record(0, { incarnation: 'p9/0' }), record(1)]]],
  ['a record went back', 201_000, [recent, [record(0, { renewals: 4 }), record(1)]]],
  ['a record went back, and its holder renews', 201_000, [recent, [record(0, { renewals: 4 })], [record(0)]]],
])('the slots may be a backup when %s: since %p', (_sign, expected, looks) => {
  expect(since(...looks)).toBe(expected);
});

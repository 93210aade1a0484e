import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { omit } from '#base';
import { epochAfterLoss, hasReached, isEpoch, isNewerEpoch, newestEpoch, nextEpoch } from './bounds.ts';
import { membersKey, parseSlots, slotsKey } from './slots-document.ts';
import { formatTable, parseTable, tableKey } from './table-document.ts';
import type { TableDocument } from './table-document.ts';

const epoch = fc.oneof(fc.integer({ min: 1, max: 1e15 - 1 }), fc.constantFrom(1, 999, 1000, 4e14, 6e14, 1e15 - 1));
const nonce = fc.integer({ min: 0, max: 999 });

// T-SHARD-1
describe('epochs', () => {
  it('of any value have a newer, readable successor, which the holder of the old one has not reached', () => {
    fc.assert(
      fc.property(epoch, nonce, (known, random) => {
        for (const next of [nextEpoch(known, random), epochAfterLoss(known, random)]) {
          expect(isEpoch(next)).toBe(true);
          expect(isNewerEpoch(next, known)).toBe(true);
          expect(isNewerEpoch(known, next)).toBe(false);
          expect(hasReached(known, next)).toBe(false);
          expect(hasReached(next, known)).toBe(true);
        }
      }),
    );
  });

  it('are never newer than each other, and 0 is older than all', () => {
    fc.assert(
      fc.property(epoch, epoch, (a, b) => {
        expect(isNewerEpoch(a, b) && isNewerEpoch(b, a)).toBe(false);
        expect(isNewerEpoch(a, 0) && !isNewerEpoch(0, a) && !isNewerEpoch(a, a)).toBe(true);
      }),
    );
  });

  it('of different age have a newest one, and none is 0', () => {
    expect(newestEpoch()).toBe(0);
    expect(newestEpoch(0, 2000, 1000)).toBe(2000);
    expect(newestEpoch(999_999_999_999_999, 1000)).toBe(1000);
  });

  it('beyond reach of each other are neither newer nor reached', () => {
    expect([isNewerEpoch(5e14, 1), isNewerEpoch(1, 5e14), hasReached(5e14, 1), hasReached(1, 5e14)]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

const table: TableDocument = {
  epoch: 5000,
  replicas: 2,
  algorithm: 'legacy',
  slots: 2,
  leaseMs: 30_000,
  entries: new Map([
    ['https://a', { names: ['a'], shards: [1], homes: [1], waits: [[{ slot: 0, epoch: 4000 }]], everyone: 0 }],
  ]),
  movedAt: new Map(),
};
const json = formatTable(table).data[tableKey] ?? '';
const edited = (change: (content: Record<string, unknown>) => object): ReturnType<typeof parseTable> => {
  const content = omit(JSON.parse(json) as Record<string, unknown>, 'sum');
  return parseTable({ data: { [tableKey]: JSON.stringify(change(content)) } });
};

describe('a table', () => {
  it('is read back as it was written, also without the checksum that older releases lack', () => {
    expect(parseTable({ data: { [tableKey]: json } })).toEqual({ state: 'ok', value: table });
    expect(edited((content) => content)).toEqual({ state: 'ok', value: table });
  });

  it('that was edited by hand is unreadable, because its epoch still names the table before', () => {
    const found = parseTable({ data: { [tableKey]: json.replace('"shards":[1]', '"shards":[0]') } });
    expect(found).toMatchObject({ state: 'broken', why: expect.stringContaining('checksum') as unknown });
  });

  it.each([
    ['an epoch beyond its bound', { epoch: 9_007_199_254_740_991 }],
    ['too many replicas', { replicas: 100_000_000 }],
    ['too many slots', { slots: 100_000_000 }],
    ['a shard beyond the bound', { clusters: { 'https://a': { names: [], shards: [2000] } } }],
    ['a home beyond the bound', { clusters: { 'https://a': { names: [], shards: [1], homes: [1e9] } } }],
    ['a wait for a newer epoch', { clusters: { 'https://a': { names: [], shards: [1], waits: [[[0, 6000]]] } } }],
    [
      'an epoch for all that is out of reach',
      { clusters: { 'https://a': { names: [], shards: [1], everyone: 6e14 } } },
    ],
    ['an epoch for all that is newer', { clusters: { 'https://a': { names: [], shards: [1], everyone: 6000 } } }],
  ])('with %s is unreadable', (_what, change) => {
    expect(edited((content) => ({ ...content, ...change }))).toMatchObject({ state: 'broken' });
  });

  it('with a lease beyond the bound counts as one of a release that recorded none', () => {
    const found = edited((content) => ({ ...content, leaseMs: 1e12 }));
    expect(found).toMatchObject({ state: 'ok' });
    expect(found.state === 'ok' && 'leaseMs' in found.value).toBe(false);
  });
});

describe('the record of a holder', () => {
  const read = (change: object): unknown => {
    const member = { slot: 0, holder: 'ctl-0', incarnation: 'p/0', renewals: 7, acked: 5000, ...change };
    const list = [{ ShardNumber: 0, ControllerName: 'ctl-0', HeartbeatTime: null }];
    const found = parseSlots({ [slotsKey]: JSON.stringify(list), [membersKey]: JSON.stringify([member]) });
    return found.state === 'ok' ? found.value.get(0) : found;
  };

  it.each([[2 ** 53 - 1], [1e15], [-1], [1.5], ['5000'], [null]])(
    'that acknowledged %p has acknowledged nothing, and stays ours',
    (acked) => {
      expect(read({ acked })).toMatchObject({ incarnation: 'p/0', acked: 0 });
    },
  );

  it('has no rates and no prepared epoch beyond their bounds', () => {
    const found = read({ load: { a: 1e300, b: 3 }, warm: 1e300 });
    expect(found).toMatchObject({ load: new Map([['b', 3]]) });
    expect(found).not.toHaveProperty('warm');
  });
});

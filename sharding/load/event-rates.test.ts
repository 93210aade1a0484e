import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventRateBook } from './event-rates.ts';
import { formatSlots, membersKey, parseSlots } from '../documents/slots-document.ts';
import type { SlotRecord, SlotHolders } from '../documents/slots-document.ts';

const minute = 60_000;

/** Slots with one holder that reports these rates. */
function reports(load: Readonly<Record<string, number>>, slot = 0): SlotHolders {
  const record: SlotRecord = {
    slot,
    holder: `ctl-${slot}`,
    incarnation: `p${slot}/0`,
    renewals: 1,
    acked: 0,
    heartbeat: 1000,
    load: new Map(Object.entries(load)),
  };
  return new Map([[slot, record]]);
}

function measured(book: EventRateBook, ...totals: readonly Readonly<Record<string, number>>[]): object {
  totals.forEach((each, i) => book.measure(new Map(Object.entries(each)), i * 5 * minute));
  return Object.fromEntries(book.own());
}

describe('EventRateBook', () => {
  it('has no rate at the first count, and the rate since then at the second', () => {
    expect(measured(new EventRateBook(), { 'https://a/': 5000 })).toEqual({});
    expect(measured(new EventRateBook(), { 'https://a/': 5000 }, { 'https://a/': 5000 + 300 * 100 })).toEqual({
      'https://a': 128,
    });
  });

  it('does not report quiet clusters', () => {
    expect(measured(new EventRateBook(), { a: 0, b: 0 }, { a: 200, b: 400 })).toEqual({ b: 1 });
  });

  it('forgets a cluster that is not watched any more, and restarts when a count restarts', () => {
    expect(measured(new EventRateBook(), { a: 0, b: 0 }, { a: 9000, b: 9000 }, { b: 300 })).toEqual({});
  });

  it('does not derive a rate from a short interval', () => {
    const book = new EventRateBook();
    measured(book, { a: 0 }, { a: 3000 });
    book.measure(new Map([['a', 9000]]), 5 * minute + 1000);
    expect(Object.fromEntries(book.own())).toEqual({ a: 8 });
  });

  it('reports at most the twenty busiest clusters', () => {
    const names = Array.from({ length: 50 }, (_, i) => `c${i}`);
    const none = Object.fromEntries(names.map((name) => [name, 0]));
    const own = measured(new EventRateBook(), none, Object.fromEntries(names.map((name, i) => [name, 600 * i])));
    expect(Object.keys(own)).toHaveLength(20);
    expect(Object.keys(own)).toContain('c49');
  });

  it('hardly changes for a fluctuating cluster', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 5000 }),
        fc.double({ min: 0.8, max: 1.25, noNaN: true }),
        (rate, factor) => {
          const at = (r: number): number =>
            (measured(new EventRateBook(), { a: 0 }, { a: 300 * r }) as { readonly a?: number }).a ?? 0;
          const [before, after] = [at(rate), at(rate * factor)];
          expect([0.5, 1, 2]).toContain(after / before);
        },
      ),
    );
  });

  it('takes in the reports of others, and remembers them while a cluster changes owners', () => {
    const book = new EventRateBook();
    book.recordReports(reports({ a: 64, b: 2 }), 0);
    expect(Object.fromEntries(book.known())).toEqual({ a: 64, b: 2 });
    book.recordReports(reports({ b: 4 }), 14 * minute);
    expect(Object.fromEntries(book.known())).toEqual({ a: 64, b: 4 });
    book.recordReports(reports({ b: 4 }), 16 * minute);
    expect(Object.fromEntries(book.known())).toEqual({ b: 4 });
  });

  it('counts a split cluster once, though each owner of a part watches all of it', () => {
    const book = new EventRateBook();
    book.recordReports(new Map([...reports({ a: 64 }, 0), ...reports({ a: 32 }, 1)]), 0);
    expect(Object.fromEntries(book.known())).toEqual({ a: 64 });
  });

  it('returns the same object while nothing changes, so that no new plan is made', () => {
    const book = new EventRateBook();
    book.recordReports(reports({ a: 64 }), 0);
    const known = book.known();
    book.recordReports(reports({ a: 64 }), minute);
    expect(book.known()).toBe(known);
  });
});

describe('reports in the ConfigMap', () => {
  it("survive a round trip beside Argo CD's fields", () => {
    const found = parseSlots(formatSlots(reports({ 'https://a': 64 }), 1));
    expect(found.state === 'ok' && found.value.get(0)?.load).toEqual(new Map([['https://a', 64]]));
  });

  it('are left out when there are none', () => {
    expect(formatSlots(reports({}), 1)[membersKey]).not.toContain('load');
  });

  it.each([['text'], [[1, 2]], [{ a: 'many' }], [{ a: -1 }], [null]])(
    'do not cost the slot when they are %j',
    (load) => {
      const data = formatSlots(reports({}), 1);
      const [member] = JSON.parse(data[membersKey] ?? '[]') as readonly object[];
      const found = parseSlots({ ...data, [membersKey]: JSON.stringify([{ ...member, load }]) });
      expect(found.state === 'ok' && found.value.get(0)).toMatchObject({ holder: 'ctl-0', incarnation: 'p0/0' });
      expect(found.state === 'ok' && found.value.get(0)?.load).toBeUndefined();
    },
  );
});

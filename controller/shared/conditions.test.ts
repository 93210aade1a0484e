import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ApplicationCondition, ConditionType } from '#model';
import { formatConditions, ownedConditions, setConditions } from './conditions.ts';

const t0 = '2026-01-01T00:00:00Z';
const t1 = '2026-01-01T01:00:00Z';

describe('setConditions', () => {
  it('keeps types that were not evaluated and replaces those that were', () => {
    const before: ApplicationCondition[] = [
      { type: 'SyncError', message: 'old sync', lastTransitionTime: t0 },
      { type: 'ComparisonError', message: 'old compare', lastTransitionTime: t0 },
    ];
    expect(setConditions(before, [], ['ComparisonError'], t1)).toEqual([before[0]]);
  });

  it('keeps the time of a condition whose message is known, and stamps a new one', () => {
    const before: ApplicationCondition[] = [{ type: 'ComparisonError', message: 'same', lastTransitionTime: t0 }];
    expect(
      setConditions(
        before,
        [
          { type: 'ComparisonError', message: 'same' },
          { type: 'ComparisonError', message: 'new' },
        ],
        ['ComparisonError'],
        t1,
      ),
    ).toEqual([
      { type: 'ComparisonError', message: 'new', lastTransitionTime: t1 },
      { type: 'ComparisonError', message: 'same', lastTransitionTime: t0 },
    ]);
  });

  it('stamps a kept condition that has no time', () => {
    expect(setConditions([{ type: 'SyncError', message: 'm' }], [], [], t1)).toEqual([
      { type: 'SyncError', message: 'm', lastTransitionTime: t1 },
    ]);
  });

  it('is idempotent: the same evaluation again changes nothing, even with several conditions of a type', () => {
    const types: ConditionType[] = ['RepeatedResourceWarning', 'ComparisonError', 'SyncError'];
    const condition = fc.record({ type: fc.constantFrom(...types), message: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(fc.array(condition), fc.array(condition), (before, fresh) => {
        const once = setConditions(before, fresh, types, t0);
        expect(setConditions(once, fresh, types, t1)).toEqual(once);
      }),
    );
  });

  it('owns each type in at most one step', () => {
    const all = Object.values(ownedConditions).flat();
    expect(new Set(all).size).toBe(all.length);
  });
});

it('formats conditions as one line', () => {
  expect(
    formatConditions([
      { type: 'ComparisonError', message: 'a' },
      { type: 'InvalidSpecError', message: 'b' },
    ]),
  ).toBe('ComparisonError: a;InvalidSpecError: b');
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { msUntilToken, spendTokens } from './refresh-budget.ts';
import type { RefreshBudget } from './refresh-budget.ts';

describe('the budget for requested refreshes', () => {
  it('admits thirty at once and one every ten seconds, at any request times', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { maxLength: 200 }), (pauses) => {
        let budget: RefreshBudget | undefined;
        let now = 0;
        const admitted: number[] = [];
        for (const pause of pauses) {
          now += pause;
          const ms = msUntilToken(budget, now);
          // A waiting request is admitted when its time has come, and not before.
          if (ms > 1) expect(msUntilToken(budget, now + ms - 1.5)).toBeGreaterThan(0);
          now += ms;
          expect(msUntilToken(budget, now)).toBe(0);
          budget = spendTokens(budget, now, 1);
          admitted.push(now);
        }
        for (const [i, at] of admitted.entries()) {
          const within = admitted.filter((other, k) => k >= i && other - at <= 60_000);
          expect(within.length).toBeLessThanOrEqual(30 + 6 + 1);
        }
      }),
    );
  });

  it('admits the first request at once, and one after a quiet period', () => {
    expect(msUntilToken(undefined, 0)).toBe(0);
    let budget: RefreshBudget | undefined;
    for (let i = 0; i < 30; i += 1) budget = spendTokens(budget, 0, 1);
    expect(msUntilToken(budget, 0)).toBe(10_000);
    expect(msUntilToken(budget, 4000)).toBe(6000);
    expect(msUntilToken(budget, 10_000)).toBe(0);
    expect(msUntilToken(spendTokens(budget, 0, -1), 0)).toBe(0);
  });

  it('saves up thirty at most, however long nobody asks', () => {
    let budget = spendTokens(undefined, 0, 1);
    let count = 0;
    for (; msUntilToken(budget, 3_600_000) === 0; count += 1) budget = spendTokens(budget, 3_600_000, 1);
    expect(count).toBe(30);
  });
});

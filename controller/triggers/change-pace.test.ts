import { describe, expect, it } from '@jest/globals';
import type { AppKey } from '#model';
import { ChangePace } from './change-pace.ts';

const [one, two] = ['argocd/one', 'argocd/two'] as [AppKey, AppKey];

describe('the pace of an Application that changes constantly', () => {
  it('is unlimited for a burst, then one pass in ten seconds, without effect on others', () => {
    const pace = new ChangePace();
    const burst = Array.from({ length: 100 }, () => pace.delayMs(one, 0));
    expect(Math.max(...burst)).toBe(0);
    expect(pace.delayMs(one, 0)).toBe(10_000);
    expect(pace.delayMs(two, 0)).toBe(0);
    expect(pace.delayMs(one, 10_000)).toBe(0);
    expect(pace.delayMs(one, 14_000)).toBe(6000);
  });

  it('is unlimited again after a quiet time, at most for one burst', () => {
    const pace = new ChangePace();
    for (let i = 0; i < 200; i += 1) pace.delayMs(one, 0);
    const later = Array.from({ length: 101 }, () => pace.delayMs(one, 10_000_000));
    expect(later.filter((ms) => ms === 0)).toHaveLength(100);
    pace.forget(one);
    expect(pace.delayMs(one, 10_000_000)).toBe(0);
  });
});

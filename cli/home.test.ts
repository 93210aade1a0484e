import { describe, expect, it } from '@jest/globals';
import { machineOf } from './home.ts';

describe('what ownership knows of the machine', () => {
  it('13.1: is the pod, when its UID is given, and which processes still run', () => {
    const { home } = machineOf('a-uid');
    expect([home?.place, home?.pid]).toEqual(['pod/a-uid', process.pid]);
    expect(home?.isRunning(process.pid)).toBe(true);
    // Above the highest number that Linux gives.
    expect(home?.isRunning(2 ** 22 + 1)).toBe(false);
  });

  it('13.4: is a boot clock in milliseconds', () => {
    const { bootMs } = machineOf('');
    expect(bootMs?.()).toBeGreaterThanOrEqual(performance.now() - 1000);
  });
});

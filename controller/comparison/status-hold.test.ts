import { describe, expect, it } from '@jest/globals';
import { StatusHold } from './status-hold.ts';

describe('a status write', () => {
  it('is not held without an operation of this process', async () => {
    const hold = new StatusHold();
    expect(hold.remainingMs(0)).toBe(0);
    expect(await hold.complete(0, () => Promise.resolve(hold.remainingMs(0)))).toBe(0);
  });

  it('is held for a second from the first that is due, then one passes', () => {
    const hold = new StatusHold();
    hold.operationStarted();
    expect([hold.remainingMs(5000), hold.remainingMs(5400)]).toEqual([1000, 600]);
    expect([hold.remainingMs(6000), hold.remainingMs(6001)]).toEqual([0, 1000]);
  });

  it('is no longer held when the operation has ended', () => {
    const hold = new StatusHold();
    hold.operationStarted();
    hold.remainingMs(0);
    hold.operationEnded();
    expect(hold.remainingMs(1)).toBe(0);
  });

  it('is held for a second from the begin of the final write', async () => {
    const hold = new StatusHold();
    hold.operationStarted();
    hold.remainingMs(0);
    expect(await hold.complete(900, () => Promise.resolve(hold.remainingMs(1000)))).toBe(900);
  });
});

it('is completing until the final write is answered, also with an error', async () => {
  const hold = new StatusHold();
  const failing = hold.complete(0, () => Promise.reject(new Error('conflict')));
  expect(hold.isCompleting).toBe(true);
  await expect(failing).rejects.toThrow('conflict');
  expect(hold.isCompleting).toBe(false);
});

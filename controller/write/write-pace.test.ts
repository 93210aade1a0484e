import { expect, it } from '@jest/globals';
import type { SlotLoan } from '#queues';
import { WritePace } from './write-pace.ts';
import type { WriteSlots } from './write-slots.ts';

it.each([
  [49, false],
  [50, true],
])('a write to a cluster that was silent for %i ms lends out the worker slot at once: %s', async (silentMs, lends) => {
  const slots = {
    run: (_server: string, _signal: AbortSignal, send: () => Promise<unknown>) => send(),
    silentMs: () => silentMs,
  } as unknown as WriteSlots;
  let isLong: boolean | undefined;
  const loan = {
    during: (work: Promise<unknown>, isKnownLong?: () => boolean) => {
      isLong = isKnownLong?.();
      return work;
    },
  } as unknown as SlotLoan;
  const pace = new WritePace(slots, 'https://a', loan);
  expect(await pace.write(new AbortController().signal, () => Promise.resolve('answer'))).toBe('answer');
  expect(isLong).toBe(lends);
});

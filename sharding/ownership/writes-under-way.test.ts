import { expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { RequestOutcome } from '#base';
import { KubeApiError, KubeConnectionError } from '#kube';
import { appKey } from '#model';
import { anyServer } from '../documents/slots-document.ts';
import { minMarginMs } from '../timing/timing.ts';
import { InFlightWrites } from './writes-under-way.ts';

const write = { server: 'https://a', app: appKey('argocd', 'a') };

/** Number of writes in flight after one ended with `error`, and after the margin. */
async function after(error: Error): Promise<readonly [number, number]> {
  let now = 1000;
  const writes = new InFlightWrites(minMarginMs, () => now);
  await expect(writes.run(write, () => Promise.reject(error))).rejects.toBe(error);
  const soon = writes.all().length;
  now += minMarginMs;
  return [soon, writes.all().length];
}

function answer(code: number): KubeApiError {
  return new KubeApiError({ code, reason: '', message: 'an answer' }, 'PATCH /');
}

it('a write is in flight while it runs, and no longer once it was answered', async () => {
  let now = 1000;
  const writes = new InFlightWrites(minMarginMs, () => now);
  let finish = (): void => undefined;
  const running = writes.run(write, () => new Promise<void>((done) => (finish = done)));
  now += 100 * minMarginMs;
  expect(writes.all()).toEqual([expect.objectContaining(write)]);
  finish();
  await running;
  expect(writes.all()).toEqual([]);
});

it('a write with an unknown outcome is in flight for the margin', async () => {
  expect(await after(new KubeConnectionError('https://a', 'connection reset', undefined))).toEqual([1, 0]);
});

it('a write answered with a 5xx is in flight for the margin: the server may have passed it on', async () => {
  expect(await after(answer(504))).toEqual([1, 0]);
});

/** Like errors of a store that sharding does not know. */
class Refused extends DriftlessError implements RequestOutcome {
  readonly isOver: boolean;

  constructor(isAnswered: boolean) {
    super('STORE', 'no writes');
    this.isOver = isAnswered;
  }
}

it('a write answered by another kind of store is over, and delays no hand-over', async () => {
  expect(await after(new Refused(true))).toEqual([0, 0]);
  expect(await after(new Refused(false))).toEqual([1, 0]);
});

it('a write that was refused or never sent is over', async () => {
  expect(await after(answer(422))).toEqual([0, 0]);
  const never = new KubeConnectionError('https://a', 'refused', undefined, { neverSent: true });
  expect(await after(never)).toEqual([0, 0]);
});

it('writes without an answer may reach a server for as long as the last of them, and any server if they are many', async () => {
  let now = 1000;
  const writes = new InFlightWrites(minMarginMs, () => now);
  const reset = new KubeConnectionError('https://a', 'connection reset', undefined);
  const fail = (server: string): Promise<void> =>
    writes.run({ ...write, server }, () => Promise.reject(reset)).catch(() => undefined);
  await fail('https://a');
  now += 4000;
  await fail('https://a');
  await fail('https://b');
  now += 1000;
  expect(writes.landing()).toEqual(
    new Map([
      ['https://a', minMarginMs - 1000],
      ['https://b', minMarginMs - 1000],
    ]),
  );
  now += 3000;
  for (let i = 0; i < 100; i += 1) await fail(`https://c${i}`);
  expect(writes.landing()).toEqual(new Map([[anyServer, minMarginMs]]));
  void writes.run(write, () => new Promise(() => undefined));
  expect(writes.landing()).toBeUndefined();
});

import { expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { RequestOutcome } from '#base';
import { KubeApiError, KubeConnectionError } from '#kube';
import { appKey } from '#model';
import { leastMarginMs } from './timing.ts';
import { WritesUnderWay } from './writes-under-way.ts';

const write = { server: 'https://a', app: appKey('argocd', 'a') };

/** How many writes are under way after one ended so, and after the margin. */
async function after(error: Error): Promise<readonly [number, number]> {
  let now = 1000;
  const writes = new WritesUnderWay(leastMarginMs, () => now);
  await expect(writes.run(write, () => Promise.reject(error))).rejects.toBe(error);
  const soon = writes.all().length;
  now += leastMarginMs;
  return [soon, writes.all().length];
}

function answer(code: number): KubeApiError {
  return new KubeApiError({ code, reason: '', message: 'an answer' }, 'PATCH /');
}

it('13.6: a write is under way while it runs, however long, and not any more when it was answered', async () => {
  let now = 1000;
  const writes = new WritesUnderWay(leastMarginMs, () => now);
  let finish = (): void => undefined;
  const running = writes.run(write, () => new Promise<void>((done) => (finish = done)));
  now += 100 * leastMarginMs;
  expect(writes.all()).toEqual([expect.objectContaining(write)]);
  finish();
  await running;
  expect(writes.all()).toEqual([]);
});

it('13.6: a write whose outcome nobody knows is under way for the margin', async () => {
  expect(await after(new KubeConnectionError('https://a', 'connection reset', undefined))).toEqual([1, 0]);
});

it('13.6: a write that a server in trouble answered is, too: it may have passed it on', async () => {
  expect(await after(answer(504))).toEqual([1, 0]);
});

/** As those of a store, which sharding does not know. */
class Refused extends DriftlessError implements RequestOutcome {
  readonly isOver: boolean;

  constructor(isAnswered: boolean) {
    super('STORE', 'no writes');
    this.isOver = isAnswered;
  }
}

it('13.2: a write that another kind of store has answered is over, and holds no hand-over up', async () => {
  expect(await after(new Refused(true))).toEqual([0, 0]);
  expect(await after(new Refused(false))).toEqual([1, 0]);
});

it('13.6: a write that was refused, or never sent, is over', async () => {
  expect(await after(answer(422))).toEqual([0, 0]);
  const never = new KubeConnectionError('https://a', 'refused', undefined, { neverSent: true });
  expect(await after(never)).toEqual([0, 0]);
});

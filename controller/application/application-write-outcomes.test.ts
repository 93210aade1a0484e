import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { AppKey, KubeObject } from '#model';
import { ApplicationWriteOutcomes } from './application-write-outcomes.ts';

const key = 'argocd/web' as AppKey;
const object = (resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'x',
  metadata: { resourceVersion },
});
const apiError = (code: number): Error => new KubeApiError({ code, reason: 'x', message: 'x' }, 'PATCH');

let outcomes: ApplicationWriteOutcomes;

beforeEach(() => {
  outcomes = new ApplicationWriteOutcomes();
});

async function fails(error: Error): Promise<void> {
  await expect(outcomes.follow(key, Promise.reject(error))).rejects.toBe(error);
  outcomes.stored(key);
}

it('a write is known by its version until its response is in the store', async () => {
  expect(outcomes.written(key)).toBeUndefined();
  const sent = outcomes.follow(key, Promise.resolve(object('7')));
  expect(await outcomes.written(key)).toBe('7');
  await sent;
  expect(await outcomes.written(key)).toBe('7');
  outcomes.stored(key);
  expect(outcomes.written(key)).toBeUndefined();
});

describe('a write without an answer', () => {
  it.each([
    ['a lost connection', new KubeConnectionError('https://hub', 'reset', undefined)],
    ['a server that failed', apiError(504)],
    ['an abort', new DOMException('aborted', 'AbortError')],
  ])('may show at any time until a later one is answered: %s', async (_what, error) => {
    await fails(error);
    expect(outcomes.written(key)).toBeInstanceOf(Promise);
    expect(await outcomes.written(key)).toBeUndefined();
    expect(outcomes.written('argocd/other' as AppKey)).toBeUndefined();
    await outcomes.follow(key, Promise.resolve(object('9')));
    outcomes.stored(key);
    expect(outcomes.written(key)).toBeUndefined();
    await fails(error);
    outcomes.forget(key);
    expect(outcomes.written(key)).toBeUndefined();
  });

  it.each([
    ['refused', apiError(409)],
    ['never sent', new KubeConnectionError('https://hub', 'refused', undefined, { neverSent: true })],
  ])('is over if it was %s', async (_what, error) => {
    await fails(error);
    expect(outcomes.written(key)).toBeUndefined();
  });
});

import { expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { appKeyOf } from '#model';
import type { AppKey, Application } from '#model';
import { ownedPasses } from './ownership-guard.ts';

const app = { metadata: { namespace: 'argocd', name: 'a' }, spec: {} } as unknown as Application;
const key = appKeyOf(app);

async function pass(known: Application | undefined, isMine: boolean) {
  const [passed, forgotten]: [AppKey[], AppKey[]] = [[], []];
  const handler = ownedPasses<undefined>(
    { lookup: () => known, isMine: () => isMine, forget: (gone) => void forgotten.push(gone) },
    (taken) => {
      passed.push(taken.key);
      return Promise.resolve('done');
    },
  );
  const taken = { key, payload: undefined } as unknown as Parameters<typeof handler>[0];
  const result = await handler(taken, newAbortController().signal, undefined as never);
  return { passed, forgotten, result };
}

it('an Application of this replica is passed on', async () => {
  expect(await pass(app, true)).toEqual({ passed: [key], forgotten: [], result: 'done' });
});

it.each([
  ['is gone', undefined, true],
  ['belongs to another replica', app, false],
])('an Application that %s is forgotten, without a pass', async (_how, known, isMine) => {
  expect(await pass(known, isMine)).toEqual({ passed: [], forgotten: [key], result: 'done' });
});

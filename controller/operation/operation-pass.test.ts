import { expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { ApplicationChanged } from '../shared/errors.ts';
import { OperationProcessor } from './operation.ts';
import type { OperationDeps } from './operation.ts';

const deleted = {
  metadata: {
    namespace: 'argocd',
    name: 'a',
    deletionTimestamp: '2026-11-25T10:00:00Z',
    finalizers: ['resources-finalizer.argocd.argoproj.io'],
  },
  spec: {},
} as unknown as Application;
const done = { metadata: { namespace: 'argocd', name: 'a' }, spec: {} } as unknown as Application;

/** One pass over an Application that is cached as `known` and stored as `stored`. */
async function pass(known: Application | undefined, stored: Application | undefined, error?: Error) {
  const calls: string[] = [];
  const deps = {
    store: {
      get: () => known,
      fetch: () => {
        calls.push('fetch');
        return Promise.resolve(stored);
      },
    },
    deleter: {
      handle: (_key: unknown, app: Application) => {
        calls.push(app === stored ? 'deletes what is stored' : 'deletes what is cached');
        return error === undefined ? Promise.resolve('done') : Promise.reject(error);
      },
    },
    memories: { peek: () => undefined },
    isStalled: () => false,
    clock: new FakeClock(),
    logger: silentLogger,
  } as unknown as OperationDeps;
  const processor = new OperationProcessor(deps, { syncTimeoutMs: 0, syncWaveDelayMs: 0 });
  const taken = { key: appKeyOf(done), payload: undefined } as unknown as Parameters<typeof processor.handle>[0];
  const result = await processor.handle(taken, newAbortController().signal);
  return { calls, result };
}

it('decides from what is stored, not from what is cached', async () => {
  const stored = { ...deleted };
  expect(await pass(deleted, stored)).toEqual({ calls: ['fetch', 'deletes what is stored'], result: 'done' });
});

it.each([
  ['is not cached', undefined, deleted, []],
  ['has no work in the cache', done, deleted, []],
  ['is gone from the store', deleted, undefined, ['fetch']],
  ['has no work in the store', deleted, done, ['fetch']],
])('does nothing for an Application that %s', async (_how, known, stored, calls) => {
  expect(await pass(known, stored)).toEqual({ calls, result: 'done' });
});

it('runs again at once, without an error, when the Application changed between read and write', async () => {
  const { result } = await pass(deleted, { ...deleted }, new ApplicationChanged('argocd/a'));
  expect(result).toEqual({ requeueAfterMs: 0 });
});

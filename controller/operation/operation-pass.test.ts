import { expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { AppMemories } from '../comparison/memory.ts';
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
const deletedAt7 = { ...deleted.metadata, resourceVersion: '7' };
const done = { metadata: { namespace: 'argocd', name: 'a' }, spec: {} } as unknown as Application;

/** A retry is due in an hour, so a pass only waits. */
const waiting = {
  metadata: { namespace: 'argocd', name: 'a', resourceVersion: '7' },
  spec: {},
  operation: { sync: {}, retry: { limit: 5, backoff: { duration: '1h' } } },
  status: {
    operationState: {
      operation: { sync: {}, retry: { limit: 5, backoff: { duration: '1h' } } },
      phase: 'Running',
      startedAt: '2026-11-25T10:00:00Z',
      finishedAt: '2026-11-25T10:00:01Z',
      retryCount: 1,
    },
  },
} as unknown as Application;

/** The version that our last write of the operation stored, and the time since then. */
interface OwnWrite {
  readonly version: string;
  readonly agoMs: number;
}

/** One pass over an Application that is cached as `known` and stored as `stored`. */
async function pass(
  known: Application | undefined,
  stored: Application | undefined,
  { error, own }: { readonly error?: Error; readonly own?: OwnWrite } = {},
) {
  const calls: string[] = [];
  const clock = new FakeClock(Date.parse('2026-11-25T10:00:02Z'));
  const memories = new AppMemories();
  if (own !== undefined)
    memories.note(appKeyOf(done), {
      operationWrite: { version: own.version, at: clock.monotonic() - own.agoMs },
    });
  const deps = {
    store: {
      get: () => known,
      fetch: () => {
        calls.push('fetch');
        return Promise.resolve(stored);
      },
    },
    deleter: {
      awaitOperation: () => undefined,
      handle: (_key: unknown, app: Application) => {
        calls.push(app === stored ? 'deletes what is stored' : 'deletes what is cached');
        return error === undefined ? Promise.resolve('done') : Promise.reject(error);
      },
    },
    memories,
    isStalled: () => false,
    clock,
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
  const { result } = await pass(deleted, { ...deleted }, { error: new ApplicationChanged('argocd/a') });
  expect(result).toEqual({ requeueAfterMs: 0 });
});

it('needs no read for the version that its own write has just stored', async () => {
  expect(await pass(waiting, undefined, { own: { version: '7', agoMs: 100 } })).toMatchObject({ calls: [] });
});

it.each([
  ['another client has written since its own write', waiting, { version: '6', agoMs: 100 }],
  ['its own write was long ago', waiting, { version: '7', agoMs: 60_000 }],
  ['it has written nothing', waiting, undefined],
  ['the Application is being deleted', { ...waiting, metadata: deletedAt7 }, { version: '7', agoMs: 100 }],
])('reads what is stored if %s', async (_when, known, own) => {
  expect(await pass(known, undefined, own === undefined ? {} : { own })).toEqual({ calls: ['fetch'], result: 'done' });
});

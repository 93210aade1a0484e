import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCompleted } from '#model';
import type { Application, Operation, OperationPhase, OperationState } from '#model';
import { backstopMs, endPass, nextRetryAt, startPass } from './operation-state.ts';
import { kubeTime } from '../shared/kube-time.ts';

const now = Date.UTC(2026, 0, 1, 10);
const startedAt = kubeTime(now);

function application(
  state?: Partial<OperationState>,
  operation: Operation = { sync: { revision: 'main' } },
): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec: { destination: {} },
    operation,
    ...(state === undefined
      ? {}
      : { status: { operationState: { operation, phase: 'Running', startedAt, ...state } } }),
  };
}

describe('startPass', () => {
  it('begins when there is no state, or a finished one', () => {
    const state = {
      operation: { sync: { revision: 'main' }, initiatedBy: {}, retry: {} },
      phase: 'Running',
      startedAt,
    };
    expect(startPass(application(), now, 0)).toEqual({ do: 'begin', timedOut: false, state });
    const failed = application({ phase: 'Failed', message: 'x', startedAt: kubeTime(now - 5000) });
    expect(startPass(failed, now, 0)).toMatchObject({ do: 'begin', state });
  });

  it.each([
    ['in the same second', 0, 1000],
    ['two operations before, in the same second', 1000, 2000],
    ['by a clock that is a minute ahead', 59_000, 60_000],
    ['by a clock that was set back since', 600_000, 0],
    ['long before', -600_000, 0],
  ])('begins later than the last operation, which began %s', (_when, lastMs, expectedMs) => {
    const app = application({ phase: 'Succeeded', startedAt: kubeTime(now + lastMs) });
    expect(startPass(app, now + 999, 0)).toMatchObject({ state: { startedAt: kubeTime(now + expectedMs) } });
  });

  it('resumes a running operation as recorded', () => {
    const app = application({ message: 'going', operation: { sync: { revision: 'recorded' } } });
    expect(startPass(app, now, 0)).toEqual({ do: 'resume', state: app.status?.operationState });
  });

  it('terminates after the sync timeout, counted from the first start', () => {
    expect(startPass(application(), now + 61_000, 60_000)).toMatchObject({ do: 'begin' });
    expect(startPass(application({}), now + 60_000, 60_000)).toMatchObject({ do: 'resume' });
    expect(startPass(application({}), now + 61_000, 60_000)).toMatchObject({
      do: 'continue',
      timedOut: true,
      state: { phase: 'Terminating', message: 'operation is terminating due to timeout' },
    });
  });

  it('waits for its retry as long as the message announced, then starts it', () => {
    const failed: OperationState = {
      operation: { sync: {}, retry: { limit: 2 } },
      phase: 'Failed',
      message: 'boom',
      startedAt,
    };
    const waiting = endPass({ state: failed, wasTerminating: false, timedOut: false, now });
    expect(waiting.message).toBe(`boom. Retrying attempt #1 at ${kubeTime(now + 5000)}.`);
    const app = application(waiting, failed.operation);
    expect(startPass(app, now, 0)).toEqual({ do: 'wait', ms: 5000, reason: 'retry 1 of the operation' });
    const retry = startPass(app, now + 5000, 0);
    expect(retry).toMatchObject({
      do: 'continue',
      state: { phase: 'Running', message: 'Retrying operation. Attempt #1' },
    });
    expect(retry.do === 'continue' && [retry.state.finishedAt, retry.state.syncResult]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a minute ahead', 60_000, { do: 'wait', ms: 65_000 }],
    ['over a minute ahead', 61_000, { do: 'continue' }],
  ])('waits for a retry whose attempt ended by a clock %s, or not', (_name, aheadMs, expected) => {
    const operation: Operation = { sync: {}, retry: { limit: 2 } };
    const app = application({ finishedAt: kubeTime(now + aheadMs), retryCount: 1, operation }, operation);
    expect(startPass(app, now, 0)).toMatchObject(expected);
  });

  it.each<[string, Operation, boolean]>([
    ['asked to', { sync: { revision: 'a' }, retry: { limit: 1, refresh: true } }, true],
    ['asked not to', { sync: { revision: 'a' }, retry: { limit: 1, refresh: false } }, false],
    // Argo CD's own types drop `refresh: false`, so nothing can depend on whether it is there.
    ['automated', { sync: { revision: 'a' }, retry: { limit: 1 }, initiatedBy: { automated: true } }, false],
    ['by hand', { sync: { revision: 'a' }, retry: { limit: 1 } }, false],
  ])('chooses whether to retry with the latest revision: %s', (_name, operation, latest) => {
    const app = application({ finishedAt: startedAt, retryCount: 1, operation }, operation);
    const retry = startPass(app, now + 60_000, 0);
    expect(retry.do === 'continue' && retry.state.operation.sync?.revision).toBe(latest ? undefined : 'a');
    expect(retry.do === 'continue' && retry.state.message?.includes('latest revisions')).toBe(latest);
  });

  it('ends when the backoff cannot be parsed', () => {
    const operation: Operation = { sync: {}, retry: { limit: 1, backoff: { duration: 'soon' } } };
    expect(
      startPass(application({ finishedAt: startedAt, retryCount: 1, operation }, operation), now, 0),
    ).toMatchObject({
      do: 'end',
      state: { phase: 'Error', message: 'time: invalid duration "soon"' },
    });
  });
});

describe('endPass', () => {
  const state = (over: Partial<OperationState>): OperationState => ({
    operation: {},
    phase: 'Failed',
    message: 'boom',
    startedAt,
    ...over,
  });
  const end = (over: Partial<OperationState>, wasTerminating = false, timedOut = false): OperationState =>
    endPass({ state: state(over), wasTerminating, timedOut, now });

  it('keeps a running state', () => {
    expect(end({ phase: 'Running' })).toEqual(state({ phase: 'Running' }));
  });

  it('stamps the end', () => {
    expect(end({ phase: 'Succeeded' }).finishedAt).toBe(startedAt);
    expect(end({})).toMatchObject({ phase: 'Failed', message: 'boom', finishedAt: startedAt });
  });

  it('reports the number of retries', () => {
    expect(end({ operation: { retry: { limit: 2 } }, retryCount: 2 }).message).toBe('boom (retried 2 times).');
  });

  it('never retries a terminated operation', () => {
    expect(end({ operation: { retry: { limit: -1 } } }, true)).toMatchObject({ phase: 'Failed', message: 'boom' });
    expect(end({ message: 'Operation terminated' }, true, true).message).toBe(
      'Operation terminated, triggered by controller sync timeout',
    );
  });

  it('ends as Error when the retry cannot be planned', () => {
    expect(end({ operation: { retry: { limit: 1, backoff: { maxDuration: 'x' } } } })).toMatchObject({
      phase: 'Error',
      message: 'boom (failed to retry: time: invalid duration "x")',
    });
  });
});

it('computes retry times with defaults, factor and cap', () => {
  const waits = (retry: object, counts: number[]): unknown[] =>
    counts.map((n) => Number(nextRetryAt(retry, 0, n)) / 1000);
  expect(waits({}, [0, 1, 2, 10])).toEqual([5, 10, 20, 180]);
  expect(waits({ backoff: { duration: '2', factor: 3, maxDuration: '1m' } }, [0, 1, 2, 5])).toEqual([2, 6, 18, 60]);
  expect(waits({ backoff: { maxDuration: '0' } }, [10])).toEqual([5120]);
});

it.each([
  ['zero', { duration: '0' }, [1, 1, 1]],
  ['negative', { duration: '-5s' }, [1, 1, 1]],
  ['a zero factor', { duration: '5s', factor: 0 }, [5, 1, 1]],
  ['a negative factor', { duration: '5s', factor: -3, maxDuration: '1m' }, [5, 1, 45]],
  ['huge without a maximum', { duration: '1h', factor: 2n ** 62n, maxDuration: '0' }, [3600, 86_400, 86_400]],
  ['zero with a huge factor', { duration: '0', factor: 2n ** 62n }, [1, 1, 1]],
  ['a maximum of its own beyond a day', { duration: '100h', maxDuration: '200h' }, [360_000, 720_000, 720_000]],
])('waits between a second and a day by a backoff that is %s', (_what, backoff, seconds) => {
  expect([0, 1, 2].map((n) => Number(nextRetryAt({ backoff }, 0, n)) / 1000)).toEqual(seconds);
  expect(Number(nextRetryAt({ backoff }, 0, 5000))).toBeLessThan(8.64e15);
});

it.each(['5', '1.5', 'soon', '99999999999999999999', '9223372037', '2562048h', '1h 5m', ' '])(
  'either parses the duration "%s" or says that it is invalid',
  (duration) => {
    const at = nextRetryAt({ backoff: { duration } }, 0, 0);
    expect(at).toEqual(duration === '5' ? 5000 : `time: invalid duration "${duration}"`);
  },
);

it('checks again within 30 s, or at the timeout', () => {
  const state: OperationState = { operation: {}, phase: 'Running', startedAt };
  expect(backstopMs(state, now, 0)).toBe(30_000);
  expect(backstopMs(state, now, 10_000)).toBe(11_000);
  expect(backstopMs({ ...state, phase: 'Terminating' }, now, 10_000)).toBe(30_000);
});

it('reaches an end on every path, whatever the outcome of each step', () => {
  const phase = fc.constantFrom<OperationPhase>('Running', 'Failed', 'Error', 'Succeeded');
  fc.assert(
    fc.property(fc.array(phase, { minLength: 1, maxLength: 40 }), fc.integer({ min: 0, max: 3 }), (answers, limit) => {
      const operation: Operation = { sync: {}, retry: { limit } };
      let app = application(undefined, operation);
      let time = now;
      let steps = 0;
      const timeout = 600_000;
      while (app.status?.operationState === undefined || !isCompleted(app.status.operationState.phase)) {
        const start = startPass(app, time, timeout);
        if (start.do === 'wait') time += start.ms;
        else {
          const step =
            start.do === 'end'
              ? start.state
              : { ...start.state, phase: terminatedOr(start.state, answers[steps % answers.length]) };
          const wasTerminating = start.do !== 'end' && start.state.phase === 'Terminating';
          const state =
            start.do === 'end' ? step : endPass({ state: step, wasTerminating, timedOut: false, now: time });
          app = { ...app, status: { operationState: state } };
          time += 30_000;
          steps += 1;
        }
        expect(steps).toBeLessThan(40);
      }
      expect(Date.parse(app.status.operationState.finishedAt ?? '')).toBeLessThanOrEqual(time);
      expect(app.status.operationState.retryCount ?? 0).toBeLessThanOrEqual(limit);
    }),
  );
});

function terminatedOr(state: OperationState, answer: OperationPhase | undefined): OperationPhase {
  return state.phase === 'Terminating' ? 'Failed' : (answer ?? 'Running');
}

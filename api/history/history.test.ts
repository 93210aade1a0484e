import { expect, it } from '@jest/globals';
import type { ReplicaFacts } from '../facts.ts';
import { ReplicaHistoryRecorder, sampleIntervalMs } from './history.ts';

interface PassFigures {
  readonly at: number;
  readonly durationMs: number;
  readonly result: string;
  readonly cause: string;
}

function world(): { now: number; passes: PassFigures[]; requests: number; recorder: ReplicaHistoryRecorder } {
  const state = { now: 1_000_000, passes: [] as PassFigures[], requests: 0 };
  const facts = {
    clock: { now: () => state.now, monotonic: () => state.now },
    process: () => ({ heapBytes: 5, rssBytes: 6, cpuMs: state.now / 2, eventLoopDelayMs: 7 }),
    controller: {
      activity: () => ({
        passes: state.passes,
        syncs: [{ at: state.now, durationMs: 40, phase: 'Failed' }],
        faults: [],
      }),
      pools: () => [
        {
          progress: () => ({ waiting: 3 }),
          contents: () => ({ oldest: { since: state.now - 250 }, inProgress: [] }),
        },
      ],
    },
  } as unknown as ReplicaFacts;
  const clock = { sleep: () => Promise.resolve() };
  const totals = (): { apiRequests: number; watchEvents: number } => ({
    apiRequests: state.requests,
    watchEvents: 0,
  });
  return Object.assign(state, { recorder: new ReplicaHistoryRecorder(facts, clock, totals) });
}

it('samples counts of the interval, with percentiles, and not those before it', () => {
  const state = world();
  const { recorder } = state;
  state.now += sampleIntervalMs;
  state.requests = 120;
  state.passes = [
    { at: state.now - 100, durationMs: 10, result: 'completed', cause: 'object' },
    { at: state.now - 200, durationMs: 90, result: 'completed', cause: 'timer' },
    { at: state.now - 300, durationMs: 0, result: 'running', cause: 'timer' },
    { at: state.now - sampleIntervalMs - 500, durationMs: 5, result: 'completed', cause: 'user' },
  ];
  recorder.sample();
  expect(recorder.history().samples).toEqual([
    {
      at: new Date(state.now).toISOString(),
      heapBytes: 5,
      rssBytes: 6,
      eventLoopDelayMs: 7,
      cpu: 0.5,
      queueDepth: 3,
      oldestQueuedMs: 250,
      apiRequests: 120,
      watchEvents: 0,
      passes: { object: 1, timer: 1 },
      passP50Ms: 90,
      passP99Ms: 90,
      syncs: 1,
      syncFailures: 1,
      syncP50Ms: 40,
      syncP99Ms: 40,
    },
  ]);
});

it('keeps an hour, the oldest first', () => {
  const state = world();
  for (let i = 0; i < 500; i += 1) {
    state.now += sampleIntervalMs;
    state.recorder.sample();
  }
  const { samples } = state.recorder.history();
  expect(samples).toHaveLength(360);
  expect(Date.parse(samples.at(-1)!.at) - Date.parse(samples[0]!.at)).toBe(359 * sampleIntervalMs);
});

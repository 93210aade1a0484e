import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApplicationStatus } from '#model';
import { FakeClock } from '#support';
import { parseTime } from './shared/kube-time.ts';
import { configMap, FakeWorld } from './testing/fake-world.ts';
import { publisherAfter } from './testing/published.ts';

// `argocd app wait` and notifications take a status as later than a sync once `reconciledAt` is not
// before the end of the operation, and times are whole seconds.

let clock: FakeClock;
let world: FakeWorld;
/** The number of statuses seen when it started. */
let begin: number;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [configMap('one')]);
  begin = 0;
});
afterEach(() => world.close(clock));

const seen = (): readonly ApplicationStatus[] => world.statuses().slice(begin);

/** Statuses that a client takes for the state after a sync. */
function final(): readonly ApplicationStatus[] {
  return seen().filter(({ operationState, reconciledAt }) => {
    const [finished, compared] = [parseTime(operationState?.finishedAt), parseTime(reconciledAt)];
    return (
      operationState?.phase === 'Succeeded' && finished !== undefined && compared !== undefined && compared >= finished
    );
  });
}

/** A refresh, and a sync at the same instant. */
async function refreshAndSync(): Promise<void> {
  world.application();
  world.replica();
  await clock.advance(5000);
  begin = world.statuses().length;
  world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
  await clock.settle();
  world.edit(() => ({ operation: { sync: {} } }));
  await clock.settle();
}

describe('the first status that clients accept after a sync', () => {
  it('is not a comparison from the same second before its end', async () => {
    await refreshAndSync();
    await clock.advance(5000);
    const ends = seen().filter(({ operationState }) => operationState?.phase === 'Succeeded');
    expect(ends[0]?.sync?.status).toBe('Synced');
    expect(final().map(({ sync }) => sync?.status)).not.toContain('OutOfSync');
    expect(final().at(-1)?.sync?.status).toBe('Synced');
  });

  it('is not a comparison that started before its end and was written after it', async () => {
    let release = (): void => undefined;
    let held = Promise.resolve();
    const publisher = publisherAfter(() => held);
    world.application();
    world.replica({ publisher });
    await clock.advance(5000);
    begin = world.statuses().length;
    held = new Promise<void>((resolve) => (release = resolve));
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.settle();
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(500);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.app.status?.sync?.status).toBe('OutOfSync');
    release();
    await clock.advance(5000);
    expect(final().map(({ sync }) => sync?.status)).not.toContain('OutOfSync');
    expect(final().at(-1)?.sync?.status).toBe('Synced');
  });
});

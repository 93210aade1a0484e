import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { untilAborted } from './abort.ts';
import { Shutdown } from './errors.ts';
import { runGroups } from './lifecycle.ts';
import type { Runnable } from './lifecycle.ts';

/** Records the events of its runnables. */
class Stage {
  readonly clock = new FakeClock();
  readonly events: string[] = [];
  readonly stop = new AbortController();
  ended: unknown = 'running';

  runnable(
    name: string,
    how: { readyMs?: number; stopMs?: number; failMs?: number; failStop?: Error; noAbort?: boolean } = {},
  ): Runnable {
    return {
      name,
      run: async (signal) => {
        this.events.push(`${name} runs`);
        if (how.failMs !== undefined) {
          await this.clock.sleep(how.failMs);
          throw new Error(`${name} broke`);
        }
        await untilAborted(signal);
        this.events.push(`${name} stops`);
        await this.clock.sleep(how.stopMs ?? 1);
        if (how.failStop !== undefined) throw how.failStop;
        this.events.push(`${name} ended`);
        if (how.noAbort !== true) throw signal.reason as Error;
      },
      ready: async (signal) => {
        await this.clock.sleep(how.readyMs ?? 0, signal);
        this.events.push(`${name} ready`);
      },
    };
  }

  start(...groups: Runnable[][]): void {
    void runGroups(groups, this.stop.signal, { clock: this.clock, graceMs: 1000 }).then(
      () => (this.ended = 'stopped'),
      (error: unknown) => (this.ended = error),
    );
  }
}

describe('runGroups', () => {
  it('starts each group when all of the previous one are ready, and stops them in reverse', async () => {
    const stage = new Stage();
    stage.start(
      [stage.runnable('a', { readyMs: 5 }), stage.runnable('b', { readyMs: 10 })],
      [stage.runnable('c')],
      [stage.runnable('d', { noAbort: true })],
    );
    await stage.clock.advance(9);
    expect(stage.events).toEqual(['a runs', 'b runs', 'a ready']);
    await stage.clock.advance(1);
    expect(stage.events.slice(3)).toEqual(['b ready', 'c runs', 'c ready', 'd runs', 'd ready']);
    expect(stage.ended).toBe('running');
    stage.stop.abort(new Shutdown());
    await stage.clock.advance(10);
    expect(stage.events.slice(8)).toEqual([
      'd stops',
      'd ended',
      'c stops',
      'c ended',
      'a stops',
      'b stops',
      'a ended',
      'b ended',
    ]);
    expect(stage.ended).toBe('stopped');
    expect(getEventListeners(stage.stop.signal, 'abort')).toHaveLength(0);
    expect(stage.clock.pending).toBe(0);
  });

  it('stops all when one fails, and rejects with its error', async () => {
    const stage = new Stage();
    stage.start([stage.runnable('a')], [stage.runnable('b', { failMs: 50 }), stage.runnable('c')]);
    await stage.clock.advance(60);
    expect(stage.events.slice(-4)).toEqual(['c stops', 'c ended', 'a stops', 'a ended']);
    expect(stage.ended).toMatchObject({ message: 'b broke' });
  });

  it('starts no later group after a failure or a stop', async () => {
    const failing = new Stage();
    failing.start([failing.runnable('a', { failMs: 5, readyMs: 10 })], [failing.runnable('b')]);
    await failing.clock.advance(100);
    expect(failing.events).toEqual(['a runs']);
    expect(failing.ended).toMatchObject({ message: 'a broke' });

    const stopped = new Stage();
    stopped.start([stopped.runnable('a', { readyMs: 10 })], [stopped.runnable('b')]);
    await stopped.clock.advance(5);
    stopped.stop.abort(new Shutdown());
    await stopped.clock.advance(5);
    expect(stopped.events).toEqual(['a runs', 'a stops', 'a ended']);
    expect(stopped.ended).toBe('stopped');

    const never = new Stage();
    never.stop.abort(new Shutdown());
    never.start([never.runnable('a')]);
    await never.clock.advance(5);
    expect([never.events, never.ended]).toEqual([[], 'stopped']);
  });

  it('rejects when the readiness of a runnable fails', async () => {
    const stage = new Stage();
    const broken: Runnable = { ...stage.runnable('b'), ready: () => Promise.reject(new Error('port in use')) };
    stage.start([stage.runnable('a')], [broken]);
    await stage.clock.advance(10);
    expect(stage.ended).toMatchObject({ message: 'port in use' });
    expect(stage.events.slice(-2)).toEqual(['a stops', 'a ended']);
  });

  it('stops the other runnables of one that throws synchronously', async () => {
    const stage = new Stage();
    const throwing: Runnable = {
      name: 'b',
      run: () => {
        throw new Error('not even a promise');
      },
    };
    stage.start([stage.runnable('a'), throwing]);
    await stage.clock.advance(10);
    expect(stage.ended).toMatchObject({ message: 'not even a promise' });
    expect(stage.events).toContain('a ended');
  });

  it('keeps errors of the stop as the cause of the first', async () => {
    const stage = new Stage();
    stage.start(
      [stage.runnable('a', { failStop: new Error('a could not stop') })],
      [stage.runnable('b', { failStop: new Error('b could not stop') }), stage.runnable('c', { failMs: 10 })],
    );
    await stage.clock.advance(100);
    expect(stage.ended).toMatchObject({
      message: 'c broke',
      cause: { errors: [{ message: 'b could not stop' }, { message: 'a could not stop' }] },
    });
  });

  it('aborts all remaining groups when the one deadline of the stop passes', async () => {
    const stage = new Stage();
    stage.start([stage.runnable('a')], [stage.runnable('b', { stopMs: 5000 })], [stage.runnable('c', { stopMs: 400 })]);
    await stage.clock.advance(1);
    stage.stop.abort(new Shutdown());
    await stage.clock.advance(999);
    expect([stage.ended, stage.events.includes('a stops')]).toEqual(['running', false]);
    await stage.clock.advance(1);
    expect(stage.ended).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: 'stopping took longer than 1 s' });
    expect(stage.events).toContain('a stops');
  });
});

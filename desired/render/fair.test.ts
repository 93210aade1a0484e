import { describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, Shutdown, withDeadline } from '#base';
import { FakeClock } from '#support';
import { CommandError } from '../errors.ts';
import { createFairRenderer } from './fair.ts';
import { noRenderer } from './in-process.ts';
import type { Renderer, WaitingRender } from './types.ts';

const never = new AbortController().signal;
const requestOf = (project: string, file: string): WaitingRender => ({
  inputBytes: 0,
  readInput: () => Promise.resolve({ files: [], links: [] }),
  steps: [{ program: 'jsonnet', args: [file], cwd: 'repo' }],
  share: { project, repository: 'r' },
  timeoutMs: 90_000,
  maxOutputBytes: 1000,
  maxMemoryBytes: 1000,
});

/** Runs `endless` until its limit; everything else finishes after a tenth of a second. */
function slowRenderer(clock: FakeClock, limits: number[] = []): Renderer {
  return {
    ...noRenderer,
    render: async (request, signal) => {
      const isEndless = request.steps[0]?.args[0]?.startsWith('endless') === true;
      limits.push(request.timeoutMs);
      await clock.sleep(isEndless ? request.timeoutMs : 100, signal);
      if (isEndless)
        throw new CommandError('COMMAND_TIMEOUT', `jsonnet took longer than ${request.timeoutMs / 1000} s`);
      return { steps: [] };
    },
  };
}

describe('endless Jsonnet in twelve files of one project', () => {
  it('delays a source of another project by at most three seconds', async () => {
    const clock = new FakeClock();
    const renderer = createFairRenderer({ renderer: slowRenderer(clock), clock, slots: 4 });
    const endless = Array.from({ length: 12 }, (_, i) =>
      renderer.render(requestOf('bad', `endless-${i}`), never).catch(() => undefined),
    );
    await clock.advance(10);
    const begin = clock.monotonic();
    let took = Infinity;
    const other = renderer.render(requestOf('good', 'a'), never).then(() => (took = clock.monotonic() - begin));
    await clock.advance(3000);
    expect(took).toBeLessThanOrEqual(3000);
    await other;
    // From then on, a slot is always free.
    const again = clock.monotonic();
    const second = renderer.render(requestOf('good', 'a'), never).then(() => (took = clock.monotonic() - again));
    await clock.advance(200);
    expect(took).toBeLessThan(200);
    await second;
    await clock.advance(600_000);
    await Promise.all(endless);
  });
});

describe('a source that times out', () => {
  it('gets half the time on each further attempt', async () => {
    const clock = new FakeClock();
    const limits: number[] = [];
    const renderer = createFairRenderer({ renderer: slowRenderer(clock, limits), clock, slots: 4 });
    for (let i = 0; i < 4; i += 1) {
      const failed = expect(renderer.render(requestOf('a', 'endless'), never)).rejects.toMatchObject({
        code: 'COMMAND_TIMEOUT',
      });
      await clock.advance(100_000);
      await failed;
    }
    expect(limits).toEqual([90_000, 30_000, 15_000, 7500]);
  });

  it('counts as timed out if the deadline of the answer ends it, and not if it only waited', async () => {
    const clock = new FakeClock();
    const renderer = createFairRenderer({ renderer: slowRenderer(clock), clock, slots: 1 });
    const errors: unknown[] = [];
    const attempt = (file: string): Promise<unknown> =>
      withDeadline(never, { clock, limitMs: 60_000, what: 'rendering' }, async (signal) => {
        await renderer.render(requestOf('a', file), signal).catch((error: unknown) => errors.push(error));
      }).catch(() => undefined);
    const both = [attempt('endless'), attempt('endless-waits')];
    await clock.advance(60_000);
    await Promise.all(both);
    await clock.advance(1);
    expect(errors).toHaveLength(2);
    expect(errors.filter((error) => error instanceof CommandError)).toHaveLength(1);
    expect(errors.filter((error) => error instanceof DeadlineExceeded)).toHaveLength(1);
  });

  it('frees its slot when its caller aborts', async () => {
    const clock = new FakeClock();
    const renderer = createFairRenderer({ renderer: slowRenderer(clock), clock, slots: 1 });
    const stop = new AbortController();
    const left = renderer.render(requestOf('a', 'endless'), stop.signal).catch((error: unknown) => error);
    const waiting = renderer.render(requestOf('a', 'b'), never);
    await clock.advance(10);
    stop.abort(new Shutdown('gone'));
    expect(await left).toBeInstanceOf(Shutdown);
    await clock.advance(200);
    expect((await waiting).steps).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

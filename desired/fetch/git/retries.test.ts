import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import type { CommandResult } from '../../command/types.ts';
import { CommandError } from '../../errors.ts';
import { retryDelayMs, withGitRetries } from './retries.ts';
import type { GitRetryRule } from './retries.ts';

const rule: GitRetryRule = { attempts: 4, firstDelayMs: 250, factor: 2, maxDelayMs: 600 };
const reset = 'fatal: unable to access: Recv failure: Connection reset by peer';
const { signal } = new AbortController();
const failed = (stderr: string): CommandResult => ({ exitCode: 128, stdout: new Uint8Array(), stderr });
const good: CommandResult = { exitCode: 0, stdout: new Uint8Array(), stderr: '' };

describe('the delay before the next attempt to list refs', () => {
  it.each([
    [1, reset, {}, 250],
    [2, reset, {}, 500],
    [3, reset, {}, 600],
    [3, reset, { maxDelayMs: 0 }, 1000],
    [2, reset, { factor: 0 }, 0],
    [1, reset, { factor: 0 }, 250],
    [1, 'fatal: early EOF', {}, 250],
    [1, 'fatal: the remote end hung up unexpectedly', {}, 250],
    [1, 'error: RPC failed; curl 52 Empty reply from server', {}, 250],
    [1, 'kex_exchange_identification: Connection closed by remote host', {}, 250],
    [1, 'fatal: Authentication failed', {}, 0],
    [1, "fatal: repository 'x' not found", {}, 0],
    [1, 'The requested URL returned error: 503', {}, 0],
  ])('after failure %i with "%s" and %j is %i ms', (count, stderr, over, expected) => {
    expect(retryDelayMs({ ...rule, ...over }, count, stderr)).toBe(expected);
  });
});

describe('attempts to list refs', () => {
  const attempt = async (
    results: readonly (CommandResult | Error)[],
    over: Partial<GitRetryRule> = {},
  ): Promise<{ readonly ran: number; readonly waited: number; readonly end: unknown }> => {
    const clock = new FakeClock();
    let ran = 0;
    const run = (): Promise<CommandResult> => {
      const next = results[(ran += 1) - 1] ?? good;
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const before = clock.monotonic();
    const ended = withGitRetries({ ...rule, ...over }, { clock, signal }, run).catch((error: unknown) => error);
    let waited = 0;
    void ended.then(() => (waited = clock.monotonic() - before));
    for (let i = 0; i < 40; i += 1) await clock.advance(50);
    return { ran, waited, end: await ended };
  };
  const lost = failed(reset);
  const refused = failed('fatal: Authentication failed');
  const late = new CommandError('COMMAND_TIMEOUT', 'git took longer than 1 s');
  const tooMuch = new CommandError('COMMAND_OUTPUT', 'git printed more than 9 bytes');

  it('end with the first success, after the delays of lost connections', async () => {
    const { ran, waited, end } = await attempt([lost, lost, good]);
    expect([ran, end]).toEqual([3, good]);
    expect(waited).toBeGreaterThanOrEqual(750);
  });

  it.each([
    ['are one by default', [lost], { attempts: 1 }, 1, lost],
    ['are as many as configured', [lost, lost, lost, lost, good], {}, 4, lost],
    ['follow any failure of git', [refused, good], {}, 2, good],
    ['follow a timeout', [late, good], {}, 2, good],
    ['end with the timeout of the last one', [late, late], { attempts: 2 }, 2, late],
    ['do not follow an answer that is too big', [tooMuch, good], {}, 1, tooMuch],
  ] as const)('%s', async (_name, results, over, count, end) => {
    expect(await attempt(results, over)).toMatchObject({ ran: count, end });
  });
});

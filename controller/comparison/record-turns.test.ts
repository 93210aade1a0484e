import { describe, expect, it } from '@jest/globals';
import { newAbortController, yieldToLoop } from '#base';
import type { AppKey } from '#model';
import { RecordTurns } from './record-turns.ts';

const [a, b] = ['argocd/a' as AppKey, 'argocd/b' as AppKey];
const { signal } = newAbortController();

/** Turns, and whether the record of `a` has its turn. */
function waiting(): { readonly turns: RecordTurns; readonly isDue: () => Promise<boolean> } {
  const turns = new RecordTurns();
  turns.begin(a);
  turns.begin(b);
  let isDue = false;
  void turns.wait(a, signal).then(() => (isDue = true));
  const settled = async (): Promise<boolean> => {
    await yieldToLoop();
    return isDue;
  };
  return { turns, isDue: settled };
}

describe('the record of a repair', () => {
  it('waits for a turn of its Application', async () => {
    const { turns, isDue } = waiting();
    turns.end(b);
    expect(await isDue()).toBe(false);
    expect(turns.turn(b)).toBe(true);
    expect(await isDue()).toBe(false);
    expect(turns.turn(a)).toBe(true);
    expect(await isDue()).toBe(true);
  });

  it.each<[string, (turns: RecordTurns) => unknown]>([
    ['has written', (turns) => turns.wait(b, signal)],
    ['has failed', (turns) => turns.end(b)],
  ])('waits with its turn until the last repair %s', async (_, end) => {
    const { turns, isDue } = waiting();
    expect(turns.turn(a)).toBe(false);
    expect(await isDue()).toBe(false);
    void end(turns);
    expect(await isDue()).toBe(true);
  });

  it('waits for ten turns at most', async () => {
    const { turns, isDue } = waiting();
    expect(Array.from({ length: 10 }, () => turns.turn(a))).toEqual([...Array.from({ length: 9 }, () => false), true]);
    expect(await isDue()).toBe(true);
    expect(turns.turn(a)).toBe(true);
  });

  it.each<[string, (turns: RecordTurns) => void]>([
    ['when something waits for it', (turns) => turns.hurry(a)],
    ['when its Application is forgotten', (turns) => turns.end(a)],
    ['when the replica stops', (turns) => turns.open()],
  ])('waits no longer %s', async (_, change) => {
    const { turns, isDue } = waiting();
    change(turns);
    expect(await isDue()).toBe(true);
  });

  it('does not wait in a replica that stops, and ends with its pass', async () => {
    const turns = new RecordTurns();
    const work = newAbortController();
    const aborted = expect(turns.wait(a, work.signal)).rejects.toThrow('over');
    work.abort(new Error('over'));
    await aborted;
    turns.open();
    await turns.wait(a, signal);
  });
});

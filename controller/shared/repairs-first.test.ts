import { describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { FakeClock } from '#support';
import { maxPassDelayMs, maxRecordDelayMs, RepairsFirst, stormKeys } from './repairs-first.ts';

function world(passes: number, steps: number) {
  const waiting = { passes, steps };
  const clock = new FakeClock();
  const first = new RepairsFirst(clock, { passes: () => waiting.passes, steps: () => waiting.steps });
  const end = newAbortController();
  const turns: string[] = [];
  const record = (): void => void first.recordTurn(end.signal).then(() => turns.push('record'));
  const pass = (): void => void first.passTurn(end.signal).then(() => turns.push('pass'));
  return { waiting, clock, first, end, turns, record, pass };
}

describe('repairs first', () => {
  it.each([
    ['nothing waits', 0, 0, ['record', 'pass']],
    ['fewer wait than a storm has', stormKeys - 2, 1, ['record', 'pass']],
    ['only steps wait', 0, stormKeys, ['pass']],
    ['only passes wait', stormKeys, 0, ['pass']],
    ['many passes wait, and a step', stormKeys, 1, []],
  ])('lets these go at once: %s', async (_name, passes, steps, gone) => {
    const { clock, turns, record, pass } = world(passes, steps);
    record();
    pass();
    await clock.advance(0);
    expect(turns).toEqual(gone);
  });

  it('lets a pass go when no step waits, and a record when the storm is over', async () => {
    const { waiting, clock, turns, record, pass } = world(stormKeys, 5);
    record();
    pass();
    await clock.advance(maxPassDelayMs / 2);
    expect(turns).toEqual([]);
    waiting.steps = 0;
    await clock.advance(20);
    expect(turns).toEqual(['pass']);
    waiting.passes = 0;
    await clock.advance(20);
    expect(turns).toEqual(['pass', 'record']);
    expect(clock.pending).toBe(0);
  });

  it('delays neither for longer than its limit, however long the storm lasts', async () => {
    const { clock, turns, record, pass } = world(stormKeys, 5);
    record();
    pass();
    await clock.advance(maxPassDelayMs + 10);
    expect(turns).toEqual(['pass']);
    await clock.advance(maxRecordDelayMs - maxPassDelayMs - 20);
    expect(turns).toEqual(['pass']);
    await clock.advance(20);
    expect(turns).toEqual(['pass', 'record']);
  });

  it('lets a record go that a person waits for', async () => {
    const { clock, first, end, turns } = world(stormKeys, 5);
    let isAsked = false;
    void first.recordTurn(end.signal, () => isAsked).then(() => turns.push('record'));
    await clock.advance(1000);
    expect(turns).toEqual([]);
    isAsked = true;
    await clock.advance(20);
    expect(turns).toEqual(['record']);
  });

  it('lets all go at an abort', async () => {
    const { clock, turns, record, pass, end } = world(stormKeys, 5);
    record();
    pass();
    end.abort(new Error('the replica ends'));
    record();
    await clock.advance(0);
    expect(turns.sort()).toEqual(['pass', 'record', 'record']);
  });
});

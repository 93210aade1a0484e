import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deepEqual, parseJson, systemClock, yieldToLoop } from '#base';
import type { Json } from '#base';
import { diffObjects, JqAnswers } from '#diff';
import type { DiffResult } from '#diff';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { FakeClock, signalOf } from '#support';
import { JqRunner } from './jq-runner.ts';

const lines = (name: string): readonly Json[] =>
  readFileSync(`diff/testdata/${name}`, 'utf8').trim().split('\n').map(parseJson);
const [head] = lines('jq.ndjson') as unknown as readonly [{ readonly input: Json }];

interface Vector {
  readonly expression: string;
  readonly result: Json;
  readonly invalid?: true;
}
const [, ...vectors] = lines('gojq.ndjson') as unknown as readonly Vector[];

const { signal } = new AbortController();
const runners: JqRunner[] = [];
const make = (limitMs = 20_000): JqRunner => {
  const runner = new JqRunner({ clock: systemClock }, { limitMs });
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.close();
});

const object = (data: Json): KubeObject => ({ apiVersion: 'e.io/v1', kind: 'W', metadata: { name: 'w' }, data });

/** As a comparer does: compares, answers open questions, compares again. */
async function compared(runner: JqRunner, programs: readonly string[], target: Json, live: Json): Promise<DiffResult> {
  const ignoreDifferences = [{ group: '*', kind: '*', jqPathExpressions: programs }];
  const jq = new JqAnswers();
  for (;;) {
    const result = diffObjects(object(target), object(live), { settings: defaultSettings, ignoreDifferences, jq });
    if (jq.openQuestions().length === 0) return result;
    await runner.answer(jq, signal);
  }
}
const dataOf = (result: DiffResult): unknown => result.normalizedLive?.['data'];

describe('programs that only jq can run', () => {
  /** These programs select their whole input, so nothing is left out. */
  const namesAll = new Set(['.. | objects', 'if .a.e then .s end']);
  const valid = vectors.filter(({ invalid }) => invalid !== true);

  it('removes what gojq removes, for every program of the corpus', async () => {
    const runner = make();
    const wrong: unknown[] = [];
    for (const { expression, result } of valid) {
      // The rules read the whole object; a function makes the program one that only jq can run.
      const program = `def f: (${expression}\n); .data | f`;
      const found = await compared(runner, [program], head.input, head.input);
      const expected = namesAll.has(expression) ? undefined : (result ?? head.input);
      if (!deepEqual((dataOf(found) ?? null) as Json, expected ?? null))
        wrong.push({ expression, found: dataOf(found) });
    }
    expect(wrong).toEqual([]);
    expect(valid.length).toBeGreaterThan(75);
  }, 120_000);

  it('run on both sides, each on the result of those before it', async () => {
    const programs = ['.data | limit(1; .l[])', '.data | limit(1; .l[])', '.data.a'];
    const result = await compared(make(), programs, { l: [1, 2, 3], a: 1 }, { l: [4, 5, 3], a: 2 });
    expect(dataOf(result)).toEqual({ l: [3] });
    expect(result).toMatchObject({ modified: false, paths: [], faults: [], undecided: false });
  }, 60_000);

  it('handle slices, negative indexes and big numbers', async () => {
    const live = { l: [1, 2, 3, 4, 5], n: 9007199254740993n };
    expect(
      dataOf(await compared(make(), ['.data | def f: .l[1:3]; f', '.data | limit(1; .l[-1])'], live, live)),
    ).toEqual({
      l: [1, 4],
      n: 9007199254740993n,
    });
  }, 60_000);

  it('do nothing when they fail or name no path, as in Argo CD', async () => {
    const programs = [
      'limit(1; .data.a.b)',
      'limit(1; 1)',
      'limit(1; .)',
      'reduce .data[] as $x (0; . + 1)',
      'reduce 1 as $x (.; .data)',
      'foreach .data[] as $x (.; .data)',
      '.data | def f: input; f',
      '.data[env.HOME // "none"] | limit(1; .)',
    ];
    const result = await compared(make(), programs, { a: 1 }, { a: 1 });
    expect(result).toMatchObject({ modified: false, undecided: false });
    expect(dataOf(result)).toEqual({ a: 1 });
  }, 60_000);

  it('ends a program that exceeds its time limit, reports it, and fails that program only', async () => {
    const runner = make(1500);
    const endless = '.data | until(false; .)';
    let [turns, isOver] = [0, false];
    const others = async (): Promise<void> => {
      for (; !isOver; turns += 1) await yieldToLoop();
    };
    const ticking = others();
    const result = await compared(runner, [endless, '.data | limit(1; .l[])'], { l: [1, 2] }, { l: [3, 2], x: 1 });
    isOver = true;
    await ticking;
    expect(result.faults).toMatchObject([
      { rule: `jqPathExpression "${endless}"`, problem: 'takes longer than 1.5 s on this object', undecided: true },
    ]);
    expect(dataOf(result)).toEqual({ l: [2], x: 1 });
    expect(result).toMatchObject({ modified: false });
    // The event loop kept running.
    expect(turns).toBeGreaterThan(20);
  }, 120_000);

  it('reports text that is not jq as a fault of its rule', async () => {
    const jq = new JqAnswers();
    jq.answerTo('.a | (', { a: 1 });
    await make().answer(jq, signal);
    expect(jq.answerTo('.a | (', { a: 1 })).toEqual({ problem: 'is not a valid jq program' });
  }, 60_000);

  it('asks only once about the same object', async () => {
    const runner = make();
    const first = new JqAnswers();
    first.answerTo('limit(1; .a)', { a: 1 });
    await runner.answer(first, signal);
    await runner.close();
    const again = new JqAnswers();
    again.answerTo('limit(1; .a)', { a: 1 });
    // An aborted caller gets no thread: only cached answers are used.
    const gone = new AbortController();
    gone.abort(new Error('gone'));
    await runner.answer(again, gone.signal);
    expect([again.openQuestions(), again.answerTo('limit(1; .a)', { a: 1 })]).toEqual([[], { paths: [['a']] }]);
    again.answerTo('limit(1; .a)', { a: 2 });
    await expect(runner.answer(again, gone.signal)).rejects.toThrow('gone');
  }, 60_000);

  it('gives projects turns: one project with many endless programs delays another by two of them', async () => {
    const runner = make(300);
    const ended: string[] = [];
    const ask = async (project: string, program: string): Promise<void> => {
      const answers = new JqAnswers();
      answers.answerTo(program, { a: 1 });
      await runner.answer(answers, signalOf({ project, application: '' }));
      ended.push(project);
    };
    const slow = Array.from({ length: 6 }, (_, i) => ask('hostile', `def f: f; limit(${i + 1}; f)`));
    await ask('victim', 'limit(1; .a)');
    expect(ended.filter((project) => project === 'hostile').length).toBeLessThan(3);
    await Promise.all(slow);
  }, 60_000);

  it('retries later a program that once timed out', async () => {
    const clock = new FakeClock();
    const runner = new JqRunner({ clock }, { limitMs: 1000 });
    runners.push(runner);
    const asked = async (): Promise<JqAnswers> => {
      const answers = new JqAnswers();
      answers.answerTo('limit(1; .a)', { a: 1 });
      await runner.answer(answers, signal);
      return answers;
    };
    const state = { isOver: false };
    const first = asked().finally(() => (state.isOver = true));
    while (!state.isOver) await clock.advance(10_000);
    const late = { problem: 'takes longer than 1 s on this object', transient: true };
    expect((await first).answerTo('limit(1; .a)', { a: 1 })).toEqual(late);
    const soon = await asked();
    const before = soon.unansweredCount;
    expect(soon.answerTo('limit(1; .a)', { a: 1 })).toEqual(late);
    // So its result is not cached.
    expect(soon.unansweredCount).toBe(before + 1);
    await clock.advance(300_000);
    expect((await asked()).answerTo('limit(1; .a)', { a: 1 })).toEqual({ paths: [['a']] });
  }, 60_000);

  it('refuses the rules as faults when jq is not available', () => {
    const ignoreDifferences = [{ group: '*', kind: '*', jqPathExpressions: ['limit(1; .data)'] }];
    const result = diffObjects(object(1), object(2), { settings: defaultSettings, ignoreDifferences });
    expect(result).toMatchObject({
      undecided: true,
      faults: [{ problem: 'uses the function "limit", which is not supported' }],
    });
  });
});

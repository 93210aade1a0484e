import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { isObject, stringifyJson } from '#base';
import type { Json } from '#base';
import { FakeClock } from '#support';
import type { Area } from './area.ts';
import { areas } from './areas/index.ts';
import { drawOf } from './draw.ts';
import { mutated, pathsIn, replaceAt, valueAtPath } from './mutate.ts';
import { Oracle } from './oracle.ts';
import type { Ask, OracleAnswer } from './oracle.ts';
import { reportOf, shownDifference } from './report.ts';
import { AreaRun } from './run.ts';
import type { Difference } from './run.ts';
import { shrinkCase } from './shrink.ts';

/** An oracle in JavaScript: it doubles numbers, and fails as the input says. */
const program = `
  const send = (id, rest) => process.stdout.write(JSON.stringify({ id, ...rest }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, input } = JSON.parse(line);
    if (input.do === 'hang') for (;;);
    if (input.do === 'crash') process.exit(3);
    if (input.do === 'panic') return send(id, { panic: 'out of range\\nstack' });
    if (input.do === 'error') return send(id, { error: 'refused' });
    send(id, { result: 2 * input.n });
  });`;

const oracles: Oracle[] = [];
function startOracle(limitMs: number): Oracle {
  const oracle = new Oracle([process.execPath, '-e', program], limitMs);
  oracles.push(oracle);
  return oracle;
}
afterEach(() => {
  for (const oracle of oracles.splice(0)) oracle.stop();
});

describe('the oracle', () => {
  it('answers cases that are in flight together, each with its own answer', async () => {
    const { ask } = startOracle(60_000);
    const answers = await Promise.all([1, 2, 3].map((n) => ask('x', { n })));
    expect(answers).toEqual([2, 4, 6].map((value) => ({ kind: 'result', value })));
    expect(await ask('x', { do: 'error' })).toEqual({ kind: 'error', text: 'refused' });
    expect(await ask('x', { do: 'panic' })).toMatchObject({ kind: 'panic' });
  });

  it('starts again after a crash, and finds the case that caused it', async () => {
    const oracle = startOracle(60_000);
    const inputs = [{ n: 1 }, { do: 'crash' }, { n: 3 }, { n: 4 }];
    const answers = await Promise.all(inputs.map((input) => oracle.ask('x', input)));
    expect(answers.map(({ kind }) => kind)).toEqual(['result', 'crash', 'result', 'result']);
    expect(oracle.restarts).toBeGreaterThan(0);
  });

  it('ends a case that never answers', async () => {
    const oracle = startOracle(500);
    await oracle.ask('x', { n: 1 });
    const answers = await Promise.all([{ do: 'hang' }, { n: 2 }].map((input) => oracle.ask('x', input)));
    expect(answers).toEqual([{ kind: 'hang' }, { kind: 'result', value: 4 }]);
  });
});

describe('the choices of a case', () => {
  it('depend on seed, area and index only', () => {
    const choices = (seed: number, area: string, index: number): number[] => {
      const draw = drawOf(seed, area, index);
      return draw.some([20, 20], () => draw.below(1000));
    };
    expect(choices(1, 'a', 7)).toEqual(choices(1, 'a', 7));
    expect(choices(1, 'a', 8)).not.toEqual(choices(1, 'a', 7));
    expect(choices(1, 'b', 7)).not.toEqual(choices(1, 'a', 7));
    expect(choices(2, 'a', 7)).not.toEqual(choices(1, 'a', 7));
  });
});

const manifest: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', ports: [{ containerPort: 80 }] }], hostNetwork: true },
};

describe('mutations', () => {
  it('change, keep what identifies the object, and leave the original as it is', () => {
    const before = JSON.stringify(manifest);
    const results = Array.from({ length: 300 }, (_, i) => mutated(manifest, 3, drawOf(1, 'm', i)));
    expect(JSON.stringify(manifest)).toBe(before);
    expect(results.filter((result) => stringifyJson(result) !== before).length).toBeGreaterThan(200);
    for (const result of results)
      expect([valueAtPath(result, ['kind']), valueAtPath(result, ['metadata', 'name'])]).toEqual(['Pod', 'x']);
  });

  it('replace and remove values by their paths', () => {
    expect(pathsIn({ a: [{ b: 1 }] })).toEqual([['a'], ['a', 0], ['a', 0, 'b']]);
    expect(replaceAt({ a: [1, 2] }, ['a', 0], undefined)).toEqual({ a: [2] });
    expect(replaceAt({ a: 1 }, ['b'], 2)).toEqual({ a: 1, b: 2 });
    expect(replaceAt({ a: { b: 1, c: 2 } }, ['a', 'b'], undefined)).toEqual({ a: { c: 2 } });
  });
});

describe('the shrinker', () => {
  it('leaves only what the difference needs', async () => {
    const hasPort = (value: Json): boolean => JSON.stringify(value).includes('"containerPort":80');
    const smallest = await shrinkCase({ target: manifest, live: manifest }, (smaller) =>
      Promise.resolve(hasPort(smaller)),
    );
    expect(JSON.stringify(smallest)).toMatch(
      /^\{"(?:target|live)":\{"spec":\{"containers":\[\{"ports":\[\{"containerPort":80\}\]\}\]\}\}\}$/,
    );
  });

  it('ends after its tries', async () => {
    let tries = 0;
    const count = (): Promise<boolean> => Promise.resolve((tries += 1) < 0);
    await shrinkCase(manifest, count, 5);
    expect(tries).toBeLessThanOrEqual(5);
  });
});

/** Ours adds 1 to odd numbers, which a row explains for 3, and throws for 5. */
const area: Area = {
  name: 'numbers',
  generate: (draw) => (draw.chance(0.1) ? undefined : { n: draw.below(6), extra: ['unneeded'] }),
  judge: (input, answer) => {
    const n = isObject(input) ? Number(input['n']) : Number.NaN;
    if (n === 5) throw new Error('five');
    return { ours: n % 2 === 0 ? 2 * n : 2 * n + 1, theirs: answer.kind === 'result' ? answer.value : null };
  },
  explain: (input) => (isObject(input) && input['n'] === 3 ? 'three is odd' : undefined),
};
const ask: Ask = (_area, input): Promise<OracleAnswer> =>
  Promise.resolve({ kind: 'result', value: isObject(input) ? 2 * Number(input['n']) : null });

async function playNumbers(): Promise<{ readonly run: AreaRun; readonly kept: readonly Difference[] }> {
  const kept: Difference[] = [];
  const run = new AreaRun(area, 1, ask, new FakeClock());
  await run.play(0, { until: Number.MAX_SAFE_INTEGER, cases: 200, shown: 5 }, (difference) => kept.push(difference));
  return { run, kept };
}

describe('a run', () => {
  it('counts cases, known and unknown differences, and keeps each', async () => {
    const { run, kept } = await playNumbers();
    const { cases, skipped, known, unknown } = run.tally;
    expect(cases + skipped).toBe(200);
    expect(skipped).toBeGreaterThan(0);
    expect(known.get('three is odd')).toBe(kept.filter(({ row }) => row !== undefined).length);
    expect(unknown).toBe(kept.filter(({ row }) => row === undefined).length);
    const wrong = new Set(kept.map(({ input }) => (isObject(input) ? input['n'] : undefined)));
    expect([...wrong].sort()).toEqual([1, 3, 5]);
    expect(kept.filter(({ ours }) => JSON.stringify(ours) === '{"threw":"five"}').length).toBeGreaterThan(0);
  });

  it('shrinks the first difference of a shape', async () => {
    const { kept } = await playNumbers();
    expect(kept.some(({ input }) => JSON.stringify(input) === '{"n":1}')).toBe(true);
  });

  it('repeats a case from its seed and index', async () => {
    const { kept } = await playNumbers();
    const known = kept.find(({ row }) => row !== undefined);
    const again = await new AreaRun(area, 1, ask, new FakeClock()).playCase(known?.index ?? -1);
    expect(again).toEqual(known);
  });

  it('reports a table by area, rows by their names, and how to repeat a difference', async () => {
    const { run, kept } = await playNumbers();
    const text = reportOf([{ name: 'numbers', tally: run.tally }], { seed: 1, restarts: 0 });
    expect(text).toMatch(/\| numbers \| \d+ \| \d+ \| \d+ \| \d+ \| \d+ \|/);
    expect(text).toContain('by the row "three is odd"');
    const unknown = kept.find(({ row }) => row === undefined);
    expect(unknown === undefined ? '' : shownDifference(unknown)).toMatch(
      /--area numbers --seed 1 --from \d+ --cases 1/,
    );
  });
});

describe('the rows that explain differences', () => {
  it('are rows of docs/compatibility.md', () => {
    const page = readFileSync('docs/compatibility.md', 'utf8');
    const files = ['diff-rows', 'health', 'policy', 'small', 'sync'];
    const folder = fileURLToPath(new URL('areas/', import.meta.url));
    const texts = files.map((name) => readFileSync(`${folder}${name}.ts`, 'utf8'));
    const blocks = texts.flatMap((text) => /const rows = \{([^]*?)\n\} as const/.exec(text)?.[1] ?? []);
    const names = blocks.flatMap((block) =>
      [...block.matchAll(/:\s+(['"])(.*?)\1,\n/g)].map(([, , name = '']) => name),
    );
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !page.includes(`| ${name} |`))).toEqual([]);
  });

  it('belong to areas with names of their own', () => {
    expect(new Set(areas.map(({ name }) => name)).size).toBe(areas.length);
  });
});

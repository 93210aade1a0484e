import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { segmentsOf } from '../scripts/fuzz/coverage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'guided-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A reader with a fault behind six bytes: 256 to the power of six random inputs would find it. */
const maze = (body: string): string => `
import { describe, expect, it } from '@jest/globals';
const step = (input, i, then) => { if (input[i] === 'drift!'.charCodeAt(i)) then(); };
const read = (input) => {
  step(input, 0, () => { step(input, 1, () => { step(input, 2, () => {
    step(input, 3, () => { step(input, 4, () => { step(input, 5, () => { ${body} }); }); });
  }); }); });
};
describe('x', () => { it.each([{ name: 'a maze', seeds: ['x'], read }])('$name', () => expect(1).toBe(1)); });
`;

function fuzz(body: string, ...more: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const file = join(folder, `${more.length}-${body.length}.test.mjs`);
  writeFileSync(file, maze(body));
  const args = ['scripts/fuzz/main.mjs', '--file', file, '--seconds', '100', '--seed', '1', ...more];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, (_error, out) => resolve({ code: child.exitCode ?? 1, out }));
  });
}

describe('fuzzing guided by coverage', () => {
  it('finds a fault behind six bytes, and prints the input as the line of a test', async () => {
    const { code, out } = await fuzz('null.x;');
    expect(out).toMatch(/FUZZ FAILURE: the reader of a maze throws TypeError/);
    const base64 = /Buffer\.from\('([^']+)', 'base64'\)/.exec(out)?.[1] ?? '';
    expect(Buffer.from(base64, 'base64').toString('latin1')).toMatch(/^drift!/);
    expect(code).toBe(1);
  }, 120_000);

  it('accepts an error of ours, and keeps the inputs that reached something new', async () => {
    const corpus = join(folder, 'corpus');
    const body = "throw Object.assign(new Error('refused'), { code: 'REFUSED' });";
    const { code, out } = await fuzz(body, '--inputs', '60000', '--corpus', corpus);
    expect(out).toMatch(/fuzz: a maze: \d+ inputs, \d+ inputs reached something new/);
    expect(code).toBe(0);
    const [reader = ''] = readdirSync(corpus);
    expect(readdirSync(join(corpus, reader)).length).toBeGreaterThan(0);
  }, 120_000);

  it('finds a changed prototype of all objects', async () => {
    const { code, out } = await fuzz('Object.prototype.polluted = 1;');
    expect(out).toMatch(/a maze changes the prototype of all objects/);
    expect(code).toBe(1);
  }, 120_000);
});

it('flattens the nested ranges of V8 to the blocks that ran', () => {
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 2 },
    { startOffset: 10, endOffset: 40, count: 0 },
    { startOffset: 20, endOffset: 30, count: 7 },
  ];
  expect(segmentsOf(ranges).map(({ from, to, count }) => [from, to, count])).toEqual([
    [0, 10, 2],
    [10, 20, 0],
    [20, 30, 7],
    [30, 40, 0],
    [40, 100, 2],
  ]);
});

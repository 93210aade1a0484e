import { describe, expect, it } from '@jest/globals';
import type { Benchmark } from './harness.ts';
import { collectGarbage, heapBytesOf, medianSeconds } from './harness.ts';
import { run } from './testing/run.ts';

const fake = (name: string, run: Benchmark['run']): Benchmark => ({ name, about: `about ${name}`, run });

describe('bench', () => {
  it('prints machine, commit and seed above a table for people', async () => {
    const { out } = await run(
      [],
      [
        fake('one', async () => ({ ops_per_second: 1234567.8, some_ratio: 1.23456 })),
        fake('two', async () => ({ a: 1 })),
      ],
    );
    expect(out).toMatch(/^machine {2}.*\ncommit {3}\S+, seed [0-9]+\n/);
    expect(out).toContain('one: about one\n  ops_per_second  1,234,568\n  some_ratio           1.23\n');
    expect(out).toContain('two: about two\n  a  1\n');
  });

  it('runs only what is named, each with the same chance', async () => {
    const drawn: number[] = [];
    const draw = async ({ random }: { random: { next(): number } }) => {
      drawn.push(random.next());
      return { a: 1 };
    };
    const { out } = await run(
      ['b', 'c', '--json'],
      ['a', 'b', 'c'].map((name) => fake(name, draw)),
    );
    expect(out.match(/"name":"."/g)).toEqual(['"name":"b"', '"name":"c"']);
    expect(drawn[0]).toBe(drawn[1]);
  });

  it('15.5: runs the parts that are named, and all of a benchmark that is named itself', async () => {
    const parts = ['x', 'y'];
    const asked: string[] = [];
    const run_: Benchmark['run'] = async ({ wants }) => {
      asked.push(parts.filter(wants).join());
      return { a: 1 };
    };
    const known = [{ ...fake('b', run_), parts }, fake('c', run_)];
    for (const names of [['b/y'], ['b'], ['b/x', 'b/y'], []]) await run([...names, '--json'], known);
    expect(asked).toEqual(['y', 'x,y', 'x,y', 'x,y', 'x,y']);
    const refused = await run(['b/z'], known);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('there are: b, b/x, b/y, c')]);
  });

  it.each([
    [['nosuch'], /^driftless bench: there is no benchmark "nosuch"; there are: [^\n]*queues[^\n]*\n$/],
    [['queues', '--fast'], /^driftless bench: unknown flag --fast; usage: [^\n]+\n$/],
  ])('refuses %j with one line and exit code 2', async (args, message) => {
    const { code, out, err } = await run(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  it('goes on after a benchmark that fails, and says so', async () => {
    const broken = fake('broken', () => Promise.reject(new Error('no clusters')));
    const { code, out, err } = await run(['--json'], [broken, fake('fine', async () => ({ a: 1 }))]);
    expect([code, err]).toEqual([1, 'driftless bench: broken failed: no clusters\n']);
    expect(out).toContain('"name":"fine"');
  });

  // So many that what the test runner itself frees meanwhile, a few MB, does not count.
  it('counts what stays on the heap, and not what is dropped', () => {
    const kept = heapBytesOf(() => Array.from({ length: 1_000_000 }, (_, i) => ({ i })));
    expect(kept.bytes).toBeGreaterThan(1_000_000 * 8);
    const dropped = heapBytesOf(() => Array.from({ length: 1_000_000 }, (_, i) => ({ i })).length);
    expect(dropped.bytes).toBeLessThan(kept.bytes / 4);
    expect(collectGarbage).not.toThrow();
  });

  it('takes the middle of the rounds, after a warm-up', async () => {
    let runs = 0;
    expect(await medianSeconds(3, () => void (runs += 1))).toBeGreaterThanOrEqual(0);
    expect(runs).toBe(4);
  });
});

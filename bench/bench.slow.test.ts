import { describe, expect, it } from '@jest/globals';
import type { Benchmark } from './harness.ts';
import { collectGarbage, heapBytesOf, medianSeconds } from './harness.ts';
import { runBench } from './testing/run.ts';

const fake = (name: string, run: Benchmark['run']): Benchmark => ({ name, about: `about ${name}`, run });

describe('bench', () => {
  it('prints machine, commit and seed above a table', async () => {
    const { out } = await runBench(
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

  it('runs only the named benchmarks, each with the same seed', async () => {
    const drawn: number[] = [];
    const draw = async ({ random }: { random: { next(): number } }) => {
      drawn.push(random.next());
      return { a: 1 };
    };
    const { out } = await runBench(
      ['b', 'c', '--json'],
      ['a', 'b', 'c'].map((name) => fake(name, draw)),
    );
    expect(out.match(/"name":"."/g)).toEqual(['"name":"b"', '"name":"c"']);
    expect(drawn[0]).toBe(drawn[1]);
  });

  it('runs the named parts, and all parts of a named benchmark', async () => {
    const parts = ['x', 'y'];
    const asked: string[] = [];
    const run_: Benchmark['run'] = async ({ wants }) => {
      asked.push(parts.filter(wants).join());
      return { a: 1 };
    };
    const known = [{ ...fake('b', run_), parts }, fake('c', run_)];
    for (const names of [['b/y'], ['b'], ['b/x', 'b/y'], []]) await runBench([...names, '--json'], known);
    expect(asked).toEqual(['y', 'x,y', 'x,y', 'x,y', 'x,y']);
    const refused = await runBench(['b/z'], known);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('choose from: b, b/x, b/y, c')]);
  });

  it.each([[['--size', '7']], [['--size=7']]])('passes %j to the benchmark', async (args) => {
    const given: unknown[] = [];
    const run_: Benchmark['run'] = async ({ option, progress }) => {
      given.push(option('size'), option('rate'));
      progress('half way');
      return { a: 1 };
    };
    const known = [{ ...fake('b', run_), options: ['size', 'rate'], table: () => 'a table\n' }];
    const { code, out, err } = await runBench(['b', ...args], known);
    expect([code, err, given]).toEqual([0, 'half way\n', ['7', undefined]]);
    expect(out).toContain('\nb: about b\na table\n');
    expect((await runBench(['--size'], known)).err).toBe('driftless bench: --size needs a value\n');
  });

  it('runs the benchmarks of a named group, each with its own line', async () => {
    const known = ['g', 'g/x', 'g/y', 'h'].map((name) => fake(name, async () => ({ a: 1 })));
    const { out } = await runBench(['g', '--json'], known);
    expect(out.match(/"name":"[^"]+"/g)).toEqual(['"name":"g"', '"name":"g/x"', '"name":"g/y"']);
    const one = await runBench(['g/y', '--json'], known);
    expect(one.out.match(/"name":"[^"]+"/g)).toEqual(['"name":"g/y"']);
  });

  it('shows the given options with the result, and refuses those that no named benchmark takes', async () => {
    const known = [{ ...fake('b', async () => ({ a: 1 })), options: ['share'] }, fake('c', async () => ({ a: 1 }))];
    expect(JSON.parse((await runBench(['b', '--share=0.5', '--json'], known)).out)).toHaveProperty('options', {
      share: '0.5',
    });
    expect(JSON.parse((await runBench(['b', '--json'], known)).out)).not.toHaveProperty('options');
    const refused = await runBench(['c', '--share=0.5'], known);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('takes --share')]);
  });

  it.each([
    [['nosuch'], /^driftless bench: unknown benchmark "nosuch"; choose from: [^\n]*queues[^\n]*\n$/],
    [['queues', '--fast'], /^driftless bench: unknown flag --fast; usage: [^\n]+\n$/],
  ])('refuses %j with one line and exit code 2', async (args, message) => {
    const { code, out, err } = await runBench(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  it('continues after a failing benchmark and reports it', async () => {
    const broken = fake('broken', () => Promise.reject(new Error('no clusters')));
    const { code, out, err } = await runBench(['--json'], [broken, fake('fine', async () => ({ a: 1 }))]);
    expect([code, err]).toEqual([1, 'driftless bench: broken failed: no clusters\n']);
    expect(out).toContain('"name":"fine"');
  });

  // Large enough that the few MB that the test runner frees meanwhile do not matter.
  it('counts retained heap, not garbage', () => {
    const kept = heapBytesOf(() => Array.from({ length: 1_000_000 }, (_, i) => ({ i })));
    expect(kept.bytes).toBeGreaterThan(1_000_000 * 8);
    const dropped = heapBytesOf(() => Array.from({ length: 1_000_000 }, (_, i) => ({ i })).length);
    expect(dropped.bytes).toBeLessThan(kept.bytes / 4);
    expect(collectGarbage).not.toThrow();
  });

  it('returns the median of the rounds after a warm-up', async () => {
    let runs = 0;
    expect(await medianSeconds(3, () => void (runs += 1))).toBeGreaterThanOrEqual(0);
    expect(runs).toBe(4);
  });
});

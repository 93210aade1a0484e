import type { Benchmark } from '../harness.ts';
import { benchmarks } from '../list.ts';
import { runBenchmarks } from '../run.ts';

/** Runs the benchmark program with these words, and collects what it says. */
export async function run(
  args: string[],
  known: readonly Benchmark[] = benchmarks,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const console = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await runBenchmarks(known, args, console);
  return { code, out, err };
}

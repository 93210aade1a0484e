import type { Benchmark } from '../harness.ts';
import { allBenchmarks } from '../list.ts';
import { runBenchmarks } from '../run.ts';

/** Runs the benchmark program with these arguments and collects its output. */
export async function runBench(
  args: string[],
  known: readonly Benchmark[] = allBenchmarks,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const console = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await runBenchmarks(known, args, console);
  return { code, out, err };
}

import { allBenchmarks } from './list.ts';
import { runBenchmarks } from './run.ts';

process.exitCode = await runBenchmarks(allBenchmarks, process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});

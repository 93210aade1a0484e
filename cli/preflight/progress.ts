import type { CommandOutput } from '../process/output.ts';
import type { ComparisonProgress } from './compare.ts';

/** Reports progress in one line on stderr: rewritten on a terminal, otherwise a new line. */
export function progressWriter(output: CommandOutput): (line: string) => void {
  return (line) => output.progress(`driftless: ${line}`);
}

/** Reports a comparison. A pipe shows every tenth step, a terminal each. */
export function comparisonProgress(output: CommandOutput): (state: ComparisonProgress) => void {
  const write = progressWriter(output);
  let shown = -1;
  return ({ compared, of, clustersRead, clusters }) => {
    const step = output.live ? compared : Math.floor((10 * compared) / Math.max(1, of));
    if (!output.live && step === shown) return;
    shown = step;
    const reading = clustersRead < clusters ? `, ${clustersRead} of ${clusters} clusters read` : '';
    write(`${compared} of ${of} Applications compared${reading}`);
  };
}

import { stringifyJson } from '#base';
import type { Difference, Tally } from './run.ts';

interface AreaTally {
  readonly name: string;
  readonly tally: Tally;
}

/** The table of a run, then the rows of docs/compatibility.md that explain differences. */
export function reportOf(areas: readonly AreaTally[], { seed, restarts }: { seed: number; restarts: number }): string {
  const lines = areas.map(({ name, tally }) => {
    const known = [...tally.known.values()].reduce((sum, count) => sum + count, 0);
    const rate = tally.seconds > 0 ? Math.round(tally.cases / tally.seconds) : 0;
    return `| ${[name, tally.cases, rate, known + tally.unknown, known, tally.unknown].join(' | ')} |`;
  });
  const rows = areas.flatMap(({ name, tally }) =>
    [...tally.known]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([row, count]) => `${name}: ${count} by the row "${row}"`),
  );
  const total = areas.reduce((sum, { tally }) => sum + tally.cases, 0);
  return [
    `differential: ${total} cases, seed ${seed}, ${restarts} restarts of the oracle`,
    '| Area | Cases | Per second | Differences | Known by a row | Unknown |',
    '|---|---|---|---|---|---|',
    ...lines,
    ...rows,
    '',
  ].join('\n');
}

/** An unknown difference with the command that repeats it. */
export function shownDifference({ area, seed, index, input, ours, theirs }: Difference): string {
  return [
    `DIFFERENCE: ${area}, case ${index} of seed ${seed}: --area ${area} --seed ${seed} --from ${index} --cases 1`,
    `  input:   ${stringifyJson(input)}`,
    `  ours:    ${stringifyJson(ours)}`,
    `  Argo CD: ${stringifyJson(theirs)}`,
    '',
  ].join('\n');
}

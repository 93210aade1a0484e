// What `npm run nightly` decides: seeds, what is next, and its report.

/** Reports that are kept. */
const keptReports = 10;
/** Lines of a failed unit's output in the report. */
const shownLines = 40;

/** The seed of a round, from the commit: a run of the same commit tries the same cases. */
export function seedOf(commit, round) {
  return (Number.parseInt(commit.slice(0, 7), 16) + round * 1_000_003) % 2 ** 31;
}

/**
 * The units of a round without a result. The first round has all units, further ones those with
 * cases of a seed.
 */
export function unitsLeft(units, results, round) {
  const done = new Set(results.filter((one) => one.round === round).map(({ name }) => name));
  return units.filter(({ name, isSeeded }) => !done.has(name) && (round === 0 || isSeeded));
}

/** A run continues only what the same commit began. Units that the end of the time cut run again. */
export function resumed(state, commit) {
  if (state?.commit !== commit) return { commit, spentMs: 0, round: 0, results: [] };
  return { ...state, results: state.results.filter(({ verdict }) => verdict !== 'cut') };
}

/** The lines of an output that count cases. */
export function casesOf(output) {
  const counts = /^Tests: .*total$|\d+ (?:schedules of|inputs)|^(?:mutation|world) gate: |^\| all \||^differential: /;
  const lines = output.split('\n').map((line) => line.trim());
  return lines.filter((line) => counts.test(line));
}

/** The reports to remove, of the names in docs/nightly. */
export function obsoleteReports(names) {
  return names
    .filter((name) => /^\d{4}-\d{2}-\d{2}\.md$/.test(name))
    .sort()
    .slice(0, -keptReports);
}

/** The page docs/nightly/DATE.md. */
export function reportOf({ date, commit, hours, results, left, seeds }) {
  const findings = results.filter(({ verdict }) => verdict === 'failed');
  return [
    `# Nightly run of ${date}`,
    '',
    `Commit ${commit}, ${hours.toFixed(1)} hours, ${results.length} runs of units, seeds ${seeds.join(', ')}.`,
    `${findings.length} findings. ${left.length === 0 ? 'Every unit ran.' : `Not reached: ${left.join(', ')}.`}`,
    '',
    '| Unit | Round | Result | Seconds | Cases |',
    '|---|---|---|---|---|',
    ...results.map(rowOf),
    '',
    '## Findings',
    '',
    ...(findings.length === 0 ? ['None.', ''] : findings.flatMap(findingOf)),
  ].join('\n');
}

function rowOf({ name, round, verdict, seconds, cases }) {
  const text = cases.map((line) => line.replaceAll('|', '\\|')).join('; ');
  return `| ${name} | ${round + 1} | ${verdict} | ${seconds} | ${text} |`;
}

function findingOf({ name, command, output }) {
  const lines = output.trimEnd().split('\n').slice(-shownLines);
  return [`### ${name}`, '', `Repeat it: \`${command}\``, '', '```text', ...lines, '```', ''];
}

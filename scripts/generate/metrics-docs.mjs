// Writes the reference tables of docs/metrics.md from the metrics that the code registers. With
// --check it writes nothing and exits with 1 if the page is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMetrics } from './metric-table.mjs';
import { root } from '../root.mjs';

const path = join(root, 'docs', 'metrics.md');
const begin = '<!-- begin: node scripts/generate/metrics-docs.mjs -->\n';
const end = '<!-- end: node scripts/generate/metrics-docs.mjs -->\n';

function table(metrics) {
  const rows = metrics.map(({ name, type, labels, help }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help.replace(/\.$/, '').replaceAll('|', '\\|')} |`;
  });
  return ['| Name | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

const all = readMetrics(root);
const isOurs = ({ name }) => name.startsWith('driftless_');
const before = readFileSync(path, 'utf8');
const [head, rest = ''] = before.split(begin);
const [, tail] = rest.split(end);
if (tail === undefined) throw new Error(`docs/metrics.md lacks the lines ${begin.trim()} and ${end.trim()}`);
const ours = `### Metrics of Driftless\n\n${table(all.filter(isOurs))}\n`;
const theirs = `### Metrics of Argo CD\n\n${table(all.filter((metric) => !isOurs(metric)))}\n`;
const after = `${head}${begin}\n${ours}\n${theirs}\n${end}${tail}`;
if (after !== before) {
  if (process.argv.includes('--check')) {
    process.stderr.write(
      'docs/metrics.md is stale: run node scripts/generate/metrics-docs.mjs and commit the result.\n',
    );
    process.exitCode = 1;
  } else writeFileSync(path, after);
}

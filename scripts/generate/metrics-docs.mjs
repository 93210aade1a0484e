// Writes the reference tables of docs/metrics.md from the metrics that the code registers. With
// --check it writes nothing and exits with 1 if the page is stale.
import { join } from 'node:path';
import { putBetween } from './generated.mjs';
import { readMetrics } from './metric-table.mjs';
import { root } from '../root.mjs';

const begin = '<!-- begin: node scripts/generate/metrics-docs.mjs -->';
const end = '<!-- end: node scripts/generate/metrics-docs.mjs -->';

function table(metrics) {
  const rows = metrics.map(({ name, type, labels, help }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help.replace(/\.$/, '').replaceAll('|', '\\|')} |`;
  });
  return ['| Name | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

const all = readMetrics(root);
const isOurs = ({ name }) => name.startsWith('driftless_');
const ours = `### Metrics of Driftless\n\n${table(all.filter(isOurs))}\n`;
const theirs = `### Metrics of Argo CD\n\n${table(all.filter((metric) => !isOurs(metric)))}\n`;
putBetween(join(root, 'docs', 'metrics.md'), [begin, end], `${ours}\n${theirs}\n`);

// Writes the tables of docs/options.md from cli/options/. With --check it writes nothing and exits
// with 1 if the page is stale.
import { join } from 'node:path';
import { putBetween } from './generated.mjs';
import { defaultText, environmentDefault, readDriftlessOptions, readOptions } from './option-table.mjs';
import { root } from '../root.mjs';

const mark = '<!-- from here on: node scripts/generate/options-docs.mjs -->';

const escapeCell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '\\<');
const code = (text) => (text === '' ? '' : `\`${text}\``);

function mapKey(option) {
  const { key, envKind } = option;
  if (key === undefined) return '';
  const unit = envKind === 'duration' ? `, such as ${code(environmentDefault(option))}` : '';
  return `${key.startsWith('P:') ? 'argocd-cmd-params-cm' : 'argocd-cm'}: ${code(key.slice(2))}${unit}`;
}

/** The default as shown: empty (unset) if it is below the minimum. */
function shownDefault(option) {
  const { kind, default: value, min } = option;
  if (value === Number.MAX_VALUE) return 'no limit';
  if (typeof value === 'number' && value < (min ?? value)) return '';
  const hours = kind === 'duration' && value > 0 && value % 3_600_000 === 0;
  return code(hours ? `${value / 3_600_000}h` : defaultText(option));
}

function optionRow(option) {
  const short = option.short === undefined ? '' : `, \`-${option.short}\``;
  const shown = (option.choices ?? []).filter((choice) => choice !== '');
  const choices = shown.length > 0 ? ` One of ${shown.map(code).join(', ')}.` : '';
  const effect = option.noEffect === undefined ? '' : ` **No effect:** ${option.noEffect}.`;
  const cells = [`\`--${option.flag}\`${short}`, code(option.env ?? ''), mapKey(option), shownDefault(option)];
  return `| ${[...cells, escapeCell(option.help) + choices + effect].join(' | ')} |`;
}

function section(title, options) {
  const header = '| Flag | Environment variable | ConfigMap key | Default | Meaning |\n|---|---|---|---|---|';
  return `## ${title}\n\n${header}\n${options.map(optionRow).join('\n')}\n`;
}

const ours = new Set((await readDriftlessOptions()).map(({ flag }) => flag).concat('help'));
const all = await readOptions();
const tables = [
  section(
    'Options of Argo CD and kubectl',
    all.filter(({ flag }) => !ours.has(flag)),
  ),
  section(
    'Options of Driftless',
    all.filter(({ flag }) => ours.has(flag)),
  ),
].join('\n');
putBetween(join(root, 'docs', 'options.md'), [mark], tables);

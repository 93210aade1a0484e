// `npm run e2e:setup`: finds or builds the tools of tools.mjs that `npm run e2e` needs (provide.mjs
// describes where). Prints a table, or JSON with `-o json`; progress goes to stderr. Exits with 1 if
// a required tool cannot be provided, and names what to install.
import { advice, cache, provideTools } from './provide.mjs';
import { tools } from './tools.mjs';

const json = process.argv.join(' ').includes('-o json');
const say = (text) => process.stderr.write(`e2e:setup: ${text}\n`);

const { found, missing } = await provideTools(tools, say);
const leftOut = missing.flatMap(({ onlyFor = [] }) => onlyFor);
if (json) process.stdout.write(`${JSON.stringify({ cache, tools: found, leftOut })}\n`);
else process.stdout.write(table(found));
for (const tool of missing) process.stderr.write(`driftless: ${advice(tool)}\n`);
process.exit(missing.every(({ onlyFor }) => onlyFor !== undefined) ? 0 : 1);

function table(rows) {
  const cells = [
    ['TOOL', 'VERSION', 'FROM', 'PATH'],
    ...rows.map((row) => [row.name, row.version, row.source, row.path]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

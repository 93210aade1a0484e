// Writes docs/size.md: lines of TypeScript and scripts by module, and the difference from a commit
// (another one: `npm run size -- COMMIT`).
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beside, layers } from '../.dependency-cruiser.mjs';
import { root } from './root.mjs';

const base = process.argv[2] ?? '74416018';
const product = [...layers.flat(), 'sim', 'dashboard', 'engine'];
const modules = [...product, ...beside.filter((name) => !product.includes(name)), 'scripts', 'examples', 'others'];
const isCounted = (path) => /\.(?:ts|tsx|mjs)$/.test(path);
const git = (args, input) => execFileSync('git', ['-C', root, ...args], { input, maxBuffer: 2 ** 28 });
const linesOf = (bytes) => bytes.reduce((lines, byte) => (byte === 10 ? lines + 1 : lines), 0);

/** Whether a file is product, a test (with what only tests use), or support. */
function useOf(path) {
  if (/\.test\.tsx?$|^test\/|\/testing\//.test(path)) return 'tests';
  return product.includes(path.split('/')[0]) ? 'product' : 'support';
}

function count(files) {
  const table = new Map(modules.map((name) => [name, { product: 0, tests: 0, support: 0 }]));
  for (const { path, lines } of files) {
    const folder = path.includes('/') ? path.split('/')[0] : 'others';
    table.get(modules.includes(folder) ? folder : 'others')[useOf(path)] += lines;
  }
  return table;
}

function workingTree() {
  const paths = git(['ls-files', '-z']).toString('utf8').split('\0').filter(isCounted);
  return paths.map((path) => ({ path, lines: linesOf(readFileSync(join(root, path))) }));
}

function commit(name) {
  const entries = git(['ls-tree', '-r', '-z', name]).toString('utf8').split('\0').filter(isCounted);
  const files = entries.map((entry) => ({ id: entry.split(/\s/)[2], path: entry.split('\t')[1] }));
  const output = git(['cat-file', '--batch'], files.map(({ id }) => `${id}\n`).join(''));
  let at = 0;
  return files.map(({ path }) => {
    const begin = output.indexOf(10, at) + 1;
    const end = begin + Number(output.subarray(at, begin).toString('utf8').split(' ')[2]);
    at = end + 1;
    return { path, lines: linesOf(output.subarray(begin, end)) };
  });
}

const uses = ['product', 'tests', 'support'];
const sum = (row) => uses.reduce((total, use) => total + row[use], 0);
const shown = (number) => number.toLocaleString('en-US');
const difference = (now, before) => `${now > before ? '+' : ''}${shown(now - before)}`;
const totalOf = (table) =>
  Object.fromEntries(uses.map((use) => [use, [...table.values()].reduce((total, row) => total + row[use], 0)]));

const [now, before] = [count(workingTree()), count(commit(base))];
const rowOf = (name, row, old) =>
  `| ${[name, ...uses.map((use) => shown(row[use])), shown(sum(row)), difference(sum(row), sum(old))].join(' | ')} |`;
const all = totalOf(now);
const page = `# Size

Lines of TypeScript and scripts (\`.ts\`, \`.tsx\`, \`.mjs\`), with comments and empty lines. Written by
\`npm run size\`; the last column compares with commit ${base}. Tests include what only they use
(\`test/\`, \`testing/\` folders); support is benchmarks, scripts, examples and settings of tools.
No test checks this page: run the command when a change removes or adds much.

| Module | Product | Tests | Support | Together | Difference |
|---|---:|---:|---:|---:|---:|
${modules.map((name) => rowOf(name, now.get(name), before.get(name))).join('\n')}
${rowOf('**together**', all, totalOf(before))}
`;
writeFileSync(join(root, 'docs', 'size.md'), page);
process.stdout.write(page);

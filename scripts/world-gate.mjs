// `node scripts/world-gate.mjs [NAME] [--seeds N] [--all]`: builds deliberate defects into a copy of
// dist/, one at a time, and plays schedules of the simulated world until one shows it. Prints how
// many it took; fails if a defect survives N schedules. Without --all or a name, only defects that
// were found before. A part of `npm run long`.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { defects } from '../test/world/defects.mjs';
import { root } from './root.mjs';

const args = process.argv.slice(2);
const at = args.indexOf('--seeds');
const seeds = at < 0 ? 200 : Number(args[at + 1]);
const part = args.find((arg, i) => !arg.startsWith('--') && i !== at + 1) ?? '';
const isChosen = ({ name, foundWithin }) =>
  part === '' ? foundWithin !== undefined || args.includes('--all') : name.includes(part);
const chosen = defects.filter(isChosen);
const copies = Array.from({ length: Math.min(2, availableParallelism(), chosen.length) }, copied);
const waiting = [...chosen];
const survivors = [];
const begin = Date.now();
try {
  await Promise.all(copies.map(work));
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
const seconds = Math.round((Date.now() - begin) / 1000);
process.stdout.write(`world gate: ${chosen.length - survivors.length} of ${chosen.length} found (${seconds} s)\n`);
for (const name of survivors) process.stdout.write(`SURVIVED: ${name}\n`);
process.exit(survivors.length > 0 ? 1 : 0);

function copied() {
  const copy = mkdtempSync(join(tmpdir(), 'driftless-world-gate-'));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function work(copy) {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const found = await judge(copy, next);
    if (found === undefined) survivors.push(next.name);
    process.stdout.write(`${next.name}: ${found ?? `not found in ${seeds} schedules`}\n`);
  }
}

/** Where and how the defect shows; undefined: it does not. */
async function judge(copy, { name, file, from, to }) {
  const path = join(copy, 'dist', file.replace(/\.ts$/, '.js'));
  const original = readFileSync(path, 'utf8');
  const source = readFileSync(join(root, file), 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${name}: "${from}" is not in ${file} exactly once`);
  writeFileSync(path, compiled(source.replace(from, () => to)));
  try {
    const { code, text } = await play(copy);
    const line = /VIOLATION: (.*)/.exec(text)?.[1];
    if (line === undefined && code !== 0) return `ends with code ${code}`;
    return line?.slice(0, 200);
  } finally {
    writeFileSync(path, original);
  }
}

function compiled(source) {
  const jsc = { parser: { syntax: 'typescript' }, target: 'es2022' };
  const { code } = transformSync(source, { jsc, module: { type: 'es6' } });
  return code.replace(/(from\s+'[^']*)\.ts'/g, "$1.js'").replace(/(from\s+"[^"]*)\.ts"/g, '$1.js"');
}

/** A defect that never lets a schedule end counts as found, too. */
function play(copy) {
  // Schedules make much garbage: a larger young generation saves a sixth of their CPU time.
  const line = ['--max-semi-space-size=64', join(copy, 'dist', 'test', 'world', 'run.js'), '1', String(seeds)];
  const env = { ...process.env, WORLD_STOP: '1' };
  return new Promise((resolve) => {
    let text = '';
    const child = spawn(process.execPath, line, { env, stdio: ['ignore', 'pipe', 'ignore'], timeout: 3_600_000 });
    child.stdout.on('data', (chunk) => (text += chunk));
    child.on('error', () => resolve({ code: 1, text }));
    child.on('close', (code) => resolve({ code: code ?? 1, text }));
  });
}

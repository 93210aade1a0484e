// What the generators share. They read the TypeScript sources, so a stale dist/ cannot mislead
// them, and they print what they did with each file.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from '../root.mjs';

const isCheck = process.argv.includes('--check');
const script = relative(root, process.argv[1]);

/** Imports a module of ours from its TypeScript source. */
export async function importSource(path) {
  const name = `source-${process.pid}-${path.replaceAll('/', '-')}.mjs`;
  const outfile = join(root, 'node_modules', '.cache', 'driftless', name);
  await build({
    entryPoints: [join(root, path)],
    outfile,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['source'],
    packages: 'external',
    logLevel: 'warning',
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile);
  }
}

/** Writes a generated file. With --check it writes nothing; a stale file makes the exit code 1. */
export function put(path, text) {
  const name = relative(root, path);
  const isCurrent = readIfExists(path) === text;
  if (isCheck && !isCurrent) {
    process.stderr.write(`${name} is stale: run node ${script} and commit the result.\n`);
    process.exitCode = 1;
  }
  if (isCheck) return;
  if (!isCurrent) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  process.stdout.write(`${name}: ${isCurrent ? 'unchanged' : 'written'}\n`);
}

/** Replaces what follows the line `begin` of a page, up to the line `end` if there is one. */
export function putBetween(path, [begin, end], content) {
  const page = readFileSync(path, 'utf8');
  const from = page.indexOf(begin);
  const to = end === undefined ? page.length : page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${relative(root, path)} lacks the line "${from < 0 ? begin : end}"`);
  put(path, `${page.slice(0, from + begin.length)}\n\n${content}${page.slice(to)}`);
}

function readIfExists(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

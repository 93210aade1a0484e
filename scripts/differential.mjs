// `npm run differential -- functions [--minutes 10 | --hours N] [--seed N] [--area A,B]`: asks Argo CD's
// own code and ours the same random questions, and prints each difference that no row of
// docs/compatibility.md explains, shrunk, and a table by area. The Go program of
// test/differential/oracle is built once for each version of it, into the cache of `npm run
// e2e:setup`. `--from I --cases N` repeats single cases of a seed. Cases that differed are kept
// beside the program in differences.jsonl, with both answers.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram } from './e2e/go-build.mjs';
import { cache } from './e2e/provide.mjs';
import { tools } from './e2e/tools.mjs';
import { root } from './root.mjs';

const [form, ...options] = process.argv.slice(2);
if (form !== 'functions') {
  process.stderr.write('driftless: usage: npm run differential -- functions [--minutes N] [--seed N] [--area A,B]\n');
  process.exit(2);
}
const sources = join(root, 'test', 'differential', 'oracle');
const { module } = tools.find(({ name }) => name === 'argocd').go;
const files = readdirSync(sources).sort();
const content = files.map((name) => `${name}\n${readFileSync(join(sources, name), 'utf8')}`).join('');
const version = createHash('sha256').update(`${module.version}\n${content}`).digest('hex').slice(0, 16);
const folder = join(cache, `differential-${version}`);
const oracle = join(folder, 'oracle');
const say = (text) => process.stderr.write(`differential: ${text}\n`);
if (!existsSync(oracle)) await goProgram({ module, sources }, { target: oracle, cache }, say);
const main = join(root, 'dist', 'test', 'differential', 'main.js');
const line = [main, '--oracle', oracle, '--keep', join(folder, 'differences.jsonl'), ...options];
process.exit(spawnSync(process.execPath, line, { cwd: root, stdio: 'inherit' }).status ?? 1);

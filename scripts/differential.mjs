// `npm run differential -- functions [--minutes 10 | --hours N] [--seed N] [--area A,B]`: asks Argo CD's
// own code and ours the same random questions, and prints each difference that no row of
// docs/compatibility.md explains, shrunk, and a table by area. The Go program of
// test/differential/oracle is built once for each version of it, into the cache of `npm run
// e2e:setup`. `--from I --cases N` repeats single cases of a seed. Cases that differed are kept
// beside the program in differences.jsonl, with both answers.
//
// `npm run differential -- world [--minutes 30] [--seed N] [--count N] [--apps 6] [--shrink 12]`: random
// installations and scripts, played with Argo CD's controller and with ours on a real API server
// each. Prints each unknown difference, shrunk, and a table by area. A run of the same build goes
// on after the seeds that it has played; `--plan FILE` plays a kept script again.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram } from './e2e/go-build.mjs';
import { cache } from './e2e/provide.mjs';
import { tools } from './e2e/tools.mjs';
import { root } from './root.mjs';

const [form, ...options] = process.argv.slice(2);
if (form !== 'functions' && form !== 'world') {
  const usage = 'functions [--minutes N] [--seed N] [--area A,B] | world [--minutes N] [--seed N] [--apps N]';
  process.stderr.write(`driftless: usage: npm run differential -- ${usage}\n`);
  process.exit(2);
}
if (form === 'world') {
  const built = statSync(join(root, 'dist', '.built')).mtimeMs;
  const place = ['--keep', join(cache, 'differential-world'), '--version', String(built)];
  process.exit(runProgram(join('world', 'main.js'), [...place, ...options]));
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
process.exit(runProgram('main.js', ['--oracle', oracle, '--keep', join(folder, 'differences.jsonl'), ...options]));

function runProgram(file, args) {
  const line = [join(root, 'dist', 'test', 'differential', file), ...args];
  return spawnSync(process.execPath, line, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

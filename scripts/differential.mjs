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
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { goProgram, moduleFolder } from './e2e/go-build.mjs';
import { cache } from './e2e/provide.mjs';
import { tools } from './e2e/tools.mjs';
import { root } from './root.mjs';

const [form, ...options] = process.argv.slice(2);
if (form !== 'functions' && form !== 'world' && form !== 'reference') {
  const usage =
    'functions [--minutes N] [--seed N] [--area A,B] | world [--minutes N] [--seed N] [--apps N] | ' +
    'reference [--from VERSION] --to VERSION';
  process.stderr.write(`driftless: usage: npm run differential -- ${usage}\n`);
  process.exit(2);
}
if (form === 'world') {
  const built = statSync(join(root, 'dist', '.built')).mtimeMs;
  const place = ['--keep', join(cache, 'differential-world'), '--version', String(built)];
  process.exit(runProgram(join('world', 'main.js'), [...place, ...options]));
}
const { module } = tools.find(({ name }) => name === 'argocd').go;
const say = (text) => process.stderr.write(`differential: ${text}\n`);
if (form === 'reference')
  process.exit(
    await compareVersions().catch((error) => {
      say(error.message);
      return 1;
    }),
  );
const sources = join(root, 'test', 'differential', 'oracle');
const files = readdirSync(sources).sort();
const content = files.map((name) => `${name}\n${readFileSync(join(sources, name), 'utf8')}`).join('');
const version = createHash('sha256').update(`${module.version}\n${content}`).digest('hex').slice(0, 16);
const folder = join(cache, `differential-${version}`);
const oracle = join(folder, 'oracle');
if (!existsSync(oracle)) await goProgram({ module, sources }, { target: oracle, cache }, say);
process.exit(runProgram('main.js', ['--oracle', oracle, '--keep', join(folder, 'differences.jsonl'), ...options]));

function runProgram(file, args) {
  const line = [join(root, 'dist', 'test', 'differential', file), ...args];
  return spawnSync(process.execPath, line, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

async function compareVersions() {
  const { values } = parseArgs({
    args: options,
    options: { from: { type: 'string', default: module.version }, to: { type: 'string' }, json: { type: 'boolean' } },
  });
  if (values.to === undefined) {
    say('name the version to compare with: --to 3.7.0');
    return 2;
  }
  const before = await foldersOf(values.from);
  const after = await foldersOf(values.to);
  const both = before.length === after.length;
  if (!both) say('gitops-engine is compared only if both versions have it: give checkouts of both to see it');
  const given = (flag, folders) => (both ? folders : folders.slice(0, 1)).flatMap((each) => [flag, each]);
  const folders = [...given('--before', before), ...given('--after', after)];
  const names = ['--from', values.from, '--to', values.to];
  return runProgram(join('reference', 'main.js'), [...names, ...folders, ...(values.json === true ? ['--json'] : [])]);
}

/** `PREFIX=FOLDER` of a version: of Argo CD, and of its engine if it is published as a module. */
async function foldersOf(version) {
  if (version.includes('/')) return [`=${resolve(version)}`, `gitops-engine/=${resolve(version, 'gitops-engine')}`];
  const fetched = (path, wanted) =>
    moduleFolder({ ...module, path, version: wanted.startsWith('v') ? wanted : `v${wanted}` }, cache, say);
  const folder = await fetched(module.path, version);
  const required = /^\s+(github\.com\/argoproj\/\S*gitops-engine\S*) (v\S+)/m.exec(
    readFileSync(join(folder, 'go.mod'), 'utf8'),
  );
  try {
    return [`=${folder}`, ...(required === null ? [] : [`gitops-engine/=${await fetched(required[1], required[2])}`])];
  } catch {
    return [`=${folder}`];
  }
}

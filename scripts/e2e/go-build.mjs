// Builds a Go command at a pinned version, in its own module in a temporary folder outside this
// repository.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { goCommand } from './go.mjs';

/**
 * Builds `tool.go.package` into `target` and reports progress to `say`. The binary is renamed into
 * place when complete. `tool.go.beside` maps files of the module to names beside the binary. If the
 * module needs a newer Go than the machine has, it is installed into `cache`.
 * @throws Error with the last lines of Go's output
 */
export async function goBuild(tool, { target, cache }, say) {
  const { module, package: name, stamp, beside = {} } = tool.go;
  const folder = mkdtempSync(join(tmpdir(), `driftless-build-${tool.name}-`));
  const command = goCommand(module.language, cache, say);
  const go = (args, tick) => run(command, args, folder, tick);
  try {
    say(`${tool.name}: fetching ${module.path}@${module.version}`);
    const source = await fetchModule(module, go);
    writeFileSync(join(folder, 'go.mod'), goMod(module, source));
    writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${name}"\n`);
    // `go mod tidy` also fetches what only tests of dependencies import. Skip it where that is a
    // lot: the build fetches what it needs.
    if (module.replaced !== true) await go(['mod', 'tidy']);
    say(`${tool.name}: compiling ${name} (minutes on a small machine, once)`);
    mkdirSync(dirname(target), { recursive: true });
    const fresh = `${target}.${process.pid}`;
    const flags = ['-s', '-w', ...stamp.map((entry) => `-X ${entry}`)].join(' ');
    await go(['build', '-trimpath', '-ldflags', flags, '-o', fresh, name], (seconds) =>
      say(`${tool.name}: still compiling (${seconds} s)`),
    );
    for (const [path, here] of Object.entries(beside))
      writeFileSync(join(dirname(target), here), readFileSync(join(source.Dir, path)));
    renameSync(fresh, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Builds the Go program in the folder `sources` against a module into `target`, which is renamed
 * into place when complete. If the module needs a newer Go than the machine has, it is installed
 * into `cache`.
 * @throws Error with the last lines of Go's output
 */
export async function goProgram({ module, sources }, { target, cache }, say) {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-program-'));
  const command = goCommand(module.language, cache, say);
  const go = (args, tick) => run(command, args, folder, tick);
  try {
    say(`fetching ${module.path}@${module.version}`);
    writeFileSync(join(folder, 'go.mod'), goMod(module, await fetchModule(module, go)));
    cpSync(sources, folder, { recursive: true });
    if (module.replaced !== true) await go(['mod', 'tidy']);
    say(`compiling ${sources} (minutes on a small machine, once)`);
    mkdirSync(dirname(target), { recursive: true });
    const fresh = `${target}.${process.pid}`;
    await go(['build', '-trimpath', '-ldflags', '-s -w', '-o', fresh, '.'], (seconds) =>
      say(`still compiling (${seconds} s)`),
    );
    renameSync(fresh, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Builds a Go program like {@link goProgram}, runs it once for each list of arguments and returns
 * the outputs.
 * @throws Error with the last lines of output of Go or of the program
 */
export async function goRun(program, runs, say) {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-run-'));
  const target = join(folder, 'program');
  try {
    await goProgram(program, { target, cache: folder }, say);
    const maxBuffer = 256 * 1024 * 1024;
    return runs.map((args) => execFileSync(target, args, { encoding: 'utf8', maxBuffer }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The folder of a module's sources in Go's cache, fetched if it is not there.
 * @throws Error if the module proxy does not serve the version
 */
export async function moduleFolder(module, cache, say) {
  say(`fetching ${module.path}@${module.version}`);
  const folder = mkdtempSync(join(tmpdir(), 'driftless-module-'));
  const command = goCommand(module.language, cache, say);
  try {
    writeFileSync(join(folder, 'go.mod'), 'module driftless.local/tools\n');
    return (await fetchModule(module, (args) => run(command, args, folder))).Dir;
  } catch (cause) {
    throw new Error(`the module proxy does not serve ${module.path}@${module.version}`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fetchModule({ path, version }, go) {
  return JSON.parse(await go(['mod', 'download', '-json', `${path}@${version}`]));
}

/**
 * A go.mod that requires one module. k8s.io/kubernetes requires its staging modules as v0.0.0 and
 * replaces them by local folders; outside its repository they are published as v0.<minor>.<patch>
 * (`staging`). Go ignores the `replace` lines of dependencies, so those of a module that relies on
 * them (`replaced`) are repeated, except for replacements by its own folders.
 */
function goMod({ path, version, staging, replaced = false }, { GoMod }) {
  const text = readFileSync(GoMod, 'utf8');
  const language = /^go (\S+)$/m.exec(text)?.[1] ?? '1.24.0';
  const parts =
    staging === undefined ? [] : [...text.matchAll(/^\s(k8s\.io\/[a-z-]+) v0\.0\.0$/gm)].map(([, part]) => part);
  const repeated = replaced ? [...text.matchAll(/^(?:replace)?\s+(\S+ => [^.\s]\S* v\S+)$/gm)] : [];
  const lines = [
    ...[...new Set(parts)].map((part) => `${part} => ${part} ${staging}`),
    ...repeated.map(([, line]) => line),
  ]
    .map((line) => `replace ${line}\n`)
    .join('');
  return `module driftless.local/tools\n\ngo ${language}\n\nrequire ${path} ${version}\n\n${lines}`;
}

function run(command, args, cwd, tick = () => undefined) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod -buildvcs=false', GOWORK: 'off' };
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const begin = Date.now();
    const timer = setInterval(() => tick(Math.round((Date.now() - begin) / 1000)), 30_000);
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => (err = (err + chunk).slice(-4000)));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      if (code === 0) resolve(out);
      else reject(new Error(`go ${args[0]} ended with ${code}:\n${err.trimEnd().split('\n').slice(-15).join('\n')}`));
    });
  });
}

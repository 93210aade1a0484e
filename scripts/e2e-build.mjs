// Builds a Go command at a pinned version, in a module of its own in a temporary folder: nothing of it reaches this repository.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Builds `tool.go.package` into `target`; tells each step to `say`. The binary appears at once and whole, or not at all.
 * @throws Error with the last lines of what go printed
 */
export async function goBuild(tool, target, say) {
  const { module, package: name, stamp } = tool.go;
  const folder = mkdtempSync(join(tmpdir(), `driftless-build-${tool.name}-`));
  try {
    say(`${tool.name}: fetching ${module.path}@${module.version}`);
    const source = await fetchModule(module, folder);
    writeFileSync(join(folder, 'go.mod'), goMod(module, source));
    writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${name}"\n`);
    await go(['mod', 'tidy'], folder);
    say(`${tool.name}: compiling ${name} (minutes on a small machine, once)`);
    mkdirSync(dirname(target), { recursive: true });
    const fresh = `${target}.${process.pid}`;
    const flags = ['-s', '-w', ...stamp.map((entry) => `-X ${entry}`)].join(' ');
    await go(['build', '-trimpath', '-ldflags', flags, '-o', fresh, name], folder, (seconds) =>
      say(`${tool.name}: still compiling (${seconds} s)`),
    );
    renameSync(fresh, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Builds the Go program in the folder `sources` against a module, and gives what it prints for each list of arguments.
 * @throws Error with the last lines of what go or the program printed
 */
export async function goRun({ module, sources }, runs, say) {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-run-'));
  try {
    say(`fetching ${module.path}@${module.version}`);
    writeFileSync(join(folder, 'go.mod'), goMod(module, await fetchModule(module, folder)));
    cpSync(sources, folder, { recursive: true });
    await go(['mod', 'tidy'], folder);
    say(`compiling ${sources} (minutes on a small machine, once)`);
    await go(['build', '-trimpath', '-ldflags', '-s -w', '-o', 'program', '.'], folder, (seconds) =>
      say(`still compiling (${seconds} s)`),
    );
    const maxBuffer = 256 * 1024 * 1024;
    return runs.map((args) => execFileSync(join(folder, 'program'), args, { encoding: 'utf8', maxBuffer }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Is there a go that can be asked? Its version, or undefined. */
export function goVersion() {
  try {
    return /go(\d\S*)/.exec(
      execFileSync('go', ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    )?.[1];
  } catch {
    return undefined;
  }
}

async function fetchModule({ path, version }, folder) {
  return JSON.parse(await go(['mod', 'download', '-json', `${path}@${version}`], folder));
}

/**
 * k8s.io/kubernetes asks for its own parts as v0.0.0 and finds them in a folder beside itself. From outside that folder is not to be
 * seen: the same parts are published under v0.<minor>.<patch>.
 */
function goMod({ path, version, staging }, { GoMod }) {
  const text = readFileSync(GoMod, 'utf8');
  const language = /^go (\S+)$/m.exec(text)?.[1] ?? '1.24.0';
  const parts =
    staging === undefined ? [] : [...text.matchAll(/^\s(k8s\.io\/[a-z-]+) v0\.0\.0$/gm)].map(([, part]) => part);
  const replaced = [...new Set(parts)].map((part) => `replace ${part} => ${part} ${staging}\n`).join('');
  return `module driftless.local/tools\n\ngo ${language}\n\nrequire ${path} ${version}\n\n${replaced}`;
}

function go(args, cwd, tick = () => undefined) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod -buildvcs=false', GOWORK: 'off' };
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
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

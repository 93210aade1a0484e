// Prepares the checkout: installs the packages and builds dist/ if either is missing or stale.
// `--build` always builds, `--no-build` only installs. All output goes to stderr, which keeps the
// stdout of the next command clean.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync, rmSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { root } from './root.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Node 20.19 or newer is needed, this is ${process.version}: install a current Node LTS release and try again.`);

const always = process.argv.includes('--build');
installIfStale();
if (!process.argv.includes('--no-build')) buildIfStale();

function fail(message) {
  process.stderr.write(`driftless: ${message}\n`);
  process.exit(1);
}

function run(command, args, what) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) fail(`${what} failed (${[command, ...args].join(' ')}): see the lines above.`);
}

/** Compares the hash of the lock file with the one that the last install left in node_modules. */
function installIfStale() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.driftless-installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  process.stderr.write('driftless: installing packages (npm ci) ...\n');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], 'Installing the packages');
  writeFileSync(stamp, lock);
}

function buildIfStale() {
  const built = join(root, 'dist', '.built');
  const sources = newestSource(root);
  if (!always && existsSync(built) && statSync(built).mtimeMs >= sources) return;
  process.stderr.write('driftless: building ...\n');
  if (always) rmSync(join(root, 'dist'), { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  run(process.execPath, [tsc, '-p', '.'], 'Building');
  run(process.execPath, [tsc, '-p', join('dashboard', 'ui')], 'Checking the types of the dashboard');
  run(process.execPath, [join(root, 'scripts', 'client-node.mjs')], 'Bundling client-node');
  run(process.execPath, [join(root, 'scripts', 'engine', 'build.mjs')], 'Bundling the engine');
  run(process.execPath, [join(root, 'scripts', 'dashboard', 'build.mjs')], 'Building the dashboard');
  run(process.execPath, [join(root, 'scripts', 'programs.mjs')], 'Bundling the programs');
  writeFileSync(built, '');
}

function newestSource(dir) {
  let newest = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.name === 'dist') continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path));
    else if (/\.tsx?$|\.css$|^page\.html$|^tsconfig\.json$|^package-lock\.json$/.test(entry.name))
      newest = Math.max(newest, statSync(path).mtimeMs);
  }
  return newest;
}

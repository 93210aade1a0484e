// The Node version of the image, and how to get it for tests on this machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The Node version of the image: the newest release of the newest LTS line that passed the tests.
 */
export const nodeVersion = '26.10.0';

/** A cache folder outside the repository. */
export function cacheFolder(name) {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'driftless', name);
}

/**
 * Returns the path of that Node version; installs it from npm on first use.
 * @throws Error if npm cannot install it
 */
export function imageNode() {
  const cache = cacheFolder(`node-${nodeVersion}`);
  const node = join(cache, 'node_modules', 'node', 'bin', 'node');
  if (works(node)) return node;
  process.stderr.write(`driftless: fetching Node ${nodeVersion} ...\n`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `node@${nodeVersion}`];
  const { status } = spawnSync('npm', args, { cwd: cache, stdio: ['ignore', 2, 2] });
  if (status !== 0 || !works(node)) throw new Error(`cannot get node@${nodeVersion} from npm: see the lines above`);
  return node;
}

function works(node) {
  return existsSync(node) && spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim() === `v${nodeVersion}`;
}

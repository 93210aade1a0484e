// `npm run test:lts`: the unit tests on the Node version of the image, from npm, in a cache folder outside the repository.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeVersion } from './image.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'driftless', `node-${nodeVersion}`);
const node = join(cache, 'node_modules', 'node', 'bin', 'node');
const rooms =
  'base model telemetry kube queues diff health policy settings sharding live desired sync publish controller dashboard cli';

if (!works()) install();
process.stdout.write(`unit tests on Node ${nodeVersion}\n`);
const patterns = rooms.split(' ').map((room) => `^${root}/${room}/`);
const jest = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...patterns];
const result = spawnSync(node, ['--experimental-vm-modules', '--no-warnings', ...jest], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(result.status ?? 1);

function works() {
  return existsSync(node) && spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim() === `v${nodeVersion}`;
}

function install() {
  process.stdout.write(`fetching Node ${nodeVersion} ...\n`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `node@${nodeVersion}`];
  const result = spawnSync('npm', args, { cwd: cache, stdio: ['ignore', 'inherit', 'inherit'] });
  if (result.status === 0 && works()) return;
  process.stderr.write(`driftless: cannot get node@${nodeVersion} from npm: see the lines above.\n`);
  process.exit(1);
}

// `npm run browser`: tests the dashboard in Chromium. Arguments go to jest. Installs Debian's
// chromium if there is none and this user may; `CHROMIUM` names another program. Screenshots are
// kept in build/browser. Without arguments, a failed file runs once more.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { jestProgram } from '../jest/program.mjs';
import { runWithRetry } from '../jest/retry.mjs';
import { root } from '../root.mjs';

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const find = () => candidates.find((path) => path !== undefined && existsSync(path));

if (find() === undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
  process.stdout.write('browser: installing chromium\n');
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'] };
  spawnSync('apt-get', ['update'], quiet);
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], quiet);
}
const chromium = find();
if (chromium === undefined) {
  process.stderr.write('browser: no Chromium found: install Debian\'s "chromium", or set CHROMIUM to its path\n');
  process.exit(1);
}
const words = process.argv.slice(2);
const config = ['--config', join(root, 'jest.browser.config.mjs')];
const run = (more, env) =>
  spawnSync(process.execPath, [...jestProgram, ...config, ...words, ...more], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env, CHROMIUM: chromium },
  }).status ?? 1;
process.exit(words.length > 0 ? run([], {}) : await runWithRetry(run));

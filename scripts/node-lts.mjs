// `npm run test:lts`: the unit tests on the Node version of the image, from npm, in a cache folder outside the repository. Everything but test/
// and bench/, which start processes of their own; patterns after `--` choose fewer.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { imageNode, nodeVersion } from './image.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const others = new Set(['test', 'bench', 'node_modules', 'dist']);
const modules = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !others.has(entry.name))
  .map(({ name }) => name);

try {
  process.exitCode = runTests(imageNode());
} catch (error) {
  process.stderr.write(`driftless: ${error.message}\n`);
  process.exitCode = 1;
}

function runTests(node) {
  process.stdout.write(`unit tests on Node ${nodeVersion}\n`);
  const chosen = process.argv.slice(2);
  const patterns = chosen.length > 0 ? chosen : modules.map((name) => `^${root}/${name}/`);
  const args = ['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')];
  // Four minutes in which no version of Node makes a difference.
  const left = '--testPathIgnorePatterns=/node_modules/|/dist/|/diff/mutations[.]test[.]ts$';
  return spawnSync(node, [...args, ...patterns, left], { cwd: root, stdio: 'inherit' }).status ?? 1;
}

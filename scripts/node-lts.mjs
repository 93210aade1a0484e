// `npm run test:lts`: runs the unit tests on the Node version of the image, which comes from npm
// and is cached outside the repository. Leaves out test/ and bench/, which start their own
// processes, and what `npm test` leaves out. Patterns after `--` select test files, and
// `--part 1/2` half of the folders.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { imageNode, nodeVersion } from './image/node.mjs';
import { itemsOfPart } from './parts.mjs';
import { root, testsBelow } from './root.mjs';
import { quickOnly } from './test-files.mjs';

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
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { part: { type: 'string' } } });
  const patterns = positionals.length > 0 ? positionals : itemsOfPart(modules, values.part).map(testsBelow);
  const args = ['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')];
  return spawnSync(node, [...args, ...patterns, ...quickOnly()], { cwd: root, stdio: 'inherit' }).status ?? 1;
}

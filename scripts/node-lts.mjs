// `npm run test:lts`: runs the unit tests on the Node version of the image, which comes from npm
// and is cached outside the repository. Leaves out test/ and bench/, which start their own
// processes, and what `npm test` leaves out. Patterns after `--` select test files.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { scriptArguments } from './arguments.mjs';
import { imageNode, nodeVersion } from './image/node.mjs';
import { jestProgram } from './jest/program.mjs';
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
  const { positionals } = scriptArguments(import.meta.url, { allowPositionals: true });
  const patterns = positionals.length > 0 ? positionals : modules.map(testsBelow);
  return spawnSync(node, [...jestProgram, ...patterns, ...quickOnly()], { cwd: root, stdio: 'inherit' }).status ?? 1;
}

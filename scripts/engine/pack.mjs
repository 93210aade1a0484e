// Packs the engine for npm: adds types, pages and examples to the bundles of the build, and writes
// dist/driftless-engine-VERSION.tgz. `npm publish dist/package` publishes the same files.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../root.mjs';
import { packageFolder } from './doors.mjs';
import { writePages } from './pages.mjs';
import { writeTypes } from './types.mjs';

writeTypes();
writePages();
const pack = ['pack', '--json', '--pack-destination', join(root, 'dist')];
const [{ filename, size, unpackedSize }] = JSON.parse(
  execFileSync('npm', pack, { cwd: packageFolder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
process.stdout.write(`dist/${filename}: ${megabytes(size)} packed, ${megabytes(unpackedSize)} unpacked\n`);

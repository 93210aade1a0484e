// `npm run sbom`: what the image contains of npm, as CycloneDX JSON in build/sbom.json, from the lock file. The same lock gives the same bytes.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = [
  'sbom',
  '--package-lock-only',
  '--omit',
  'dev',
  '--sbom-format',
  'cyclonedx',
  '--sbom-type',
  'application',
];
const bom = JSON.parse(
  execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
);
// npm draws a serial number and takes the time: both from the lock instead.
const hash = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
bom.serialNumber = `urn:uuid:${[hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-')}`;
delete bom.metadata.timestamp;
bom.components.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
mkdirSync(join(root, 'build'), { recursive: true });
writeFileSync(join(root, 'build', 'sbom.json'), `${JSON.stringify(bom, null, 2)}\n`);
process.stdout.write(`build/sbom.json: ${bom.components.length} packages\n`);

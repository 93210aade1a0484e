// Adds missing optional packages of other platforms to package-lock.json (name, version, platform).
// Run it after a change of dependencies: a registry that does not carry those binaries makes npm
// omit the entries, and `npm ci` then rejects the lock file. `--check` only reports them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

const path = join(root, 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8'));
const systems = ['darwin', 'win32', 'android', 'freebsd', 'openharmony', 'linux', 'sunos'];
const processors = {
  arm64: 'arm64',
  x64: 'x64',
  ia32: 'ia32',
  armv7: 'arm',
  'arm-': 'arm',
  ppc64: 'ppc64',
  s390x: 's390x',
  riscv64: 'riscv64',
  loong64: 'loong64',
  wasm32: 'wasm32',
};
const missing = [];

for (const [parent, meta] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(parent === '' ? {} : (meta.optionalDependencies ?? {}))) {
    if (lock.packages[`${parent}/node_modules/${name}`] || lock.packages[`node_modules/${name}`]) continue;
    missing.push(name);
    lock.packages[`node_modules/${name}`] = entry(
      name.split('/').at(-1),
      range.replace(/^[\^~]/, ''),
      meta.dev === true,
    );
  }
}

if (process.argv.includes('--check')) {
  if (missing.length > 0)
    process.stderr.write(`package-lock.json lacks ${missing.join(', ')}: run node scripts/release/complete-lock.mjs\n`);
  process.exitCode = missing.length > 0 ? 1 : 0;
} else if (missing.length > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}

function entry(name, version, dev) {
  const os = systems.find((system) => name.includes(system));
  const cpu = Object.entries(processors).find(([part]) => name.includes(part))?.[1];
  const libc = os === 'linux' && /gnu|musl/.test(name) ? { libc: [name.includes('musl') ? 'musl' : 'glibc'] } : {};
  return {
    version,
    ...(cpu ? { cpu: [cpu] } : {}),
    ...(dev ? { dev } : {}),
    ...libc,
    optional: true,
    ...(os ? { os: [os] } : {}),
  };
}

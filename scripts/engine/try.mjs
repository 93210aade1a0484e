// As a user: packs the package, installs the tarball into an empty folder, and runs every example of
// examples/engine and a type check against it there. Needs the registry for the dependencies.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../root.mjs';
import { doors } from './doors.mjs';

const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const native = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
const folder = mkdtempSync(join(tmpdir(), 'driftless-engine-'));
try {
  run(process.execPath, [join(root, 'scripts', 'engine', 'types.mjs')], root);
  const [{ filename, unpackedSize, size }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root),
  );
  process.stdout.write(
    `engine: ${filename}: ${(size / 1e6).toFixed(1)} MB packed, ${(unpackedSize / 1e6).toFixed(1)} MB unpacked\n`,
  );
  // client-node 2 installs an undici that needs Node 22: docs/engine/README.md names the override.
  const { overrides } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const user = { name: 'user', private: true, type: 'module', overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(user));
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `./${filename}`, '@types/node@20'], folder);
  const examples = readdirSync(join(root, 'examples', 'engine')).filter((name) => name.endsWith('.mjs'));
  for (const name of examples) {
    cpSync(join(root, 'examples', 'engine', name), join(folder, name));
    const output = run(process.execPath, [name], folder);
    const expected = readFileSync(join(root, 'examples', 'engine', name.replace('.mjs', '.txt')), 'utf8');
    if (output !== expected) throw new Error(`${name} printed:\n${output}\ninstead of:\n${expected}`);
    process.stdout.write(`engine: ${name}: ok\n`);
  }
  const uses = doors.map((door, i) => `import * as d${i} from 'driftless/${door}';\nconsole.log(d${i});`).join('\n');
  writeFileSync(
    join(folder, 'user.ts'),
    `${uses}\nimport { healthOf } from 'driftless/health';\nconst status: string | undefined = healthOf({ apiVersion: 'v1', kind: 'Pod', metadata: {} })?.status;\nconsole.log(status);\n`,
  );
  run(
    process.execPath,
    [
      native,
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      'false',
      '--types',
      'node',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom',
      '--module',
      'nodenext',
      'user.ts',
    ],
    folder,
  );
  process.stdout.write(`engine: types of ${doors.length} doors: ok\n`);
} finally {
  rmSync(folder, { recursive: true });
}

// `npm run e2e:node`: tests Driftless as users run it. An engine builds the image from the
// Dockerfile, a real kubelet starts its pods through the chart, and tests act on them. Arguments go
// to jest: `npm run e2e:node -- -t 'part of a title'`.
//
// The cluster runs in network, mount and PID namespaces of its own (inside.sh): whatever ends this
// command, the kernel ends every process and removes every mount, interface and rule of it.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { advice, cache, provideTools } from '../e2e/provide.mjs';
import { root } from '../root.mjs';
import { makeCgroups, makeMountPoint, removeCgroups, saveKernelSettings } from './host.mjs';
import { buildImage } from './image.mjs';
import { lackingFor, maySetOomScore, readMachine } from './machine.mjs';
import { installPackages } from './packages.mjs';
import { nodeTools, packages } from './tools.mjs';

/** The name that docs/install.md gives to the image. */
const image = 'registry.example.com/driftless:0.1.0';
const folder = join(dirname(cache), 'e2e-node');
const say = (text) => process.stderr.write(`e2e:node: ${text}\n`);

const facts = readMachine();
const lacking = lackingFor(facts);
if (lacking.length > 0) {
  process.stdout.write(`e2e:node: LEFT OUT: this machine cannot run a node; it lacks ${lacking.join(', ')}\n`);
  process.exit(0);
}
mkdirSync(folder, { recursive: true });
const tools = await timed('tools', prepareTools);
const built = await timed('image', () => buildImage({ image, folder, say }));
for (const { path, bytes } of built.archives) say(`${path}: ${Math.round(bytes / 1e6)} MB`);
process.exitCode = await timed('tests', runTests);

async function prepareTools() {
  installPackages(packages, say);
  const { found, missing } = await provideTools(nodeTools, say);
  for (const tool of missing) process.stderr.write(`driftless: ${advice(tool)}\n`);
  if (missing.length > 0) process.exit(1);
  for (const { name, version, source } of found) say(`${name} ${version} (${source})`);
  return Object.fromEntries(found.map(({ name, path }) => [name, path]));
}

async function runTests() {
  const restoreKernel = saveKernelSettings();
  const removeMountPoint = makeMountPoint();
  const group = `driftless-e2e-${process.pid}`;
  const temporary = mkdtempSync(join(tmpdir(), 'driftless-e2e-node-'));
  makeCgroups(facts.cgroups, group);
  try {
    return await inNamespaces({
      ...process.env,
      TMPDIR: temporary,
      PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
      DRIFTLESS_E2E_TOOLS: JSON.stringify(tools),
      DRIFTLESS_E2E_NODE: JSON.stringify({
        image: built.image,
        pause: built.pause,
        archives: built.archives.map(({ path }) => path),
        cgroupRoot: `/${group}`,
        maySetOomScore: maySetOomScore(facts),
      }),
    });
  } finally {
    // Waits for the end of the last process.
    removeCgroups(facts.cgroups, group, say);
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
    removeMountPoint();
    restoreKernel();
  }
}

/** Ends with the code of jest, or with 1 after a signal. */
function inNamespaces(env) {
  const jest = [
    join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--config',
    join(root, 'jest.e2e-node.config.mjs'),
  ];
  const node = [process.execPath, '--experimental-vm-modules', '--no-warnings', ...jest, ...process.argv.slice(2)];
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL'];
  const child = spawn('unshare', [...namespaces, 'bash', join(root, 'scripts', 'e2e-node', 'inside.sh'), ...node], {
    cwd: root,
    stdio: 'inherit',
    env,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGKILL'));
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function timed(part, work) {
  const begin = Date.now();
  const result = await work();
  say(`${part}: ${Math.round((Date.now() - begin) / 1000)} s`);
  return result;
}

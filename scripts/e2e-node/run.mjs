// `npm run e2e:node`: tests Driftless as users run it. An engine builds the image from the
// Dockerfile, a real kubelet starts its pods through the chart, and tests act on them. Arguments go
// to jest: `npm run e2e:node -- -t 'part of a title'`. With `--prepare` it only provides the tools and
// the image. DRIFTLESS_E2E_NODE_FULL=1 also builds Argo CD for its scenarios if it is missing.
//
// The cluster runs in network, mount and PID namespaces of its own (inside.sh): whatever ends this
// command, the kernel ends every process and removes every mount, interface and rule of it, and
// cleaner.mjs removes the rest.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { advice, cache, isProvided, provideTools } from '../e2e/provide.mjs';
import { archiveProblems, jsonReader } from '../release/image-archive.mjs';
import { maxFlakyFiles } from '../jest/flakes.mjs';
import { jestProgram } from '../jest/program.mjs';
import { runWithRetry } from '../jest/retry.mjs';
import { root } from '../root.mjs';
import { makeCgroups, makeMountPoint, readKernelSettings } from './host.mjs';
import { buildImage } from './image.mjs';
import { extractLastRelease } from './last-release.mjs';
import { lackingFor, maySetOomScore, readMachine } from './machine.mjs';
import { installPackages } from './packages.mjs';
import { sizesOf, tooBig } from './sizes.mjs';
import { argoTools, nodeTools, packages } from './tools.mjs';

const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
/** The name that docs/install.md gives to the image. */
const image = `registry.example.com/driftless:${version}`;
const lastImage = 'registry.example.com/driftless:last';
const folder = join(dirname(cache), 'e2e-node');
const say = (text) => process.stderr.write(`e2e:node: ${text}\n`);

const isFull = process.env.DRIFTLESS_E2E_NODE_FULL === '1';
const facts = readMachine();
const lacking = lackingFor(facts);
if (lacking.length > 0) {
  process.stdout.write(`e2e:node: LEFT OUT: this machine cannot run a node; it lacks ${lacking.join(', ')}\n`);
  process.exit(0);
}
mkdirSync(folder, { recursive: true });
const tools = await timed('tools', prepareTools);
/** Not the commit: buildah takes layers from its cache although a build argument differs. */
const revision = 'e2e';
const buildArgs = { VERSION: version, REVISION: revision };
const built = await timed('image', () => buildImage({ image, buildArgs, packs: true, folder, say }));
const sizes = sizesOf({ unpacked: built.archives[0], packed: built.packed });
say(`${image}: ${sizes.unpacked} MB unpacked, ${sizes.packed} MB packed (${built.archives[0]})`);
const problems = [...tooBig(sizes), ...labelProblems()];
const lastRelease = await timed('last release', buildLastRelease);
for (const problem of problems) say(problem);
const failed = process.argv.includes('--prepare') ? 0 : await timed('tests', runTests);
process.exitCode = failed || Math.min(problems.length, 1);

async function prepareTools() {
  installPackages(packages, say);
  // Argo CD takes minutes to build.
  const wanted = [...nodeTools, ...argoTools.filter((tool) => isFull || isProvided(tool))];
  const { found, missing } = await provideTools(wanted, say);
  for (const tool of missing) process.stderr.write(`driftless: ${advice(tool)}\n`);
  if (missing.length > 0) process.exit(1);
  for (const { name, version, source } of found) say(`${name} ${version} (${source})`);
  return Object.fromEntries(found.map(({ name, path }) => [name, path]));
}

function labelProblems() {
  const platform = `linux/${{ x64: 'amd64' }[process.arch] ?? process.arch}`;
  return archiveProblems(jsonReader(built.packed), { platforms: [platform], version, revision });
}

/** The last release, from which users upgrade. */
function buildLastRelease() {
  const context = extractLastRelease(folder);
  if (context === undefined) {
    say('LEFT OUT: the upgrade: this clone lacks the commit of the last release (git fetch --unshallow)');
    return {};
  }
  const { archives } = buildImage({ image: lastImage, context, folder, say });
  return { archives, chart: join(context, 'charts', 'driftless') };
}

async function runTests() {
  const group = `driftless-e2e-${process.pid}`;
  const temporary = mkdtempSync(join(tmpdir(), 'driftless-e2e-node-'));
  const clean = startCleaner({
    cgroups: facts.cgroups,
    group,
    temporary,
    mountPoint: makeMountPoint(),
    settings: readKernelSettings(),
  });
  try {
    makeCgroups(facts.cgroups, group);
    const env = {
      ...process.env,
      TMPDIR: temporary,
      PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
      DRIFTLESS_E2E_TOOLS: JSON.stringify(tools),
      DRIFTLESS_E2E_NODE: JSON.stringify({
        image: built.image,
        pause: built.pause,
        hasArgo: argoTools.every(({ name }) => tools[name] !== undefined),
        archives: [...new Set([...built.archives, ...(lastRelease.archives ?? [])])],
        ...(lastRelease.chart === undefined ? {} : { lastRelease: { image: lastImage, chart: lastRelease.chart } }),
        cgroupRoot: `/${group}`,
        maySetOomScore: maySetOomScore(facts),
      }),
    };
    const words = process.argv.slice(2);
    const run = (more, own) => inNamespaces([...words, ...more], { ...env, ...own });
    return words.length > 0 ? await run([], {}) : await runWithRetry(run, groupsOf);
  } finally {
    await clean();
  }
}

/** Returns a function that cleans up now; the end of this process does the same. */
function startCleaner(plan) {
  const stdio = ['pipe', 'ignore', 'inherit'];
  const child = spawn(process.execPath, [join(root, 'scripts', 'e2e-node', 'cleaner.mjs')], { stdio, detached: true });
  child.stdin.write(`${JSON.stringify(plan)}\n`);
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}

/**
 * All scenarios are in one file, so only the groups with a failed test run once more, after the
 * installation. Nothing does if many failed.
 */
function groupsOf({ file, groups }) {
  if (groups.length > maxFlakyFiles) return undefined;
  const pattern = groups.map((title) => title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return [...(groups.length > 0 ? ['-t', `^(?:install|${pattern}) `] : []), '--runTestsByPath', file];
}

/** Ends with the code of jest, or with 1 after a signal. */
function inNamespaces(words, env) {
  const node = [process.execPath, ...jestProgram, '--config', join(root, 'jest.e2e-node.config.mjs'), ...words];
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL'];
  const unshare = ['unshare', ...namespaces, 'bash', join(root, 'scripts', 'e2e-node', 'inside.sh'), ...node];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...unshare], {
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

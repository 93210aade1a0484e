// `npm run e2e:setup`: finds or makes what `npm run e2e` needs (see e2e-tools.mjs): a folder named by KUBEBUILDER_ASSETS (as envtest has it), PATH,
// the cache of earlier runs, then Debian's packages where apt-get may be used, then a build with Go. Prints a table, with `-o json` JSON;
// progress goes to stderr. Exit 1 when something is missing and cannot be made, with what to install.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { goBuild } from './e2e-build.mjs';
import { goVersion } from './e2e-go.mjs';
import { tools } from './e2e-tools.mjs';

const json = process.argv.join(' ').includes('-o json');
const cache =
  process.env.DRIFTLESS_E2E_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'driftless', 'e2e');
const say = (text) => process.stderr.write(`e2e:setup: ${text}\n`);
let aptUpdated = false;

const found = [];
const missing = [];
for (const tool of tools) {
  const result = find(tool) ?? (await make(tool));
  if (result === undefined) missing.push(tool);
  else found.push(result);
}
const leftOut = missing.flatMap(({ onlyFor = [] }) => onlyFor);
if (json) process.stdout.write(`${JSON.stringify({ cache, tools: found, leftOut })}\n`);
else process.stdout.write(table(found));
for (const tool of missing) process.stderr.write(`driftless: ${advice(tool)}\n`);
process.exit(missing.every(({ onlyFor }) => onlyFor !== undefined) ? 0 : 1);

/** Where the cached binary of a tool lies: a folder of its own for each version, that can also stand on PATH. */
function cached(tool) {
  return join(cache, `${tool.name}-${tool.version}`, tool.name);
}

/** The first that is there and new enough. What does not fit is told: nobody shall wonder why their own is not used. */
function find(tool) {
  const places = [
    ...(process.env.KUBEBUILDER_ASSETS
      ? [['KUBEBUILDER_ASSETS', join(process.env.KUBEBUILDER_ASSETS, tool.name)]]
      : []),
    // Debian keeps servers where only root's PATH leads.
    ...[...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
      .filter(Boolean)
      .map((folder) => ['PATH', join(folder, tool.name)]),
    ...(tool.version === undefined ? [] : [['cache', cached(tool)]]),
  ];
  for (const [source, path] of places) {
    if (!executable(path)) continue;
    const version = versionOf(tool, path);
    const alone = Object.values(tool.go?.beside ?? {}).some((name) => !existsSync(join(dirname(path), name)));
    if (version !== undefined && tool.accepts(version) && !alone) return { name: tool.name, version, source, path };
    say(
      `${tool.name}: ${path} is ${version ?? 'of an unknown version'}${alone ? ', alone' : ''}, ${tool.wanted} is needed: looking further`,
    );
  }
  return undefined;
}

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Some print their version as an error, or to stderr. */
function versionOf(tool, path) {
  const options = { encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] };
  const { stdout, stderr } = spawnSync(path, tool.ask, options);
  return tool.answer.exec(`${stdout ?? ''}\n${stderr ?? ''}`)?.[1];
}

async function make(tool) {
  if (tool.apt !== undefined && aptGet(tool)) {
    const result = find(tool);
    if (result !== undefined) return { ...result, source: `apt (${tool.apt})` };
  }
  if (tool.go === undefined || goVersion() === undefined) return undefined;
  const begin = Date.now();
  try {
    await goBuild(tool, { target: cached(tool), cache }, say);
  } catch (error) {
    say(`${tool.name}: ${error.message}`);
    return undefined;
  }
  say(`${tool.name}: built in ${Math.round((Date.now() - begin) / 1000)} s`);
  const version = versionOf(tool, cached(tool));
  return version === undefined ? undefined : { name: tool.name, version, source: 'built with Go', path: cached(tool) };
}

/**
 * Debian and its relatives, as root, where they have a version that will do. A service that the package starts is not wanted: only its
 * binary is.
 */
function aptGet(tool) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: 'ignore', timeout: 300_000 }).status === 0;
  if (!aptUpdated) aptUpdated = apt('update') || true;
  const offered = spawnSync('apt-cache', ['show', '--no-all-versions', tool.apt], { encoding: 'utf8' }).stdout ?? '';
  const version = /^Version: (?:\d+:)?(\d[\d.]*)/m.exec(offered)?.[1];
  if (version === undefined || !tool.accepts(version)) return false;
  say(`${tool.name}: apt-get install ${tool.apt}`);
  return apt('install', '-y', '--no-install-recommends', tool.apt);
}

function advice(tool) {
  const ways = [
    ...(tool.version === undefined && tool.onlyFor === undefined
      ? []
      : [`put ${tool.name} ${tool.wanted} on PATH or into the folder that KUBEBUILDER_ASSETS names`]),
    ...(tool.apt === undefined ? [] : [`install the package ${tool.apt}`]),
    ...(tool.go === undefined
      ? []
      : [
          `install Go${tool.go.module.language === undefined ? '' : ` ${tool.go.module.language} or newer`}, then it is built here`,
        ]),
  ];
  const without = tool.onlyFor === undefined ? '' : ` Until then ${tool.onlyFor.join(', ')} of test/e2e are left out.`;
  return `${tool.name} (${tool.wanted}) is missing: ${ways.join(', or ')}; then run npm run e2e:setup again.${without}`;
}

function table(rows) {
  const cells = [
    ['TOOL', 'VERSION', 'FROM', 'PATH'],
    ...rows.map((row) => [row.name, row.version, row.source, row.path]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

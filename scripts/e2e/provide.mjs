// Finds or builds tools such as those of tools.mjs: looks into the folder KUBEBUILDER_ASSETS (as
// envtest does), PATH and the cache of earlier runs, then tries apt-get, then a build with Go.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { goBuild } from './go-build.mjs';
import { goVersion } from './go.mjs';

/** The cache outside the repository. */
export const cache =
  process.env.DRIFTLESS_E2E_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'driftless', 'e2e');
let aptUpdated = false;

/** Provides each tool and reports progress to `say`. Missing tools are returned, not thrown. */
export async function provideTools(tools, say) {
  const [found, missing] = [[], []];
  for (const tool of tools) {
    const result = find(tool, say) ?? (await make(tool, say));
    if (result === undefined) missing.push(tool);
    else found.push(result);
  }
  return { found, missing };
}

/**
 * Path of a tool's cached binary. Each version has its own folder, so that it can be put on PATH.
 */
function cached(tool) {
  return join(cache, `${tool.name}-${tool.version}`, tool.name);
}

/** Whether a tool is found without a build or an installation. */
export function isProvided(tool) {
  return find(tool, () => {}) !== undefined;
}

/** Returns the first binary of an accepted version, and reports each that is rejected. */
function find(tool, say) {
  const places = [
    ...(process.env.KUBEBUILDER_ASSETS
      ? [['KUBEBUILDER_ASSETS', join(process.env.KUBEBUILDER_ASSETS, tool.name)]]
      : []),
    // Debian installs servers into /usr/sbin, which only root has on PATH.
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
      `${tool.name}: skipping ${path} (${version ?? 'unknown version'}${alone ? ', without the files beside it' : ''}), ${tool.wanted} is needed`,
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

/** Some tools print their version to stderr, some exit with an error. */
function versionOf(tool, path) {
  const options = { encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] };
  const { stdout, stderr } = spawnSync(path, tool.ask, options);
  return tool.answer.exec(`${stdout ?? ''}\n${stderr ?? ''}`)?.[1];
}

async function make(tool, say) {
  if (tool.apt !== undefined && aptGet(tool, say)) {
    const result = find(tool, say);
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
 * Installs a package on Debian and its relatives as root, if it has an accepted version. RUNLEVEL=1
 * keeps its service from starting.
 */
function aptGet(tool, say) {
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

/** Says how to provide a missing tool. */
export function advice(tool) {
  const ways = [
    ...(tool.version === undefined && tool.onlyFor === undefined
      ? []
      : [`put ${tool.name} ${tool.wanted} on PATH or into the folder that KUBEBUILDER_ASSETS names`]),
    ...(tool.apt === undefined ? [] : [`install the package ${tool.apt}`]),
    ...(tool.go === undefined
      ? []
      : [
          `install Go${tool.go.module.language === undefined ? '' : ` ${tool.go.module.language} or newer`} to build it`,
        ]),
  ];
  const without = tool.onlyFor === undefined ? '' : ` Until then ${tool.onlyFor.join(', ')} in test/e2e do not run.`;
  return `${tool.name} (${tool.wanted}) is missing: ${ways.join(', or ')}; then run npm run e2e:setup again.${without}`;
}

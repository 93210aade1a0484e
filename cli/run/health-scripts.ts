import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { messageOf, systemClock, UsageError } from '#base';
import { compileHealthScripts, createLuaEngine, hasHealthScripts, noHealthScripts } from '#health';
import type { FolderScript, LuaEngine } from '#health';
import type { HealthScripts, Settings } from '#model';

/**
 * Scripts of a folder with the layout of Argo CD's resource_customizations:
 * `<group>/<kind>/health.lua`, or `<kind>/health.lua` for core kinds.
 */
export function readHealthScripts(folder: string): readonly FolderScript[] {
  if (folder === '') return [];
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name === 'health.lua')
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path, parts: relative(folder, dirname(path)).split(sep) }))
      .filter(({ parts }) => parts.length === 1 || parts.length === 2)
      .map(({ path, parts }) => ({ key: parts.join('/'), source: readFileSync(path, 'utf8') }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  } catch (error) {
    throw new UsageError(`--health-scripts ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Loads the Lua engine and the folder once. Returns a function that compiles scripts for given
 * overrides.
 */
export async function loadHealthScripts(folder: string): Promise<(overrides: Settings['overrides']) => HealthScripts> {
  const scripts = readHealthScripts(folder);
  const engine = await createLuaEngine(systemClock);
  return (overrides) => compileHealthScripts(engine, overrides, scripts);
}

/**
 * Like {@link loadHealthScripts}, but loads the engine when there is a script: it delays the start
 * by a tenth of a second and takes 16 MiB, and most installations have no script.
 * @param load for tests
 */
export function healthScriptsOnDemand(
  folder: string,
  load: () => Promise<LuaEngine> = () => createLuaEngine(systemClock),
): (overrides: Settings['overrides']) => HealthScripts | Promise<HealthScripts> {
  const scripts = readHealthScripts(folder);
  let loading: Promise<LuaEngine> | undefined;
  let engine: LuaEngine | undefined;
  return (overrides) => {
    if (scripts.length === 0 && !hasHealthScripts(overrides)) return noHealthScripts;
    if (engine !== undefined) return compileHealthScripts(engine, overrides, scripts);
    loading ??= load().finally(() => (loading = undefined));
    return loading.then((loaded) => {
      engine = loaded;
      return compileHealthScripts(loaded, overrides, scripts);
    });
  };
}

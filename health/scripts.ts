import { compileGlob, isObject, outsideText } from '#base';
import type { JsonObject } from '#base';
import { healthOrder, scriptAboutSecret } from '#model';
import type { HealthScripts, HealthStatus, HealthStatusCode, KubeObject, Settings } from '#model';
import type { LuaEngine, LuaScript } from './lua/engine.ts';

/**
 * A script from a folder with the layout `<group>/<kind>/health.lua`; `_` in a name is a wildcard.
 */
export interface FolderScript {
  /** `group/Kind`, or `Kind` for the core group; with `_` as in the folder. */
  readonly key: string;
  readonly source: string;
}

interface NamedScript {
  readonly key: string;
  readonly source: string;
  readonly openLibs: boolean;
}

/**
 * The scripts of argocd-cm and of a folder, as one value for the settings. The first match for a
 * kind runs: its exact key in the overrides, a wildcard key in the overrides (`*` crosses `/`), its
 * exact folder, a wildcard folder (`_` does not cross `/`).
 *
 * Argo CD: util/lua/lua.go GetHealthScript, getWildcardHealthOverrideLua, getPredefinedLuaScripts.
 * Difference: if several wildcard keys match, Argo CD takes any of them; here the longest key wins,
 * then the alphabetically first. Folder scripts run with all libraries, like Argo CD's own.
 */
export function compileHealthScripts(
  engine: LuaEngine,
  overrides: Settings['overrides'],
  folder: readonly FolderScript[] = [],
): HealthScripts {
  return new CompiledScripts(
    engine,
    configuredScripts(overrides),
    folder.map((item) => ({ ...item, openLibs: true })),
  );
}

/** Settings without any script, which need no engine. */
export const noHealthScripts: HealthScripts = { run: () => undefined };

export function hasHealthScripts(overrides: Settings['overrides']): boolean {
  return configuredScripts(overrides).length > 0;
}

function configuredScripts(overrides: Settings['overrides']): readonly NamedScript[] {
  return Object.entries(overrides).flatMap(([key, { healthLua = '', useOpenLibs }]) =>
    healthLua === '' ? [] : [{ key, source: healthLua, openLibs: useOpenLibs }],
  );
}

/** Key of a kind in the overrides. */
function overrideKeyOf(group: string, kind: string): string {
  return group === '' ? kind : `${group}/${kind}`;
}

/** Without an engine a kind that has a script is Unknown; no other check replaces the script. */
export function statusWithoutEngine(
  group: string,
  kind: string,
  overrides: Settings['overrides'],
): HealthStatus | undefined {
  const found = selectScript(configuredScripts(overrides), [], overrideKeyOf(group, kind));
  if (found === undefined) return undefined;
  return { status: 'Unknown', message: `the health script of ${found.key} cannot run: this process has no Lua engine` };
}

function selectScript(
  overrides: readonly NamedScript[],
  folder: readonly NamedScript[],
  key: string,
): NamedScript | undefined {
  return (
    overrides.find((item) => item.key === key) ??
    longestMatch(overrides, key, (item) => (hasWildcard(item.key) ? compileGlob(item.key) : undefined)) ??
    folder.find((item) => item.key === key) ??
    longestMatch(folder, key, (item) =>
      item.key.includes('_') ? compileGlob(item.key.replaceAll('_', '*'), '/') : undefined,
    )
  );
}

function hasWildcard(key: string): boolean {
  return /[*?[{\\]/.test(key);
}

function longestMatch(
  named: readonly NamedScript[],
  key: string,
  matcher: (item: NamedScript) => ((text: string) => boolean) | undefined,
): NamedScript | undefined {
  return named
    .filter((item) => matcher(item)?.(key) ?? false)
    .sort((a, b) => b.key.length - a.key.length || (a.key < b.key ? -1 : 1))[0];
}

/** Kinds whose script is cached: more than any cluster has, and a bound on the memory. */
const maxCachedKinds = 10_000;

class CompiledScripts implements HealthScripts {
  readonly #engine: LuaEngine;
  readonly #overrides: readonly NamedScript[];
  readonly #folder: readonly NamedScript[];
  readonly #byKind = new Map<string, ScriptRunner | undefined>();
  readonly #bySource = new Map<NamedScript, ScriptRunner>();

  constructor(engine: LuaEngine, overrides: readonly NamedScript[], folder: readonly NamedScript[]) {
    this.#engine = engine;
    this.#overrides = overrides;
    this.#folder = folder;
  }

  run(group: string, object: KubeObject): HealthStatus | null | undefined {
    const key = overrideKeyOf(group, object.kind);
    let runner = this.#byKind.get(key);
    if (runner === undefined && !this.#byKind.has(key)) {
      runner = this.#choose(key);
      if (this.#byKind.size < maxCachedKinds) this.#byKind.set(key, runner);
    }
    return runner?.run(object);
  }

  #choose(key: string): ScriptRunner | undefined {
    const named = selectScript(this.#overrides, this.#folder, key);
    if (named === undefined) return undefined;
    const runner =
      this.#bySource.get(named) ?? new ScriptRunner(this.#engine.compile(named.source, named.openLibs), named.key);
    this.#bySource.set(named, runner);
    return runner;
  }
}

const maxSkippedRuns = 1_024;

/**
 * Runs one script and backs off when it is expensive: a script that hits a limit blocks the process
 * until then, at every object of its kind. Each such run in a row doubles the number of runs that
 * are skipped; a run that ends in time resets it.
 */
class ScriptRunner {
  readonly #script: LuaScript;
  readonly #key: string;
  #skips = 0;
  #left = 0;
  #text = '';

  constructor(script: LuaScript, key: string) {
    this.#script = script;
    this.#key = key;
  }

  run(object: KubeObject): HealthStatus | null {
    if (this.#left > 0) {
      this.#left -= 1;
      return this.#unknown(`not run again yet: ${this.#text}`);
    }
    const outcome = this.#script(object as unknown as JsonObject);
    if (outcome.kind === 'error' && outcome.limit) {
      this.#skips = Math.min(maxSkippedRuns, this.#skips * 2 + 1);
      this.#left = this.#skips;
      this.#text = outcome.text;
    } else this.#skips = 0;
    if (outcome.kind === 'nothing') return null;
    if (outcome.kind === 'error') return this.#unknown(this.#shown(outcome.text, object, outcome.limit));
    const { status } = outcome;
    const message = outsideText('script', outcome.message, { hidden: secretValuesOf(object) });
    if (!isHealthCode(status)) return { status: 'Unknown', message: 'Lua returned an invalid health status' };
    return message === '' ? { status } : { status, message };
  }

  /** Lua's own errors quote values. The message of a limit is ours, and holds none. */
  #shown(text: string, object: KubeObject, limit: boolean): string {
    return isSecret(object) && !limit
      ? outsideText('script', text, { instead: scriptAboutSecret })
      : outsideText('script', text);
  }

  #unknown(text: string): HealthStatus {
    return { status: 'Unknown', message: `health script of ${this.#key}: ${text}` };
  }
}

function isSecret({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === 'v1' && kind === 'Secret';
}

/** A Secret's values, encoded and decoded: a message must not contain them. */
function secretValuesOf(object: KubeObject): readonly string[] {
  const data = object['data'];
  if (!isSecret(object) || !isObject(data)) return [];
  const stored = Object.values(data).filter((value): value is string => typeof value === 'string');
  return [...stored, ...stored.map((value) => Buffer.from(value, 'base64').toString('utf8'))];
}

function isHealthCode(text: string): text is HealthStatusCode {
  return (healthOrder as readonly string[]).includes(text);
}

import { compileGlob, isObject, outsideText } from '#base';
import type { JsonObject } from '#base';
import { healthOrder, scriptAboutSecret } from '#model';
import type { HealthScripts, HealthStatus, HealthStatusCode, KubeObject, Settings } from '#model';
import type { LuaEngine, LuaScript } from './lua/engine.ts';

/** A script of a folder in the layout `<group>/<kind>/health.lua`: `_` in a name is a wildcard. */
export interface FolderScript {
  /** `group/Kind`, `Kind` for the core group; with `_` as the folder has it. */
  readonly key: string;
  readonly source: string;
}

interface Named {
  readonly key: string;
  readonly source: string;
  readonly openLibs: boolean;
}

/**
 * The scripts of argocd-cm and of a folder as one value for the settings. Which script speaks for a kind, first found: the exact key in
 * the overrides, a wildcard key in the overrides (`*` crosses `/`), the exact folder, a wildcard folder (`_` does not cross `/`).
 *
 * Argo CD: util/lua/lua.go GetHealthScript, getWildcardHealthOverrideLua, getPredefinedLuaScripts. Difference: where several wildcard keys
 * match, Argo CD takes any of them; here the longest key wins, then the first in the alphabet. Scripts of a folder run with all libraries,
 * as its embedded ones do.
 */
export function compileHealthScripts(
  engine: LuaEngine,
  overrides: Settings['overrides'],
  folder: readonly FolderScript[] = [],
): HealthScripts {
  return new Compiled(
    engine,
    configured(overrides),
    folder.map((item) => ({ ...item, openLibs: true })),
  );
}

function configured(overrides: Settings['overrides']): readonly Named[] {
  return Object.entries(overrides).flatMap(([key, { healthLua = '', useOpenLibs }]) =>
    healthLua === '' ? [] : [{ key, source: healthLua, openLibs: useOpenLibs }],
  );
}

/** The kind's key as the overrides have it. */
function keyOf(group: string, kind: string): string {
  return group === '' ? kind : `${group}/${kind}`;
}

/** What a kind with a script is without an engine to run it: Unknown, said openly. */
export function notRun(group: string, kind: string, overrides: Settings['overrides']): HealthStatus | undefined {
  const found = pick(configured(overrides), [], keyOf(group, kind));
  if (found === undefined) return undefined;
  return { status: 'Unknown', message: `the health script of ${found.key} cannot run: there is no Lua engine here` };
}

function pick(overrides: readonly Named[], folder: readonly Named[], key: string): Named | undefined {
  return (
    overrides.find((item) => item.key === key) ??
    widest(overrides, key, (item) => (isWild(item.key) ? compileGlob(item.key) : undefined)) ??
    folder.find((item) => item.key === key) ??
    widest(folder, key, (item) =>
      item.key.includes('_') ? compileGlob(item.key.replaceAll('_', '*'), '/') : undefined,
    )
  );
}

function isWild(key: string): boolean {
  return /[*?[{\\]/.test(key);
}

function widest(
  named: readonly Named[],
  key: string,
  matcher: (item: Named) => ((text: string) => boolean) | undefined,
): Named | undefined {
  return named
    .filter((item) => matcher(item)?.(key) ?? false)
    .sort((a, b) => b.key.length - a.key.length || (a.key < b.key ? -1 : 1))[0];
}

/** Kinds of which the choice is remembered: more than any cluster has, so that nobody can fill the memory with names. */
const maxKinds = 10_000;

class Compiled implements HealthScripts {
  readonly #engine: LuaEngine;
  readonly #overrides: readonly Named[];
  readonly #folder: readonly Named[];
  readonly #byKind = new Map<string, Runner | undefined>();
  readonly #bySource = new Map<Named, Runner>();

  constructor(engine: LuaEngine, overrides: readonly Named[], folder: readonly Named[]) {
    this.#engine = engine;
    this.#overrides = overrides;
    this.#folder = folder;
  }

  run(group: string, object: KubeObject): HealthStatus | null | undefined {
    const key = keyOf(group, object.kind);
    let runner = this.#byKind.get(key);
    if (runner === undefined && !this.#byKind.has(key)) {
      runner = this.#choose(key);
      if (this.#byKind.size < maxKinds) this.#byKind.set(key, runner);
    }
    return runner?.run(object);
  }

  #choose(key: string): Runner | undefined {
    const named = pick(this.#overrides, this.#folder, key);
    if (named === undefined) return undefined;
    const runner =
      this.#bySource.get(named) ?? new Runner(this.#engine.compile(named.source, named.openLibs), named.key);
    this.#bySource.set(named, runner);
    return runner;
  }
}

const maxSkips = 1_024;

/**
 * One script, with a memory of what it cost: a script that hits a limit holds up the whole process for as long as the limit, at every
 * object of its kind. After each such run in a row twice as many runs are left out; one that ends in time forgets it all.
 */
class Runner {
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
      this.#skips = Math.min(maxSkips, this.#skips * 2 + 1);
      this.#left = this.#skips;
      this.#text = outcome.text;
    } else this.#skips = 0;
    if (outcome.kind === 'nothing') return null;
    if (outcome.kind === 'error') return this.#unknown(this.#shown(outcome.text, object, outcome.limit));
    const { status } = outcome;
    const message = outsideText('script', outcome.message, { hidden: valuesOf(object) });
    if (!isCode(status)) return { status: 'Unknown', message: 'Lua returned an invalid health status' };
    return message === '' ? { status } : { status, message };
  }

  /** Lua quotes what it stumbles over. Of a limit the words are our own. */
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

/** What a message about a Secret must not hold: its values, as they are stored and as they are meant. */
function valuesOf(object: KubeObject): readonly string[] {
  const data = object['data'];
  if (!isSecret(object) || !isObject(data)) return [];
  const stored = Object.values(data).filter((value): value is string => typeof value === 'string');
  return [...stored, ...stored.map((value) => Buffer.from(value, 'base64').toString('utf8'))];
}

function isCode(text: string): text is HealthStatusCode {
  return (healthOrder as readonly string[]).includes(text);
}

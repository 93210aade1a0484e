import { createHash } from 'node:crypto';
import { goJson, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { goFields } from '../go-fields.ts';

/** A dependency in a Chart.yaml or a lock file (helm chart.Dependency). */
export interface LockedDependency {
  readonly name: string;
  readonly version: string;
  readonly repository: string;
  readonly condition: string;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  readonly importValues: readonly Json[];
  readonly alias: string;
}

export interface ChartLock {
  readonly digest: string;
  readonly dependencies: readonly LockedDependency[];
}

/**
 * The dependencies of a Chart.yaml, requirements.yaml or lock; undefined if it has no such list.
 */
export function dependenciesIn(file: JsonObject): readonly LockedDependency[] | undefined {
  const list = goFields(file, 'dependencies').at(-1);
  if (!Array.isArray(list)) return undefined;
  return (list as readonly Json[]).filter(isObject).map((one) => ({
    name: textIn(one, 'name'),
    version: textIn(one, 'version'),
    repository: textIn(one, 'repository'),
    condition: textIn(one, 'condition'),
    tags: itemsIn(one, 'tags').map(plainText),
    enabled: goFields(one, 'enabled').at(-1) === true,
    importValues: itemsIn(one, 'import-values'),
    alias: textIn(one, 'alias'),
  }));
}

export function lockIn(file: JsonObject): ChartLock {
  return { digest: textIn(file, 'digest'), dependencies: dependenciesIn(file) ?? [] };
}

/** Removes unprintable characters, like helm (Metadata.Validate). */
export function cleanDependency(dependency: LockedDependency): LockedDependency {
  const { name, version, repository, condition, tags } = dependency;
  return {
    ...dependency,
    name: printable(name),
    version: printable(version),
    repository: printable(repository),
    condition: printable(condition),
    tags: tags.map(printable),
  };
}

/** The digest in a lock of these dependencies (helm resolver.HashReq). */
export function lockDigest(wanted: readonly LockedDependency[], locked: readonly LockedDependency[]): string {
  return digestOf(`[${listJson(wanted)},${listJson(locked)}]`);
}

/** The digest that helm 2 wrote into requirements.lock (helm resolver.HashV2Req). */
export function oldLockDigest(wanted: readonly LockedDependency[]): string {
  return digestOf(`{"dependencies":${listJson(wanted)}}`);
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function listJson(list: readonly LockedDependency[]): string {
  return `[${list.map(dependencyJson).join(',')}]`;
}

/** Members in the order of Go's struct. Empty ones are omitted, except for name and repository. */
function dependencyJson(dependency: LockedDependency): string {
  const { name, version, repository, condition, tags, enabled, importValues, alias } = dependency;
  const members: (readonly [string, Json, boolean])[] = [
    ['name', name, true],
    ['version', version, version !== ''],
    ['repository', repository, true],
    ['condition', condition, condition !== ''],
    ['tags', tags, tags.length > 0],
    ['enabled', enabled, enabled],
    ['import-values', importValues, importValues.length > 0],
    ['alias', alias, alias !== ''],
  ];
  const shown = members.filter(([, , isShown]) => isShown).map(([key, value]) => `"${key}":${goJson(value)}`);
  return `{${shown.join(',')}}`;
}

function textIn(object: JsonObject, name: string): string {
  return plainText(goFields(object, name).at(-1) ?? null);
}

function itemsIn(object: JsonObject, name: string): readonly Json[] {
  const list = goFields(object, name).at(-1);
  return Array.isArray(list) ? (list as readonly Json[]) : [];
}

function plainText(value: Json): string {
  return typeof value === 'object' ? '' : String(value);
}

function printable(text: string): string {
  return text.replaceAll(/[\s\u0085]/gu, ' ').replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
}

import { canonicalJson, isObject } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { FieldSet } from './field-set.ts';

/** One entry of metadata.managedFields. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

export type Managers = ReadonlyMap<string, Manager>;

/** Who an entry stands for: an applier keeps its entry when it comes with another version. */
export function identity(entry: Omit<Manager, 'fields' | 'time'>): string {
  const version = entry.operation === 'Apply' ? '' : entry.apiVersion;
  return JSON.stringify([entry.manager, entry.operation, version, entry.subresource]);
}

/** Reads metadata.managedFields; undefined when it is not readable. */
export function decodeManagers(entries: Json | undefined): Managers | undefined {
  const result = new Map<string, Manager>();
  for (const entry of Array.isArray(entries) ? (entries as readonly Json[]) : []) {
    const decoded = isObject(entry) ? decodeEntry(entry) : undefined;
    if (decoded === undefined) return undefined;
    result.set(identity(decoded), decoded);
  }
  return result;
}

function decodeEntry(entry: JsonObject): Manager | undefined {
  const operation = entry['operation'];
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (entry['fieldsType'] !== 'FieldsV1') return undefined;
  return {
    manager: text(entry['manager']),
    operation,
    apiVersion: text(entry['apiVersion']),
    subresource: text(entry['subresource']),
    time: text(entry['time']) === '' ? undefined : text(entry['time']),
    fields: FieldSet.fromFieldsV1(entry['fieldsV1']),
  };
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** One entry without anything in it: a request to forget all managers. */
export function isReset(entries: Json | undefined): boolean {
  if (!Array.isArray(entries) || entries.length !== 1) return false;
  const only = entries[0] as Json;
  return isObject(only) && Object.values(only).every((value) => value === undefined || value === '' || value === null);
}

/** metadata.managedFields: appliers first, then by time, name, version and subresource. */
export function encodeManagers(managers: Managers): MutableJson[] {
  const order = (entry: Manager): string[] => [
    entry.operation,
    entry.time ?? '',
    entry.manager,
    entry.apiVersion,
    entry.subresource,
  ];
  return [...managers.values()]
    .sort((a, b) => compareTexts(order(a), order(b)))
    .map((entry): MutableJsonObject => ({
      manager: entry.manager,
      operation: entry.operation,
      apiVersion: entry.apiVersion,
      ...(entry.time === undefined ? {} : { time: entry.time }),
      fieldsType: 'FieldsV1',
      fieldsV1: entry.fields.toFieldsV1(),
      ...(entry.subresource === '' ? {} : { subresource: entry.subresource }),
    }));
}

function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [i, left] of a.entries()) {
    const right = b[i] ?? '';
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

const maxUpdaters = 10;
const ancient = 'ancient-changes';

/** Beyond ten updaters the oldest are thrown together, per version (managedfields/internal: capmanagers). */
export function capUpdaters(managers: Managers): Managers {
  const result = new Map(managers);
  const updaters = [...managers.entries()]
    .filter(([, entry]) => entry.operation === 'Update' && entry.subresource === '')
    .sort(([, a], [, b]) => compareTexts([a.time ?? '', a.manager], [b.time ?? '', b.manager]));
  let count = updaters.length;
  const first = new Map<string, string>();
  for (const [key, entry] of updaters) {
    if (count <= maxUpdaters) break;
    const earlier = first.get(entry.apiVersion);
    if (earlier === undefined) {
      first.set(entry.apiVersion, key);
      continue;
    }
    const name = { manager: ancient, operation: 'Update' as const, apiVersion: entry.apiVersion, subresource: '' };
    const bucket = identity(name);
    const old = result.get(bucket) ?? result.get(earlier);
    if (!result.has(bucket) || earlier === bucket) result.delete(earlier);
    result.delete(key);
    result.set(bucket, { ...name, time: entry.time, fields: entry.fields.union(old?.fields ?? FieldSet.empty) });
    count -= 1;
  }
  return result;
}

/** Whether two lists of managers say the same, whenever it was said. */
export function sameManagers(a: Managers, b: Managers): boolean {
  const plain = (managers: Managers): Json =>
    Object.fromEntries([...managers].map(([key, entry]) => [key, [entry.apiVersion, entry.fields.toFieldsV1()]]));
  return canonicalJson(plain(a)) === canonicalJson(plain(b));
}

import { canonicalJson, isObject } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { OwnedFieldSet } from './field-set.ts';

/** One entry of metadata.managedFields. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: OwnedFieldSet;
}

export type FieldManagers = ReadonlyMap<string, FieldManager>;

/** The identity of an entry: an applier keeps its entry when its apiVersion changes. */
export function managerIdentity(entry: Omit<FieldManager, 'fields' | 'time'>): string {
  const version = entry.operation === 'Apply' ? '' : entry.apiVersion;
  return JSON.stringify([entry.manager, entry.operation, version, entry.subresource]);
}

/** Decodes metadata.managedFields; undefined if it is invalid. */
export function decodeManagers(entries: Json | undefined): FieldManagers | undefined {
  const result = new Map<string, FieldManager>();
  for (const entry of Array.isArray(entries) ? (entries as readonly Json[]) : []) {
    const decoded = isObject(entry) ? decodeEntry(entry) : undefined;
    if (decoded === undefined) return undefined;
    result.set(managerIdentity(decoded), decoded);
  }
  return result;
}

function decodeEntry(entry: JsonObject): FieldManager | undefined {
  const operation = entry['operation'];
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (entry['fieldsType'] !== 'FieldsV1') return undefined;
  return {
    manager: stringOrEmpty(entry['manager']),
    operation,
    apiVersion: stringOrEmpty(entry['apiVersion']),
    subresource: stringOrEmpty(entry['subresource']),
    time: stringOrEmpty(entry['time']) === '' ? undefined : stringOrEmpty(entry['time']),
    fields: OwnedFieldSet.fromFieldsV1(entry['fieldsV1']),
  };
}

function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** True for one empty entry: a request to clear all managers. */
export function isReset(entries: Json | undefined): boolean {
  if (!Array.isArray(entries) || entries.length !== 1) return false;
  const only = entries[0] as Json;
  return isObject(only) && Object.values(only).every((value) => value === undefined || value === '' || value === null);
}

/** metadata.managedFields: appliers first, then by time, name, version and subresource. */
export function encodeManagers(managers: FieldManagers): MutableJson[] {
  const order = (entry: FieldManager): string[] => [
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
const ancientManager = 'ancient-changes';

/**
 * Beyond ten updaters the oldest ones are merged per version (managedfields/internal: capmanagers).
 */
export function capUpdaters(managers: FieldManagers): FieldManagers {
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
    const name = {
      manager: ancientManager,
      operation: 'Update' as const,
      apiVersion: entry.apiVersion,
      subresource: '',
    };
    const bucket = managerIdentity(name);
    const old = result.get(bucket) ?? result.get(earlier);
    if (!result.has(bucket) || earlier === bucket) result.delete(earlier);
    result.delete(key);
    result.set(bucket, { ...name, time: entry.time, fields: entry.fields.union(old?.fields ?? OwnedFieldSet.empty) });
    count -= 1;
  }
  return result;
}

/** True if two lists of managers are equal except for their times. */
export function sameManagers(a: FieldManagers, b: FieldManagers): boolean {
  const plain = (managers: FieldManagers): Json =>
    Object.fromEntries([...managers].map(([key, entry]) => [key, [entry.apiVersion, entry.fields.toFieldsV1()]]));
  return canonicalJson(plain(a)) === canonicalJson(plain(b));
}

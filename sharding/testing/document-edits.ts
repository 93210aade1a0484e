import { isObject, omit } from '#base';
import type { RandomSource } from '#base';
import { clusterDigest } from '../distribution/parts.ts';
import { claimsKey } from '../documents/claims.ts';
import { membersKey, slotsConfigMap, slotsKey } from '../documents/slots-document.ts';
import { compressedKey, sumOf, tableConfigMap, tableKey } from '../documents/table-document.ts';
import type { SimulatedHub } from './simulated-hub.ts';

/* Edits by hand of the two ConfigMaps, field by field. */

export const editKinds = [
  'value',
  'removed',
  'duplicated',
  'exchanged',
  'added',
  'key removed',
  'key garbled',
] as const;
export type EditKind = (typeof editKinds)[number];

export interface DocumentEdit {
  readonly document: string;
  /** Path of the field, with `#` for an index and `*` for the name of a cluster or slot. */
  readonly field: string;
  readonly kind: EditKind;
  /** The new value; absent: none, or the value of another field. */
  readonly value?: unknown;
}

const documents = [
  [slotsConfigMap, slotsKey],
  [slotsConfigMap, membersKey],
  [tableConfigMap, tableKey],
  [tableConfigMap, claimsKey],
] as const;

/** Numbers at the bounds of the documents, and values of other types. */
const values: readonly unknown[] = [
  ...[0, 1, -1, 2, 7, 1000, 1999, 2000, 2001, 9999, 10_000, 180_000, 180_001, 1e6, 1e8, 2 ** 31, 2 ** 32, 1e12],
  ...[4e14, 4e14 + 1e6, 5e14, 6e14, 6e14 + 1e6, 999_999_999_999_999, 1e15, 1e15 + 1, 2 ** 53 - 1, 2 ** 53],
  ...[1e300, -1e300, 0.5, 1.5, '', 'x', '7', 'ctl-0', 'unknown', '9999-12-31T23:59:59Z', '1970-01-01T00:00:00Z'],
  ...[null, true, false, [], [0], [[0, 1]], {}, { a: 1 }],
];

const optionalFields: Readonly<Record<string, readonly string[]>> = {
  [`${slotsKey}.#`]: ['unknownField'],
  [`${membersKey}.#`]: [
    'warm',
    'home',
    'api',
    'load',
    'released',
    'landing',
    'leaseMs',
    'version',
    'unreached',
    'reaches',
  ],
  [tableKey]: ['movedAt', 'leaseMs', 'sum'],
  [`${tableKey}.clusters`]: ['https://new', ''],
  [`${tableKey}.clusters.*`]: ['homes', 'waits', 'everyone'],
  [claimsKey]: ['0', '7', '1999', 'x'],
  [`${claimsKey}.*`]: ['leaseMs'],
};

const digestsOf = (...names: readonly string[]): readonly string[] =>
  names.map((name) => clusterDigest(`https://${name}`));

/** Values that optional fields have in valid documents, in turn with those of other types. */
const plausible: Readonly<Record<string, readonly unknown[]>> = {
  released: [true],
  landing: [{ '*': 180_000 }, { 'https://a': 12_500 }, { '*': 1 }],
  load: [{ 'https://a': 64 }, { 'https://b': 1e6 }],
  unreached: [digestsOf('a'), digestsOf('a', 'b', 'c', 'd', 'e')],
  reaches: [digestsOf('a'), digestsOf('d')],
  home: [{ place: 'x', pid: 1 }],
  api: [{ address: '10.0.0.1:8082', fingerprint: 'a'.repeat(64) }],
  waits: [[[[0, 1000]]], [[[1, 1000]]]],
  homes: [[1], [2]],
  'https://new': [{ names: ['new'], shards: [0] }],
};

/**
 * Makes up to `count` random edits, one after the other, without a write of a replica in between.
 * Half of the edited tables keep a valid checksum: an older release wrote them.
 */
export function editDocuments(hub: SimulatedHub, random: RandomSource, count: number): readonly DocumentEdit[] {
  const editor = new DocumentEditor(hub, random);
  return Array.from({ length: count }, () => editor.edit()).filter((edit) => edit !== undefined);
}

/**
 * Sets the first field of this path, for example `driftlessMembers.#.acked`. The checksum of the
 * table stays valid.
 */
export function setField(hub: SimulatedHub, field: string, value: unknown): DocumentEdit | undefined {
  const found = documents.find(([, key]) => field.startsWith(`${key}.`));
  if (found === undefined) return undefined;
  const [name, key] = found;
  const object = hub.get('ConfigMap', name);
  const data = (isObject(object?.['data']) ? object['data'] : {}) as Readonly<Record<string, unknown>>;
  const root = parsed(String(data[key]));
  const path = pathsOf(root).find((each) => shapeOf(key, each) === field);
  if (path === undefined) return undefined;
  Object.assign(at(root, path.slice(0, -1)) as object, { [path.at(-1) ?? '']: value });
  if (key === tableKey && isObject(root)) Object.assign(root, { sum: sumOf(omit(root, 'sum')) });
  hub.put('ConfigMap', name, { ...object, data: { ...data, [key]: JSON.stringify(root) } });
  return { document: key, field, kind: 'value', value };
}

type JsonPath = readonly (string | number)[];
type Members = Record<string | number, unknown>;

class DocumentEditor {
  readonly #hub: SimulatedHub;
  readonly #random: RandomSource;

  constructor(hub: SimulatedHub, random: RandomSource) {
    this.#hub = hub;
    this.#random = random;
  }

  /** Undefined if the chosen document is missing or unreadable by now. */
  edit(): DocumentEdit | undefined {
    const [name, key] = this.#pick(documents);
    const object = this.#hub.get('ConfigMap', name);
    const data = (isObject(object?.['data']) ? object['data'] : {}) as Readonly<Record<string, unknown>>;
    const text = data[key];
    if (typeof text !== 'string') return undefined;
    if (this.#random.next() < 0.08) return this.#editKey({ name, key, data, text });
    const root = parsed(text);
    if (root === undefined) return undefined;
    const paths = groupByShape(key, pathsOf(root));
    const [shape, same] = this.#pick([...paths]);
    const edit = this.#editField(root, { key, shape, same, path: this.#pick(same) });
    if (edit === undefined) return undefined;
    const isSummed = key === tableKey && isObject(root) && this.#random.next() < 0.5;
    if (isSummed) Object.assign(root, { sum: sumOf(omit(root, 'sum')) });
    this.#hub.put('ConfigMap', name, { ...object, data: { ...data, [key]: JSON.stringify(root) } });
    return edit;
  }

  #editField(
    root: unknown,
    { key, shape, same, path }: { key: string; shape: string; same: readonly JsonPath[]; path: JsonPath },
  ): DocumentEdit | undefined {
    const added = isObject(at(root, path)) ? optionalFields[shape] : undefined;
    const edit = { document: key, field: shape };
    if (added !== undefined && (path.length === 0 || this.#random.next() < 0.3)) {
      const field = this.#pick(added);
      const value = this.#pick(this.#random.next() < 0.7 ? (plausible[field] ?? values) : values);
      Object.assign(at(root, path) as object, { [field]: value });
      return { ...edit, field: `${shape}.${field}`, kind: 'added', value };
    }
    const name = path.at(-1);
    if (name === undefined) return undefined;
    const parent = at(root, path.slice(0, -1)) as Members;
    const kind = this.#pick(['value', 'value', 'removed', 'duplicated', 'exchanged'] as const);
    if (kind === 'value') {
      const value = this.#pick(values);
      parent[name] = value;
      return { ...edit, kind, value };
    }
    if (kind === 'removed') remove(parent, name);
    else if (kind === 'duplicated') this.#duplicate(parent, name);
    else exchange(root, path, this.#pick(same));
    return { ...edit, kind };
  }

  /** A list gets the item twice, an object the same value under another name. */
  #duplicate(parent: Members, name: string | number): void {
    const copy = structuredClone(parent[name]);
    if (Array.isArray(parent)) parent.splice(Math.floor(this.#random.next() * (parent.length + 1)), 0, copy);
    else parent[this.#pick([...Object.keys(parent), '1', 'https://b'])] = copy;
  }

  #editKey({
    name,
    key,
    data,
    text,
  }: {
    name: string;
    key: string;
    data: Readonly<Record<string, unknown>>;
    text: string;
  }): DocumentEdit {
    const binaryData = this.#hub.get('ConfigMap', name)?.['binaryData'];
    const write = (changed: object): void => void this.#hub.put('ConfigMap', name, { binaryData, ...changed });
    if (this.#random.next() < 0.3) {
      write({ data: omit(data, key) });
      return { document: key, field: key, kind: 'key removed' };
    }
    const where = Math.floor(this.#random.next() * text.length);
    const others = Object.values(data).filter((other) => other !== text);
    const value = this.#pick([
      ...['', 'x', '{"oops":[', '[]', '{}', 'null', '7', '"x"', '[null]', '[{}]', ...others],
      ...[text.slice(0, where), `${text.slice(0, where)}7${text.slice(where + 1)}`, text + text],
    ]);
    const packed = key === tableKey && this.#random.next() < 0.2 ? { binaryData: { [compressedKey]: 'x' } } : {};
    write({ data: { ...data, [key]: value }, ...packed });
    return { document: key, field: key, kind: 'key garbled', value };
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function pathsOf(json: unknown, path: JsonPath = []): readonly JsonPath[] {
  const children: readonly (readonly [string | number, unknown])[] = Array.isArray(json)
    ? json.map((item: unknown, i) => [i, item] as const)
    : isObject(json)
      ? Object.entries(json)
      : [];
  return [path, ...children.flatMap(([key, child]) => pathsOf(child, [...path, key]))];
}

function groupByShape(key: string, paths: readonly JsonPath[]): ReadonlyMap<string, readonly JsonPath[]> {
  const groups = new Map<string, JsonPath[]>();
  for (const path of paths) groups.set(shapeOf(key, path), [...(groups.get(shapeOf(key, path)) ?? []), path]);
  return groups;
}

function shapeOf(key: string, path: JsonPath): string {
  const isName = (step: string): boolean => step === '' || /[:*]|^\d+$/.test(step);
  return [key, ...path.map((step) => (typeof step === 'number' ? '#' : isName(step) ? '*' : step))].join('.');
}

function at(root: unknown, path: JsonPath): unknown {
  return path.reduce((json, step) => (json as Members)[step], root);
}

function remove(parent: Members, name: string | number): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else Reflect.deleteProperty(parent, name);
}

/** Two fields of the same shape get each other's value. */
function exchange(root: unknown, path: JsonPath, other: JsonPath): void {
  const [name = '', otherName = ''] = [path.at(-1), other.at(-1)];
  const parent = at(root, path.slice(0, -1)) as Members;
  const otherParent = at(root, other.slice(0, -1)) as Members;
  [parent[name], otherParent[otherName]] = [otherParent[otherName], parent[name]];
}

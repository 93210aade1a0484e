import { isObject, omit } from '#base';
import type { Json, RandomSource } from '#base';
import { claimsKey } from '../documents/claims.ts';
import { formatSlots, membersKey, parseSlots, slotsConfigMap, slotsKey } from '../documents/slots-document.ts';
import { sumOf, tableConfigMap, tableKey } from '../documents/table-document.ts';
import type { ConfigMapLoss } from './scenario.ts';
import type { SimulatedHub } from './simulated-hub.ts';
import type { VirtualTime } from './virtual-time.ts';

/* Writes of third parties to the two ConfigMaps. */

/** Deletes, corrupts or restores a ConfigMap. */
export function lose(hub: SimulatedHub, which: 'slots' | 'table', how: ConfigMapLoss, back: number): void {
  const name = which === 'slots' ? slotsConfigMap : tableConfigMap;
  if (how === 'deleted') hub.remove('ConfigMap', name);
  else if (how === 'emptied') hub.put('ConfigMap', name, { data: {} });
  else if (how === 'blanked' || how === 'unkeyed') takeNamesOut(hub, how === 'blanked' ? '[]' : undefined);
  else if (how === 'restored') hub.restore('ConfigMap', name, back);
  else hub.put('ConfigMap', name, { data: { [which === 'slots' ? slotsKey : tableKey]: '{"oops":[' } });
}

/**
 * Removes names as Argo CD's controller does with a list longer than expected, or as a user does
 * with a key.
 */
function takeNamesOut(hub: SimulatedHub, list: string | undefined): void {
  const members = slotsData(hub)[membersKey];
  const kept = members === undefined ? {} : { [membersKey]: members };
  hub.put('ConfigMap', slotsConfigMap, { data: { ...kept, ...(list === undefined ? {} : { [slotsKey]: list }) } });
}

/**
 * Simulates an Argo CD controller that holds a slot for a while: it renews by its clock and obeys
 * no table.
 */
export function intrude(hub: SimulatedHub, time: VirtualTime, slot: number, ms: number): void {
  const until = time.now + ms;
  const beat = (): void => {
    const data = slotsData(hub);
    const found = parseSlots(data);
    if (found.state !== 'ok' || time.now > until) return;
    const entry = { slot, holder: 'go-pod', incarnation: 'argocd/go-pod', renewals: time.now, acked: 0 };
    const held = found.value.get(slot)?.holder;
    if (held !== undefined && held !== 'go-pod') return;
    const slots = new Map(found.value).set(slot, { ...entry, heartbeat: time.now });
    hub.put('ConfigMap', slotsConfigMap, { data: { ...data, ...formatSlots(slots, slots.size) } });
    time.at(time.now + 10_000, beat);
  };
  beat();
}

function slotsData(hub: SimulatedHub): Readonly<Record<string, unknown>> {
  return (hub.get('ConfigMap', slotsConfigMap)?.['data'] ?? {}) as Readonly<Record<string, unknown>>;
}

const documents = [
  [slotsConfigMap, slotsKey],
  [slotsConfigMap, membersKey],
  [tableConfigMap, tableKey],
  [tableConfigMap, claimsKey],
] as const;

/** Numbers at the bounds of the documents, and values of other types. */
const values: readonly Json[] = [
  ...[0, 1, -1, 2, 7, 1000, 1999, 2000, 2001, 9999, 10_000, 180_000, 180_001, 1e6, 1e8, 2 ** 31, 2 ** 32, 1e12],
  ...[4e14, 4e14 + 1e6, 5e14, 6e14, 6e14 + 1e6, 999_999_999_999_999, 1e15, 1e15 + 1, 2 ** 53 - 1, 2 ** 53],
  ...[1e300, -1e300, 0.5, 1.5, '', 'x', '7', 'ctl-0', 'unknown', '9999-12-31T23:59:59Z', '1970-01-01T00:00:00Z'],
  ...[null, true, false, [], [0], [[0, 1]], {}, { a: 1 }],
];

export interface DocumentEdit {
  readonly document: string;
  readonly path: string;
  readonly value: Json | undefined;
}

/**
 * Sets one random field of a document to a random value, or removes it. Returns undefined if the
 * document is empty. Half of the edited tables keep a valid checksum: an older release wrote them.
 */
export function editSomeField(hub: SimulatedHub, random: RandomSource): DocumentEdit | undefined {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random.next() * list.length)];
  const [name, key] = pick(documents) ?? documents[0];
  const object = hub.get('ConfigMap', name);
  const data = isObject(object?.['data']) ? object['data'] : {};
  const text = data[key];
  if (typeof text !== 'string') return undefined;
  const root = JSON.parse(text) as Json;
  const path = pick(pathsOf(root).slice(1));
  if (path === undefined) return undefined;
  const value = random.next() < 0.1 ? undefined : pick(values);
  const edited = withValue(root, path, value);
  const summed = key === tableKey && random.next() < 0.5 ? withSum(edited) : edited;
  hub.put('ConfigMap', name, { ...object, data: { ...data, [key]: JSON.stringify(summed) } });
  return { document: key, path: path.join('.'), value };
}

type JsonPath = readonly (string | number)[];

function pathsOf(json: Json, path: JsonPath = []): readonly JsonPath[] {
  const children: readonly (readonly [string | number, Json])[] = Array.isArray(json)
    ? json.map((item: Json, i) => [i, item] as const)
    : isObject(json)
      ? Object.entries(json as Readonly<Record<string, Json>>)
      : [];
  return [path, ...children.flatMap(([key, child]) => pathsOf(child, [...path, key]))];
}

/** Without a value the field is removed. */
function withValue(json: Json, [head, ...rest]: JsonPath, value: Json | undefined): Json {
  const change = (child: Json): Json | undefined => (rest.length > 0 ? withValue(child, rest, value) : value);
  if (Array.isArray(json))
    return (json as readonly Json[]).flatMap((child, i) => (i === head ? (change(child) ?? []) : [child]));
  if (!isObject(json)) return json;
  const entries = Object.entries(json as Readonly<Record<string, Json>>);
  return Object.fromEntries(
    entries.flatMap(([key, child]) => {
      const changed = key === head ? change(child) : child;
      return changed === undefined ? [] : [[key, changed] as const];
    }),
  );
}

function withSum(table: Json): Json {
  if (!isObject(table)) return table;
  const content = omit(table, 'sum');
  return { ...content, sum: sumOf(content) };
}

import { deepEqual, isObject, own, parseJson, JsonSyntaxError } from '#base';
import type { Json, JsonObject } from '#base';
import { canonicalStep } from './field-set.ts';
import { removeAll } from './remove.ts';
import type { Path } from './remove.ts';
import { stepOf } from './shape.ts';
import type { Shape } from './shape.ts';
import { isList, textOf } from './values.ts';

/**
 * Both sides without the fields that a trusted manager owns in live and that both have with different values (Argo CD:
 * util/argo/managedfields Normalize). A field that only one side has is left: it is a difference of ours. An entry that cannot be read
 * changes nothing.
 *
 * @param shapeOfKind how lists and maps of the kind are owned; asked for when there are managers only.
 */
export function withoutManaged(
  target: JsonObject,
  live: JsonObject,
  managers: ReadonlySet<string>,
  shapeOfKind: () => Shape,
): { readonly target: JsonObject; readonly live: JsonObject } {
  const found = managedDifferences(target, live, managers, shapeOfKind);
  if (found.target.length === 0) return { target, live };
  return { target: removeAll(target, found.target) as JsonObject, live: removeAll(live, found.live) as JsonObject };
}

/** Where the two differ in what trusted managers own, in each. */
export function managedDifferences(
  target: JsonObject,
  live: JsonObject,
  managers: ReadonlySet<string>,
  shapeOfKind: () => Shape,
): Found {
  const found: Found = { target: [], live: [] };
  if (managers.size === 0) return found;
  const places = { target: undefined, live: undefined };
  for (const fields of fieldsOwned(live, (entry) => managers.has(textOf(own(entry, 'manager')))))
    walk(fields, { values: { target, live }, places, shape: shapeOfKind() }, found);
  return found;
}

/** The field sets of those entries of `metadata.managedFields` that are wanted. */
export function fieldsOwned(live: JsonObject, wanted: (entry: JsonObject) => boolean): readonly JsonObject[] {
  const metadata = own(live, 'metadata');
  const entries = isObject(metadata) ? own(metadata, 'managedFields') : undefined;
  if (!isList(entries)) return [];
  return entries.flatMap((entry) => {
    const fields = isObject(entry) && wanted(entry) ? own(entry, 'fieldsV1') : undefined;
    return isObject(fields) ? [fields] : [];
  });
}

interface Found {
  readonly target: Path[];
  readonly live: Path[];
}
interface Pair<T> {
  readonly target: T;
  readonly live: T;
}

/** A place in both, and how it is owned. */
interface Here {
  readonly values: Pair<Json>;
  readonly places: Pair<Path | undefined>;
  readonly shape: Shape;
}

/** Down the set of owned fields: `f:name`, `k:{"key":…}` for an item of a list, `v:…` for an item of a set. */
function walk(fields: JsonObject, here: Here, found: Found): void {
  for (const [key, inner] of Object.entries(fields)) {
    const next = step(key, here);
    if (next === undefined || !isObject(inner)) continue;
    const { values, places, shape } = next;
    if (Object.keys(inner).some((name) => name !== '.')) walk(inner, next, found);
    else if (isWhole(values.target, shape) && isWhole(values.live, shape) && !deepEqual(values.target, values.live)) {
      found.target.push(places.target);
      found.live.push(places.live);
    }
  }
}

interface Next extends Here {
  readonly places: Pair<Path>;
}

/** Who owns a list by items, or a map by members, and nothing in it, may decide about nothing in it. */
function isWhole(value: Json, shape: Shape): boolean {
  if (isList(value)) return shape.listKeys === undefined;
  return !isObject(value) || shape.atomicMap;
}

function step(key: string, { values: { target, live }, places, shape }: Here): Next | undefined {
  if (key.startsWith('f:')) {
    const name = key.slice(2);
    const [a, b] = [isObject(target) ? own(target, name) : undefined, isObject(live) ? own(live, name) : undefined];
    if (a === undefined || b === undefined || shape.atomicMap) return undefined;
    return {
      values: { target: a, live: b },
      places: { target: { parent: places.target, step: name }, live: { parent: places.live, step: name } },
      shape: shape.member(name),
    };
  }
  const wanted = canonicalStep(key);
  if (!isList(target) || !isList(live) || shape.listKeys === undefined || wanted === undefined) return undefined;
  const find = (list: readonly Json[]): number => list.findIndex((item) => stepOf(item, shape) === wanted);
  const [i, j] = [find(target), find(live)];
  const [a, b] = [target[i], live[j]];
  if (a === undefined || b === undefined) return undefined;
  return {
    values: { target: a, live: b },
    places: { target: { parent: places.target, step: i }, live: { parent: places.live, step: j } },
    shape: shape.items(),
  };
}

/** A default of a key (protocol TCP of ports) is written in the key and may be missing in the target. */
export function itemMatcher(key: string): ((item: Json, index: number) => boolean) | undefined {
  const index = /^i:([0-9]+)$/.exec(key)?.[1];
  if (index !== undefined) return (_item, i) => i === Number(index);
  if (!/^[kv]:/.test(key)) return undefined;
  let wanted: Json;
  try {
    wanted = parseJson(key.slice(2));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
  if (key.startsWith('v:') || !isObject(wanted)) return (item) => deepEqual(item, wanted);
  const keys = Object.entries(wanted);
  return (item) =>
    isObject(item) &&
    keys.every(([name, value]) => {
      const here = own(item, name);
      return here === undefined ? name === 'protocol' && value === 'TCP' : deepEqual(here, value);
    });
}

import { deepEqual, isObject, own, parseJson, JsonSyntaxError } from '#base';
import type { Json, JsonObject } from '#base';
import { removeAll } from './remove.ts';
import type { Path } from './remove.ts';
import { isList, textOf } from './values.ts';

/**
 * Both sides without the fields that a trusted manager owns in live and that both have with different values (Argo CD:
 * util/argo/managedfields Normalize). A field that only one side has is left: it is a difference of ours. An entry that cannot be read
 * changes nothing.
 */
export function withoutManaged(
  target: JsonObject,
  live: JsonObject,
  managers: ReadonlySet<string>,
): { readonly target: JsonObject; readonly live: JsonObject } {
  const found = managedDifferences(target, live, managers);
  if (found.target.length === 0) return { target, live };
  return { target: removeAll(target, found.target) as JsonObject, live: removeAll(live, found.live) as JsonObject };
}

/** Where the two differ in what trusted managers own, in each. */
export function managedDifferences(target: JsonObject, live: JsonObject, managers: ReadonlySet<string>): Found {
  const found: Found = { target: [], live: [] };
  if (managers.size === 0) return found;
  for (const fields of fieldsOwned(live, (entry) => managers.has(textOf(own(entry, 'manager')))))
    walk(fields, { target, live }, { target: undefined, live: undefined }, found);
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

/** Down the set of owned fields: `f:name`, `k:{"key":…}` for an item of a list, `v:…` for an item of a set, `i:n` for an index. */
function walk(fields: JsonObject, values: Pair<Json>, places: Pair<Path | undefined>, found: Found): void {
  for (const [key, inner] of Object.entries(fields)) {
    const next = step(key, values);
    if (next === undefined) continue;
    const here = {
      target: { parent: places.target, step: next.steps.target },
      live: { parent: places.live, step: next.steps.live },
    };
    const children = isObject(inner) ? Object.keys(inner).filter((name) => name !== '.') : [];
    if (children.length > 0 && isObject(inner)) walk(inner, next.values, here, found);
    else if (!deepEqual(next.values.target, next.values.live)) {
      found.target.push(here.target);
      found.live.push(here.live);
    }
  }
}

interface Next {
  readonly values: Pair<Json>;
  readonly steps: Pair<string | number>;
}

function step(key: string, { target, live }: Pair<Json>): Next | undefined {
  if (key.startsWith('f:')) {
    const name = key.slice(2);
    const [a, b] = [isObject(target) ? own(target, name) : undefined, isObject(live) ? own(live, name) : undefined];
    return a === undefined || b === undefined
      ? undefined
      : { values: { target: a, live: b }, steps: { target: name, live: name } };
  }
  if (!isList(target) || !isList(live)) return undefined;
  const matches = itemMatcher(key);
  if (matches === undefined) return undefined;
  const [i, j] = [target.findIndex(matches), live.findIndex(matches)];
  const [a, b] = [target[i], live[j]];
  return a === undefined || b === undefined
    ? undefined
    : { values: { target: a, live: b }, steps: { target: i, live: j } };
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

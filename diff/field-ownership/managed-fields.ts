import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { removePaths } from '../shared/removal.ts';
import type { ValuePath } from '../shared/removal.ts';
import { isList, textOf } from '../shared/values.ts';
import type { SidePair } from '../shared/values.ts';
import { canonicalStep } from './field-set.ts';
import { fieldsAtVersion } from './other-version.ts';
import { listItemStep } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

/**
 * Removes from both sides the fields that a trusted manager owns in live and that have different
 * values on the two sides (Argo CD: util/argo/managedfields Normalize). A field that only one side
 * has stays, so it counts as a difference. Entries that cannot be parsed change nothing.
 *
 * @param shapeOfKind the list and map types of the kind; called only if there are trusted managers.
 */
export function withoutManaged(
  target: JsonObject,
  live: JsonObject,
  managers: ReadonlySet<string>,
  shapeOfKind: () => OwnershipShape,
): { readonly target: JsonObject; readonly live: JsonObject } {
  const found = managedDifferences(target, live, managers, shapeOfKind);
  if (found.target.length === 0) return { target, live };
  return { target: removePaths(target, found.target) as JsonObject, live: removePaths(live, found.live) as JsonObject };
}

/** Returns the paths, on each side, of fields that trusted managers own and that differ. */
export function managedDifferences(
  target: JsonObject,
  live: JsonObject,
  managers: ReadonlySet<string>,
  shapeOfKind: () => OwnershipShape,
): DifferingPaths {
  const found: DifferingPaths = { target: [], live: [] };
  if (managers.size === 0) return found;
  const paths = { target: undefined, live: undefined };
  for (const fields of fieldsOwned(live, (entry) => managers.has(textOf(ownMember(entry, 'manager')))))
    collectDifferences(fields, { values: { target, live }, paths, shape: shapeOfKind() }, found);
  return found;
}

/**
 * Returns the field sets of the accepted entries of `metadata.managedFields`, as the version of the
 * live object has these fields.
 */
export function fieldsOwned(live: JsonObject, wanted: (entry: JsonObject) => boolean): readonly JsonObject[] {
  const metadata = ownMember(live, 'metadata');
  const entries = isObject(metadata) ? ownMember(metadata, 'managedFields') : undefined;
  if (!isList(entries)) return [];
  return entries.flatMap((entry) => {
    if (!isObject(entry) || !wanted(entry)) return [];
    const fields = ownMember(entry, 'fieldsV1');
    return isObject(fields) ? [fieldsAtVersion(fields, textOf(ownMember(entry, 'apiVersion')), live)] : [];
  });
}

interface DifferingPaths {
  readonly target: ValuePath[];
  readonly live: ValuePath[];
}

/** A value on both sides, with its paths and its type. */
interface FieldPosition {
  readonly values: SidePair<Json>;
  readonly paths: SidePair<ValuePath | undefined>;
  readonly shape: OwnershipShape;
}

/**
 * Descends the owned fields: `f:name`, `k:{"key":…}` for a list item, `v:…` for an item of a set.
 */
function collectDifferences(fields: JsonObject, here: FieldPosition, found: DifferingPaths): void {
  for (const [key, inner] of Object.entries(fields)) {
    const next = positionAt(key, here);
    if (next === undefined || !isObject(inner)) continue;
    const { values, paths, shape } = next;
    if (Object.keys(inner).some((name) => name !== '.')) collectDifferences(inner, next, found);
    else if (
      isOwnedAsWhole(values.target, shape) &&
      isOwnedAsWhole(values.live, shape) &&
      !deepEqual(values.target, values.live)
    ) {
      found.target.push(paths.target);
      found.live.push(paths.live);
    }
  }
}

interface InnerPosition extends FieldPosition {
  readonly paths: SidePair<ValuePath>;
}

/**
 * Reports whether the value is owned as a whole (atomic list or map). The owner of a granular list
 * or map itself owns none of its content.
 */
function isOwnedAsWhole(value: Json, shape: OwnershipShape): boolean {
  if (isList(value)) return shape.listKeys === undefined;
  return !isObject(value) || shape.atomicMap;
}

function positionAt(key: string, { values: { target, live }, paths, shape }: FieldPosition): InnerPosition | undefined {
  if (key.startsWith('f:')) {
    const name = key.slice(2);
    const [a, b] = [
      isObject(target) ? ownMember(target, name) : undefined,
      isObject(live) ? ownMember(live, name) : undefined,
    ];
    if (a === undefined || b === undefined || shape.atomicMap) return undefined;
    return {
      values: { target: a, live: b },
      paths: { target: { parent: paths.target, step: name }, live: { parent: paths.live, step: name } },
      shape: shape.member(name),
    };
  }
  const wanted = canonicalStep(key);
  if (!isList(target) || !isList(live) || shape.listKeys === undefined || wanted === undefined) return undefined;
  const find = (list: readonly Json[]): number => list.findIndex((item) => listItemStep(item, shape) === wanted);
  const [i, j] = [find(target), find(live)];
  const [a, b] = [target[i], live[j]];
  if (a === undefined || b === undefined) return undefined;
  return {
    values: { target: a, live: b },
    paths: { target: { parent: paths.target, step: i }, live: { parent: paths.live, step: j } },
    shape: shape.items(),
  };
}

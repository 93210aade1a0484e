import { isObject } from '#base';
import type { Json } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import { changedAt, holdersOf, isList, leavesOf, othersFor, valueAtPath } from '../e2e/kinds/index.ts';
import type { ValuePath } from '../e2e/kinds/index.ts';

/** A single change of a manifest in Git. */
export interface Mutation {
  readonly what:
    | 'field removed'
    | 'part removed'
    | 'field added'
    | 'part added'
    | 'value changed'
    | 'list reordered'
    | 'item renamed';
  readonly path: string;
  /** The manifest that is synced first. */
  before(): KubeObject;
  /** The changed manifest. */
  after(): KubeObject;
}

/** Every single removal, addition, change, reorder and rename of a manifest. */
export function mutationsOf(manifest: KubeObject): readonly Mutation[] {
  const whole = jsonOf(manifest);
  const leaves = leavesOf(whole).filter(isContent);
  const holders = holdersOf(whole).filter(isContent);
  const parts = holders.filter((path) => path.length > 1);
  const changedTo = (path: ValuePath, value: Json | undefined): KubeObject =>
    changedAt(whole, path, value) as KubeObject & Json;
  const at = (what: Mutation['what'], path: ValuePath, value: Json | undefined): Mutation => ({
    ...{ what, path: path.join('.') },
    before: () => manifest,
    after: () => changedTo(path, value),
  });
  const added = (what: Mutation['what'], path: ValuePath): Mutation => ({
    ...{ what, path: path.join('.') },
    before: () => changedTo(path, undefined),
    after: () => manifest,
  });
  return [
    ...leaves.map((path) => at('field removed', path, undefined)),
    ...parts.map((path) => at('part removed', path, undefined)),
    ...leaves.map((path) => added('field added', path)),
    ...parts.map((path) => added('part added', path)),
    ...leaves.flatMap((path) => changed(whole, path).map((value) => at('value changed', path, value))),
    ...holders.flatMap((path) => reordered(whole, path).map((value) => at('list reordered', path, value))),
    ...holders.flatMap((path) => renamed(whole, path).map((value) => at('item renamed', path, value))),
  ];
}

function isContent([first, second]: ValuePath): boolean {
  if (first === 'metadata') return second === 'labels' || second === 'annotations';
  return first !== undefined && first !== 'apiVersion' && first !== 'kind' && first !== 'status';
}

function changed(whole: Json, path: ValuePath): readonly Json[] {
  return othersFor(valueAtPath(whole, path) ?? null).slice(0, 1);
}

function reordered(whole: Json, path: ValuePath): readonly Json[] {
  const value = valueAtPath(whole, path);
  return isList(value) && value.length > 1 ? [[...value].reverse()] : [];
}

function renamed(whole: Json, path: ValuePath): readonly Json[] {
  const value = valueAtPath(whole, path);
  const [first, ...rest] = isList(value) ? value : [];
  return isObject(first) && typeof first['name'] === 'string'
    ? [[{ ...first, name: `${first['name']}-x` }, ...rest]]
    : [];
}

import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { field, items, str } from './fields.ts';
import { selectorString } from './scale.ts';

/** How kubectl's `get` shows a built-in kind (kubernetes: pkg/printers/internalversion/printers.go). */
export interface Printer {
  /** Names separated by `|`; `:type` after a name where it is no string; `*` at the end: only with `-o wide`. */
  readonly columns: string;
  /** The cells beside Name and Age, in order. */
  readonly cells: (object: KubeObject, nowMs: number) => readonly Json[];
  /** `cells` makes all cells, Name and Age included. */
  readonly whole?: boolean;
  readonly conditions?: (object: KubeObject) => readonly Json[] | undefined;
}

/** Texts joined by commas, "<none>" for none. */
export function joined(texts: readonly string[]): string {
  return texts.length === 0 ? '<none>' : texts.join(',');
}

/** A LabelSelector, or a plain map of labels, as text. */
export function selectorCell(selector: Json | undefined): string {
  if (!isObject(selector)) return '<none>';
  const structured = 'matchLabels' in selector || 'matchExpressions' in selector || Object.keys(selector).length === 0;
  return selectorString(structured ? selector : { matchLabels: selector }) || '<none>';
}

/** The names and the images of a pod template's containers. */
export function containerCells(object: KubeObject, ...path: readonly string[]): readonly [string, string] {
  const containers = items(object, ...path, 'containers');
  return [joined(containers.map((one) => str(one['name']))), joined(containers.map((one) => str(one['image'])))];
}

/** A text at a path, `otherwise` when it is missing or empty. */
export function textCell(object: KubeObject, path: readonly string[], otherwise = '<none>'): string {
  const value = field(object, ...path);
  if (value === undefined || value === null || value === '') return otherwise;
  return typeof value === 'object' ? otherwise : String(value);
}

/** How many members an object or list at a path has. */
export function sizeCell(object: KubeObject, ...path: readonly string[]): number {
  const value = field(object, ...path);
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

export function conditionStatus(object: KubeObject, type: string): string | undefined {
  const found: JsonObject | undefined = items(object, 'status', 'conditions').find((one) => one['type'] === type);
  return found === undefined ? undefined : str(found['status']);
}

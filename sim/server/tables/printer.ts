import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { fieldAt, itemsAt, stringOrEmpty } from '../fields.ts';
import { selectorString } from '../handlers/scale.ts';

/**
 * How kubectl's `get` shows a built-in kind (kubernetes: pkg/printers/internalversion/printers.go).
 */
export interface KindPrinter {
  /**
   * Names separated by `|`; `:type` follows a name if it is not a string; a trailing `*` means `-o
   * wide` only.
   */
  readonly columns: string;
  /** The cells other than Name and Age, in order. */
  readonly cells: (object: KubeObject, nowMs: number) => readonly Json[];
  /** `cells` returns all cells, Name and Age included. */
  readonly whole?: boolean;
  readonly conditions?: (object: KubeObject) => readonly Json[] | undefined;
}

/** Texts joined by commas, "<none>" if there are none. */
export function joinedOrNone(texts: readonly string[]): string {
  return texts.length === 0 ? '<none>' : texts.join(',');
}

/** A LabelSelector, or a plain map of labels, as text. */
export function selectorCell(selector: Json | undefined): string {
  if (!isObject(selector)) return '<none>';
  const structured = 'matchLabels' in selector || 'matchExpressions' in selector || Object.keys(selector).length === 0;
  return selectorString(structured ? selector : { matchLabels: selector }) || '<none>';
}

/** The container names and the images of a pod template. */
export function containerCells(object: KubeObject, ...path: readonly string[]): readonly [string, string] {
  const containers = itemsAt(object, ...path, 'containers');
  return [
    joinedOrNone(containers.map((one) => stringOrEmpty(one['name']))),
    joinedOrNone(containers.map((one) => stringOrEmpty(one['image']))),
  ];
}

/** The text at a path; `otherwise` if it is missing or empty. */
export function textCell(object: KubeObject, path: readonly string[], otherwise = '<none>'): string {
  const value = fieldAt(object, ...path);
  if (value === undefined || value === null || value === '') return otherwise;
  return typeof value === 'object' ? otherwise : String(value);
}

/** The number of members of an object or list at a path. */
export function sizeCell(object: KubeObject, ...path: readonly string[]): number {
  const value = fieldAt(object, ...path);
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

export function conditionStatus(object: KubeObject, type: string): string | undefined {
  const found: JsonObject | undefined = itemsAt(object, 'status', 'conditions').find((one) => one['type'] === type);
  return found === undefined ? undefined : stringOrEmpty(found['status']);
}

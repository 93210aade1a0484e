import { isObject, ownMember, parsePointer } from '#base';
import type { Json, JsonObject } from '#base';
import { fieldManager } from '#model';
import type { KubeObject } from '#model';

/** An entry of `metadata.managedFields`, without its fields. */
export interface LastWriter {
  readonly manager: string;
  /** "" unless the write went to a subresource, such as `scale`. */
  readonly subresource: string;
}

/** Writer of a field, and the time. */
export interface FieldWriter extends LastWriter {
  /** `Apply` or `Update`. */
  readonly operation: string;
  /** As stored. */
  readonly time?: string;
}

/**
 * The manager that wrote an object last: of the differing fields (JSON pointers) if managedFields
 * names an owner of one, otherwise of anything but the status. Undefined: managedFields is empty.
 */
export function lastWriterOf(object: KubeObject, paths: readonly string[]): LastWriter | undefined {
  const writer = writerOf(object, paths);
  return writer === undefined ? undefined : { manager: writer.manager, subresource: writer.subresource };
}

/** {@link lastWriterOf}, with operation and time. */
export function writerOf({ metadata }: KubeObject, paths: readonly string[]): FieldWriter | undefined {
  const entries = (metadata.managedFields ?? []).filter((entry) => textAt(entry, 'subresource') !== 'status');
  const steps = paths.flatMap((path) => [parsePointer(path) ?? []]).filter((path) => path.length > 0);
  const owners = entries.filter((entry) => steps.some((path) => owns(ownMember(entry, 'fieldsV1'), path)));
  const [last] = (owners.length > 0 ? owners : entries).toSorted(byTime);
  if (last === undefined) return undefined;
  const time = textAt(last, 'time');
  return {
    manager: textAt(last, 'manager'),
    subresource: textAt(last, 'subresource'),
    operation: textAt(last, 'operation'),
    ...(time === '' ? {} : { time }),
  };
}

/** The latest first; of two within one second the one that is not ours. */
function byTime(a: JsonObject, b: JsonObject): number {
  const [left, right] = [textAt(a, 'time'), textAt(b, 'time')];
  if (left !== right) return left < right ? 1 : -1;
  return Number(textAt(a, 'manager') === fieldManager) - Number(textAt(b, 'manager') === fieldManager);
}

/** Whether a field set contains a path. Items of lists are not told apart. */
function owns(fields: Json | undefined, path: readonly string[]): boolean {
  const [step, ...rest] = path;
  if (!isObject(fields)) return false;
  if (step === undefined) return true;
  const child = ownMember(fields, `f:${step}`);
  if (isObject(child)) return Object.keys(child).length === 0 || owns(child, rest);
  return /^\d+$/.test(step) && Object.keys(fields).some((name) => name.startsWith('k:') || name.startsWith('v:'));
}

function textAt(entry: JsonObject, name: string): string {
  const value = ownMember(entry, name);
  return typeof value === 'string' ? value : '';
}

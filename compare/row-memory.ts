import { defined } from '#base';
import type { KubeObject } from '#model';
import type { ResourceComparison } from './row.ts';

/** Forms of live objects are kept from one comparison to the next, so each is measured once. */
const bytesOfObjects = new WeakMap<KubeObject, number>();

/** About how many bytes the objects of a row take. Parts that both sides share count once. */
export function bytesOfRow({ diff: { normalizedLive, predictedLive } }: ResourceComparison): number {
  return bytesOfObject(normalizedLive, null) + bytesOfObject(predictedLive, normalizedLive);
}

function bytesOfObject(object: KubeObject | null, beside: KubeObject | null): number {
  if (object === null || object === beside) return bytesOfValue;
  const bytes = bytesOfObjects.get(object) ?? bytesOf(object, beside);
  bytesOfObjects.set(object, bytes);
  return bytes;
}

const bytesOfValue = 16;

type Members = Readonly<Record<string, unknown>>;

/** The bytes of `value` that are not shared with `other`: parts that are equal count as shared. */
function bytesOf(value: unknown, other: unknown): number {
  if (value === other) return bytesOfValue;
  if (typeof value === 'string') return bytesOfValue + value.length;
  if (typeof value !== 'object' || value === null) return bytesOfValue;
  const beside = typeof other === 'object' && other !== null ? (other as Members) : undefined;
  let bytes = bytesOfValue;
  for (const name of Object.keys(value)) {
    const twin = beside !== undefined && Object.hasOwn(beside, name) ? beside[name] : undefined;
    bytes += bytesOfValue + bytesOf((value as Members)[name], twin);
  }
  return bytes;
}

/** The row without its objects. It can be shown, and not be reused. */
export function trimmedRow(row: ResourceComparison): ResourceComparison {
  const { normalizedLive, predictedLive } = row.diff;
  const diff = { ...row.diff, normalizedLive: nameOnly(normalizedLive), predictedLive: nameOnly(predictedLive) };
  return { ...row, diff, isTrimmed: true };
}

function nameOnly(object: KubeObject | null): KubeObject | null {
  if (object === null) return null;
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid } = metadata;
  return { apiVersion, kind, metadata: defined({ name, namespace, uid }) };
}

import { defined } from '#base';
import type { KubeObject } from '#model';
import type { ResourceComparison } from './row.ts';

const bytesOfRows = new WeakMap<ResourceComparison, number>();

/**
 * About how many bytes the objects of a row take. Parts that both sides share count once. Cached:
 * most rows of a comparison are those of the last one.
 */
export function bytesOfRow(row: ResourceComparison): number {
  const known = bytesOfRows.get(row);
  if (known !== undefined) return known;
  const { normalizedLive, predictedLive } = row.diff;
  const bytes = bytesOf(normalizedLive, null) + bytesOf(predictedLive, normalizedLive);
  bytesOfRows.set(row, bytes);
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

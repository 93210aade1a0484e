import { defined } from '#base';
import type { KubeObject } from '#model';
import type { ResourceComparison } from './row.ts';

/** About how many bytes the objects of a row take. Parts that both sides share count once. */
export function bytesOfRow({ diff: { normalizedLive, predictedLive } }: ResourceComparison): number {
  return bytesOf(normalizedLive, null) + bytesOf(predictedLive, normalizedLive);
}

const bytesOfValue = 16;

/** The bytes of `value` that are not shared with `other`: parts that are equal count as shared. */
function bytesOf(value: unknown, other: unknown): number {
  if (value === other) return bytesOfValue;
  if (typeof value === 'string') return bytesOfValue + value.length;
  if (typeof value !== 'object' || value === null) return bytesOfValue;
  const beside: object = typeof other === 'object' && other !== null ? other : {};
  let bytes = bytesOfValue;
  for (const [name, member] of Object.entries(value))
    bytes += bytesOfValue + bytesOf(member, Object.hasOwn(beside, name) ? beside[name as keyof object] : undefined);
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

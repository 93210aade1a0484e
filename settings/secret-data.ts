import { isUtf8 } from 'node:buffer';
import { isObject, ownMember } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';

/** The decoded `data` of a Secret, as text. Values that are not strings are left out. */
export function secretData(secret: KubeObject): Readonly<Record<string, string>> {
  const data = secret['data'] as Json | undefined;
  const decoded: Record<string, string> = {};
  if (!isObject(data)) return decoded;
  for (const [key, value] of Object.entries(data))
    if (typeof value === 'string') decoded[key] = Buffer.from(value, 'base64').toString('utf8');
  return decoded;
}

/** Only these keys, so that nothing reads a key that is not listed. */
export function withKeys(
  data: Readonly<Record<string, string>>,
  keys: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).filter(([key]) => keys.includes(key)));
}

/** The keys whose values are neither absent nor base64 of UTF-8 text. */
export function unreadableKeys(secret: KubeObject, keys: readonly string[]): readonly string[] {
  const data = secret['data'] as Json | undefined;
  if (!isObject(data)) return [];
  return keys.filter((key) => {
    const value = ownMember(data, key);
    if (value === undefined || value === null) return false;
    return typeof value !== 'string' || !isBase64(value) || !isUtf8(Buffer.from(value, 'base64'));
  });
}

/** As Go decodes it: line breaks do not count. Other text would be decoded in part. */
function isBase64(value: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(value.replaceAll(/[\r\n]/g, ''));
}

/** "Secret argocd/cluster-x", for messages. */
export function nameOfSecret(secret: Pick<KubeObject, 'metadata'>): string {
  return `Secret ${secret.metadata.namespace ?? ''}/${secret.metadata.name ?? ''}`;
}

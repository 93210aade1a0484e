import { hashJson, SecretValue } from '#base';
import type { KubeObject, SourceDecryption } from '#model';
import { nameOfSecret, secretData, unreadableKeys, withKeys } from './secret-data.ts';

/** The label of Secrets with keys. No other Secret can be named. */
export const decryptionSecretType = 'driftless-decryption';

const keyName = /\.(?:agekey|asc)$/;

/** Reads a Secret with age keys (`.agekey`) and private PGP keys (`.asc`), named as in Flux. */
export function parseDecryptionSecret(secret: KubeObject): SourceDecryption {
  const all = secretData(secret);
  const names = Object.keys(all).filter((name) => keyName.test(name));
  const name = nameOfSecret(secret);
  const [unreadable] = unreadableKeys(secret, names);
  if (unreadable !== undefined) return { problem: `${name}: the key "${unreadable}" is not base64 of UTF-8 text` };
  if (names.length === 0) return { problem: `${name} has no key that ends in .agekey or .asc` };
  const data = withKeys(all, names);
  const entries = Object.entries(data).map(([key, text]) => [key, new SecretValue(text)] as const);
  return { secret: secret.metadata.name ?? '', id: hashJson(data), entries: Object.fromEntries(entries) };
}

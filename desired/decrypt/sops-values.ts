import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { isObject, ownMember, parseGoBool, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { DecryptionFailed } from '../errors.ts';
import type { SopsMetadata } from './sops-metadata.ts';

/** A decrypted value: its exact bytes, and the value as JSON. `undefined`: a comment. */
export interface DecryptedValue {
  readonly bytes: Buffer;
  readonly value: Exclude<MutableJson, object | null> | undefined;
}

const encrypted = /^ENC\[AES256_GCM,data:([\w+/=]*),iv:([\w+/=]+),tag:([\w+/=]+),type:([a-z]+)\]$/;
/** The hash of a MAC over encrypted values only begins with these bytes, so that both differ. */
const macOfEncrypted = Buffer.from('8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69', 'hex');
/** Lists and maps count too. Aliases of YAML could multiply a value a million times. */
const maxValues = 10_000;
/** Each value is authenticated with all keys above it. */
const maxPathLength = 16 * 1024 * 1024;
const dataKeyBytes = 32;
const tagBytes = 16;

/**
 * Decrypts the values of one file in their order and verifies its MAC (SOPS: aes, Tree.Decrypt).
 * Each value is authenticated together with the keys that lead to it. Nothing may be used before
 * {@link verify}.
 */
export class SopsValues {
  readonly #metadata: SopsMetadata;
  readonly #dataKey: Uint8Array;
  readonly #hash: Hash;
  readonly #texts: string[] = [];
  #count = 0;
  #pathLength = 0;

  /** @throws DecryptionFailed */
  constructor(metadata: SopsMetadata, dataKey: Uint8Array) {
    if (dataKey.length !== dataKeyBytes) throw new DecryptionFailed(`its data key has ${dataKey.length} bytes`);
    this.#metadata = metadata;
    this.#dataKey = dataKey;
    this.#hash = createHash('sha512');
    if (metadata.isMacOfEncrypted) this.#hash.update(macOfEncrypted);
  }

  /** A tree with its values decrypted. @throws DecryptionFailed, which names the keys */
  tree(value: Json, path: readonly string[] = []): MutableJson {
    if (value === null || typeof value === 'object') this.#noteNode(path);
    if (value === null) return null;
    if (Array.isArray(value)) return this.#list(value as readonly Json[], path);
    if (isObject(value)) {
      const result: MutableJsonObject = {};
      for (const key of Object.keys(value))
        setOwnMember(result, key, this.tree(ownMember(value, key) ?? null, [...path, key]));
      return result;
    }
    return this.value(value as Exclude<Json, object | null>, path).value ?? null;
  }

  /** One value. @throws DecryptionFailed */
  value(value: Exclude<Json, object | null>, path: readonly string[]): DecryptedValue {
    this.#noteNode(path);
    const isEncrypted = this.#metadata.isEncrypted(path);
    const plain = isEncrypted ? this.#decrypt(value, path) : { bytes: bytesOf(value), value };
    const isInMac = isEncrypted || !this.#metadata.isMacOfEncrypted;
    if (isInMac && plain.value !== undefined) this.#hash.update(plain.bytes);
    if (isEncrypted) this.#texts.push(plain.bytes.toString('utf8'));
    return plain;
  }

  #noteNode(path: readonly string[]): void {
    this.#count += 1;
    if (this.#count > maxValues) throw new DecryptionFailed(`it has more than ${maxValues} values`);
    this.#pathLength += path.reduce((sum, key) => sum + key.length, 0);
    if (this.#pathLength > maxPathLength) throw new DecryptionFailed('its keys are too long for so many values');
  }

  /** The decrypted values so far. */
  texts(): readonly string[] {
    return this.#texts;
  }

  /** @throws DecryptionFailed if values were changed, added, removed or put into another order */
  verify(): void {
    const { mac, lastModified } = this.#metadata;
    const expected = open(mac, this.#dataKey, lastModified).bytes;
    const actual = Buffer.from(this.#hash.digest('hex').toUpperCase());
    if (expected.length !== actual.length || !timingSafeEqual(expected, actual))
      throw new DecryptionFailed(
        'its MAC does not match: it was edited without sops, or merged; keys that are numbers must come first, in ascending order',
      );
  }

  /** Comments are items of lists too. */
  #list(items: readonly Json[], path: readonly string[]): MutableJson[] {
    const result: MutableJson[] = [];
    for (const item of items) {
      if (item === null || typeof item === 'object') {
        result.push(this.tree(item, path));
        continue;
      }
      const { value } = this.value(item, path);
      if (value !== undefined) result.push(value);
    }
    return result;
  }

  #decrypt(value: Exclude<Json, object | null>, path: readonly string[]): DecryptedValue {
    if (value === '') return { bytes: Buffer.alloc(0), value };
    if (typeof value === 'string')
      try {
        return open(value, this.#dataKey, `${path.join(':')}:`);
      } catch (error) {
        if (!(error instanceof DecryptionFailed)) throw error;
        throw new DecryptionFailed(`its value at ${path.join('.')}: ${error.message}`);
      }
    throw new DecryptionFailed(`its value at ${path.join('.')} must be encrypted, and is not`);
  }
}

/** @throws DecryptionFailed */
function open(text: string, key: Uint8Array, additional: string): DecryptedValue {
  const match = encrypted.exec(text);
  if (match === null) throw new DecryptionFailed('it is not encrypted, or not in the format of SOPS');
  const [data, iv, tag] = match.slice(1, 4).map((part) => Buffer.from(part, 'base64'));
  if (data === undefined || iv === undefined || tag?.length !== tagBytes || iv.length === 0)
    throw new DecryptionFailed('its tag has another length');
  let bytes: Buffer;
  try {
    const cipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
    cipher.setAuthTag(tag).setAAD(Buffer.from(additional));
    bytes = Buffer.concat([cipher.update(data), cipher.final()]);
  } catch {
    throw new DecryptionFailed('it was changed, moved or encrypted with another data key');
  }
  return typed(bytes, match[4] ?? '');
}

/** The value of a type, and the bytes that count for the MAC (SOPS: ToBytes). */
function typed(bytes: Buffer, type: string): DecryptedValue {
  const text = bytes.toString('utf8');
  switch (type) {
    case 'str':
    case 'bytes':
    case 'time':
      return { bytes, value: text };
    case 'comment':
      return { bytes, value: undefined };
    case 'int':
      if (/^[+-]?\d{1,19}$/.test(text)) return withBytes(integerOf(text));
      break;
    case 'float':
      if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text)))
        return withBytes(Number(text));
      break;
    case 'bool': {
      const value = parseGoBool(text);
      if (value !== undefined) return withBytes(value);
    }
  }
  throw new DecryptionFailed(`it has the type ${type}, and another value`);
}

function withBytes(value: Exclude<MutableJson, object | null>): DecryptedValue {
  return { bytes: bytesOf(value), value };
}

function integerOf(text: string): number | bigint {
  const value = BigInt(text.replace('+', ''));
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function bytesOf(value: Exclude<Json, object | null>): Buffer {
  if (typeof value === 'boolean') return Buffer.from(value ? 'True' : 'False');
  return Buffer.from(typeof value === 'number' ? decimalOf(value) : String(value));
}

/** As Go's FormatFloat(value, 'f', -1, 64): the shortest digits, without an exponent. */
export function decimalOf(value: number): string {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  const sign = value < 0 ? '-' : '';
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`.replace(/^(-?)0\.0+$/, '$10');
  if (point >= digits.length) return sign + digits.padEnd(point, '0');
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

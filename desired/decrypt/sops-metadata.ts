import { compileLinearPattern, isObject, ownMember, parseGoBool, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJsonObject } from '#base';
import { DecryptionFailed } from '../errors.ts';

/** A data key, encrypted for one recipient. */
export interface WrappedKey {
  /** An age recipient, or the fingerprint of a PGP key. */
  readonly recipient: string;
  readonly armored: string;
}

/** The metadata that SOPS keeps in an encrypted file. */
export interface SopsMetadata {
  readonly age: readonly WrappedKey[];
  readonly pgp: readonly WrappedKey[];
  /** Keys of cloud services, such as "AWS KMS arn:…". */
  readonly services: readonly string[];
  /** The encrypted MAC over the values. */
  readonly mac: string;
  readonly lastModified: string;
  /** The MAC covers encrypted values only. */
  readonly isMacOfEncrypted: boolean;
  /** Whether the value at these keys is encrypted. Items of lists have the path of their list. */
  readonly isEncrypted: (path: readonly string[]) => boolean;
}

/** Lists of keys that only a service can use, and the field that identifies a key. */
const serviceKeys = [
  ['kms', 'AWS KMS', 'arn'],
  ['gcp_kms', 'GCP KMS', 'resource_id'],
  ['azure_kv', 'Azure Key Vault', 'vault_url'],
  ['hc_vault', 'Vault', 'vault_address'],
  ['hckms', 'Huawei KMS', 'key_id'],
] as const;
const defaultSuffix = '_unencrypted';
const maxRecipients = 100;
/** Steps of a regular expression over all keys of a file: about a tenth of a second. */
const maxPatternSteps = 10_000_000;
/** A wrapped key has some hundred bytes. */
const maxWrappedLength = 16_384;

/**
 * Reads the metadata of a file (SOPS: stores, metadata.ToInternal).
 * @throws DecryptionFailed for metadata that is incomplete, or that needs what is not supported
 */
export function readMetadata(sops: JsonObject): SopsMetadata {
  const groups = ownMember(sops, 'key_groups');
  if (Array.isArray(groups) && groups.length > 0)
    throw new DecryptionFailed('it has several key groups (Shamir), which only a plugin can decrypt');
  const [mac, lastModified] = [textOf(sops, 'mac'), textOf(sops, 'lastmodified')];
  if (mac === '' || lastModified === '') throw new DecryptionFailed('its metadata has no MAC, or no time');
  return {
    age: wrappedKeys(sops, 'age', 'recipient'),
    pgp: wrappedKeys(sops, 'pgp', 'fp'),
    services: serviceKeys.flatMap(([list, name, field]) =>
      objectsOf(sops, list).map((key) => `${name} ${textOf(key, field)}`),
    ),
    mac,
    lastModified,
    isMacOfEncrypted: isTrue(ownMember(sops, 'mac_only_encrypted')),
    isEncrypted: encryptionRule(sops),
  };
}

/**
 * Nested metadata from names such as `age__list_0__map_enc`, as formats without nesting have it.
 */
export function unflattened(flat: ReadonlyMap<string, string>): JsonObject {
  const nested: MutableJsonObject = {};
  for (const [name, value] of flat) {
    // Counts are limited: a name of megabytes would take hours.
    const match = /^(\w{1,32}?)__list_(\d{1,3})__map_(\w{1,64})$/.exec(name);
    if (match === null) {
      setOwnMember(nested, name, value);
      continue;
    }
    const [, list = '', index = '', field = ''] = match;
    const items = ownMember(nested, list);
    const item = Array.isArray(items) ? (items as MutableJsonObject[]) : [];
    const entry = (item[Number(index)] ??= {});
    setOwnMember(entry, field, value);
    setOwnMember(nested, list, item);
  }
  return nested;
}

function wrappedKeys(sops: JsonObject, list: string, recipient: string): readonly WrappedKey[] {
  const keys = objectsOf(sops, list).map((key) => ({
    recipient: textOf(key, recipient),
    armored: textOf(key, 'enc'),
  }));
  if (keys.length > maxRecipients || keys.some(({ armored }) => armored.length > maxWrappedLength))
    throw new DecryptionFailed(`it has more than ${maxRecipients} recipients, or a data key that is too long`);
  return keys;
}

/** @throws DecryptionFailed for several rules, and for rules about comments */
function encryptionRule(sops: JsonObject): SopsMetadata['isEncrypted'] {
  const rules = ['unencrypted_suffix', 'encrypted_suffix', 'unencrypted_regex', 'encrypted_regex'] as const;
  for (const name of ['unencrypted_comment_regex', 'encrypted_comment_regex'])
    if (textOf(sops, name) !== '') throw new DecryptionFailed(`it has ${name}, which only a plugin supports`);
  const [rule = 'unencrypted_suffix', second] = rules.filter((name) => textOf(sops, name) !== '');
  if (second !== undefined) throw new DecryptionFailed(`it has both ${rule} and ${second}`);
  const text = textOf(sops, rule) || defaultSuffix;
  const matches = rule.endsWith('suffix') ? (key: string): boolean => key.endsWith(text) : patternTest(rule, text);
  const isEncrypted = rule.startsWith('encrypted');
  return (path) => path.some(matches) === isEncrypted;
}

function patternTest(rule: string, source: string): (key: string) => boolean {
  const pattern = compileLinearPattern(source);
  if (!pattern.ok) throw new DecryptionFailed(`its ${rule} cannot be used: ${pattern.message}`);
  const known = new Map<string, boolean>();
  let steps = 0;
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    steps += pattern.size * key.length;
    if (steps > maxPatternSteps) throw new DecryptionFailed(`its ${rule} would take too long for its keys`);
    const found = pattern.test(key);
    known.set(key, found);
    return found;
  };
}

function objectsOf(sops: JsonObject, list: string): readonly JsonObject[] {
  const value = ownMember(sops, list);
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

function textOf(object: JsonObject, key: string): string {
  const value = ownMember(object, key);
  return typeof value === 'string' ? value : '';
}

function isTrue(value: Json | undefined): boolean {
  return value === true || (typeof value === 'string' && parseGoBool(value) === true);
}

import { isObject, messageOf, ownMember, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations } from '#model';
import type { AppProject } from '#model';

/** The Secret whose keys decrypt a project's files, or why it is not known. */
export type DecryptionSecret = { readonly secret: string } | { readonly problem: string };

/** A Secret's name has at most 253 characters. */
const maxLength = 1024;

/**
 * Reads the annotation of an AppProject that names the Secret with its keys, in the form of Flux's
 * `spec.decryption`. Undefined: files are not decrypted. Only what is written exactly so is used.
 */
export function decryptionSecret(project: AppProject): DecryptionSecret | undefined {
  const text: unknown = project.metadata.annotations?.[annotations.decryption];
  if (text === undefined) return undefined;
  const found = typeof text === 'string' && text.length <= maxLength ? secretIn(text) : 'it is too long';
  if (typeof found !== 'string') return found;
  return {
    problem: `the annotation ${annotations.decryption} of AppProject ${project.metadata.name ?? ''} cannot be used: ${found}`,
  };
}

function secretIn(text: string): DecryptionSecret | string {
  let documents: readonly Json[];
  try {
    documents = parseYamlDocuments(text);
  } catch (error) {
    return messageOf(error);
  }
  const [value] = documents.length === 1 ? documents : [null];
  const expected = 'write {"provider": "sops", "secretRef": {"name": "…"}}';
  if (value === undefined || !isObject(value)) return expected;
  const ref = ownMember(value, 'secretRef');
  const unknown = unknownMember(value, ['provider', 'secretRef']);
  if (unknown !== undefined) return `it has the field "${unknown}"; ${expected}`;
  if (ownMember(value, 'provider') !== 'sops') return `its provider must be sops; ${expected}`;
  const name = ref !== undefined && isObject(ref) && unknownMember(ref, ['name']) === undefined ? ref['name'] : '';
  return typeof name === 'string' && /^[a-z0-9][a-z0-9.-]*$/.test(name) ? { secret: name } : expected;
}

function unknownMember(object: JsonObject, known: readonly string[]): string | undefined {
  return Object.keys(object).find((key) => !known.includes(key));
}

import { isObject, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import type { ApplicationSource } from '#model';

/** Names of values that are secret, and of values that only refer to a secret or describe one. */
const secretNames = /passw|passphrase|secret|token|credential|api_?key|private_?key|access_?key|pwd$|_pw$|auth$/i;
const referenceNames = /^existing|name$|ref$|enabled$|ttl$|path$|file$|key_?id$/i;

/** More than anyone writes into a spec by hand. Anything deeper or later is not searched. */
const maxTextLength = 256 * 1024;
const maxSecrets = 1000;

/**
 * The values in a source's options whose names mark them as secret: parameters and values of helm,
 * variables of jsonnet, environment and parameters of a plugin. A program that fails over such a
 * value prints it, and more people can read the condition than the spec. Nothing else in there is
 * recognizable as a secret.
 */
export function secretsIn({ helm, kustomize, plugin, directory }: ApplicationSource): readonly string[] {
  const found = new Set<string>();
  for (const options of [helm, kustomize, plugin, directory?.jsonnet]) collect(options, '', found);
  const text = helm?.['values'];
  if (typeof text === 'string' && text.length <= maxTextLength) collect(parsed(text), '', found);
  return [...found];
}

/** The texts that no message about a render may show: those, and what was decrypted for it. */
export function hiddenTexts(job: {
  readonly source: ApplicationSource;
  readonly decryption: { readonly texts: () => readonly string[] };
}): readonly string[] {
  return [...secretsIn(job.source), ...job.decryption.texts()];
}

function collect(value: Json | undefined, key: string, found: Set<string>): void {
  if (found.size >= maxSecrets || value === undefined || value === null) return;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) collect(item, key, found);
  else if (isObject(value)) {
    const { name } = value;
    for (const [member, inner] of Object.entries(value)) {
      // A list of names and values: helm's parameters, a plugin's environment, jsonnet's variables.
      const isValue = typeof name === 'string' && ['value', 'string', 'array', 'map'].includes(member);
      collect(inner, isValue ? (/[^.[\]]*$/.exec(name)?.[0] ?? name) : member, found);
    }
  } else if (typeof value !== 'object' && isSecret(key)) note(String(value), found);
}

/** A boolean about a secret is not one. */
function note(value: string, found: Set<string>): void {
  if (value === '' || value === 'true' || value === 'false') return;
  found.add(value);
  // As it is escaped in an argument of helm.
  if (/[\\,]|^\{/.test(value)) found.add(value.replaceAll(/[\\,]|^\{/g, '\\$&'));
}

function isSecret(key: string): boolean {
  return secretNames.test(key) && !referenceNames.test(key);
}

function parsed(text: string): Json {
  try {
    return parseYamlDocuments(text)[0] ?? null;
  } catch {
    return null;
  }
}

import { isObject, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import type { ApplicationSource } from '#model';

/** What people call a value that is to stay secret; and what only refers to one, or is about one. */
const sounds = /passw|passphrase|secret|token|credential|api_?key|private_?key|access_?key|pwd$|_pw$|auth$/i;
const refers = /^existing|name$|ref$|enabled$|ttl$|path$|file$|key_?id$/i;

/** More than anybody writes into a spec by hand; what lies deeper or behind is not looked at. */
const longestText = 256 * 1024;
const mostValues = 1000;

/**
 * The values in the options of a source whose names say that they are secret: parameters and values of helm, variables of jsonnet, environment and
 * parameters of a plugin. A program that fails over one of them prints it, and the message lands in a condition, where more people read it than
 * the spec. Nothing else is a secret there by its form.
 */
export function secretsIn({ helm, kustomize, plugin, directory }: ApplicationSource): readonly string[] {
  const found = new Set<string>();
  for (const options of [helm, kustomize, plugin, directory?.jsonnet]) collect(options, '', found);
  const text = helm?.['values'];
  if (typeof text === 'string' && text.length <= longestText) collect(parsed(text), '', found);
  return [...found];
}

function collect(value: Json | undefined, key: string, found: Set<string>): void {
  if (found.size >= mostValues || value === undefined || value === null) return;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) collect(item, key, found);
  else if (isObject(value)) {
    const { name } = value;
    for (const [member, inner] of Object.entries(value)) {
      // A list of names and values: helm's parameters, a plugin's environment, variables of jsonnet.
      const isValue = typeof name === 'string' && ['value', 'string', 'array', 'map'].includes(member);
      collect(inner, isValue ? (/[^.[\]]*$/.exec(name)?.[0] ?? name) : member, found);
    }
  } else if (typeof value !== 'object' && isSecret(key)) note(String(value), found);
}

/** What is true or false about a secret is none. */
function note(value: string, found: Set<string>): void {
  if (value === '' || value === 'true' || value === 'false') return;
  found.add(value);
  // As it stands in an argument of helm.
  if (value.includes(',')) found.add(value.replaceAll(',', '\\,'));
}

function isSecret(key: string): boolean {
  return sounds.test(key) && !refers.test(key);
}

function parsed(text: string): Json {
  try {
    return parseYamlDocuments(text)[0] ?? null;
  } catch {
    return null;
  }
}

import { formatYaml } from '#base';
import type { Json } from '#base';

/**
 * A value as YAML without its last line break, for output that ends each text with one. Empty lines
 * before it belong to a block scalar.
 */
export function yamlText(value: Json): string {
  return formatYaml(value).replace(/\n$/, '');
}

/** The text of a result for programs; undefined: the format is for people. */
export function structured(format: string, value: unknown): string | undefined {
  if (format === 'json') return JSON.stringify(value);
  // Without members that are undefined, as in JSON.
  if (format === 'yaml') return yamlText(JSON.parse(JSON.stringify(value)) as Json);
  return undefined;
}

import { formatYaml } from '#base';
import type { Json } from '#base';

/** The text of a result for programs; undefined: the format is for people. */
export function structured(format: string, value: unknown): string | undefined {
  if (format === 'json') return JSON.stringify(value);
  // Without members that are undefined, as in JSON.
  if (format === 'yaml') return formatYaml(JSON.parse(JSON.stringify(value)) as Json).trimEnd();
  return undefined;
}

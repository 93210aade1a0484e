import { nearest } from '../options/args.ts';

const maxNamed = 5;

/** The name that was probably meant, or some that exist: the end of "there is no …". */
export function nameHint(wanted: string, names: readonly string[]): string {
  // A list may be a second old, and still have a name that is gone.
  const distinct = [...new Set(names)].filter((name) => name !== wanted);
  const similar =
    distinct.find((name) => name.endsWith(`/${wanted.slice(wanted.indexOf('/') + 1)}`)) ?? nearest(wanted, distinct);
  if (similar !== undefined) return `did you mean ${similar}?`;
  if (distinct.length === 0) return '';
  const rest = distinct.length - maxNamed;
  return `known are ${distinct.slice(0, maxNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

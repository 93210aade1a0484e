/** Go's unicode.IsSpace: includes U+0085 "next line", excludes the byte order mark. */
const space = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const leading = new RegExp(`^${space}+`);
const trailing = new RegExp(`(?<!${space})${space}+$`);
const between = new RegExp(`${space}+`);

/** Go's strings.TrimSpace. */
export function trimSpace(text: string): string {
  return text.replace(leading, '').replace(trailing, '');
}

/** Go's strings.Fields. */
export function fieldsOf(text: string): readonly string[] {
  return text.split(between).filter((word) => word !== '');
}

/**
 * Go's strings.ToLower: per character, while JavaScript expands the Turkish dotted capital I and
 * considers word ends.
 */
export function toLower(text: string): string {
  return text.replaceAll('\u0130', 'i').replaceAll('\u03a3', '\u03c3').toLowerCase();
}

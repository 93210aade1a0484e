/** What Go's unicode.IsSpace holds for a space: "next line" is one, a byte order mark is none. */
const space = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const leading = new RegExp(`^${space}+`);
const trailing = new RegExp(`(?<!${space})${space}+$`);
const between = new RegExp(`${space}+`);

/** As Go's strings.TrimSpace. */
export function trimSpace(text: string): string {
  return text.replace(leading, '').replace(trailing, '');
}

/** As Go's strings.Fields. */
export function fieldsOf(text: string): readonly string[] {
  return text.split(between).filter((word) => word !== '');
}

/** As Go's strings.ToLower: letter by letter, where JavaScript makes two of the Turkish capital I with a dot, and looks at word ends. */
export function toLower(text: string): string {
  return text.replaceAll('\u0130', 'i').replaceAll('\u03a3', '\u03c3').toLowerCase();
}

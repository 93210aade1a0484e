/** Go's strconv.ParseBool; undefined for text that Go refuses and for missing text. */
export function parseGoBool(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text) ? false : undefined;
}

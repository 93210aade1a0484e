/**
 * An AppProject may bypass the schema of its CRD. Invalid members must neither throw nor permit
 * anything: they permit nothing in an allow list, and deny everything in a list that may deny.
 */

/** JSON may have null where the types have none. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Entries of a list: none if it is absent or null; one `undefined` entry if it is not a list. */
export function entriesOrUnreadable(value: unknown): readonly unknown[] {
  if (isAbsent(value)) return [];
  return Array.isArray(value) ? (value as readonly unknown[]) : [undefined];
}

/** The strings of an allow list; other entries are skipped. */
export function stringEntries(value: unknown): readonly string[] {
  return entriesOrUnreadable(value).filter((entry): entry is string => typeof entry === 'string');
}

/** A string member: "" if it is absent or null, as Go decodes it; undefined for other types. */
export function stringOrUndefined(value: unknown): string | undefined {
  if (isAbsent(value)) return '';
  return typeof value === 'string' ? value : undefined;
}

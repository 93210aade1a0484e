/**
 * AppProjects come from an API server that has checked them against a schema, mostly. What did not pass one must neither throw nor let
 * anything through: what cannot be read permits nothing where it stands to permit, and denies everything where it stands to deny.
 */

/** The entries of a list: none for what is absent or null; one that nobody can read, `undefined`, for what is no list. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? (value as readonly unknown[]) : [undefined];
}

/** The texts of a list that permits; the rest of it is passed over. */
export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((entry): entry is string => typeof entry === 'string');
}

/** A member that is a text: "" when it is absent or null, as Go decodes it; undefined for anything else. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : undefined;
}

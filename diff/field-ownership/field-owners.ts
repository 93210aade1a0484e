import type { JsonObject } from '#base';
import { addFields, emptySet } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOwned } from './managed-fields.ts';
import { appliedFields, isOwnApply } from './own-entries.ts';
import type { OwnManager } from './own-entries.ts';

/** The field sets in `metadata.managedFields` of a live object, split by owner. */
export interface FieldOwners {
  /** Fields that our manager applied, one set for each API version of its entries. */
  readonly ours: readonly JsonObject[];
  /** Fields of all other managers. */
  readonly others: readonly JsonObject[];
}

/**
 * Reads the managed fields of a live object. Our entries are those of server-side apply, at any API
 * version.
 */
export function fieldOwnersOf(live: JsonObject, own: OwnManager): FieldOwners {
  return { ours: appliedFields(live, own), others: fieldsOwned(live, (entry) => !isOwnApply(entry, own)) };
}

/** All owned fields. They show the list and map types of the schema that the API server used. */
export function allOwnedFields({ ours, others }: FieldOwners): FieldSet {
  return unionOf([...ours, ...others]);
}

/** The union of several field sets. */
export function unionOf(sets: readonly JsonObject[]): FieldSet {
  const all = emptySet();
  for (const fields of sets) addFields(all, fields);
  return all;
}

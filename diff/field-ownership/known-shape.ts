import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { schemaOf } from '../schema/schema.ts';
import { unionOf } from './field-owners.ts';
import { fieldsOwned } from './managed-fields.ts';
import { kindKey } from './open-api.ts';
import type { KindSchema } from './open-api.ts';
import type { OwnManager } from './own-entries.ts';
import { shapeFromManagedFields, shapeOfType } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

/** The schemas that the API server publishes, by {@link kindKey}. */
export interface PublishedSchemas {
  readonly schemas?: ReadonlyMap<string, KindSchema>;
}

/** Published schemas and our field manager: together they say which fields we own. */
export interface OwnershipRules extends PublishedSchemas, OwnManager {}

/**
 * Returns the list and map types of a kind: from the published schema, else from the built-in
 * types. Undefined for a kind with neither.
 */
export function knownShape(object: KubeObject, { schemas }: PublishedSchemas): OwnershipShape | undefined {
  const type = schemaOf(object);
  return schemas?.get(kindKey(object))?.shape ?? (type === undefined ? undefined : shapeOfType(type));
}

/**
 * Returns the shape for reading managed fields. Without a schema, the managed fields show the list
 * types. They do not show atomic maps (a map that was empty when applied looks the same), so no map
 * counts as atomic then.
 */
export function shapeForManagedFields(
  object: KubeObject,
  live: JsonObject,
  published: PublishedSchemas,
): OwnershipShape {
  return knownShape(object, published) ?? shapeFromManagedFields(unionOf(fieldsOwned(live, () => true)), 'by member');
}

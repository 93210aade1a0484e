import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { fieldsOwned } from './managed-fields.ts';
import { kindKey } from './open-api.ts';
import { schemaOf } from './schema.ts';
import { shapeOf, shapeOfFields } from './shape.ts';
import type { Shape } from './shape.ts';
import { unionOf } from './structured.ts';
import type { DiffRules } from './types.ts';

/** How lists and maps of a kind are owned, as the server publishes it, else as built-in kinds have it; undefined where neither says anything. */
export function publishedShape(object: KubeObject, { schemas }: Pick<DiffRules, 'schemas'>): Shape | undefined {
  const type = schemaOf(object);
  return schemas?.get(kindKey(object))?.shape ?? (type === undefined ? undefined : shapeOf(type));
}

/**
 * By which fields of managers are read. Of a kind that nobody describes, lists are as its managed fields show them, and maps by member: one that
 * was empty when somebody took it looks like one that is owned as a whole.
 */
export function shapeForManagers(object: KubeObject, live: JsonObject, rules: Pick<DiffRules, 'schemas'>): Shape {
  return publishedShape(object, rules) ?? shapeOfFields(unionOf(fieldsOwned(live, () => true)), 'by member');
}

import { cloneJson, isObject, own, setOwn } from '#base';
import type { MutableJson, MutableJsonObject } from '#base';
import type { Schema } from '../../types.ts';

/**
 * Fills in the defaults of a CRD schema, in place: a member that is absent, or null where null is not allowed, gets its default; defaults
 * inside a default count too; inside an absent object without default nothing happens (apiextensions-apiserver schema/defaulting).
 */
export function defaultCustom(schema: Schema, value: MutableJson | undefined, top = true): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) defaultCustom(schema.items, item, false);
    return;
  }
  if (!isObject(value)) return;
  const object: MutableJsonObject = value;
  const properties = schema.properties ?? {};
  const opaque = top || schema['x-kubernetes-embedded-resource'] === true;
  for (const [name, property] of Object.entries(properties))
    if (!opaque || !objectWords.has(name)) defaultMember(property, object, name);
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== 'object') return;
  for (const name of Object.keys(object))
    if (!Object.hasOwn(properties, name)) defaultMember(additionalProperties, object, name);
}

/** These are no business of the CRD's schema. */
const objectWords = new Set(['apiVersion', 'kind', 'metadata']);

function defaultMember(schema: Schema, object: MutableJsonObject, name: string): void {
  const here = own(object, name);
  const missing = here === undefined || (here === null && schema.nullable !== true);
  if (missing && schema.default !== undefined) setOwn(object, name, cloneJson(schema.default) as MutableJson);
  defaultCustom(schema, own(object, name) as MutableJson | undefined, false);
}

import { cloneJson, isObject, ownMember, setOwnMember } from '#base';
import type { MutableJson, MutableJsonObject } from '#base';
import type { OpenApiSchema } from '../../types.ts';

/**
 * Fills in the defaults of a CRD schema, in place: a member that is absent, or null but not
 * nullable, gets its default, including defaults nested in that default. An absent object without
 * default stays absent (apiextensions-apiserver schema/defaulting).
 */
export function defaultCustom(schema: OpenApiSchema, value: MutableJson | undefined, top = true): void {
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

/** Members that the CRD's schema does not govern. */
const objectWords = new Set(['apiVersion', 'kind', 'metadata']);

function defaultMember(schema: OpenApiSchema, object: MutableJsonObject, name: string): void {
  const here = ownMember(object, name);
  const missing = here === undefined || (here === null && schema.nullable !== true);
  if (missing && schema.default !== undefined) setOwnMember(object, name, cloneJson(schema.default) as MutableJson);
  defaultCustom(schema, ownMember(object, name) as MutableJson | undefined, false);
}

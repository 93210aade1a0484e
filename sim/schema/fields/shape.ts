import { canonicalJson, isObject, ownMember } from '#base';
import type { Json, MutableJsonObject } from '#base';
import type { OpenApiSchema } from '../../types.ts';
import { fieldPathStep } from './field-set.ts';

/**
 * How a value is merged: as one leaf, as a map by key, as a list by item. Without a schema
 * (x-kubernetes-preserve-unknown-fields, kinds without schema) the shape is deduced from the value:
 * maps merge, lists do not (structured-merge-diff: __untyped_deduced_).
 */
export type MergeShape = { readonly kind: 'leaf' } | MapShape | ListShape;
export interface MapShape {
  readonly kind: 'map';
  /** Schema of a member; undefined: deduced. */
  member(name: string): OpenApiSchema | undefined;
  /** True for a declared field, false for a map key. */
  declares(name: string): boolean;
}
export interface ListShape {
  readonly kind: 'list';
  readonly items: OpenApiSchema | undefined;
  /** The path step that identifies an item. */
  step(item: Json): string;
}

const leafShape = { kind: 'leaf' } as const;

export function mergeShapeOf(schema: OpenApiSchema | undefined, value: Json): MergeShape {
  if (Array.isArray(value)) return listShape(schema);
  if (!isObject(value)) return nullShape(schema, value);
  return mapShape(schema);
}

/** null represents an empty value of the declared type. */
function nullShape(schema: OpenApiSchema | undefined, value: Json): MergeShape {
  if (value !== null || schema === undefined) return leafShape;
  if (schema.type === 'array') return listShape(schema);
  return schema.type === 'object' ? mapShape(schema) : leafShape;
}

function mapShape(schema: OpenApiSchema | undefined): MergeShape {
  if (schema?.['x-kubernetes-map-type'] === 'atomic') return leafShape;
  const properties = schema?.properties ?? {};
  const rest = typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  return {
    kind: 'map',
    member: (name) => (Object.hasOwn(properties, name) ? properties[name] : rest),
    declares: (name) => Object.hasOwn(properties, name),
  };
}

function listShape(schema: OpenApiSchema | undefined): MergeShape {
  const type = schema?.['x-kubernetes-list-type'];
  const items = schema?.items;
  if (type === 'set') return { kind: 'list', items, step: (item) => `v:${canonicalJson(item)}` };
  if (type !== 'map') return leafShape;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  return { kind: 'list', items, step: (item) => keyStep(item, keys, items) };
}

/** A missing key counts with its default (a port's protocol is TCP). */
function keyStep(item: Json, keys: readonly string[], items: OpenApiSchema | undefined): string {
  const values: MutableJsonObject = {};
  for (const key of keys) {
    const given = isObject(item) ? ownMember(item, key) : undefined;
    const fallback = items?.properties?.[key]?.default;
    values[key] = (given ?? fallback ?? null) as string;
  }
  return `k:${canonicalJson(values)}`;
}

/** The members of a map or the items of a list with their steps, in order; empty for null. */
export function entriesOf(
  shape: MapShape | ListShape,
  value: Json | undefined,
): readonly { readonly step: string; readonly value: Json; readonly schema: OpenApiSchema | undefined }[] {
  if (shape.kind === 'list') {
    if (!Array.isArray(value)) return [];
    return (value as readonly Json[]).map((item) => ({ step: shape.step(item), value: item, schema: shape.items }));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [{ step: fieldPathStep(name), value: member, schema: shape.member(name) }],
  );
}

import { isObject, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { canonicalise } from './canonical.ts';
import { conditional, constantsOf, fill, special } from './default-rules.ts';
import { fieldOf, fieldsOf } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import { copyOf, isList, without } from './values.ts';
import type { Known } from './values.ts';

/** A value of a known type as the API server would store it: canonical, with its defaults. */
export function asStored(value: Json, type: TypeSchema): Json {
  return canonicalise(withDefaults(canonicalise(value, type, 'structs'), type), type);
}

/**
 * A value of a known type with what the API server would fill in, so that two objects compare as it would store them. Only absent fields
 * are filled; the same reference comes back when nothing is missing; idempotent. Argo CD applies the scheme's defaults to both sides
 * (gitops-engine/pkg/diff applyPatch). Not known here: the requests of a whole Pod, which are sums over its containers, what depends on the time,
 * and the signer of a CertificateSigningRequest of v1beta1: live keeps those.
 */
export function withDefaults(value: Json, type: TypeSchema | undefined, known?: Known): Json {
  if (type === undefined || type.form === 'scalar') return value;
  const before = known?.of(value, type);
  if (before !== undefined) return before;
  const after = defaultsWithin(value, type, known);
  known?.keep(value, type, after);
  return after;
}

function defaultsWithin(
  value: Json,
  type: Exclude<TypeSchema, { readonly form: 'scalar' }>,
  known: Known | undefined,
): Json {
  if (type.form === 'list') return isList(value) ? listDefaults(value, type.items, known) : value;
  if (!isObject(value)) return value;
  return membersWithDefaults(type.form === 'struct' ? filled(value, type.name) : value, type, known);
}

function listDefaults(list: readonly Json[], items: TypeSchema, known: Known | undefined): Json {
  let changed: Json[] | undefined;
  for (const [i, item] of list.entries()) {
    const after = withDefaults(item, items, known);
    if (after === item) continue;
    changed ??= [...list];
    changed[i] = after;
  }
  return changed ?? list;
}

function membersWithDefaults(object: JsonObject, type: TypeSchema, known: Known | undefined): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const key of Object.keys(object)) {
    const before = object[key];
    if (before === undefined) continue;
    const after = withDefaults(before, fieldOf(type, key)?.type, known);
    if (after === before) continue;
    changed ??= copyOf(object);
    setOwn(changed, key, after as MutableJson);
  }
  return changed ?? object;
}

function filled(object: JsonObject, typeName: string): JsonObject {
  const rule = conditional.get(typeName);
  if (rule !== undefined) return rule(object);
  const first = special.get(typeName)?.(object) ?? object;
  return fill(withConstants(first, typeName), impliedBy(typeName));
}

const implied = new Map<string, JsonObject>();

/** Structs that are there for Go also when nobody names them, with what the API server fills into them. */
function impliedBy(typeName: string): JsonObject {
  const known = implied.get(typeName);
  if (known !== undefined) return known;
  const members: MutableJsonObject = {};
  // Types that stand in themselves do so behind pointers and in lists; this is for those that are asked for meanwhile.
  implied.set(typeName, members);
  for (const [name, { type }] of fieldsOf(typeName)) {
    if (type.form !== 'struct' || type.pointer || name === 'metadata' || name === 'status') continue;
    const inner = withDefaults({}, type);
    if (isObject(inner) && Object.keys(inner).length > 0) setOwn(members, name, inner as MutableJson);
  }
  return members;
}

/** A zero that Go cannot tell from nothing is nothing. */
function withConstants(object: JsonObject, typeName: string): JsonObject {
  const constants = constantsOf(typeName);
  const fields = fieldsOf(typeName);
  const isNothing = (key: string): boolean => {
    const [value, type] = [object[key], fields.get(key)?.type];
    return (value === 0 || value === '') && type?.form === 'scalar' && !type.pointer;
  };
  const zeros = Object.keys(constants).filter(isNothing);
  return fill(zeros.length === 0 ? object : without(object, zeros), constants);
}

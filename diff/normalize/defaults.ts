import { isObject, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldOf, structFields } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import type { TypedMemo } from '../schema/typed-memo.ts';
import { copyOf, isList, withoutMembers } from '../shared/values.ts';
import { canonicalise } from './canonical.ts';
import { conditionalDefaults, constantDefaultsOf, dependentDefaults, fillMissing } from './default-rules.ts';

/** Returns a value as the API server would store it: canonical, with defaults. */
export function asStored(value: Json, type: TypeSchema): Json {
  return canonicalise(withDefaults(canonicalise(value, type, 'structs'), type), type);
}

/**
 * Fills in the API server's defaults, so that two objects compare in their stored form. Only absent
 * fields are filled; returns the same reference when nothing is missing; idempotent. Argo CD
 * applies the scheme's defaults to both sides (gitops-engine/pkg/diff applyPatch).
 *
 * Not covered, so live's values stay: requests of a whole Pod, which are sums over its containers;
 * time-dependent defaults; and the signer of a CertificateSigningRequest of v1beta1.
 */
export function withDefaults(value: Json, type: TypeSchema | undefined, known?: TypedMemo): Json {
  if (type === undefined || type.form === 'scalar') return value;
  const before = known?.get(value, type);
  if (before !== undefined) return before;
  const after = defaultsWithin(value, type, known);
  known?.set(value, type, after);
  return after;
}

function defaultsWithin(
  value: Json,
  type: Exclude<TypeSchema, { readonly form: 'scalar' }>,
  known: TypedMemo | undefined,
): Json {
  if (type.form === 'list') return isList(value) ? listDefaults(value, type.items, known) : value;
  if (!isObject(value)) return value;
  return membersWithDefaults(type.form === 'struct' ? structWithDefaults(value, type.name) : value, type, known);
}

function listDefaults(list: readonly Json[], items: TypeSchema, known: TypedMemo | undefined): Json {
  let changed: Json[] | undefined;
  for (const [i, item] of list.entries()) {
    const after = withDefaults(item, items, known);
    if (after === item) continue;
    changed ??= [...list];
    changed[i] = after;
  }
  return changed ?? list;
}

function membersWithDefaults(object: JsonObject, type: TypeSchema, known: TypedMemo | undefined): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const key of Object.keys(object)) {
    const before = object[key];
    if (before === undefined) continue;
    const after = withDefaults(before, fieldOf(type, key)?.type, known);
    if (after === before) continue;
    changed ??= copyOf(object);
    setOwnMember(changed, key, after as MutableJson);
  }
  return changed ?? object;
}

function structWithDefaults(object: JsonObject, typeName: string): JsonObject {
  const rule = conditionalDefaults.get(typeName);
  if (rule !== undefined) return rule(object);
  const first = dependentDefaults.get(typeName)?.(object) ?? object;
  return fillMissing(withConstants(first, typeName), structDefaultsOf(typeName));
}

const defaultsOfStructs = new Map<string, JsonObject>();

/** The defaults of structs that Go always writes, because they are not behind a pointer. */
function structDefaultsOf(typeName: string): JsonObject {
  const known = defaultsOfStructs.get(typeName);
  if (known !== undefined) return known;
  const members: MutableJsonObject = {};
  // Types contain themselves only behind pointers and in lists; this ends the recursion for those.
  defaultsOfStructs.set(typeName, members);
  for (const [name, { type }] of structFields(typeName)) {
    if (type.form !== 'struct' || type.pointer || name === 'metadata' || name === 'status') continue;
    const inner = withDefaults({}, type);
    if (isObject(inner) && Object.keys(inner).length > 0) setOwnMember(members, name, inner as MutableJson);
  }
  return members;
}

/** Fills constant defaults; zeros that Go cannot distinguish from absent fields are overwritten. */
function withConstants(object: JsonObject, typeName: string): JsonObject {
  const constants = constantDefaultsOf(typeName);
  const fields = structFields(typeName);
  const isNothing = (key: string): boolean => {
    const [value, type] = [object[key], fields.get(key)?.type];
    return (value === 0 || value === '') && type?.form === 'scalar' && !type.pointer;
  };
  const zeros = Object.keys(constants).filter(isNothing);
  return fillMissing(zeros.length === 0 ? object : withoutMembers(object, zeros), constants);
}

import { formatGoDuration, isObject, parseGoDuration, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldOf } from '../schema/schema.ts';
import type { FieldSchema, ScalarKind, TypeSchema } from '../schema/schema.ts';
import type { TypedMemo } from '../schema/typed-memo.ts';
import { copyOf, isList } from '../shared/values.ts';
import { canonicalQuantity } from './quantity.ts';

/**
 * How to treat empty fields that Go cannot distinguish from absent ones. `structs` drops all but
 * empty structs, into which defaults are filled later.
 */
export type EmptyFields = 'drop' | 'structs' | 'keep';

/**
 * Returns a value as the API server would write it: canonical quantities and times, and without
 * nulls and empty `omitempty` fields. Unknown fields and values of the wrong type stay, for the API
 * server to reject. Returns the same reference when nothing changes; idempotent.
 *
 * In a target, empty fields are kept (`empties`), because `paused: false` matters when live has
 * true.
 *
 * Argo CD: gitops-engine/pkg/diff remarshal. Difference: an unknown field does not disable this for
 * the whole object.
 */
export function canonicalise(
  value: Json,
  type: TypeSchema | undefined,
  empties: EmptyFields = 'drop',
  known?: TypedMemo,
): Json {
  if (type === undefined || value === null) return value;
  if (type.form === 'scalar') return canonicalScalar(value, type.kind);
  const before = known?.get(value, type);
  if (before !== undefined) return before;
  const after = canonicalWithin(value, type, { empties, known });
  known?.set(value, type, after);
  return after;
}

function canonicalWithin(
  value: Json,
  type: Exclude<TypeSchema, { readonly form: 'scalar' }>,
  how: CanonicalOptions,
): Json {
  if (type.form === 'list') return isList(value) ? canonicalList(value, type.items, how) : value;
  return isObject(value) ? canonicalMembers(value, type, how) : value;
}

interface CanonicalOptions {
  readonly empties: EmptyFields;
  readonly known: TypedMemo | undefined;
}

function canonicalList(list: readonly Json[], items: TypeSchema, { empties, known }: CanonicalOptions): Json {
  let changed: Json[] | undefined;
  for (const [i, item] of list.entries()) {
    const after = canonicalise(item, items, empties, known);
    if (after === item) continue;
    changed ??= [...list];
    changed[i] = after;
  }
  return changed ?? list;
}

function canonicalMembers(object: JsonObject, type: TypeSchema, { empties, known }: CanonicalOptions): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const key of Object.keys(object)) {
    const before = object[key];
    const field = fieldOf(type, key);
    if (before === undefined || field === undefined) continue;
    const after = canonicalise(before, field.type, empties, known);
    const dropped = empties !== 'keep' && isOmittedByGo(after, field, type.form, empties);
    if (after === before && !dropped) continue;
    changed ??= copyOf(object);
    if (dropped) Reflect.deleteProperty(changed, key);
    else setOwnMember(changed, key, after as MutableJson);
  }
  return changed ?? object;
}

/**
 * Whether Go cannot distinguish the value from an absent field: zeros and empty structs unless
 * behind a pointer, empty lists and maps, nulls. This also covers fields without `omitempty`: the
 * API server always writes them, and items of atomic lists must be equal in them.
 */
function isOmittedByGo(value: Json, { type }: FieldSchema, inside: TypeSchema['form'], empties: EmptyFields): boolean {
  if (inside === 'map') return false;
  if (value === null) return !(type.form === 'scalar' && type.kind === 'r');
  switch (type.form) {
    case 'list':
      return isList(value) && value.length === 0;
    case 'map':
      return isEmptyObject(value);
    case 'struct':
      return empties === 'drop' && !type.pointer && isEmptyObject(value);
    default:
      return !type.pointer && isZero(value, type.kind);
  }
}

function isEmptyObject(value: Json): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** A zero of another type stays: Go cannot read it. */
function isZero(value: Json, kind: ScalarKind): boolean {
  switch (kind) {
    case 'r':
      return false;
    case 'b':
      return value === false;
    case 'i':
    case 'f':
      return value === 0;
    case 's':
    case 'y':
    case 'o':
      return value === '';
    case 'q':
      return value === 0 || value === '' || value === '0';
    default:
      return value === 0 || value === '';
  }
}

function canonicalScalar(value: Json, kind: ScalarKind): Json {
  switch (kind) {
    case 'q':
    case 'm':
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
        ? (canonicalQuantity(value, kind === 'm' ? 'thousandths' : 'exact') ?? value)
        : value;
    case 'y':
      return typeof value === 'string' ? canonicalBytes(value) : value;
    case 'u':
      return typeof value === 'string' ? canonicalMicroTime(value) : value;
    case 't':
      return typeof value === 'string' ? canonicalTime(value) : value;
    case 'd':
      return typeof value === 'string' ? canonicalDuration(value) : value;
    default:
      return value;
  }
}

function canonicalDuration(text: string): string {
  const ms = parseGoDuration(text);
  return ms === undefined ? text : formatGoDuration(ms);
}

/**
 * Formats base64 as Go does: on one line. Go accepts only padded standard base64, and ignores line
 * breaks. Text that Go rejects stays, for the API server to reject.
 */
export function canonicalBytes(text: string): string {
  const line = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (line.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(line)) return text;
  if (!line.endsWith('=')) return line;
  // The last digit before the padding has spare bits, which are zero when Go writes it.
  return line.slice(0, -4) + Buffer.from(line.slice(-4), 'base64').toString('base64');
}

/** Formats RFC 3339 in UTC with microseconds. */
function canonicalMicroTime(text: string): string {
  const micros = /^[0-9-]{10}T[0-9:]{8}\.([0-9]{6})(?:Z|[+-][0-9]{2}:[0-9]{2})$/.exec(text)?.[1];
  const ms = micros === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) || micros === undefined ? text : `${new Date(ms).toISOString().slice(0, 19)}.${micros}Z`;
}

/** Fast path: the format of API servers, except days 29 to 31, which not every month has. */
const serverTimePattern =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

/** Formats RFC 3339 in UTC with whole seconds. */
function canonicalTime(text: string): string {
  if (serverTimePattern.test(text)) return text;
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})$/.test(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

import { formatGoDuration, isObject, parseGoDuration, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { canonicalQuantity } from './quantity.ts';
import { fieldOf } from './schema.ts';
import type { FieldSchema, ScalarKind, TypeSchema } from './schema.ts';
import { copyOf, isList } from './values.ts';
import type { Known } from './values.ts';

/** What becomes of fields that Go cannot tell from nothing. `structs`: of those only empty structs are kept, for defaults to be filled into them. */
export type Empties = 'drop' | 'structs' | 'keep';

/**
 * A value as the API server would write it back: quantities and times in their canonical form, fields dropped that Go leaves out when they
 * are empty (omitempty), nulls dropped. What the type does not know, or what has the wrong type, stays as it is: the API server shall
 * refuse it, not we. `empties` says what becomes of the empty fields: in a target they are kept, because `paused: false` asks for something when
 * live says true. Returns the same reference when nothing changes; idempotent.
 *
 * Argo CD: gitops-engine/pkg/diff remarshal. Difference: an unknown field does not switch this off for the whole object.
 */
export function canonicalise(
  value: Json,
  type: TypeSchema | undefined,
  empties: Empties = 'drop',
  known?: Known,
): Json {
  if (type === undefined || value === null) return value;
  if (type.form === 'scalar') return canonicalScalar(value, type.kind);
  const before = known?.of(value, type);
  if (before !== undefined) return before;
  const after = canonicalWithin(value, type, { empties, known });
  known?.keep(value, type, after);
  return after;
}

function canonicalWithin(value: Json, type: Exclude<TypeSchema, { readonly form: 'scalar' }>, how: How): Json {
  if (type.form === 'list') return isList(value) ? canonicalList(value, type.items, how) : value;
  return isObject(value) ? canonicalMembers(value, type, how) : value;
}

interface How {
  readonly empties: Empties;
  readonly known: Known | undefined;
}

function canonicalList(list: readonly Json[], items: TypeSchema, { empties, known }: How): Json {
  let changed: Json[] | undefined;
  for (const [i, item] of list.entries()) {
    const after = canonicalise(item, items, empties, known);
    if (after === item) continue;
    changed ??= [...list];
    changed[i] = after;
  }
  return changed ?? list;
}

function canonicalMembers(object: JsonObject, type: TypeSchema, { empties, known }: How): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const key of Object.keys(object)) {
    const before = object[key];
    const field = fieldOf(type, key);
    if (before === undefined || field === undefined) continue;
    const after = canonicalise(before, field.type, empties, known);
    const dropped = empties !== 'keep' && isLeftOut(after, field, type.form, empties);
    if (after === before && !dropped) continue;
    changed ??= copyOf(object);
    if (dropped) Reflect.deleteProperty(changed, key);
    else setOwn(changed, key, after as MutableJson);
  }
  return changed ?? object;
}

/**
 * Can Go not tell it from nothing? Zeros and empty structs, unless behind a pointer; empty lists and maps of any field; nulls. Where the field has no
 * omitempty, the API server writes them out also when nobody has said them, and an item of a list that is replaced as a whole has to be equal in them.
 */
function isLeftOut(value: Json, { type }: FieldSchema, inside: TypeSchema['form'], empties: Empties): boolean {
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

function isZero(value: Json, kind: ScalarKind): boolean {
  if (kind === 'r') return false;
  return (kind !== 'o' && value === 0) || value === '' || value === false;
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
 * Bytes as Go writes them: base64 of one line. Go reads standard base64 with its padding, in which line breaks do not count, and nothing
 * else; what it cannot read stays as it is, for the API server to refuse.
 */
export function canonicalBytes(text: string): string {
  const line = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (line.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(line)) return text;
  if (!line.endsWith('=')) return line;
  // The last digit before the padding has bits that belong to no byte: they are zero when Go writes it.
  return line.slice(0, -4) + Buffer.from(line.slice(-4), 'base64').toString('base64');
}

/** RFC 3339 in UTC and six digits of a second. */
function canonicalMicroTime(text: string): string {
  const micros = /^[0-9-]{10}T[0-9:]{8}\.([0-9]{6})(?:Z|[+-][0-9]{2}:[0-9]{2})$/.exec(text)?.[1];
  const ms = micros === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) || micros === undefined ? text : `${new Date(ms).toISOString().slice(0, 19)}.${micros}Z`;
}

/** What API servers write, and there is much of it; but for the last days of a month, of which not each month has all. */
const isWrittenByServer =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

/** RFC 3339 in UTC and whole seconds. */
function canonicalTime(text: string): string {
  if (isWrittenByServer.test(text)) return text;
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})$/.test(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

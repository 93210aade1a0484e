import { isObject, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { formatQuantity, parseQuantity } from './quantity.ts';
import { schemaPropsName } from './type-table.ts';
import type { FieldType, StructType, TypeRef, TypeTable } from './type-table.ts';

/**
 * A value of the wrong type, with the message of the real server's decoder (Go's encoding/json).
 */
export class TypeMismatch extends Error {
  override readonly name = 'TypeMismatch';
}

export interface DecodedObject {
  readonly object: MutableJsonObject;
  readonly unknownFields: readonly string[];
}

/**
 * Decodes an object through the Go struct of its type, like the real server for built-in kinds:
 * drops unknown fields, rejects wrong types, omits nulls and empty optional fields, and normalizes
 * quantities and times.
 * @throws TypeMismatch
 */
export function decodeStruct(types: TypeTable, fullName: string, value: JsonObject): DecodedObject {
  const decoder = new StructDecoder(types, false);
  const object = decoder.struct(fullName, value, { path: '', stack: [], owner: '' });
  return { object, unknownFields: decoder.unknownFields };
}

/**
 * {@link decodeStruct}, plus the fields that Go's encoder always writes (`resources: {}`, `rules:
 * null`). Separate from decoding, because server-side apply must not count them as set by the
 * client.
 * @throws TypeMismatch
 */
export function encodeStruct(types: TypeTable, fullName: string, value: JsonObject): MutableJsonObject {
  return new StructDecoder(types, true).struct(fullName, value, { path: '', stack: [], owner: '' });
}

interface ValuePosition {
  /** `spec.containers[0]`, for unknown fields. */
  readonly path: string;
  /** Names of struct fields from the root, for type errors. */
  readonly stack: readonly string[];
  /** The struct that holds the value. */
  readonly owner: string;
}

class StructDecoder {
  readonly unknownFields: string[] = [];
  readonly #types: TypeTable;
  /** Whether to add the fields that Go always writes. */
  readonly #fill: boolean;

  constructor(types: TypeTable, fill: boolean) {
    this.#types = types;
    this.#fill = fill;
  }

  struct(fullName: string, value: JsonObject, place: ValuePosition): MutableJsonObject {
    const type = this.#type(fullName);
    const decoded = new Map<string, MutableJson>();
    // Unknown fields are reported in the order of the text, known fields written in the order of
    // the type.
    for (const [key, given] of Object.entries(value)) {
      const field = type.fields.get(key);
      const path = joinPath(place.path, key);
      if (field === undefined) this.unknownFields.push(`unknown field "${path}"`);
      else if (given !== undefined && given !== null)
        decoded.set(key, this.#value(field.type, given, { path, stack: [...place.stack, key], owner: type.shortName }));
    }
    const result: MutableJsonObject = {};
    for (const field of type.fields.values()) {
      const kept = this.#encode(field, decoded.get(field.name));
      if (kept !== undefined) setOwnMember(result, field.name, kept);
    }
    return result;
  }

  /** The value that Go's encoder writes for a decoded field; undefined if it omits the field. */
  #encode(field: FieldType, decoded: MutableJson | undefined): MutableJson | undefined {
    if (decoded === undefined) return this.#fill ? this.#zeroField(field) : undefined;
    if (field.pointer || field.always || !isZero(decoded)) return decoded;
    // Go writes an empty struct that is not a pointer, unless it is omitzero.
    return isStructValue(field.type) && !field.omitZero ? decoded : undefined;
  }

  #zeroField(field: FieldType): MutableJson | undefined {
    if (field.pointer) return field.always ? null : undefined;
    if (field.omitZero) return undefined;
    if (field.always || isStructValue(field.type)) return this.#zero(field.type);
    return undefined;
  }

  #zero(type: TypeRef): MutableJson {
    switch (type.kind) {
      case 'scalar':
        return type.type === 'string' ? '' : type.type === 'bool' ? false : 0;
      case 'special':
        return type.special === 'quantity' ? '0' : type.special === 'intstr' ? 0 : null;
      case 'struct':
        return this.struct(type.name, {}, { path: '', stack: [], owner: '' });
      case 'list':
      case 'map':
      case 'schemaOr':
        return null;
    }
  }

  #value(type: TypeRef, value: Json, place: ValuePosition): MutableJson {
    switch (type.kind) {
      case 'scalar':
        return this.#scalar(type, value, place);
      case 'special':
        return this.#special(type.special, value, place);
      case 'list':
        if (!Array.isArray(value)) throw this.#mismatch(type, value, place);
        return (value as readonly Json[]).map((item, i) =>
          this.#element(type.element, item, { ...place, path: `${place.path}[${i}]` }),
        );
      case 'map':
        return this.#map(type, value, place);
      case 'struct':
        if (!isObject(value)) throw this.#mismatch(type, value, place);
        return this.struct(type.name, value, place);
      case 'schemaOr':
        return this.#schemaOr(type.other, value, place);
    }
  }

  #element(type: TypeRef, value: Json, place: ValuePosition): MutableJson {
    return value === null ? this.#zero(type) : this.#value(type, value, place);
  }

  #map(type: Extract<TypeRef, { kind: 'map' }>, value: Json, place: ValuePosition): MutableJsonObject {
    if (!isObject(value)) throw this.#mismatch(type, value, place);
    const result: MutableJsonObject = {};
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      setOwnMember(result, key, this.#element(type.element, member, { ...place, path: joinPath(place.path, key) }));
    }
    return result;
  }

  #scalar(type: Extract<TypeRef, { kind: 'scalar' }>, value: Json, place: ValuePosition): MutableJson {
    switch (type.type) {
      case 'string':
        if (typeof value === 'string') return value;
        break;
      case 'bool':
        if (typeof value === 'boolean') return value;
        break;
      case 'double':
        if (typeof value === 'number') return value;
        if (typeof value === 'bigint') return Number(value);
        break;
      case 'int32':
      case 'int64':
        if (fitsInteger(value, type.type === 'int32' ? 32n : 64n)) return value;
        break;
    }
    throw this.#mismatch(type, value, place);
  }

  #special(special: Extract<TypeRef, { kind: 'special' }>['special'], value: Json, place: ValuePosition): MutableJson {
    switch (special) {
      case 'quantity':
        return canonicalQuantityOf(value);
      case 'intstr':
        if (typeof value === 'string' || fitsInteger(value, 32n)) return value;
        throw this.#mismatch({ kind: 'scalar', type: 'int32', goName: 'int32', allowed: [] }, value, place);
      case 'time':
      case 'microtime':
        return canonicalTime(value, special === 'microtime');
      case 'bytes':
        if (typeof value !== 'string') throw this.#mismatch({ kind: 'list', element: byteType }, value, place);
        return canonicalBase64(value);
      case 'raw':
      case 'fields':
      case 'any':
        return value as MutableJson;
    }
  }

  #schemaOr(other: Extract<TypeRef, { kind: 'schemaOr' }>['other'], value: Json, place: ValuePosition): MutableJson {
    if (isObject(value)) return this.struct(schemaPropsName, value, place);
    if (other === 'array' && Array.isArray(value))
      return (value as readonly Json[]).map((item) =>
        isObject(item) ? this.struct(schemaPropsName, item, place) : (item as MutableJson),
      );
    return value as MutableJson;
  }

  #mismatch(type: TypeRef, value: Json, place: ValuePosition): TypeMismatch {
    const showNumber = type.kind === 'scalar' && (type.type === 'int32' || type.type === 'int64');
    return new TypeMismatch(
      `json: cannot unmarshal ${jsonKind(value, showNumber)} into Go struct field ` +
        `${place.owner}.${place.stack.join('.')} of type ${this.#goType(type)}`,
    );
  }

  #goType(type: TypeRef): string {
    switch (type.kind) {
      case 'scalar':
        return type.goName;
      case 'special':
        return type.special;
      case 'list':
        return `[]${this.#goType(type.element)}`;
      case 'map':
        return `map[string]${this.#goType(type.element)}`;
      case 'struct':
        return this.#type(type.name).goName;
      case 'schemaOr':
        return 'v1.JSONSchemaProps';
    }
  }

  #type(fullName: string): StructType {
    const type = this.#types.get(fullName);
    if (type === undefined) throw new Error(`no type ${fullName}`);
    return type;
  }
}

const byteType: TypeRef = { kind: 'scalar', type: 'string', goName: 'uint8', allowed: [] };

function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function isZero(value: MutableJson): boolean {
  if (value === null || value === '' || value === 0 || value === 0n || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function isStructValue(type: TypeRef): boolean {
  if (type.kind === 'struct') return true;
  return type.kind === 'special' && ['quantity', 'intstr', 'time', 'microtime', 'raw'].includes(type.special);
}

function fitsInteger(value: Json, bits: 32n | 64n): value is number | bigint {
  if (typeof value === 'bigint') {
    const limit = 2n ** (bits - 1n);
    return value >= -limit && value < limit;
  }
  if (typeof value !== 'number' || !Number.isInteger(value)) return false;
  return bits === 64n || (value >= -(2 ** 31) && value < 2 ** 31);
}

/** The JSON type in the words of encoding/json; shows a number that does not fit. */
function jsonKind(value: Json, showNumber: boolean): string {
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return showNumber && value !== null && typeof value !== 'object' ? `number ${value}` : 'number';
}

function canonicalQuantityOf(value: Json): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    throw new TypeMismatch(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  const parsed = parseQuantity(String(value).trim());
  if (typeof parsed === 'string') throw new TypeMismatch(parsed);
  return formatQuantity(parsed);
}

const rfc3339 = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]([0-9]+))?(?:Z|[+-][0-9]{2}:[0-9]{2})$/;

function canonicalTime(value: Json, micro: boolean): string {
  const layout = micro ? '2006-01-02T15:04:05.000000Z07:00' : '2006-01-02T15:04:05Z07:00';
  if (typeof value !== 'string')
    throw new TypeMismatch(`json: cannot unmarshal ${jsonKind(value, false)} into Go value of type string`);
  const match = rfc3339.exec(value);
  const parsed = match === null ? Number.NaN : Date.parse(value);
  if (match === null || Number.isNaN(parsed))
    throw new TypeMismatch(
      `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse ${JSON.stringify(value)} as "2006"`,
    );
  const seconds = new Date(parsed).toISOString().slice(0, 19);
  return micro ? `${seconds}.${(match[2] ?? '').padEnd(6, '0').slice(0, 6)}Z` : `${seconds}Z`;
}

function canonicalBase64(value: string): string {
  const text = value.replace(/[\r\n]/g, '');
  const bad = /[^A-Za-z0-9+/=]/.exec(text)?.index ?? misplacedPadding(text);
  if (bad !== undefined) throw new TypeMismatch(`illegal base64 data at input byte ${bad}`);
  return text;
}

/**
 * The position of the first padding error in base64 text of valid characters; undefined if there is
 * none.
 */
function misplacedPadding(text: string): number | undefined {
  const firstPad = text.indexOf('=');
  const length = firstPad < 0 ? text.length : firstPad;
  if (firstPad < 0) return text.length % 4 === 0 ? undefined : text.length - (text.length % 4);
  const pads = text.length - length;
  if (/[^=]/.test(text.slice(firstPad))) return firstPad;
  return text.length % 4 === 0 && pads <= 2 ? undefined : Math.min(firstPad, text.length);
}

import { parseJson, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { protobufMessages } from './protobuf-messages.ts';
import { badRequestError } from '../status.ts';

interface FieldShape {
  readonly name: string;
  readonly many: '' | '[]' | '{}' | '*';
  readonly type: string;
}

type MessageFields = ReadonlyMap<number, FieldShape>;

/** Messages by `package/Name`, parsed from the table on first use. */
let messageTable: ReadonlyMap<string, MessageFields> | undefined;

function readTable(): ReadonlyMap<string, MessageFields> {
  const result = new Map<string, MessageFields>();
  let home = '';
  for (const line of protobufMessages.trim().split('\n')) {
    if (line.startsWith('# ')) {
      home = line.slice(2);
      continue;
    }
    const colon = line.indexOf(':');
    const fields = line.slice(colon + 1).split(',');
    result.set(`${home}/${line.slice(0, colon)}`, new Map(fields.map((text) => readField(text.trim(), home))));
  }
  return result;
}

function readField(text: string, home: string): [number, FieldShape] {
  const [number = '', name = '', shape = ''] = text.split(' ');
  const [, many = '', type = ''] = /^(\[\]|\{\}|\*)?(.*)$/.exec(shape) ?? [];
  const full = type.length === 1 || type.includes('/') ? type : `${home}/${type}`;
  return [Number(number), { name, many: many as FieldShape['many'], type: full }];
}

/** One field in wire format. */
interface WireField {
  readonly number: number;
  readonly bytes: Buffer;
  readonly integer: bigint;
}

function* wireFields(buffer: Buffer): Generator<WireField> {
  const cursor = { at: 0 };
  while (cursor.at < buffer.length) {
    const tag = Number(varint(buffer, cursor));
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        yield { number, bytes: Buffer.alloc(0), integer: varint(buffer, cursor) };
        break;
      case 1:
        yield { number, bytes: takeBytes(buffer, cursor, 8), integer: 0n };
        break;
      case 2:
        yield { number, bytes: takeBytes(buffer, cursor, Number(varint(buffer, cursor))), integer: 0n };
        break;
      case 5:
        yield { number, bytes: takeBytes(buffer, cursor, 4), integer: 0n };
        break;
      default:
        throw badRequestError('the body is not valid protobuf: unknown wire type');
    }
  }
}

function varint(buffer: Buffer, cursor: { at: number }): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = buffer[cursor.at];
    if (byte === undefined) break;
    cursor.at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asIntN(64, value);
  }
  throw badRequestError('the body is not valid protobuf: truncated number');
}

function takeBytes(buffer: Buffer, cursor: { at: number }, length: number): Buffer {
  const from = cursor.at;
  cursor.at += length;
  if (length < 0 || cursor.at > buffer.length) throw badRequestError('the body is not valid protobuf: truncated field');
  return buffer.subarray(from, cursor.at);
}

const magicPrefix = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/**
 * Reads the object of an `application/vnd.kubernetes.protobuf` body: the magic number, an envelope
 * with apiVersion and kind, and the message (apimachinery: pkg/runtime/serializer/protobuf).
 * @throws SimError 400
 */
export function parseProtobuf(body: Buffer): Json {
  if (!body.subarray(0, 4).equals(magicPrefix))
    throw badRequestError('the body is not Kubernetes protobuf: it lacks the prefix k8s\\x00');
  let apiVersion = '';
  let kind = '';
  let raw: Buffer = Buffer.alloc(0);
  for (const envelope of wireFields(body.subarray(4))) {
    if (envelope.number === 2) raw = envelope.bytes;
    if (envelope.number !== 1) continue;
    for (const part of wireFields(envelope.bytes)) {
      if (part.number === 1) apiVersion = part.bytes.toString('utf8');
      if (part.number === 2) kind = part.bytes.toString('utf8');
    }
  }
  messageTable ??= readTable();
  const name = messageName(apiVersion, kind);
  if (!messageTable.has(name))
    throw badRequestError(`protobuf is not supported for ${kind} of ${apiVersion}: send JSON`);
  return { kind, apiVersion, ...readMessage(messageTable, name, raw) };
}

function messageName(apiVersion: string, kind: string): string {
  if (kind === 'DeleteOptions') return 'meta.v1/DeleteOptions';
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `${group.split('.')[0] ?? ''}.${version}/${kind}`;
}

function readMessage(table: ReadonlyMap<string, MessageFields>, name: string, buffer: Buffer): MutableJsonObject {
  const shape = table.get(name);
  const result: MutableJsonObject = {};
  for (const wire of wireFields(buffer)) {
    const field = shape?.get(wire.number);
    if (field === undefined) continue;
    if (field.name === '&') Object.assign(result, readMessage(table, field.type, wire.bytes));
    else addField(table, result, field, wire);
  }
  return result;
}

function addField(
  table: ReadonlyMap<string, MessageFields>,
  into: MutableJsonObject,
  field: FieldShape,
  wire: WireField,
): void {
  const present = into[field.name];
  if (field.many === '{}') {
    const [key, value] = readEntry(table, field.type, wire.bytes);
    const map: MutableJsonObject = typeof present === 'object' ? (present as MutableJsonObject) : {};
    setOwnMember(map, key, value);
    into[field.name] = map;
    return;
  }
  const value = readValue(table, field.type, wire);
  if (field.many === '[]') into[field.name] = [...(Array.isArray(present) ? present : []), value];
  // Go writes zero values of plain fields; JSON omits them.
  else if (field.many === '*' || !(value === '' || value === 0 || value === false)) into[field.name] = value;
}

function readEntry(table: ReadonlyMap<string, MessageFields>, type: string, buffer: Buffer): [string, MutableJson] {
  let key = '';
  let value: MutableJson = type.length === 1 ? '' : {};
  for (const wire of wireFields(buffer)) {
    if (wire.number === 1) key = wire.bytes.toString('utf8');
    else if (wire.number === 2) value = readValue(table, type, wire);
  }
  return [key, value];
}

type ValueReader = (wire: WireField) => MutableJson;

/** Scalar values, and messages with a special JSON form. */
const valueReaders: Readonly<Record<string, ValueReader>> = {
  s: ({ bytes }) => bytes.toString('utf8'),
  i: ({ integer }) => exactInteger(integer),
  b: ({ integer }) => integer !== 0n,
  y: ({ bytes }) => bytes.toString('base64'),
  d: ({ bytes }) => bytes.readDoubleLE(0),
  R: ({ bytes }) => parseJson(textPart(bytes, 1) ?? 'null') as MutableJson,
  Q: ({ bytes }) => textPart(bytes, 1) ?? '0',
  T: ({ bytes }) => readTime(bytes, false),
  M: ({ bytes }) => readTime(bytes, true),
  I: ({ bytes }) => (integerPart(bytes, 1) === 1n ? (textPart(bytes, 3) ?? '') : exactInteger(integerPart(bytes, 2))),
  D: ({ bytes }) => `${Number(integerPart(bytes, 1)) / 1e9}s`,
  'authentication.v1/ExtraValue': ({ bytes }) => stringList(bytes),
  'authorization.v1/ExtraValue': ({ bytes }) => stringList(bytes),
};

function readValue(table: ReadonlyMap<string, MessageFields>, type: string, wire: WireField): MutableJson {
  const read = valueReaders[type];
  return read === undefined ? readMessage(table, type, wire.bytes) : read(wire);
}

function exactInteger(integer: bigint): number | bigint {
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
}

function stringList(buffer: Buffer): MutableJson[] {
  return [...wireFields(buffer)].map((wire) => wire.bytes.toString('utf8'));
}

function textPart(buffer: Buffer, number: number): string | undefined {
  return fieldNumbered(buffer, number)?.bytes.toString('utf8');
}

function integerPart(buffer: Buffer, number: number): bigint {
  return fieldNumbered(buffer, number)?.integer ?? 0n;
}

function fieldNumbered(buffer: Buffer, number: number): WireField | undefined {
  for (const wire of wireFields(buffer)) if (wire.number === number) return wire;
  return undefined;
}

/** A zero time is null in JSON. */
function readTime(buffer: Buffer, micro: boolean): string | null {
  const seconds = fieldNumbered(buffer, 1)?.integer;
  if (seconds === undefined) return null;
  const nanos = Number(integerPart(buffer, 2));
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return micro ? `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${text}Z`;
}

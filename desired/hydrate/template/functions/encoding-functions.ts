import { createHash } from 'node:crypto';
import { DriftlessError, messageOf, parseJson } from '#base';
import { jsonText } from './json-text.ts';
import type { JsonStyle } from './json-text.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionTable, TemplateFunction } from '../template-function.ts';
import { templateValue } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const mustFromJson = fn('string', (call) => readJson(call.text(0)));

/** Encodings and hashes. */
export const encodingFunctions: FunctionTable = {
  b64enc: fn('string', (call) => Buffer.from(call.text(0)).toString('base64')),
  b64dec: fn('string', (call) => base64Text(call.text(0))),
  b32enc: fn('string', (call) => base32Encoded(Buffer.from(call.text(0)))),
  b32dec: fn('string', (call) => base32Text(call.text(0))),
  sha1sum: hashFunction('sha1'),
  sha256sum: hashFunction('sha256'),
  sha512sum: hashFunction('sha512'),
  adler32sum: fn('string', (call) => String(adler32(Buffer.from(call.text(0))))),
  fromJson: fn('string', (call) => {
    try {
      return readJson(call.text(0));
    } catch (error) {
      if (error instanceof TemplateError) return null;
      throw error;
    }
  }),
  mustFromJson,
  ...jsonFunctions('Json', { indent: 0, escapesHtml: true }),
  ...jsonFunctions('PrettyJson', { indent: 2, escapesHtml: true }),
  ...jsonFunctions('RawJson', { indent: 0, escapesHtml: false }),
};

/** A value that has no JSON form is an error also without `must`. */
function jsonFunctions(suffix: string, style: JsonStyle): FunctionTable {
  const write = fn('any', ({ args: [value = null], budget }) => jsonText(value, style, budget));
  return { [`to${suffix}`]: write, [`mustTo${suffix}`]: write };
}

function readJson(text: string): TemplateValue {
  try {
    return templateValue(parseJson(text));
  } catch (error) {
    if (!(error instanceof DriftlessError)) throw error;
    throw new TemplateError(`invalid JSON: ${messageOf(error)}`);
  }
}

function hashFunction(algorithm: string): TemplateFunction {
  return fn('string', (call) => createHash(algorithm).update(call.text(0)).digest('hex'));
}

function adler32(bytes: Buffer): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

/** The decoded text, or Go's error, as in Sprig. */
function base64Text(text: string): string {
  const bad = text.search(/[^A-Za-z0-9+/=\r\n]/);
  const digits = text.replace(/[\r\n]/g, '');
  const isWhole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(digits);
  if (bad < 0 && isWhole) return Buffer.from(digits, 'base64').toString('utf8');
  const padding = text.indexOf('=');
  return `illegal base64 data at input byte ${bad >= 0 ? bad : padding >= 0 ? padding : Math.floor(text.length / 4) * 4}`;
}

const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32Encoded(bytes: Buffer): string {
  let [bits, held, text] = [0, 0, ''];
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) text += base32Digits.charAt((held >> (bits - 5)) & 31);
  }
  if (bits > 0) text += base32Digits.charAt((held << (5 - bits)) & 31);
  return text.padEnd(Math.ceil(text.length / 8) * 8, '=');
}

function base32Text(text: string): string {
  const digits = text.replace(/[\r\n]/g, '');
  const body = digits.replace(/=+$/, '');
  const bad = body.search(/[^A-Z2-7]/);
  const isWhole = digits.length % 8 === 0 && [0, 2, 4, 5, 7].includes(body.length % 8);
  if (bad >= 0 || !isWhole || digits.length - body.length > 6)
    return `illegal base32 data at input byte ${bad >= 0 ? bad : body.length}`;
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const digit of body) {
    held = ((held << 5) | base32Digits.indexOf(digit)) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  return Buffer.from(bytes).toString('utf8');
}

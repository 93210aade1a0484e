import { formatYaml, isObject, omit, ownMember, parseJson, parseYamlDocuments, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { DecryptionFailed } from '../errors.ts';
import { readMetadata, unflattened } from './sops-metadata.ts';
import type { SopsMetadata } from './sops-metadata.ts';
import type { SopsValues } from './sops-values.ts';

/** A part of a file that has a MAC of its own: usually the whole file. */
export interface SopsPart {
  readonly metadata: SopsMetadata;
  /** The content without the metadata. @throws DecryptionFailed */
  readonly decrypt: (values: SopsValues) => Buffer;
}

/** A part that stays as it is. */
export interface PlainPart {
  readonly plain: Buffer;
}

/** The main thread parses them: YAML takes a microsecond for each byte. */
const maxYamlBytes = 256 * 1024;
const maxBytes = 4 * 1024 * 1024;
/** Between the parts of a file: only YAML has several. */
export const documentSeparator = '---\n';
/** A part of every encrypted file. */
const marks = ['ENC[AES256_GCM,', 'sops'].map((text) => Buffer.from(text));
/** Where the metadata of a file begins, in each format. */
const metadataMarks = ['\nsops:', '"sops"', '\nsops_mac=', '\n[sops]'].map((text) => Buffer.from(text));

/** Objects that an operator decrypts in the cluster keep their metadata. */
function isDecryptedInCluster(object: JsonObject): boolean {
  const kind = ownMember(object, 'kind');
  return typeof kind === 'string' && kind.endsWith('SopsSecret');
}

/**
 * The parts of a file that SOPS encrypted; undefined for any other file. Its name decides the
 * format, as for the program: YAML, JSON, dotenv or INI; otherwise its content does.
 * @throws DecryptionFailed
 */
export function sopsParts(path: string, content: Uint8Array): readonly (SopsPart | PlainPart)[] | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!marks.every((mark) => bytes.includes(mark))) return undefined;
  if (bytes.length > maxBytes && metadataMarks.some((mark) => bytes.includes(mark))) throw tooBig(bytes, maxBytes);
  const format = bytes.length > maxBytes ? undefined : formatOf(path, bytes);
  if (format === undefined) return undefined;
  if (format === 'yaml' && bytes.length > maxYamlBytes) throw tooBig(bytes, maxYamlBytes);
  return readers[format](bytes.toString('utf8'), bytes);
}

function tooBig({ length }: Uint8Array, limit: number): DecryptionFailed {
  return new DecryptionFailed(`it has ${length} bytes, more than ${limit}`);
}

type SopsFormat = 'yaml' | 'json' | 'binary' | 'dotenv' | 'ini';
type PartReader = (text: string, bytes: Buffer) => readonly (SopsPart | PlainPart)[] | undefined;

function formatOf(path: string, content: Buffer): SopsFormat | undefined {
  const text = content.toString('utf8');
  if (/^sops_mac=/m.test(text)) return 'dotenv';
  if (/^\[sops\]\s*$/m.test(text)) return 'ini';
  const isJson = /^\s*\{/.test(text);
  if (isJson) return /\.(?:json|ya?ml)$/i.test(path) ? 'json' : 'binary';
  return /^["']?sops["']?\s*:/m.test(text) ? 'yaml' : undefined;
}

const readers: Readonly<Record<SopsFormat, PartReader>> = {
  yaml: readYaml,
  json: (text) => readJson(text, (plain) => `${stringifyJson(plain, 2)}\n`),
  binary: readBinary,
  dotenv: readDotenv,
  ini: readIni,
};

/** The metadata of an object that SOPS encrypted. */
export function metadataIn(document: Json | undefined): JsonObject | undefined {
  if (document === undefined || !isObject(document)) return undefined;
  const sops = ownMember(document, 'sops');
  if (sops === undefined || !isObject(sops) || typeof ownMember(sops, 'mac') !== 'string') return undefined;
  return isDecryptedInCluster(document) ? undefined : sops;
}

function withoutMetadata(document: Json): Json {
  if (!isObject(document)) return document;
  return omit(document, 'sops');
}

/** Parsed, an alias takes no memory: printed or decrypted, it does. @throws DecryptionFailed */
function checkExpanded(value: Json, counter = { bytes: 0 }): void {
  counter.bytes += typeof value === 'string' ? value.length : 1;
  if (counter.bytes > maxBytes) throw new DecryptionFailed(`aliases make more than ${maxBytes} bytes of it`);
  if (value === null || typeof value !== 'object') return;
  for (const [key, member] of Object.entries(value as JsonObject)) {
    counter.bytes += key.length;
    checkExpanded(member ?? null, counter);
  }
}

/** Neighbouring documents with equal metadata were encrypted as one file. */
function readYaml(text: string): readonly (SopsPart | PlainPart)[] | undefined {
  const documents = parseYamlDocuments(text, 'v3');
  checkExpanded(documents);
  const groups: { readonly key: string; readonly documents: Json[] }[] = [];
  for (const document of documents) {
    const key = stringifyJson(metadataIn(document) ?? null);
    if (groups.at(-1)?.key === key) groups.at(-1)?.documents.push(document);
    else groups.push({ key, documents: [document] });
  }
  // Aliases and indentation could turn plain documents into a gigabyte of block style.
  const printed = (all: readonly Json[], print: (document: Json) => string = formatYaml): Buffer =>
    Buffer.from(all.map((document) => print(document)).join(documentSeparator));
  const parts = groups.map(({ documents: all }): SopsPart | PlainPart => {
    const sops = metadataIn(all[0]);
    if (sops === undefined) return { plain: printed(all, (document) => `${stringifyJson(document)}\n`) };
    return {
      metadata: readMetadata(sops),
      decrypt: (values) => printed(all.map((document) => values.tree(withoutMetadata(document)))),
    };
  });
  return parts.some((part) => 'metadata' in part) ? parts : undefined;
}

function readJson(text: string, print: (plain: Json) => string): readonly SopsPart[] | undefined {
  const document = parseJson(text);
  const sops = metadataIn(document);
  if (sops === undefined) return undefined;
  const decrypt = (values: SopsValues): Buffer => Buffer.from(print(values.tree(withoutMetadata(document))));
  return [{ metadata: readMetadata(sops), decrypt }];
}

/** A file of any other format is one value. */
function readBinary(text: string): readonly SopsPart[] | undefined {
  const document = parseJson(text);
  const sops = metadataIn(document);
  if (sops === undefined || !isObject(document)) return undefined;
  const data = ownMember(document, 'data');
  if (typeof data !== 'string' || Object.keys(document).length !== 2)
    return readJson(text, (plain) => `${stringifyJson(plain, 2)}\n`);
  return [{ metadata: readMetadata(sops), decrypt: (values) => values.value(data, ['data']).bytes }];
}

const metadataPrefix = 'sops_';

/** Lines of `NAME=value`, with line breaks of values as \n. */
function readDotenv(text: string): readonly SopsPart[] {
  const flat = new Map<string, string>();
  const lines: (readonly [name: string, value: string])[] = [];
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (line === '' || line.startsWith('#')) continue;
    if (at < 0) throw new DecryptionFailed('one of its lines has no "="');
    else {
      const [name, value] = [line.slice(0, at), line.slice(at + 1).replaceAll('\\n', '\n')];
      if (name.startsWith(metadataPrefix)) flat.set(name.slice(metadataPrefix.length), value);
      else lines.push([name, value]);
    }
  }
  const decrypt = (values: SopsValues): Buffer =>
    Buffer.from(
      lines
        .map(([name, value]) => [name, values.value(value, [name])] as const)
        .map(([name, { bytes }]) => `${name}=${bytes.toString('utf8').replaceAll('\n', '\\n')}\n`)
        .join(''),
    );
  return [{ metadata: readMetadata(unflattened(flat)), decrypt }];
}

/** Sections of `name = value`. Keys before the first section belong to DEFAULT. */
function readIni(text: string): readonly SopsPart[] {
  const sections = [{ name: 'DEFAULT', keys: [] as (readonly [name: string, value: string])[] }];
  for (const line of text.split(/\r?\n/).map((one) => one.trim())) {
    if (line === '' || /^[#;]/.test(line)) continue;
    const section = /^\[(.*)\]$/.exec(line)?.[1];
    const at = line.indexOf('=');
    if (section !== undefined) sections.push({ name: section, keys: [] });
    else if (at < 0) throw new DecryptionFailed('one of its lines has no "="');
    else sections.at(-1)?.keys.push([line.slice(0, at).trim(), unquoted(line.slice(at + 1).trim())]);
  }
  const flat = sections.filter(({ name }) => name === 'sops').flatMap(({ keys }) => keys);
  const kept = sections.filter(({ name, keys }) => name !== 'sops' && (name !== 'DEFAULT' || keys.length > 0));
  const decrypt = (values: SopsValues): Buffer =>
    Buffer.from(
      kept
        .map(({ name, keys }) => {
          const lines = keys.map(([key, value]) => {
            const plain = values.value(value, [name, key]).bytes.toString('utf8');
            return `${key} = ${quoted(plain)}\n`;
          });
          return `[${name}]\n${lines.join('')}`;
        })
        .join('\n'),
    );
  const metadata = new Map(flat.map(([key, value]) => [key, value.replaceAll('\\n', '\n')]));
  return [{ metadata: readMetadata(unflattened(metadata)), decrypt }];
}

function unquoted(value: string): string {
  const match = /^(?:"""([\s\S]*)"""|`([^`]*)`|"([^"]*)")$/.exec(value);
  return match === null ? value : (match[1] ?? match[2] ?? match[3] ?? '');
}

/** As the reader of the program that uses it expects special characters. */
function quoted(value: string): string {
  if (value.includes('\n') || value.includes('`')) return `"""${value}"""`;
  return /[#;]|^\s|\s$|^["']/.test(value) ? `\`${value}\`` : value;
}

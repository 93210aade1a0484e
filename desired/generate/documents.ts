import {
  isObject,
  JsonSyntaxError,
  JsonTooDeepError,
  messageOf,
  ownMember,
  parseJson,
  parseYamlDocuments,
  setOwnMember,
  YamlSyntaxError,
} from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import { ManifestError, SizeLimitExceeded } from '../errors.ts';

/** A file of a directory source. */
export interface ManifestFile {
  /** Relative to the repository; messages show it. */
  readonly path: string;
  readonly name: string;
  readonly content: Uint8Array;
  /** Every document must be an object: a program's output holds no values files and the like. */
  readonly strict?: boolean;
}

const skipMarker = Buffer.from('+argocd:skip-file-rendering');
const maxListDepth = 16;
/** A top-level key of manifests. */
const manifestKey = /^(?:apiVersion|kind|metadata)[ \t]*:/m;

/** Whether a file contains the marker that excludes it from rendering, anywhere in its text. */
export function isSkipped(content: Uint8Array): boolean {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes(skipMarker);
}

/** @throws SizeLimitExceeded if the files together are larger than `limit` (0: no limit) */
export function checkCombinedSize(sizes: Iterable<number>, limit: number): void {
  let sum = 0;
  for (const size of sizes) sum += size;
  if (limit > 0 && sum > limit)
    throw new SizeLimitExceeded('failed to get potentially valid manifests: exceeded max combined manifest file size');
}

/**
 * The objects of one file (Argo CD: reposerver/repository getObjsFromYAMLOrJson, splitYAML and the
 * post-processing of manifests). Drops empty and null documents, and unfolds anything with an array
 * `items`. A YAML file that cannot be parsed is ignored, because directories hold values files and
 * the like; it is an error if an earlier document was good or the text mentions apiVersion, kind
 * and metadata.
 *
 * Deliberate differences: messages name the document and its fault, but never its text, which may
 * be a Secret; an object without apiVersion fails here and not only at the cluster.
 * @param onIgnored called with the fault of an ignored file that has some keys of a manifest
 * @throws ManifestError
 */
export function objectsOf(file: ManifestFile, onIgnored?: (fault: string) => void): KubeObject[] {
  const text = decode(file);
  const objects: KubeObject[] = [];
  const json = file.name.endsWith('.json');
  try {
    for (const document of json ? jsonDocument(file, text) : yamlDocuments(text)) {
      if (document.value === null) continue;
      expandLists(document.value, document.where, 0, objects);
    }
  } catch (error) {
    if (!(error instanceof BadDocument)) throw error;
    const looksLikeManifest = ['apiVersion:', 'kind:', 'metadata:'].every((word) => text.includes(word));
    if (file.strict !== true && !json && !error.isManifest && objects.length === 0 && !looksLikeManifest) {
      if (manifestKey.test(text)) onIgnored?.(error.message);
      return [];
    }
    throw new ManifestError(`Failed to unmarshal "${file.path}": ${error.message}`, error);
  }
  return objects;
}

/** The objects in a JSON value from another renderer. @throws ManifestError */
export function objectsIn(value: Json, where: string): KubeObject[] {
  const objects: KubeObject[] = [];
  try {
    expandLists(value, where, 0, objects);
  } catch (error) {
    if (!(error instanceof BadDocument)) throw error;
    throw new ManifestError(error.message, error);
  }
  return objects;
}

interface ManifestDocument {
  readonly value: Json;
  readonly where: string;
}

/**
 * A document that is not a Kubernetes object. `isManifest` if it has a kind, so it was meant as
 * one.
 */
class BadDocument extends Error {
  readonly isManifest: boolean;

  constructor(message: string, isManifest = false) {
    super(message);
    this.isManifest = isManifest;
  }
}

function decode(file: ManifestFile): string {
  const { content } = file;
  const encoding =
    content[0] === 0xff && content[1] === 0xfe
      ? 'utf-16le'
      : content[0] === 0xfe && content[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(content);
  } catch (error) {
    throw new ManifestError(
      `Failed to unmarshal "${file.path}": the file is not ${encoding.toUpperCase()} text`,
      error,
    );
  }
}

function jsonDocument(file: ManifestFile, text: string): ManifestDocument[] {
  const end = endOfJsonValue(text);
  if (text.slice(end).trim() !== '')
    throw new ManifestError(`Found multiple objects in "${file.path}". Only single objects are allowed in JSON files.`);
  if (text.trim() === '') return [];
  return [{ value: parsedJson(text, 'the file'), where: 'the object' }];
}

function parsedJson(text: string, where: string): Json {
  try {
    return goJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (error instanceof JsonTooDeepError) throw new BadDocument(`${where} is ${messageOf(error)}`, true);
    throw new BadDocument(`${where} is not valid JSON: ${withoutQuotes(messageOf(error))}`);
  }
}

/** Go's decoder replaces half of a character in an escape (`\ud800`). */
function goJson(text: string): Json {
  const value = parseJson(text);
  return /\\u[dD][89a-fA-F]/.test(text) ? wellFormed(value) : value;
}

function wellFormed(value: Json): Json {
  if (typeof value === 'string') return wellFormedText(value);
  if (Array.isArray(value)) return (value as readonly Json[]).map(wellFormed);
  if (!isObject(value)) return value;
  const made: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value))
    setOwnMember(made, wellFormedText(key), wellFormed(member ?? null) as MutableJson);
  return made;
}

/** UTF-8 has no halves of characters: they become U+FFFD. */
function wellFormedText(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

/** JSON.parse quotes the text around the fault, which may be part of a Secret. */
function withoutQuotes(message: string): string {
  const position = /at position [0-9]+/.exec(message)?.[0];
  return position === undefined ? 'it ends too early or has a stray character' : `stray character ${position}`;
}

/** The end of the first JSON object or array in a text; the text's length if it is not closed. */
export function endOfJsonValue(text: string): number {
  let depth = 0;
  // A string that is not closed reaches to the end.
  const token = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[[\]{}]/gs;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '{' || match[0] === '[') depth += 1;
    else if (match[0] === '}' || match[0] === ']') {
      depth -= 1;
      if (depth <= 0) return token.lastIndex;
    }
  }
  return text.length;
}

/** The byte order mark of a document, as files that were joined have it. */
const markAtStart = /^(---[ \t]*\r?\n)?\ufeff/;

function* yamlDocuments(text: string): Generator<ManifestDocument> {
  let index = 0;
  for (const { chunk, line } of chunksOf(text)) {
    for (const value of chunkValues(chunk.replace(markAtStart, '$1'), line, index)) {
      index += 1;
      yield { value, where: `document ${index}` };
    }
  }
}

function* chunkValues(chunk: string, line: number, index: number): Generator<Json> {
  if (chunk.trimStart().startsWith('{')) {
    const values = jsonStream(chunk);
    if (values !== undefined) {
      yield* values;
      return;
    }
  }
  try {
    yield* parseYamlDocuments(chunk);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw new BadDocument(`document ${index + 1}: ${error.at(line)}`);
  }
}

/**
 * Concatenated objects, which Go's decoder accepts in a .yaml file too. Undefined if the text is
 * YAML's flow style instead.
 */
function jsonStream(chunk: string): Json[] | undefined {
  const values: Json[] = [];
  try {
    for (let rest = chunk; rest.trim() !== '';) {
      const end = endOfJsonValue(rest);
      values.push(goJson(rest.slice(0, end)));
      rest = rest.slice(end);
    }
    return values;
  } catch {
    return undefined;
  }
}

/**
 * Splits a stream at the lines that begin a document, so that the documents before a fault are
 * known. `line` is the number of lines before the chunk. A chunk of only comments and %directives
 * belongs to the next document.
 */
function* chunksOf(text: string): Generator<{ chunk: string; line: number }> {
  const lines = text.split(/(?<=\n)/);
  let from = 0;
  for (let i = 0; i < lines.length; i += 1) {
    if (i === from || !/^---(?:\s|$)/.test(lines[i] ?? '')) continue;
    const before = lines.slice(from, i);
    if (before.some((line) => line.startsWith('%')) && before.every((line) => /^(?:%|\s*#|\s*$)/.test(line))) continue;
    yield { chunk: before.join(''), line: from };
    from = i;
  }
  yield { chunk: lines.slice(from).join(''), line: from };
}

function expandLists(value: Json, where: string, depth: number, into: KubeObject[]): void {
  if (!isObject(value)) throw new BadDocument(`${where} is not an object`);
  const kind = ownMember(value, 'kind');
  if (typeof kind !== 'string' || kind === '') throw new BadDocument(`${where}: Object 'Kind' is missing`);
  const items = ownMember(value, 'items');
  if (Array.isArray(items)) {
    if (depth === maxListDepth) throw new BadDocument(`${where}: lists are nested too deeply`, true);
    for (const [i, item] of (items as readonly Json[]).entries())
      expandLists(item, `${where}, items[${i}]`, depth + 1, into);
    return;
  }
  if (items === null && ownMember(value, 'spec') === undefined && ownMember(value, 'status') === undefined) return;
  into.push(checkedObject(value, kind, where));
}

function checkedObject(value: JsonObject, kind: string, where: string): KubeObject {
  const fault = (what: string): BadDocument => new BadDocument(`${where} (${kind}): ${what}`, true);
  const apiVersion = ownMember(value, 'apiVersion');
  if (typeof apiVersion !== 'string' || apiVersion === '') throw fault('apiVersion is missing');
  const metadata = ownMember(value, 'metadata') ?? null;
  // As in Argo CD: the sync names a hook, and refuses any other object without a name.
  if (metadata === null) return { ...value, metadata: {} } as unknown as KubeObject;
  if (!isObject(metadata)) throw fault('metadata is not a map');
  for (const key of ['name', 'generateName', 'namespace']) {
    const text = ownMember(metadata, key) ?? null;
    if (text !== null && typeof text !== 'string') throw fault(`metadata.${key} is not a string`);
  }
  for (const member of ['labels', 'annotations']) checkTexts(ownMember(metadata, member), `metadata.${member}`, fault);
  return value as unknown as KubeObject;
}

/**
 * Refuses values that are not strings: YAML turns unquoted words into booleans and numbers, which
 * the cluster would refuse without naming the file.
 */
function checkTexts(value: Json | undefined, where: string, fault: (what: string) => BadDocument): void {
  if (value === undefined || value === null) return;
  if (!isObject(value)) throw fault(`${where} is not a map`);
  for (const [key, text] of Object.entries(value))
    if (typeof text !== 'string' && text !== null && text !== undefined)
      throw fault(`${where}["${key}"] is not a string: put quotes around its value`);
}

import { isObject, JsonSyntaxError, messageOf, own, parseJson, parseYamlDocuments, YamlSyntaxError } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ManifestError } from '../errors.ts';

/** A file of a directory source. */
export interface ManifestFile {
  /** As shown in messages: relative to the repository. */
  readonly path: string;
  readonly name: string;
  readonly content: Uint8Array;
  /** Every document must be an object: what a program printed is not a values file by chance. */
  readonly strict?: boolean;
}

const skipMarker = Buffer.from('+argocd:skip-file-rendering');
const deepestList = 16;

/** A file that says so anywhere in its text is not a manifest. */
export function isSkipped(content: Uint8Array): boolean {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes(skipMarker);
}

/**
 * The objects of one file (Argo CD: reposerver/repository getObjsFromYAMLOrJson, splitYAML and the post-processing of manifests): empty and
 * null documents are gone, anything with an array `items` is unfolded. A YAML file that cannot be read is no manifest, and ignored, unless
 * a document before the fault was good or the text mentions apiVersion, kind and metadata: directories hold values files and the like.
 *
 * Deliberate differences: messages name the document and what is wrong with it, never its text (which may be a Secret); an object without
 * apiVersion or name fails here and not only at the cluster.
 * @throws ManifestError
 */
export function objectsOf(file: ManifestFile): KubeObject[] {
  const text = decode(file);
  const objects: KubeObject[] = [];
  const json = file.name.endsWith('.json');
  try {
    for (const document of json ? jsonDocument(file, text) : yamlDocuments(text)) {
      if (document.value === null) continue;
      unfold(document.value, document.where, 0, objects);
    }
  } catch (error) {
    if (!(error instanceof BadDocument)) throw error;
    const looksLikeManifest = ['apiVersion:', 'kind:', 'metadata:'].every((word) => text.includes(word));
    if (file.strict !== true && !json && !error.isManifest && objects.length === 0 && !looksLikeManifest) return [];
    throw new ManifestError(`Failed to unmarshal "${file.path}": ${error.message}`, error);
  }
  return objects;
}

/**
 * The objects in a value that is JSON already, from another renderer.
 * @throws ManifestError
 */
export function objectsIn(value: Json, where: string): KubeObject[] {
  const objects: KubeObject[] = [];
  try {
    unfold(value, where, 0, objects);
  } catch (error) {
    if (!(error instanceof BadDocument)) throw error;
    throw new ManifestError(error.message, error);
  }
  return objects;
}

interface Document {
  readonly value: Json;
  readonly where: string;
}

/** A document that is not an object of Kubernetes; `isManifest` when it has a kind, so that it was surely meant as one. */
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

function jsonDocument(file: ManifestFile, text: string): Document[] {
  const end = endOfJsonValue(text);
  if (text.slice(end).trim() !== '')
    throw new ManifestError(`Found multiple objects in "${file.path}". Only single objects are allowed in JSON files.`);
  if (text.trim() === '') return [];
  return [{ value: parsedJson(text, 'the file'), where: 'the object' }];
}

function parsedJson(text: string, where: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new BadDocument(`${where} is not valid JSON: ${withoutQuotes(messageOf(error))}`);
  }
}

/** JSON.parse quotes the text around the fault; that text may be a Secret's. */
function withoutQuotes(message: string): string {
  const position = /at position [0-9]+/.exec(message)?.[0];
  return position === undefined ? 'it ends too early or has a stray character' : `stray character ${position}`;
}

/** Where the first JSON object or array of a text ends; the text's length when it does not. */
export function endOfJsonValue(text: string): number {
  let depth = 0;
  const token = /"(?:[^"\\]|\\.)*"|[[\]{}]/gs;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '{' || match[0] === '[') depth += 1;
    else if (match[0] === '}' || match[0] === ']') {
      depth -= 1;
      if (depth <= 0) return token.lastIndex;
    }
  }
  return text.length;
}

function* yamlDocuments(text: string): Generator<Document> {
  let index = 0;
  for (const { chunk, line } of chunksOf(text)) {
    for (const value of chunkValues(chunk, line, index)) {
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

/** Objects one after the other, as Go's decoder takes them in a .yaml file too; undefined when it is YAML's flow style after all. */
function jsonStream(chunk: string): Json[] | undefined {
  const values: Json[] = [];
  try {
    for (let rest = chunk; rest.trim() !== '';) {
      const end = endOfJsonValue(rest);
      values.push(parseJson(rest.slice(0, end)));
      rest = rest.slice(end);
    }
    return values;
  } catch {
    return undefined;
  }
}

/**
 * Cuts a stream at lines that begin a document, so that the documents before a fault are known. `line` counts the lines before the chunk.
 * A chunk of comments and %directives alone belongs to the document that follows.
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

function unfold(value: Json, where: string, depth: number, into: KubeObject[]): void {
  if (!isObject(value)) throw new BadDocument(`${where} is not an object`);
  const kind = own(value, 'kind');
  if (typeof kind !== 'string' || kind === '') throw new BadDocument(`${where}: Object 'Kind' is missing`);
  const items = own(value, 'items');
  if (Array.isArray(items)) {
    if (depth === deepestList) throw new BadDocument(`${where}: lists are nested too deeply`, true);
    for (const [i, item] of (items as readonly Json[]).entries())
      unfold(item, `${where}, items[${i}]`, depth + 1, into);
    return;
  }
  if (items === null && own(value, 'spec') === undefined && own(value, 'status') === undefined) return;
  into.push(checked(value, kind, where));
}

function checked(value: JsonObject, kind: string, where: string): KubeObject {
  const fault = (what: string): BadDocument => new BadDocument(`${where} (${kind}): ${what}`, true);
  const apiVersion = own(value, 'apiVersion');
  if (typeof apiVersion !== 'string' || apiVersion === '') throw fault('apiVersion is missing');
  const metadata = own(value, 'metadata');
  if (!isObject(metadata)) throw fault('metadata is missing');
  const [name, generateName, namespace] = ['name', 'generateName', 'namespace'].map((key) => own(metadata, key));
  if (!isText(name) && !isText(generateName)) throw fault('metadata.name is missing, or is not a string');
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    throw fault('metadata.namespace is not a string');
  for (const member of ['labels', 'annotations']) checkTexts(own(metadata, member), `metadata.${member}`, fault);
  return value as unknown as KubeObject;
}

/** YAML makes booleans and numbers of unquoted words; the cluster would refuse them with a message that names no file. */
function checkTexts(value: Json | undefined, where: string, fault: (what: string) => BadDocument): void {
  if (value === undefined || value === null) return;
  if (!isObject(value)) throw fault(`${where} is not a map`);
  for (const [key, text] of Object.entries(value))
    if (typeof text !== 'string' && text !== null && text !== undefined)
      throw fault(`${where}["${key}"] is not a string: put quotes around its value`);
}

function isText(value: Json | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

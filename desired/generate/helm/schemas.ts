import { posix } from 'node:path';
import { isObject, JsonSyntaxError, JsonTooDeepError, messageOf, ownMember, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError, UnsafeInput } from '../../errors.ts';
import { unpack } from '../../fetch/files/archive.ts';
import type { UnpackedArchive } from '../../fetch/files/archive.ts';
import type { StagedFiles } from '../../fetch/files/staged-files.ts';
import { walk } from '../../fetch/files/tree.ts';
import type { Unpacker } from '../../fetch/files/unpacker.ts';
import type { DesiredLimits } from '../../limits.ts';
import { checkoutFolder } from '../../render/types.ts';

const schemaName = 'values.schema.json';
const references = ['$ref', '$dynamicRef', '$recursiveRef', '$schema'];
const maxNestedArchives = 8;
const maxHops = 40;

/**
 * Refuses charts whose values schema refers to a file or a server of this machine, because helm
 * itself would read it. Other servers are out of helm's reach anyway. Also checks packed charts.
 * @throws UnsafeInput, DesiredError
 */
export async function checkSchemas({ files, links }: StagedFiles, check: SchemaCheck): Promise<void> {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  const targets = new Map(links.map(({ path, target }) => [path, posix.join(posix.dirname(path), target)]));
  for (const path of [...contents.keys(), ...targets.keys()]) {
    if (!isChecked(path)) continue;
    const content = contents.get(target(path, targets));
    if (content === undefined) throw new UnsafeInput(`${shownPath(path)} is refused: it is a link through other links`);
    const shown = shownPath(path);
    if (path.endsWith('.tgz')) await checkArchive(shown, content, check);
    else checkSchema(shown, Buffer.from(content).toString('utf8'));
  }
}

function shownPath(path: string): string {
  return path.startsWith(`${checkoutFolder}/`) ? path.slice(checkoutFolder.length + 1) : path;
}

function isChecked(path: string): boolean {
  return posix.basename(path) === schemaName || path.endsWith('.tgz');
}

function target(path: string, targets: ReadonlyMap<string, string>): string {
  let at = path;
  for (let hops = 0; hops < maxHops; hops += 1) {
    const next = targets.get(at);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

/** How archives of a source are unpacked, and until when. */
export interface SchemaCheck {
  readonly unpacker: Unpacker;
  readonly limits: DesiredLimits;
  /** The source's project, whose turn a big archive takes. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

async function checkArchive(path: string, content: Uint8Array, check: SchemaCheck): Promise<void> {
  const { unpacker, limits, owner, signal } = check;
  const { maxCheckoutBytes: maxBytes } = limits;
  const packed = { owner, bytes: content.length, read: () => Promise.resolve(content), maxBytes };
  await unpacker.run(packed, signal, (unpacked) => checkUnpacked(path, unpacked, { limits, depth: 1 }));
}

interface NestedSearch {
  readonly limits: Pick<DesiredLimits, 'maxCheckoutBytes' | 'maxCheckoutFiles'>;
  readonly depth: number;
}

/** Nested archives share one limit, because those around them are in memory too. */
async function checkUnpacked(
  path: string,
  { tree, contents, bytes }: UnpackedArchive,
  { limits, depth }: NestedSearch,
): Promise<void> {
  const left = { ...limits, maxCheckoutBytes: limits.maxCheckoutBytes - bytes };
  for (const entry of walk(tree.root, true)) {
    if (!isChecked(entry.path) || entry.node.kind !== 'file') continue;
    const shown = `${path}: ${entry.path}`;
    const inner = contents.get(entry.node.oid) ?? new Uint8Array();
    if (!entry.path.endsWith('.tgz')) checkSchema(shown, Buffer.from(inner).toString('utf8'));
    else if (depth === maxNestedArchives) throw new UnsafeInput(`${shown} is refused: it is packed too deeply`);
    else await checkUnpacked(shown, await unpack(inner, left), { limits: left, depth: depth + 1 });
  }
}

function checkSchema(path: string, text: string): void {
  let schema: Json;
  try {
    schema = parseJson(text.replace(/^\ufeff/, ''));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof JsonTooDeepError)) throw error;
    throw new DesiredError('DESIRED_RENDER', `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  const bad = localReference(schema);
  if (bad !== undefined)
    throw new UnsafeInput(
      `${path} is refused: it refers to ${JSON.stringify(bad)}, which is not in the schema itself; use "#/…"`,
    );
}

/**
 * A reference to a file or to this machine. A relative one counts, because the schema has the URL
 * of a file.
 */
function localReference(schema: Json): string | undefined {
  const todo: Json[] = [schema];
  for (let value = todo.pop(); value !== undefined; value = todo.pop()) {
    const map: JsonObject = isObject(value) ? value : {};
    const found = references.map((key) => ownMember(map, key)).find(isLocalText);
    if (typeof found === 'string') return found;
    const members = Array.isArray(value) ? (value as readonly Json[]) : Object.values(map);
    for (const member of members) if (member !== undefined) todo.push(member);
  }
  return undefined;
}

function isLocalText(value: Json | undefined): boolean {
  return typeof value === 'string' && isLocal(value);
}

function isLocal(reference: string): boolean {
  if (reference === '' || reference.startsWith('#') || /^urn:/i.test(reference)) return false;
  let url: URL;
  try {
    url = new URL(reference);
  } catch {
    return true;
  }
  const host = url.hostname.toLowerCase();
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return !isWeb || host === 'localhost' || host.startsWith('127.') || /^\[(?:::1|::ffff:.*)\]$/.test(host);
}

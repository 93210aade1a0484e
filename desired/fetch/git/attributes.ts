import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hashJson } from '#base';
import type { RandomSource } from '#base';
import { CommandError, SizeLimitExceeded } from '../../errors.ts';
import { convertedOid } from '../files/checkout-bytes.ts';
import type { Conversion } from '../files/checkout-bytes.ts';
import { isKnownEncoding } from '../files/encodings.ts';
import { walk } from '../files/tree.ts';
import type { DirectoryNode, FileNode, Tree } from '../files/tree.ts';
import type { GitRun } from './git.ts';

/** The mirror whose git reads the attributes. */
export interface AttributeReader {
  readonly directory: string;
  readonly random: RandomSource;
  readonly read: (
    blobs: readonly { readonly oid: string; readonly size: number }[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, Uint8Array>>;
  /** Returns the output of git, and throws if it fails. */
  readonly run: (
    args: readonly string[],
    more: Partial<Pick<GitRun, 'stdin' | 'indexFile' | 'timeoutMs'>>,
  ) => Promise<Uint8Array>;
}

/** Git reads every file for every directory that it applies to. */
const maxAttributeBytes = 4 * 1024 * 1024;
/** Patterns that git compares with paths. */
const maxComparisons = 50_000_000;
const maxReadBytes = 32 * 1024 * 1024;
const checkTimeoutMs = 20_000;
const pathsAtOnce = 20_000;

/** Only these attributes change bytes on Linux: a checkout never removes a CR. */
const changesBytes = /eol=crlf|ident|working-tree-encoding/;
const attributeNames = ['text', 'crlf', 'eol', 'ident', 'working-tree-encoding'] as const;
type Attributes = Readonly<Record<(typeof attributeNames)[number], string>>;

/**
 * Gives files that `git checkout` would convert an id of their own. git itself matches the patterns
 * of `.gitattributes`, and only if they may change the bytes of a file.
 * @throws SizeLimitExceeded
 */
export async function applyAttributes(
  tree: Tree,
  commit: string,
  from: AttributeReader,
  signal: AbortSignal,
): Promise<void> {
  if (tree.attributeFiles.length === 0) return;
  const texts = await attributeTexts(tree, from, signal);
  const folders = [...texts].filter(([, text]) => changesBytes.test(text)).map(([folder]) => folder);
  if (folders.length === 0) return;
  const paths = filesBelow(tree, folders);
  checkWork(texts, paths);
  const conversions = await conversionsOf(paths, commit, from);
  if (conversions.size > 0) convert(tree.root, '', conversions);
}

/** The texts by folder (with a slash at the end; "" for the root). Git takes a link as a text. */
async function attributeTexts(
  { attributeFiles }: Tree,
  from: AttributeReader,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const files = new Set(attributeFiles.flatMap(({ node }) => (node.kind === 'file' ? [node] : [])));
  const bytes = [...files].reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxReadBytes) throw tooLarge(`more than ${maxReadBytes} bytes`);
  const contents = await from.read([...files], signal);
  const texts = new Map<string, string>();
  for (const { path, node } of attributeFiles) {
    const text = node.kind === 'link' ? node.target : Buffer.from(contents.get(node.oid) ?? []).toString('latin1');
    texts.set(path.slice(0, path.lastIndexOf('/') + 1), text);
  }
  return texts;
}

function filesBelow(tree: Tree, folders: readonly string[]): readonly string[] {
  const tops = folders.filter((one) => !folders.some((other) => other !== one && one.startsWith(other)));
  return tops.flatMap((folder) => {
    const found = tree.lookup(folder.split('/'));
    if (found.kind !== 'found' || found.node.kind !== 'directory') return [];
    return [...walk(found.node, true, folder)].flatMap(({ path, node }) => (node.kind === 'file' ? [path] : []));
  });
}

function checkWork(texts: ReadonlyMap<string, string>, paths: readonly string[]): void {
  let bytes = 0;
  for (const text of texts.values()) bytes += text.length;
  if (bytes > maxAttributeBytes) throw tooLarge(`more than ${maxAttributeBytes} bytes`);
  const lines = new Map([...texts].map(([folder, text]) => [folder, text.split('\n').length] as const));
  let comparisons = 0;
  for (const path of paths)
    for (let slash = path.lastIndexOf('/'); ; slash = path.lastIndexOf('/', slash - 1)) {
      comparisons += lines.get(path.slice(0, slash + 1)) ?? 0;
      if (slash <= 0) break;
    }
  if (comparisons > maxComparisons) throw tooLarge('too many patterns for its number of files');
}

function tooLarge(what: string): SizeLimitExceeded {
  return new SizeLimitExceeded(
    `the files .gitattributes of the commit have ${what}: remove eol, ident and working-tree-encoding, or split the repository`,
  );
}

/** Asks git, with an index of the commit, as a checkout has it. */
async function conversionsOf(
  paths: readonly string[],
  commit: string,
  { directory, random, run }: AttributeReader,
): Promise<ReadonlyMap<string, Conversion>> {
  const indexFile = join(directory, `attributes-${random.uuid()}`);
  const conversions = new Map<string, Conversion>();
  try {
    await run(['read-tree', commit], { indexFile, timeoutMs: checkTimeoutMs });
    for (let from = 0; from < paths.length; from += pathsAtOnce) {
      const some = paths.slice(from, from + pathsAtOnce);
      const args = ['check-attr', '--cached', '--stdin', '-z', ...attributeNames];
      const stdin = some.map((path) => `${path}\0`).join('');
      const output = await run(args, { indexFile, stdin, timeoutMs: checkTimeoutMs });
      addConversions(conversions, some, Buffer.from(output).toString('utf8').split('\0'));
    }
    return conversions;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'COMMAND_TIMEOUT') throw error;
    throw tooLarge('patterns that take too long to match');
  } finally {
    await rm(indexFile, { force: true });
    await rm(`${indexFile}.lock`, { force: true });
  }
}

/** The output has path, attribute and value of each path and attribute. */
function addConversions(into: Map<string, Conversion>, paths: readonly string[], output: readonly string[]): void {
  for (const [i, path] of paths.entries()) {
    const at = (attribute: number): string => output[(i * attributeNames.length + attribute) * 3 + 2] ?? '';
    const conversion = conversionOf(path, {
      text: at(0),
      crlf: at(1),
      eol: at(2),
      ident: at(3),
      'working-tree-encoding': at(4),
    });
    if (conversion !== undefined) into.set(path, conversion);
  }
}

/** Git's `convert_attrs`, with the settings of a clone on Linux. */
function conversionOf(path: string, attributes: Attributes): Conversion | undefined {
  const text = textOf(attributes.text) ?? textOf(attributes.crlf);
  const isCrlf = text !== 'unset' && attributes.eol === 'crlf';
  const crlf = isCrlf ? (text === 'auto' ? 'auto' : 'text') : undefined;
  const encoding = encodingOf(path, attributes['working-tree-encoding']);
  const isWhole = encoding !== undefined || (text === 'auto' && attributes.eol !== 'lf');
  const ident = attributes.ident === 'set' ? (isWhole ? 'whole' : 'streamed') : undefined;
  if (crlf === undefined && ident === undefined && encoding === undefined) return undefined;
  return { ...(crlf && { crlf }), ...(ident && { ident }), ...encoding };
}

/** Undefined: the older attribute `crlf` decides. */
function textOf(value: string): string | undefined {
  return ['set', 'unset', 'input', 'auto'].includes(value) ? value : undefined;
}

function encodingOf(path: string, value: string): Pick<Conversion, 'encoding' | 'fault'> | undefined {
  if (value === 'unspecified' || value === '' || /^utf-?8$/i.test(value)) return undefined;
  const hint = 'store the file as UTF-8 and remove the attribute';
  if (value === 'set' || value === 'unset')
    return { fault: `${path}: .gitattributes has working-tree-encoding without an encoding: ${hint}` };
  if (isKnownEncoding(value)) return { encoding: value };
  return { fault: `${path}: the working-tree-encoding ${value} of .gitattributes is not supported: ${hint}` };
}

/** Replaces the ids of converted files, and of the directories above them. */
function convert(
  directory: DirectoryNode,
  prefix: string,
  conversions: ReadonlyMap<string, Conversion>,
): DirectoryNode | undefined {
  const changes: [string, string][] = [];
  for (const [name, child] of directory.children) {
    const path = prefix + name;
    const conversion = child.kind === 'file' ? conversions.get(path) : undefined;
    let changed: FileNode | DirectoryNode | undefined;
    if (child.kind === 'directory') changed = convert(child, `${path}/`, conversions);
    else if (child.kind === 'file' && conversion !== undefined)
      changed = { ...child, oid: convertedOid(child.oid, conversion) };
    if (changed === undefined) continue;
    directory.children.set(name, changed);
    changes.push([name, changed.oid]);
  }
  if (changes.length === 0) return undefined;
  return { ...directory, oid: directory.oid === '' ? '' : hashJson([directory.oid, changes]) };
}

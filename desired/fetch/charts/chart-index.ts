import { isObject, messageOf, ownMember, parseJson, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import { isBig } from '../../command/parse-process.ts';
import type { ParseProcess } from '../../command/parse-process.ts';
import { RepositoryError } from '../../errors.ts';

/** One chart version of a repository index. */
export interface ChartVersion {
  readonly version: string;
  readonly urls: readonly string[];
  /** SHA-256 as hexadecimal digits; "" if the index has none. */
  readonly digest: string;
}

/** Sorting this many takes a second. */
const maxVersions = 100_000;

/**
 * Reads repository indexes. Large ones are read in a separate process: parsing YAML costs about a
 * microsecond per byte, and an index may have 128 MB.
 */
export class ChartIndexReader {
  readonly #process: ParseProcess | undefined;

  /** @param process without it, all indexes are read on this thread */
  constructor(process?: ParseProcess) {
    this.#process = process;
  }

  /**
   * Like {@link versionsIn}.
   * @throws RepositoryError, also if reading exceeds its time or memory; the reason of `signal`
   */
  async versions(index: Buffer, chart: string, signal: AbortSignal): Promise<readonly ChartVersion[]> {
    if (this.#process === undefined || !isBig(index)) return versionsIn(index.toString('utf8'), chart);
    const fault = (why: string, cause?: unknown): RepositoryError =>
      new RepositoryError(`the index of the chart repository cannot be read: ${why}`, { cause });
    const answer = await this.#process.ask({ head: { chart }, content: index }, fault, signal);
    const parsed = JSON.parse(Buffer.from(answer).toString('utf8')) as IndexAnswer;
    if ('failure' in parsed) throw new RepositoryError(parsed.failure);
    return parsed.versions;
  }
}

type IndexAnswer = { readonly versions: readonly ChartVersion[] } | { readonly failure: string };

/**
 * The separate process's part of {@link ChartIndexReader}. An invalid index is an answer, not a
 * crash.
 */
export function answerOfIndex(content: Buffer, chart: string): string {
  let answer: IndexAnswer;
  try {
    answer = { versions: versionsIn(content.toString('utf8'), chart) };
  } catch (error) {
    if (!(error instanceof RepositoryError)) throw error;
    answer = { failure: error.message };
  }
  return `${JSON.stringify(answer)}\n`;
}

/**
 * Returns the versions of one chart. Parsing an index of tens of megabytes takes seconds, so only
 * the part of this chart is parsed. If that part cannot be found or parsed alone, the whole index
 * is parsed.
 * @throws RepositoryError for an unreadable index or a chart that is not in it
 */
export function versionsIn(index: string, chart: string): readonly ChartVersion[] {
  const entries = entriesInPart(index, chart) ?? entriesInWhole(index, chart);
  if (!Array.isArray(entries)) throw new RepositoryError(`chart '${chart}' not found in index`);
  if (entries.length > maxVersions)
    throw new RepositoryError(`the index has more than ${maxVersions} versions of the chart '${chart}'`);
  return (entries as readonly Json[]).filter(isObject).map(versionOf);
}

function versionOf(entry: JsonObject): ChartVersion {
  const urls = ownMember(entry, 'urls');
  return {
    version: textOf(ownMember(entry, 'version')),
    urls: Array.isArray(urls) ? (urls as readonly Json[]).map(textOf) : [],
    digest: textOf(ownMember(entry, 'digest'))
      .replace(/^sha256:/, '')
      .toLowerCase(),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function entriesInWhole(index: string, chart: string): Json | undefined {
  let value: Json | undefined;
  try {
    value = index.trimStart().startsWith('{') ? parseJson(index) : parseYamlDocuments(index)[0];
  } catch (error) {
    throw new RepositoryError(`the index of the chart repository cannot be read: ${messageOf(error)}`);
  }
  const entries = value !== undefined && isObject(value) ? ownMember(value, 'entries') : undefined;
  if (entries === undefined || entries === null)
    throw new RepositoryError('the index of the chart repository cannot be read: it has no entries');
  return isObject(entries) ? ownMember(entries, chart) : undefined;
}

/** Returns the entries below the chart's name; undefined if they cannot be found by text search. */
function entriesInPart(index: string, chart: string): Json | undefined {
  const entries = /^entries:[ \t]*(?:#.*)?\r?\n/m.exec(index);
  if (entries === null) return undefined;
  const from = entries.index + entries[0].length;
  const indent = /^(?:[ \t]*(?:#.*)?\r?\n)*( +)\S/.exec(index.slice(from, from + 4096))?.[1];
  if (indent === undefined) return undefined;
  for (const name of [chart, `"${chart}"`, `'${chart}'`]) {
    const head = `\n${indent}${name}:`;
    for (let at = index.indexOf(head, from - 1); at >= 0; at = index.indexOf(head, at + 1)) {
      const line = index.indexOf('\n', at + 1);
      if (line < 0 || index.slice(at + head.length, line).trim() !== '') continue;
      return parsedPart(index.slice(line + 1, endOfPart(index, line, indent)));
    }
  }
  return undefined;
}

/**
 * Returns the start of the next line that is not indented deeper than the name; list items may be
 * as far left as the name.
 */
function endOfPart(index: string, from: number, indent: string): number {
  for (let at = from; at >= 0 && at + 1 < index.length; at = index.indexOf('\n', at + 1)) {
    const start = at + 1;
    const first = index.slice(start, start + indent.length + 1);
    const depth = /^ */.exec(first)?.[0].length ?? 0;
    const isBlank = /^[\r\n#]/.test(first.slice(depth));
    if (isBlank || depth > indent.length || (depth === indent.length && first.endsWith('-'))) continue;
    return start;
  }
  return index.length;
}

function parsedPart(text: string): Json | undefined {
  try {
    return parseYamlDocuments(text)[0];
  } catch {
    // For example, the part may use an alias whose anchor is elsewhere in the index.
    return undefined;
  }
}

import { isObject, messageOf, own, parseJson, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import { isBig } from '../command/parse-process.ts';
import type { ParseProcess } from '../command/parse-process.ts';
import { RepositoryError } from '../errors.ts';

/** One version of a chart, as the index of its repository has it. */
export interface ChartVersion {
  readonly version: string;
  readonly urls: readonly string[];
  /** SHA-256 in hexadecimal digits; "" where the index has none. */
  readonly digest: string;
}

/** Comparing them takes a second. */
const mostVersions = 100_000;

/** Reads indexes: big ones in a process of their own, as reading YAML costs a microsecond for each byte, and an index may have 128 MB. */
export class ChartIndexReader {
  readonly #process: ParseProcess | undefined;

  /** Without a process, all are read on this thread. */
  constructor(process?: ParseProcess) {
    this.#process = process;
  }

  /** As {@link versionsIn}. @throws RepositoryError, also when reading takes too long or too much memory; the reason of `signal` */
  async versions(index: Buffer, chart: string, signal: AbortSignal): Promise<readonly ChartVersion[]> {
    if (this.#process === undefined || !isBig(index)) return versionsIn(index.toString('utf8'), chart);
    const fault = (why: string, cause?: unknown): RepositoryError =>
      new RepositoryError(`the index of the chart repository cannot be read: ${why}`, { cause });
    const answer = await this.#process.ask({ head: { chart }, content: index }, fault, signal);
    const said = JSON.parse(Buffer.from(answer).toString('utf8')) as Answer;
    if ('failure' in said) throw new RepositoryError(said.failure);
    return said.versions;
  }
}

type Answer = { readonly versions: readonly ChartVersion[] } | { readonly failure: string };

/** The work of the program: what {@link ChartIndexReader} reads. A fault of the index is an answer. */
export function answerOfIndex(content: Buffer, chart: string): string {
  let answer: Answer;
  try {
    answer = { versions: versionsIn(content.toString('utf8'), chart) };
  } catch (error) {
    if (!(error instanceof RepositoryError)) throw error;
    answer = { failure: error.message };
  }
  return `${JSON.stringify(answer)}\n`;
}

/**
 * The versions of one chart. Of a YAML index only the part that is about this chart is parsed: some have tens of megabytes, which would hold
 * up everything else for seconds. Where that part cannot be found or understood by itself, the whole is parsed.
 * @throws RepositoryError for an index that cannot be read, and for a chart that is not in it
 */
export function versionsIn(index: string, chart: string): readonly ChartVersion[] {
  const entries = partOf(index, chart) ?? wholeOf(index, chart);
  if (!Array.isArray(entries)) throw new RepositoryError(`chart '${chart}' not found in index`);
  if (entries.length > mostVersions)
    throw new RepositoryError(`the index has more than ${mostVersions} versions of the chart '${chart}'`);
  return (entries as readonly Json[]).filter(isObject).map(versionOf);
}

function versionOf(entry: JsonObject): ChartVersion {
  const urls = own(entry, 'urls');
  return {
    version: textOf(own(entry, 'version')),
    urls: Array.isArray(urls) ? (urls as readonly Json[]).map(textOf) : [],
    digest: textOf(own(entry, 'digest'))
      .replace(/^sha256:/, '')
      .toLowerCase(),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function wholeOf(index: string, chart: string): Json | undefined {
  let value: Json | undefined;
  try {
    value = index.trimStart().startsWith('{') ? parseJson(index) : parseYamlDocuments(index)[0];
  } catch (error) {
    throw new RepositoryError(`the index of the chart repository cannot be read: ${messageOf(error)}`);
  }
  const entries = value !== undefined && isObject(value) ? own(value, 'entries') : undefined;
  if (entries === undefined || entries === null)
    throw new RepositoryError('the index of the chart repository cannot be read: it has no entries');
  return isObject(entries) ? own(entries, chart) : undefined;
}

/** The list under the chart's name, undefined when it is not plain to see. */
function partOf(index: string, chart: string): Json | undefined {
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

/** Where the next line begins that is not deeper than the name; a list may stand as far left as the name itself. */
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
    // An alias of something elsewhere in the index, for one.
    return undefined;
  }
}

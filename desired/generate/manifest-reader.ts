import { isObject, ownMember, parseJson, stringifyJson, yieldToLoop } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { isBig, noShare, ownThreadBytes } from '../command/parse-process.ts';
import type { ParseProcess, ParseTurn } from '../command/parse-process.ts';
import { ManifestError } from '../errors.ts';
import type { RenderShare } from '../render/types.ts';
import { objectsOf } from './documents.ts';
import type { ManifestFile } from './documents.ts';

/** A file, and its objects. */
export interface ReadFile {
  readonly file: ManifestFile;
  readonly objects: readonly KubeObject[];
  /** The fault of a file that is ignored although it has some keys of a manifest. */
  readonly ignored?: string | undefined;
}

/**
 * Reads files of manifests. Parsing YAML takes about a microsecond per byte, so the biggest allowed
 * file would block the event loop for ten seconds. A separate process parses big files, with a
 * deadline, and returns one line of JSON per object.
 */
export class ManifestReader {
  readonly #process: ParseProcess | undefined;
  readonly #share: RenderShare;

  /** Without a process, big files are parsed here, which blocks the event loop. */
  constructor(process?: ParseProcess, share: RenderShare = noShare) {
    this.#process = process;
    this.#share = share;
  }

  /** The same reader, for the files of one project and repository: the unit of fair scheduling. */
  forShare(share: RenderShare): ManifestReader {
    return new ManifestReader(this.#process, share);
  }

  /**
   * The objects of each file, like {@link objectsOf}, in order. From the first big file on, the
   * source keeps its turn in the parser process until the caller has read all or stops.
   * @throws ManifestError, also if parsing needs too much time or memory; the reason of `signal`
   */
  async *read(files: Iterable<ManifestFile>, signal: AbortSignal): AsyncGenerator<ReadFile> {
    let turn: ParseTurn | undefined;
    try {
      for (const file of files) {
        if (this.#process === undefined || !isBig(file.content)) {
          let ignored: string | undefined;
          const objects = objectsOf(file, (fault) => (ignored = fault));
          yield { file, objects, ignored };
          continue;
        }
        turn ??= await this.#process.begin(this.#share, signal);
        const { path, name, strict, content } = file;
        const head = { path, name, strict: strict === true };
        const answer = await turn.ask({ head, content }, (why, cause) => fault(file, why, cause), signal);
        yield { file, ...(await parsed(answer, signal)) };
      }
    } finally {
      turn?.end();
    }
  }
}

function fault(file: ManifestFile, why: string, cause?: unknown): ManifestError {
  return new ManifestError(`Failed to unmarshal "${file.path}": ${why}; split it into smaller files`, cause);
}

async function parsed(stdout: Uint8Array, signal: AbortSignal): Promise<Omit<ReadFile, 'file'>> {
  const bytes = Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength);
  const objects: KubeObject[] = [];
  let sinceTurn = 0;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf('\n', from);
    const line = parseJson(bytes.toString('utf8', from, end));
    const failure = isObject(line) ? ownMember(line, 'failure') : undefined;
    if (typeof failure === 'string') throw new ManifestError(failure);
    const ignored = isObject(line) ? ownMember(line, 'ignored') : undefined;
    if (typeof ignored === 'string') return { objects, ignored };
    objects.push((isObject(line) ? ownMember(line, 'object') : undefined) as unknown as KubeObject);
    sinceTurn += end - from;
    from = end + 1;
    if (sinceTurn < ownThreadBytes) continue;
    sinceTurn = 0;
    await yieldToLoop();
    signal.throwIfAborted();
  }
  return { objects };
}

/**
 * The output of the parser process: a line of JSON per object. A fault of the file is a result, not
 * a crash.
 */
export function answerOf(file: ManifestFile): string {
  let ignored = '';
  try {
    const objects = objectsOf(file, (fault) => (ignored = `${stringifyJson({ ignored: fault })}\n`));
    return objects.map((object) => `${stringifyJson({ object: object as unknown as Json })}\n`).join('') + ignored;
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return `${stringifyJson({ failure: error.message })}\n`;
  }
}

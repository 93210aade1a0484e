import { isObject, own, parseJson, parseYamlDocuments, stringifyJson, yieldToLoop } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { isBig, ownThreadBytes } from '../command/parse-process.ts';
import type { ParseProcess } from '../command/parse-process.ts';
import { ManifestError, SizeLimitExceeded } from '../errors.ts';
import { objectsOf } from './documents.ts';
import type { ManifestFile } from './documents.ts';

/** What one map of metadata (a Chart.yaml, a kustomization) may have: it is always read on this thread. */
const smallBytes = 256 * 1024;

/**
 * Reads files of manifests. Reading YAML costs a microsecond for each byte, so that what a repository may hold would stop a replica for ten
 * seconds: big files are read by a process of their own, with a deadline, and come back as one line of JSON for each object.
 */
export class ManifestReader {
  readonly #process: ParseProcess | undefined;

  /** Without a process, big files are read here, which holds the loop up. */
  constructor(process?: ParseProcess) {
    this.#process = process;
  }

  /** As {@link objectsOf}. @throws ManifestError, also when reading takes too long or too much memory; the reason of `signal` */
  async objectsOf(file: ManifestFile, signal: AbortSignal): Promise<readonly KubeObject[]> {
    if (this.#process === undefined || !isBig(file.content)) return objectsOf(file);
    const { path, name, strict, content } = file;
    const head = { path, name, strict: strict === true };
    return parsed(await this.#process.ask({ head, content }, (why, cause) => fault(file, why, cause), signal), signal);
  }
}

function fault(file: ManifestFile, why: string, cause?: unknown): ManifestError {
  return new ManifestError(`Failed to unmarshal "${file.path}": ${why}; split it into smaller files`, cause);
}

async function parsed(stdout: Uint8Array, signal: AbortSignal): Promise<readonly KubeObject[]> {
  const bytes = Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength);
  const objects: KubeObject[] = [];
  let sinceTurn = 0;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf('\n', from);
    const line = parseJson(bytes.toString('utf8', from, end));
    const failure = isObject(line) ? own(line, 'failure') : undefined;
    if (typeof failure === 'string') throw new ManifestError(failure);
    objects.push((isObject(line) ? own(line, 'object') : undefined) as unknown as KubeObject);
    sinceTurn += end - from;
    from = end + 1;
    if (sinceTurn < ownThreadBytes) continue;
    sinceTurn = 0;
    await yieldToLoop();
    signal.throwIfAborted();
  }
  return objects;
}

/** The work of the program: a line of JSON for each object. A fault of the file is an answer. */
export function answerOf(file: ManifestFile): string {
  try {
    return objectsOf(file)
      .map((object) => `${stringifyJson({ object: object as unknown as Json })}\n`)
      .join('');
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return `${stringifyJson({ failure: error.message })}\n`;
  }
}

/**
 * The documents of a file that is small by its nature: a Chart.yaml, a kustomization, parameters of a source.
 * @throws SizeLimitExceeded for one that is not; YamlSyntaxError
 */
export function parseSmallYaml(text: string): Json[] {
  if (text.length > smallBytes)
    throw new SizeLimitExceeded(`it has ${text.length} characters, and at most ${smallBytes} are read`);
  return parseYamlDocuments(text);
}

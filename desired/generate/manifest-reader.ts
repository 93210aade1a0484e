import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { isObject, Limiter, own, parseJson, parseYamlDocuments, stringifyJson, yieldToLoop } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { CommandError, ManifestError, SizeLimitExceeded } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { objectsOf } from './documents.ts';
import type { ManifestFile } from './documents.ts';

export interface ManifestReaderDeps {
  readonly commands: CommandRunner;
  readonly limits: DesiredLimits;
  /** The program that reads big files (`parse-main.js`); without it they are read here, which holds the loop up. */
  readonly program?: string;
}

/** The built program. */
export const manifestParser = fileURLToPath(new URL('../parse-main.js', import.meta.url));

/** What is read on this thread: at worst a tenth of a second, and starting a process for it would take as long. */
const ownThreadBytes = 128 * 1024;
/** A merge copies maps: a text with merges may cost a hundred times as much as one without. */
const withMergesBytes = 8 * 1024;
/** What one map of metadata (a Chart.yaml, a kustomization) may have: it is always read on this thread. */
const smallBytes = 256 * 1024;
const parallelism = 2;

/**
 * Reads files of manifests. Reading YAML costs a microsecond for each byte, so that what a repository may hold would stop a replica for ten
 * seconds: big files are read by a process of their own, with a deadline, and come back as one line of JSON for each object.
 */
export class ManifestReader {
  readonly #deps: ManifestReaderDeps;
  readonly #running = new Limiter(parallelism);

  constructor(deps: ManifestReaderDeps) {
    this.#deps = deps;
  }

  /** As {@link objectsOf}. @throws ManifestError, also when reading takes too long or too much memory; the reason of `signal` */
  async objectsOf(file: ManifestFile, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const { program } = this.#deps;
    if (program === undefined || !isBig(file.content)) return objectsOf(file);
    const { stdout, exitCode } = await this.#running.run(signal, () => this.#read(file, program, signal));
    if (exitCode !== 0) throw fault(file, `the process that reads it ended with exit status ${exitCode ?? 'none'}`);
    return parsed(stdout, signal);
  }

  async #read(file: ManifestFile, program: string, signal: AbortSignal): Promise<CommandResult> {
    const { path, name, strict, content } = file;
    const head = Buffer.from(`${stringifyJson({ path, name, strict: strict === true })}\n`);
    const { limits, commands } = this.#deps;
    try {
      return await commands.runCommand([execPath, '--max-old-space-size=1024', program], {
        stdin: Buffer.concat([head, content]),
        timeoutMs: limits.parseTimeoutMs,
        maxBytes: limits.maxToolBytes,
        maxMemoryBytes: limits.maxToolMemoryBytes,
        signal,
      });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const limit = tooMuch(error, limits);
      if (limit === undefined) throw error;
      throw fault(file, limit, error);
    }
  }
}

function isBig(content: Uint8Array): boolean {
  if (content.length > ownThreadBytes) return true;
  return content.length > withMergesBytes && Buffer.from(content).includes('<<');
}

function tooMuch({ code }: CommandError, limits: DesiredLimits): string | undefined {
  if (code === 'COMMAND_TIMEOUT') return `reading it takes longer than ${limits.parseTimeoutMs / 1000} s`;
  if (code === 'COMMAND_OUTPUT') return `unfolded it has more than ${limits.maxToolBytes} bytes`;
  if (code === 'COMMAND_MEMORY') return `reading it takes more than ${limits.maxToolMemoryBytes} bytes of memory`;
  return undefined;
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

/**
 * The work of the program: what it is sent (a line of JSON about the file, then its content), and what it answers.
 * A fault of the file is an answer.
 */
export function answerOf(input: Uint8Array): string {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const end = bytes.indexOf('\n');
  const head = JSON.parse(bytes.toString('utf8', 0, end)) as Omit<ManifestFile, 'content'>;
  try {
    const objects = objectsOf({ ...head, content: bytes.subarray(end + 1) });
    return objects.map((object) => `${stringifyJson({ object: object as unknown as Json })}\n`).join('');
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

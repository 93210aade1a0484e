import type { CommandResult } from '../command/types.ts';
import { BrokenProtocol } from './frames.ts';
import type { RenderLink, RenderProgram, RenderRequest, RenderStep } from './types.ts';

/** The version of frames and messages, raised with each incompatible change. */
export const protocolVersion = 1;

/** The first message of each side. */
export interface RendererHello {
  readonly protocol: number;
  /** The program's version. The controller caches parsed files by it. */
  readonly version: string;
  /** Identifies the renderer's process: a new one may have other programs. '' from a client. */
  readonly instance: string;
}

/** The header of a render. Its bytes follow: the files, then the input of each step. */
export interface RenderHeader {
  readonly ask: 'render';
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly links: readonly RenderLink[];
  readonly steps: readonly (Omit<RenderStep, 'stdin'> & { readonly stdinBytes: number })[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly maxMemoryBytes: number;
}

export interface VersionHeader {
  readonly ask: 'version';
  readonly program: RenderProgram;
  readonly binary: string | null;
}

/** Checks only that the renderer answers. */
export interface CheckHeader {
  readonly ask: 'check';
}

export type RequestHeader = RenderHeader | VersionHeader | CheckHeader;

/** The header of a result. The output of each step follows as bytes. */
export interface ResultHeader {
  readonly steps: readonly (Omit<CommandResult, 'stdout'> & { readonly stdoutBytes: number })[];
  readonly version?: string | null;
}

/** The code and message of the error that replaces a result. */
export interface FailureMessage {
  readonly code: string;
  readonly message: string;
}

/** The maximum size of a request's JSON. */
export const maxHeaderBytes = 32 * 1024 * 1024;

/**
 * The maximum size of a result's JSON: for each step 64 KiB of text, each byte of which may take
 * six in JSON. Parsed JSON takes many times its size, and a tenant may have taken over the renderer
 * that sends it.
 */
export function maxResultBytes(steps: number): number {
  return (steps + 1) * 512 * 1024;
}

export function headerOf(request: RenderRequest): RenderHeader {
  return {
    ask: 'render',
    files: request.files.map(({ path, content }) => ({ path, bytes: content.length })),
    links: request.links,
    steps: request.steps.map(({ stdin, ...step }) => ({ ...step, stdinBytes: stdin?.length ?? 0 })),
    timeoutMs: request.timeoutMs,
    maxOutputBytes: request.maxOutputBytes,
    maxMemoryBytes: request.maxMemoryBytes,
  };
}

/** @throws BrokenProtocol */
export function readHello(payload: Buffer): RendererHello {
  const hello = readJson(payload) as Partial<RendererHello> | null;
  if (typeof hello?.protocol !== 'number' || typeof hello.version !== 'string')
    throw new BrokenProtocol('the hello message cannot be read');
  const instance = typeof hello.instance === 'string' ? hello.instance : '';
  return { protocol: hello.protocol, version: hello.version, instance };
}

/** @throws BrokenProtocol for anything but the header of a request */
export function readRequest(payload: Buffer): RequestHeader {
  const header = readJson(payload) as Partial<RequestHeader> | null;
  if (header?.ask === 'check') return { ask: 'check' };
  if (header?.ask === 'version' && isProgram(header.program))
    return { ask: 'version', program: header.program, binary: textOrNull(header.binary) };
  if (header?.ask !== 'render' || !isRenderHeader(header)) throw new BrokenProtocol('a request cannot be read');
  return header;
}

/** @throws BrokenProtocol for anything but a result of at most `mostSteps` steps */
export function readResult(payload: Buffer, mostSteps: number): ResultHeader {
  const result = readJson(payload) as Partial<ResultHeader> | null;
  const { steps, version } = result ?? {};
  if (!Array.isArray(steps) || steps.length > mostSteps || !steps.every(isResultStep))
    throw new BrokenProtocol('a result cannot be read');
  return { steps: steps as ResultHeader['steps'], ...(version === undefined ? {} : { version: textOrNull(version) }) };
}

/** @throws BrokenProtocol */
export function readFailure(payload: Buffer): FailureMessage {
  const failure = readJson(payload) as Partial<FailureMessage> | null;
  if (typeof failure?.code !== 'string' || typeof failure.message !== 'string')
    throw new BrokenProtocol('a failure cannot be read');
  return { code: failure.code, message: failure.message };
}

function readJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'));
  } catch {
    throw new BrokenProtocol('a message is not JSON');
  }
}

function isRenderHeader(header: Partial<RenderHeader>): header is RenderHeader {
  const { files, links, steps, timeoutMs, maxOutputBytes, maxMemoryBytes } = header;
  return (
    listOf(files, (file) => isText(file['path']) && isCount(file['bytes'])) &&
    listOf(links, (link) => isText(link['path']) && isText(link['target'])) &&
    listOf(steps, isStep) &&
    [timeoutMs, maxOutputBytes, maxMemoryBytes].every(isCount)
  );
}

function isStep(step: Readonly<Record<string, unknown>>): boolean {
  const { program, binary, args, cwd, env, stdinBytes, withHelm } = step;
  return (
    isProgram(program) &&
    (binary === undefined || isText(binary)) &&
    Array.isArray(args) &&
    args.every(isText) &&
    isText(cwd) &&
    isCount(stdinBytes) &&
    (withHelm === undefined || typeof withHelm === 'boolean') &&
    (env === undefined || (typeof env === 'object' && env !== null && Object.values(env).every(isText)))
  );
}

function isResultStep(step: unknown): boolean {
  if (typeof step !== 'object' || step === null) return false;
  const { exitCode, stderr, stdoutBytes } = step as Readonly<Record<string, unknown>>;
  return (exitCode === null || isCount(exitCode)) && isText(stderr) && isCount(stdoutBytes);
}

function listOf(value: unknown, isGood: (entry: Readonly<Record<string, unknown>>) => boolean): boolean {
  return (
    Array.isArray(value) &&
    value.every((entry) => typeof entry === 'object' && entry !== null && isGood(entry as Record<string, unknown>))
  );
}

function isProgram(value: unknown): value is RenderProgram {
  return value === 'helm' || value === 'kustomize' || value === 'jsonnet' || value === 'parse';
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

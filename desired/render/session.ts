import type { Duplex } from 'node:stream';
import { DeadlineExceeded, messageOf, withDeadline } from '#base';
import type { Clock, RandomSource } from '#base';
import type { CommandResult } from '../command/types.ts';
import { CommandError, RendererUnavailable, UnsafeInput } from '../errors.ts';
import type { CommandErrorCode } from '../errors.ts';
import { BrokenProtocol, chunkBytes, FramePieces, framesOf, frameTypes, FrameWriter } from './frames.ts';
import type { RenderFrame } from './frames.ts';
import { maxResultBytes, protocolVersion, readFailure, readHello, readResult } from './messages.ts';
import type { FailureMessage, RendererHello, RequestHeader, ResultHeader } from './messages.ts';

export interface SessionDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The version of this program. */
  readonly version: string;
}

/** A request to send. */
export interface SessionRequest {
  readonly header: RequestHeader;
  readonly parts: readonly Uint8Array[];
  readonly maxOutputBytes: number;
  /** The deadline of the whole answer. */
  readonly limitMs: number;
}

export interface SessionResult {
  readonly steps: readonly CommandResult[];
  readonly version: string | null | undefined;
}

const helloLimitMs = 10_000;

/**
 * The client's side of one connection. It multiplexes any number of requests. A protocol error
 * closes the connection and fails all of them with RendererUnavailable.
 */
export class RenderSession {
  readonly #stream: Duplex;
  readonly #deps: SessionDeps;
  readonly #writer: FrameWriter;
  readonly #pending = new Map<number, PendingAnswer>();
  /** Abandoned requests whose answer the renderer has not finished yet. */
  readonly #abandoned = new Set<number>();
  readonly #hello: Promise<RendererHello>;
  #lastId: number;
  #failure: Error | undefined;
  #onHello: { resolve(hello: RendererHello): void; reject(error: Error): void } | undefined;

  constructor(stream: Duplex, deps: SessionDeps) {
    this.#stream = stream;
    this.#deps = deps;
    this.#writer = new FrameWriter(stream);
    this.#lastId = Math.floor(deps.random.next() * 0x7fff_0000);
    this.#hello = new Promise((resolve, reject) => {
      this.#onHello = { resolve, reject };
    });
    this.#hello.catch(() => undefined);
    stream.on('error', () => undefined);
    const { version } = deps;
    void this.#writer.sendJson(frameTypes.hello, 0, { protocol: protocolVersion, version, instance: '' });
    void this.#read();
  }

  /** Whether requests can still be sent. */
  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  /**
   * The renderer's hello message, validated.
   * @throws RendererUnavailable; the reason of `signal`
   */
  async hello(signal: AbortSignal): Promise<RendererHello> {
    return this.#within(helloLimitMs, 'greeting the renderer', signal, () => this.#hello);
  }

  /** @throws CommandError, UnsafeInput, RendererUnavailable; the reason of `signal` */
  async ask(request: SessionRequest, signal: AbortSignal): Promise<SessionResult> {
    await this.hello(signal);
    if (this.#failure !== undefined) throw this.#failure;
    this.#lastId = (this.#lastId % 0xffff_fff0) + 1;
    const id = this.#lastId;
    const answer = new PendingAnswer(request);
    this.#pending.set(id, answer);
    try {
      return await this.#within(request.limitMs, 'the answer of the renderer', signal, async (inner) => {
        void this.#send(id, request, () => inner.aborted || answer.isOver);
        return answer.result;
      });
    } finally {
      this.#pending.delete(id);
      if (!answer.isOver) this.#abandon(id);
    }
  }

  /** Closes the connection, which kills the programs of all its requests. */
  close(): void {
    this.#fail(new RendererUnavailable('the connection was closed'));
  }

  async #send(id: number, { header, parts }: SessionRequest, isOver: () => boolean): Promise<void> {
    const writer = this.#writer;
    await writer.sendJson(frameTypes.request, id, header);
    for (const batch of batchesOf(parts)) await writer.sendAll(frameTypes.data, id, batch, isOver);
    if (!isOver()) await writer.send(frameTypes.end, id);
  }

  #abandon(id: number): void {
    if (this.#failure !== undefined) return;
    this.#abandoned.add(id);
    void this.#writer.send(frameTypes.abort, id);
  }

  async #within<T>(
    limitMs: number,
    what: string,
    signal: AbortSignal,
    body: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await withDeadline(signal, { clock: this.#deps.clock, limitMs, what }, body);
    } catch (error) {
      if (signal.aborted || !(error instanceof DeadlineExceeded)) throw error;
      const unavailable = new RendererUnavailable(`${messageOf(error)}; giving up on it`, error);
      // The next request must not go to a renderer that hangs.
      this.#fail(unavailable);
      throw unavailable;
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const frame of framesOf(this.#stream)) this.#take(frame);
      this.#fail(new RendererUnavailable('it closed the connection before it answered'));
    } catch (error) {
      if (error instanceof RendererUnavailable) this.#fail(error);
      else if (error instanceof BrokenProtocol)
        this.#fail(new RendererUnavailable(`its answer cannot be read: ${error.message}`, error));
      else this.#fail(new RendererUnavailable(`the connection broke: ${messageOf(error)}`, error));
    }
  }

  #take(frame: RenderFrame): void {
    const { id, type, payload } = frame;
    if (this.#onHello !== undefined) {
      this.#takeHello(frame);
      return;
    }
    if (id === 0 && type === frameTypes.failure) throw new RendererUnavailable(readFailure(payload).message);
    const answer = this.#pending.get(id);
    if (answer === undefined) {
      if (!this.#abandoned.has(id)) throw new BrokenProtocol('it answered an unknown request');
      if (type === frameTypes.end || type === frameTypes.failure) this.#abandoned.delete(id);
      return;
    }
    answer.take(frame);
    if (answer.isOver) this.#pending.delete(id);
  }

  #takeHello({ id, type, payload }: RenderFrame): void {
    if (id === 0 && type === frameTypes.failure) throw new RendererUnavailable(readFailure(payload).message);
    if (id !== 0 || type !== frameTypes.hello) throw new BrokenProtocol('it sent no hello message');
    const hello = readHello(payload);
    const { version } = this.#deps;
    const problem = versionMismatch(hello, version);
    if (problem !== undefined) throw new RendererUnavailable(problem);
    this.#onHello?.resolve(hello);
    this.#onHello = undefined;
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#onHello?.reject(error);
    for (const answer of this.#pending.values()) answer.fail(error);
    this.#pending.clear();
    this.#stream.destroy();
  }
}

/** Joins small parts: a frame for each of a thousand small files would cost more than copying. */
function* batchesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    batch.push(part);
    bytes += part.length;
    if (bytes < chunkBytes) continue;
    yield batch.length === 1 ? part : Buffer.concat(batch, bytes);
    [batch, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(batch, bytes);
}

/** Describes a version mismatch; undefined if the versions match. */
export function versionMismatch({ protocol, version }: RendererHello, own: string): string | undefined {
  if (protocol === protocolVersion && version === own) return undefined;
  return (
    `it runs version ${version} with protocol ${protocol}, and the controller runs version ${own} with protocol ` +
    `${protocolVersion}: give both the same image`
  );
}

/** The received part of one answer. */
class PendingAnswer {
  readonly result: Promise<SessionResult>;
  isOver = false;
  readonly #request: SessionRequest;
  readonly #head = new FramePieces();
  readonly #output = new FramePieces();
  #resolve: (result: SessionResult) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(request: SessionRequest) {
    this.#request = request;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.result.catch(() => undefined);
  }

  /** @throws BrokenProtocol, which also rejects the result */
  take({ type, payload }: RenderFrame): void {
    switch (type) {
      case frameTypes.result:
        this.#head.push(payload, maxResultBytes(this.#steps()), 'a result is too long');
        return;
      case frameTypes.data:
        this.#output.push(payload, this.#mostOutput(), 'it sent more output than allowed');
        return;
      case frameTypes.end:
        this.#finish(readResult(this.#head.join(), this.#steps()));
        return;
      case frameTypes.failure:
        this.fail(errorOf(readFailure(payload)));
        return;
      default:
        throw new BrokenProtocol(`it sent a frame of type ${type}`);
    }
  }

  fail(error: Error): void {
    this.isOver = true;
    this.#reject(error);
  }

  #finish({ steps, version }: ResultHeader): void {
    const output = this.#output.join();
    if (steps.reduce((sum, { stdoutBytes }) => sum + stdoutBytes, 0) !== output.length)
      throw new BrokenProtocol('its output does not have the announced length');
    let from = 0;
    const results = steps.map(({ exitCode, stderr, stdoutBytes }): CommandResult => {
      const stdout = output.subarray(from, from + stdoutBytes);
      from += stdoutBytes;
      return { exitCode, stderr, stdout };
    });
    this.isOver = true;
    this.#resolve({ steps: results, version });
  }

  #steps(): number {
    const { header } = this.#request;
    return header.ask === 'render' ? header.steps.length : 0;
  }

  #mostOutput(): number {
    return this.#steps() * this.#request.maxOutputBytes;
  }
}

const commandCodes: ReadonlySet<string> = new Set<CommandErrorCode>([
  'COMMAND_NOT_FOUND',
  'COMMAND_TIMEOUT',
  'COMMAND_OUTPUT',
  'COMMAND_MEMORY',
  'COMMAND_DISK',
  'COMMAND_FAILED',
]);

function errorOf({ code, message }: FailureMessage): Error {
  if (commandCodes.has(code)) return new CommandError(code as CommandErrorCode, message);
  if (code === 'DESIRED_UNSAFE') return new UnsafeInput(message);
  return new RendererUnavailable(message);
}

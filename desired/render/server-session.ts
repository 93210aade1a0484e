import type { Duplex } from 'node:stream';
import { DriftlessError, messageOf, newAbortController, Shutdown } from '#base';
import { BrokenProtocol, FramePieces, framesOf, frameTypes, FrameWriter } from './frames.ts';
import type { RenderFrame } from './frames.ts';
import { maxHeaderBytes, protocolVersion, readHello, readRequest } from './messages.ts';
import type { RenderHeader, RequestHeader } from './messages.ts';
import { versionMismatch } from './session.ts';
import type { RenderService, StagedRequest } from './service.ts';

export interface ServerSessionDeps {
  readonly service: RenderService;
  readonly version: string;
  readonly instance: string;
  /** The maximum bytes of one request: files and input together. */
  readonly maxRequestBytes: number;
}

/**
 * The renderer's side of one connection. When the connection closes, the programs of its requests
 * are killed. Files go to disk as they arrive, so that a big request takes no memory. Resolves when
 * everything of the connection is removed.
 */
export async function serveSession(stream: Duplex, deps: ServerSessionDeps): Promise<void> {
  stream.on('error', () => undefined);
  const session = new ServerSession(stream, deps);
  try {
    for await (const frame of framesOf(stream)) await session.take(frame);
    stream.destroy();
  } catch (error) {
    await session.refuse(error);
    stream.end(() => stream.destroy());
  } finally {
    await session.close();
  }
}

class ServerSession {
  readonly #deps: ServerSessionDeps;
  readonly #writer: FrameWriter;
  readonly #requests = new Map<number, IncomingRequest>();
  readonly #running = new Set<Promise<void>>();
  #isGreeted = false;

  constructor(stream: Duplex, deps: ServerSessionDeps) {
    this.#deps = deps;
    this.#writer = new FrameWriter(stream);
  }

  /** @throws BrokenProtocol */
  async take(frame: RenderFrame): Promise<void> {
    if (!this.#isGreeted) return this.#greet(frame);
    const { id, type } = frame;
    if (type === frameTypes.request && !this.#requests.has(id)) this.#requests.set(id, new IncomingRequest(this.#deps));
    const request = this.#requests.get(id);
    // These frames were in flight when the request failed.
    if (request === undefined) return;
    if (type === frameTypes.abort) {
      this.#abort(id, request);
      return;
    }
    try {
      const isComplete = await request.take(frame);
      if (isComplete) this.#start(id, request);
    } catch (error) {
      if (error instanceof BrokenProtocol) throw error;
      await this.#fail(id, request, error);
    }
  }

  /** Sends the client the reason why reading stops. */
  async refuse(error: unknown): Promise<void> {
    const message =
      error instanceof BrokenProtocol ? `it could not read the request: ${error.message}` : messageOf(error);
    await this.#writer.sendJson(frameTypes.failure, 0, { code: 'DESIRED_RENDERER', message });
  }

  async close(): Promise<void> {
    const reason = new Shutdown('the client closed the connection');
    for (const request of this.#requests.values()) request.abort(reason);
    for (const request of this.#requests.values()) await request.discard();
    await Promise.all(this.#running);
  }

  async #greet({ id, type, payload }: RenderFrame): Promise<void> {
    if (id !== 0 || type !== frameTypes.hello) throw new BrokenProtocol('the client sent no hello message');
    const { version, instance } = this.#deps;
    await this.#writer.sendJson(frameTypes.hello, 0, { protocol: protocolVersion, version, instance });
    // The client detects the same mismatch, and reports what to do about it.
    if (versionMismatch(readHello(payload), version) !== undefined)
      throw new BrokenProtocol('the client has another version');
    this.#isGreeted = true;
  }

  #abort(id: number, request: IncomingRequest): void {
    request.abort(new Shutdown('the client left'));
    if (!request.isStarted) this.#start(id, request);
  }

  #start(id: number, request: IncomingRequest): void {
    const work = this.#answer(id, request).catch(() => undefined);
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #answer(id: number, request: IncomingRequest): Promise<void> {
    const writer = this.#writer;
    try {
      const { steps, version } = await request.run();
      const shown = steps.map(({ stdout, ...step }) => ({ ...step, stdoutBytes: stdout.length }));
      await writer.sendJson(frameTypes.result, id, { steps: shown, ...(version === undefined ? {} : { version }) });
      for (const { stdout } of steps) await writer.sendAll(frameTypes.data, id, stdout, () => request.signal.aborted);
      await writer.send(frameTypes.end, id);
    } catch (error) {
      await writer.sendJson(frameTypes.failure, id, failureOf(error));
    } finally {
      this.#requests.delete(id);
      await request.discard();
    }
  }

  async #fail(id: number, request: IncomingRequest, error: unknown): Promise<void> {
    this.#requests.delete(id);
    await request.discard();
    await this.#writer.sendJson(frameTypes.failure, id, failureOf(error));
  }
}

/** A request that arrives or runs. */
class IncomingRequest {
  readonly #deps: ServerSessionDeps;
  readonly #stop = newAbortController();
  readonly #head = new FramePieces();
  #header: RequestHeader | undefined;
  #staged: StagedRequest | undefined;
  isStarted = false;

  constructor(deps: ServerSessionDeps) {
    this.#deps = deps;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** True when the request is complete. @throws BrokenProtocol, and the errors of staging */
  async take({ type, payload }: RenderFrame): Promise<boolean> {
    if (this.isStarted) throw new BrokenProtocol('a request continues after its end');
    if (type === frameTypes.request) {
      if (this.#header !== undefined) throw new BrokenProtocol('a request has a second header');
      this.#head.push(payload, maxHeaderBytes, 'the header of a request is too long');
      return false;
    }
    if (type !== frameTypes.data && type !== frameTypes.end) throw new BrokenProtocol(`unexpected frame type ${type}`);
    await this.#open();
    if (type === frameTypes.data) {
      if (this.#staged === undefined) throw new BrokenProtocol('received bytes that belong to no announced file');
      this.#staged.write(payload);
      return false;
    }
    this.#staged?.complete();
    return true;
  }

  async run(): Promise<Awaited<ReturnType<StagedRequest['run']>> & { readonly version?: string | null }> {
    this.isStarted = true;
    this.signal.throwIfAborted();
    const header = this.#header;
    if (header?.ask === 'version') {
      const version = await this.#deps.service.version(header.program, header.binary ?? undefined, this.signal);
      return { steps: [], version: version ?? null };
    }
    if (this.#staged === undefined) return { steps: [] };
    return this.#staged.run(this.signal);
  }

  abort(reason: Error): void {
    this.#stop.abort(reason);
  }

  async discard(): Promise<void> {
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.remove();
  }

  async #open(): Promise<void> {
    if (this.#header !== undefined) return;
    const header = readRequest(this.#head.join());
    this.#header = header;
    if (header.ask !== 'render') return;
    const bytes = sizeOf(header);
    if (bytes > this.#deps.maxRequestBytes)
      throw new DriftlessError(
        'DESIRED_RENDERER',
        `the request has ${bytes} bytes, more than the maximum of ${this.#deps.maxRequestBytes}: raise --max-request-bytes of the renderer`,
      );
    this.#staged = await this.#deps.service.stage(header);
  }
}

function sizeOf({ files, steps }: RenderHeader): number {
  return [...files.map(({ bytes }) => bytes), ...steps.map(({ stdinBytes }) => stdinBytes)].reduce((a, b) => a + b, 0);
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (isDiskFull(error))
    return { code: 'DESIRED_RENDERER', message: 'the disk of its staging folder is full: give it more space' };
  const code = error instanceof DriftlessError ? error.code : 'DESIRED_RENDERER';
  return { code, message: messageOf(error) };
}

function isDiskFull(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

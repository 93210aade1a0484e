import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createSecureServer } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { stringifyJson } from '#base';
import type { Json } from '#base';
import type { TlsIdentity } from './self-signed.ts';

/** One request as it arrived, and ways to answer it properly, badly, or not at all. */
export class Turn {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly httpVersion: string;
  readonly #response: ServerResponse | Http2ServerResponse;
  #closed = false;

  constructor(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    body: string,
  ) {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    this.method = request.method ?? '';
    this.path = path;
    this.query = new URLSearchParams(query);
    this.headers = request.headers;
    this.body = body;
    this.httpVersion = request.httpVersion;
    this.#response = response;
    response.once('close', () => (this.#closed = true));
  }

  /** Responds at once. A string is sent as it is, anything else as JSON. */
  reply(status: number, body: Json, headers: Readonly<Record<string, string>> = {}): void {
    const text = typeof body === 'string' ? body : stringifyJson(body);
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.#response.end(text);
  }

  status(code: number, reason: string, message: string, headers: Readonly<Record<string, string>> = {}): void {
    this.reply(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, headers);
  }

  /** Sends only the headers: a watch starts, or the body follows in pieces. */
  begin(status = 200, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    // The headers are flushed only with the first write; an empty line is not an event.
    if ('flushHeaders' in this.#response) this.#response.flushHeaders();
  }

  /** Does nothing if the client has disconnected. */
  write(bytes: string | Uint8Array): void {
    if (this.#closed) return;
    (this.#response as ServerResponse).write(bytes);
  }

  /** Whether the client reads too slowly: what is written now stays in memory. */
  get isFull(): boolean {
    return (this.#response as ServerResponse).writableNeedDrain;
  }

  event(type: string, object: Json): void {
    this.write(`${stringifyJson({ type, object })}\n`);
  }

  end(): void {
    this.#response.end();
  }

  /** Breaks the connection (HTTP/2: the stream). */
  reset(): void {
    if ('stream' in this.#response) this.#response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (this.#response.socket instanceof TLSSocket) this.#response.socket.destroy();
    else this.#response.socket?.resetAndDestroy();
  }

  /** The exchange has ended, by either side. */
  get closed(): boolean {
    return this.#closed;
  }
}

export interface ScriptedServerOptions {
  /** Plain HTTP if missing. */
  readonly tls?: TlsIdentity;
  /** With TLS: offer HTTP/2 besides HTTP/1.1. */
  readonly http2?: boolean;
}

/** A server that follows a test's script and records requests. Listens on 127.0.0.1 only. */
export class ScriptedServer {
  /** Every request, in order of arrival. */
  readonly turns: Turn[] = [];
  /** Connections accepted so far. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #scheme: string;

  private constructor(play: (turn: Turn) => void, options: ScriptedServerOptions) {
    const handle = (
      request: IncomingMessage | Http2ServerRequest,
      response: ServerResponse | Http2ServerResponse,
    ): void => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('error', () => undefined);
      request.on('end', () => {
        const turn = new Turn(request, response, Buffer.concat(parts).toString('utf8'));
        this.turns.push(turn);
        play(turn);
      });
    };
    this.#scheme = options.tls === undefined ? 'http' : 'https';
    this.#server = this.#create(handle, options);
    this.#server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(play: (turn: Turn) => void, options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
    const server = new ScriptedServer(play, options);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `${this.#scheme}://127.0.0.1:${port}`;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** Sends HTTP/2 GOAWAY to all: graceful (running streams may finish) or with an error. */
  goaway(code: number = constants.NGHTTP2_NO_ERROR): void {
    for (const session of this.#sessions) session.goaway(code);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #create(
    handle: (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => void,
    options: ScriptedServerOptions,
  ): Server {
    if (options.tls === undefined) return createServer(handle);
    if (options.http2 !== true) return createHttpsServer({ ...options.tls }, handle);
    const server = createSecureServer({ ...options.tls, allowHTTP1: true }, handle);
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => undefined);
      session.once('close', () => this.#sessions.delete(session));
    });
    return server;
  }
}

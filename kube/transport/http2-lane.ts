import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { abortable, defined } from '#base';
import type { Clock, ClockTimer } from '#base';
import { SingleFlight } from '../single-flight.ts';
import type { HttpRequest, HttpResponse, TlsOptions } from './http-types.ts';
import type { SocksTunnels } from './socks.ts';

const streamsPerSession = 100;
const streamWindowBytes = 1024 * 1024;
const sessionWindowBytes = 16 * 1024 * 1024;
const pingEveryMs = 30_000;
const pingAnswerMs = 15_000;

export interface Http2LaneOptions {
  readonly tls: TlsOptions;
  readonly connectMs: number;
  readonly tlsHandshakeMs: number;
  readonly clock: Clock;
  /** Opens connections through a proxy, instead of direct ones. */
  readonly tunnels: SocksTunnels | undefined;
}

/**
 * Long-lived requests over few HTTP/2 connections (measured: 22 KB instead of 115 KB per idle
 * watch). A session that receives GOAWAY finishes its streams while new ones use a new session; a
 * session that does not answer a ping in time is dead, whatever TCP reports (within 45 s, as in
 * client-go).
 */
export class Http2Lane {
  readonly #server: URL;
  readonly #options: Http2LaneOptions;
  readonly #clock: Clock;
  readonly #sessions = new Set<LaneSession>();
  readonly #dialing = new SingleFlight<LaneSession | undefined>();
  #unsupported = false;

  constructor(server: string, options: Http2LaneOptions) {
    this.#server = new URL(server);
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Undefined if the server does not offer HTTP/2, which is remembered. */
  async open(request: HttpRequest): Promise<HttpResponse | undefined> {
    // A session may fill up or close between selection and use.
    for (let attempt = 0; !this.#unsupported && attempt < 10; attempt += 1) {
      const session = this.#free() ?? (await this.#dialing.run(request.signal, (signal) => this.#dial(signal)));
      const stream = session?.open(request);
      if (stream !== undefined) return answerOf(stream, request.signal);
    }
    return undefined;
  }

  /** Opens no new streams; sessions end with their last stream. */
  close(): Promise<void> {
    return Promise.all([...this.#sessions].map((session) => session.close())).then(() => undefined);
  }

  destroy(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#sessions.clear();
    return Promise.resolve();
  }

  #free(): LaneSession | undefined {
    for (const session of this.#sessions) if (session.hasRoom()) return session;
    return undefined;
  }

  async #dial(signal: AbortSignal): Promise<LaneSession | undefined> {
    const socket = await this.#connect(signal);
    if (socket.alpnProtocol !== 'h2') {
      socket.destroy();
      this.#unsupported = true;
      return undefined;
    }
    const session = new LaneSession(this.#server.origin, socket, this.#clock);
    this.#sessions.add(session);
    session.onEnd(() => this.#sessions.delete(session));
    return session;
  }

  async #connect(signal: AbortSignal): Promise<TLSSocket> {
    const { tls, connectMs, tlsHandshakeMs, tunnels } = this.#options;
    const tunnel = await tunnels?.open(signal, tls.keepAliveInitialDelay);
    const socket = this.#secured(tunnel);
    socket.setKeepAlive(tls.keepAlive, tls.keepAliveInitialDelay);
    socket.setNoDelay(true);
    const connected = new Promise<TLSSocket>((resolve, reject) => {
      socket.once('secureConnect', () => resolve(socket));
      socket.once('error', reject);
    });
    const limit = (ms: number): ClockTimer | undefined =>
      ms === 0 ? undefined : this.#clock.timer(ms, () => socket.destroy(connectTimeout()));
    let timer = limit(tunnel === undefined ? connectMs : tlsHandshakeMs);
    socket.once('connect', () => {
      timer?.cancel();
      timer = limit(tlsHandshakeMs);
    });
    try {
      return await abortable(connected, signal);
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      timer?.cancel();
      socket.removeAllListeners('connect');
    }
  }

  /** TLS in a tunnel, or over a direct connection. */
  #secured(tunnel: Socket | undefined): TLSSocket {
    const { ca, cert, key, secureContext, servername, rejectUnauthorized, lookup } = this.#options.tls;
    const host = this.#server.hostname.replace(/^\[|\]$/g, '');
    const name = servername ?? (/^[\d.]+$|:/.test(host) ? undefined : host);
    try {
      return connectTls({
        ...defined({ socket: tunnel, ca, cert, key, secureContext, servername: name, lookup }),
        rejectUnauthorized,
        host,
        port: Number(this.#server.port === '' ? 443 : this.#server.port),
        ALPNProtocols: ['h2', 'http/1.1'],
      });
    } catch (error) {
      // node:tls throws if it cannot read a certificate.
      tunnel?.destroy();
      throw error;
    }
  }
}

function connectTimeout(): Error {
  return Object.assign(new Error('connecting took too long'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
}

class LaneSession {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  #streams = 0;
  #ping: ClockTimer | undefined;
  #leaving = false;

  constructor(origin: string, socket: TLSSocket, clock: Clock) {
    this.#clock = clock;
    this.#session = connectHttp2(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(sessionWindowBytes));
    // Each stream reports the error to its own reader.
    this.#session.on('error', () => undefined);
    this.#session.once('goaway', () => {
      this.#leaving = true;
    });
    this.#session.once('close', () => this.#ping?.cancel());
    this.#schedulePing();
  }

  onEnd(listener: () => void): void {
    this.#session.once('close', listener);
  }

  hasRoom(): boolean {
    const limit = Math.min(streamsPerSession, this.#session.remoteSettings.maxConcurrentStreams ?? streamsPerSession);
    return !this.#leaving && !this.#session.closed && !this.#session.destroyed && this.#streams < limit;
  }

  open(request: HttpRequest): ClientHttp2Stream | undefined {
    if (!this.hasRoom()) return undefined;
    const stream = this.#session.request(
      { ...request.headers, ':method': request.method, ':path': request.path },
      { endStream: true },
    );
    this.#streams += 1;
    stream.once('close', () => {
      this.#streams -= 1;
    });
    return stream;
  }

  close(): Promise<void> {
    this.#leaving = true;
    return new Promise((resolve) => {
      if (this.#session.closed) resolve();
      else this.#session.close(resolve);
    });
  }

  destroy(): void {
    this.#ping?.cancel();
    this.#session.destroy();
  }

  #schedulePing(): void {
    this.#ping = this.#clock.timer(pingEveryMs, () => {
      if (this.#session.destroyed) return;
      const late = this.#clock.timer(pingAnswerMs, () =>
        this.#session.destroy(new Error('the server does not answer HTTP/2 pings')),
      );
      this.#ping = late;
      this.#session.ping(() => {
        late.cancel();
        if (!this.#session.destroyed) this.#schedulePing();
      });
    });
  }
}

async function answerOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<HttpResponse> {
  const cancel = (): void => {
    stream.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', cancel, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', cancel));
  // After the headers an error reaches the reader of the body; without a reader it must not end the
  // process.
  stream.on('error', () => undefined);
  const headers = await new Promise<IncomingHttpHeaders & { ':status'?: number }>((resolve, reject) => {
    stream.once('response', resolve);
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('the HTTP/2 stream was closed without an answer')));
    if (signal.aborted) cancel();
  });
  return { status: headers[':status'] ?? 0, headers, body: bodyOf(stream) };
}

async function* bodyOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk;
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR)
      throw new Error(`the HTTP/2 stream ended with code ${stream.rstCode}`);
  } finally {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
}

import { Agent, buildConnector, DecoratorHandler, ProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import { defined, messageOf, outsideText } from '#base';
import type { Clock } from '#base';
import type { ClusterConnection } from '#model';
import type { KubeClientLimits } from '../client-types.ts';
import type { Credential } from '../credentials/credentials.ts';
import type { ClientInstruments } from '../instruments/client-instruments.ts';
import { timedLookup } from '../instruments/timed-lookup.ts';
import { connectionError } from './connection-error.ts';
import { KubeConnectionError, KubeReadOnlyError } from '../errors.ts';
import type { HttpRequest, HttpResponse, RequestTransport, TlsOptions } from './http-types.ts';
import { Http2Lane } from './http2-lane.ts';
import { isSocks, SocksTunnels, upgradeSocket } from './socks.ts';
import { withSharedContext } from './tls-context.ts';

export interface TransportOptions extends Pick<
  KubeClientLimits,
  'connections' | 'http2' | 'connectMs' | 'tlsHandshakeMs' | 'keepAliveMs' | 'idleMs'
> {
  readonly clock: Clock;
  /** Send only GET requests. */
  readonly readOnly: boolean;
  readonly instruments?: ClientInstruments;
}

interface ConnectionLane {
  /** Text of the settings it was built from. If they change, a new lane is opened. */
  readonly key: string;
  /** The client certificate, in PEM. */
  readonly certificate: string | undefined;
  readonly calls: Dispatcher;
  readonly watches: Dispatcher;
  readonly http2: Http2Lane | undefined;
  /** Set if the connection uses a SOCKS proxy. */
  readonly tunnels: SocksTunnels | undefined;
}

/**
 * The connections to one server. Calls share a bounded set of keep-alive connections; watches have
 * their own, so that a flood of events cannot starve an apply. A new client certificate opens a new
 * lane; requests on the old one finish there.
 */
export class Transport implements RequestTransport {
  readonly #options: TransportOptions;
  #connection: ClusterConnection;
  #lane: ConnectionLane | undefined;
  /** Connection and credential of `#lane`: comparing them is faster than building its key. */
  #laneOwner: { readonly connection: ClusterConnection; readonly credential: Credential } | undefined;
  readonly #retired = new Set<ConnectionLane>();
  #closed = false;
  #address: { readonly server: string; readonly origin: string; readonly path: string } | undefined;

  constructor(connection: ClusterConnection, options: TransportOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  set connection(connection: ClusterConnection) {
    this.#connection = connection;
  }

  async call(request: HttpRequest, credential: Credential): Promise<HttpResponse> {
    const lane = this.#laneFor(credential);
    return this.#guarded(request, () => this.#dispatch(lane.calls, request, credential));
  }

  /** Like `call`, on the connections of watches: HTTP/2 if a TLS server offers it. */
  async watch(request: HttpRequest, credential: Credential): Promise<HttpResponse> {
    const lane = this.#laneFor(credential);
    return this.#guarded(request, async () => {
      const path = this.#base().path + request.path;
      const multiplexed = await lane.http2?.open({ ...request, path, headers: headersOf(request, credential) });
      return multiplexed ?? this.#dispatch(lane.watches, request, credential);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const lanes = [...this.#retired, ...(this.#lane === undefined ? [] : [this.#lane])];
    this.#lane = undefined;
    this.#retired.clear();
    for (const lane of lanes) {
      this.#options.instruments?.transportClosed();
      lane.tunnels?.destroy();
    }
    await Promise.all(
      lanes.flatMap((lane) => [
        lane.calls.destroy(),
        lane.watches.destroy(),
        lane.http2?.destroy() ?? Promise.resolve(),
      ]),
    );
  }

  async #guarded(request: HttpRequest, body: () => Promise<HttpResponse>): Promise<HttpResponse> {
    if (this.#options.readOnly && request.method !== 'GET')
      throw new KubeReadOnlyError(`${request.method} ${this.#connection.server}${request.path}`);
    try {
      const response = await body();
      return { ...response, body: this.#guardedBody(response.body, request.signal) };
    } catch (error) {
      throw this.#explained(error, request.signal);
    }
  }

  async *#guardedBody(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      throw this.#explained(error, signal);
    }
  }

  #explained(error: unknown, signal: AbortSignal): Error {
    if (signal.aborted) return signal.reason as Error;
    if (error instanceof RefusedSend) return error.cause;
    return connectionError(this.#connection.server, error);
  }

  async #dispatch(dispatcher: Dispatcher, request: HttpRequest, credential: Credential): Promise<HttpResponse> {
    const { origin, path } = this.#base();
    const sender = request.beforeSend === undefined ? dispatcher : dispatcher.compose(checkedBy(request.beforeSend));
    const answer = await sender.request({
      origin,
      path: path + request.path,
      method: request.method,
      headers: headersOf(request, credential),
      body: request.body ?? null,
      signal: request.signal,
      // We enforce deadlines ourselves, on our clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  }

  #base(): { readonly origin: string; readonly path: string } {
    const { server } = this.#connection;
    if (this.#address?.server !== server) {
      const url = new URL(server);
      this.#address = { server, origin: url.origin, path: url.pathname.replace(/\/+$/, '') };
    }
    return this.#address;
  }

  #laneFor(credential: Credential): ConnectionLane {
    if (this.#closed)
      throw new KubeConnectionError(this.#connection.server, 'this client is closed', undefined, { permanent: true });
    const owner = this.#laneOwner;
    const isSameOwner = owner?.connection === this.#connection && owner.credential === credential;
    if (this.#lane !== undefined && isSameOwner) return this.#lane;
    this.#laneOwner = { connection: this.#connection, credential };
    const key = laneKey(this.#connection, credential);
    if (this.#lane?.key === key) return this.#lane;
    const lane = this.#open(key, credential);
    this.#countOpened(this.#lane, lane);
    if (this.#lane !== undefined) this.#retire(this.#lane);
    this.#lane = lane;
    return lane;
  }

  #countOpened(before: ConnectionLane | undefined, { certificate }: ConnectionLane): void {
    const { instruments, clock } = this.#options;
    instruments?.transport((this.#connection.proxyUrl ?? '') === '' ? 'miss' : 'unreachable');
    instruments?.transportOpened();
    const old = before?.certificate;
    if (old !== undefined && certificate !== undefined && old !== certificate)
      instruments?.certificateRotated(old, clock.now());
  }

  #retire(lane: ConnectionLane): void {
    this.#retired.add(lane);
    const forget = (): void => {
      if (this.#retired.delete(lane)) this.#options.instruments?.transportClosed();
    };
    void Promise.all([lane.calls.close(), lane.watches.close(), lane.http2?.close()]).then(forget, forget);
  }

  #open(key: string, credential: Credential): ConnectionLane {
    const connection = this.#connection;
    const { clock, http2, connections, connectMs, tlsHandshakeMs, instruments } = this.#options;
    const lookup = instruments === undefined ? undefined : timedLookup(clock, instruments);
    const secure = connection.server.startsWith('https:');
    const plain = { ...tlsOptions(connection, credential, this.#options.keepAliveMs), ...defined({ lookup }) };
    const tls = secure ? withSharedContext(plain) : plain;
    const proxy = connection.proxyUrl ?? '';
    const tunnels = isSocks(proxy)
      ? new SocksTunnels(connection.server, proxy, { clock, timeoutMs: connectMs })
      : undefined;
    const agent = (most: number): Dispatcher =>
      dispatcherFor(connection, { ...this.#options, tls, tunnels, connections: most });
    // Through an HTTP proxy watches use HTTP/1.1.
    const multiplexed = http2 && secure && (proxy === '' || tunnels !== undefined);
    return {
      key,
      certificate: credential.tls?.cert.reveal(),
      calls: agent(connections),
      watches: agent(0),
      http2: multiplexed
        ? new Http2Lane(connection.server, { tls, connectMs, tlsHandshakeMs, clock, tunnels })
        : undefined,
      tunnels,
    };
  }
}

/** `beforeSend` refused a request: nothing of it was sent. */
class RefusedSend extends Error {
  override readonly cause: Error;

  constructor(cause: unknown) {
    super('the request was refused before it was sent');
    this.cause = cause instanceof Error ? cause : new Error(messageOf(cause));
  }
}

/**
 * Calls `check` when undici starts a request on an open connection; an error there keeps the
 * request from being written and leaves the connection usable.
 */
function checkedBy(check: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => dispatch(options, new CheckedHandler(handler, check));
}

class CheckedHandler extends DecoratorHandler implements Dispatcher.DispatchHandler {
  readonly #inner: Dispatcher.DispatchHandler;
  readonly #check: () => void;

  constructor(inner: Dispatcher.DispatchHandler, check: () => void) {
    super(inner);
    this.#inner = inner;
    this.#check = check;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    try {
      this.#check();
    } catch (error) {
      throw new RefusedSend(error);
    }
    this.#inner.onRequestStart?.(controller, context);
  }
}

function tlsOptions(connection: ClusterConnection, credential: Credential, keepAliveMs: number): TlsOptions {
  return {
    rejectUnauthorized: !connection.insecure,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
    ...(connection.caData === undefined || connection.caData === '' ? {} : { ca: connection.caData }),
    ...(connection.tlsServerName === undefined || connection.tlsServerName === ''
      ? {}
      : { servername: connection.tlsServerName }),
    ...(credential.tls === undefined ? {} : { cert: credential.tls.cert.reveal(), key: credential.tls.key.reveal() }),
  };
}

interface DispatcherOptions extends Pick<TransportOptions, 'connectMs' | 'tlsHandshakeMs' | 'idleMs'> {
  readonly tls: TlsOptions;
  readonly tunnels: SocksTunnels | undefined;
  /** Maximum number; 0 for no limit: each concurrent request has its own. */
  readonly connections: number;
}

function dispatcherFor({ server, proxyUrl = '' }: ClusterConnection, options: DispatcherOptions): Dispatcher {
  const { tls, tunnels, connections, connectMs, tlsHandshakeMs, idleMs } = options;
  const handshake = { ...tls, timeout: tlsHandshakeMs };
  const common = {
    connections: connections === 0 ? null : connections,
    pipelining: 1,
    keepAliveTimeout: idleMs === 0 ? longestIdleMs : idleMs,
    keepAliveMaxTimeout: idleMs === 0 ? longestIdleMs : idleMs,
  };
  if (tunnels !== undefined) return new Agent({ ...common, connect: tunnels.connector(handshake) });
  if (proxyUrl === '') return new Agent({ ...common, connect: directConnector(handshake, connectMs) });
  if (!/^https?:\/\//i.test(proxyUrl)) {
    const supported = 'only http, https and socks5 proxies are';
    const message = `its proxy ${outsideText('url', proxyUrl)} is not supported: ${supported}`;
    throw new KubeConnectionError(server, message, undefined, { neverSent: true, permanent: true });
  }
  const proxyTls = { ...tcpOptions(tls), timeout: connectMs };
  return new ProxyAgent({ ...common, connect: handshake, uri: proxyUrl, proxyTls, requestTls: handshake });
}

/** For undici, which needs a limit. */
const longestIdleMs = 2 ** 31 - 1;

function tcpOptions({ keepAlive, keepAliveInitialDelay, lookup }: TlsOptions): Omit<TlsOptions, 'rejectUnauthorized'> {
  return { keepAlive, keepAliveInitialDelay, ...defined({ lookup }) };
}

/** Opens TCP and then TLS, each with its own timeout. */
function directConnector(
  handshake: TlsOptions & { readonly timeout: number },
  connectMs: number,
): buildConnector.connector {
  const plain = buildConnector({ ...tcpOptions(handshake), timeout: connectMs });
  const secure = buildConnector(handshake);
  return (options, callback) => {
    if (options.protocol !== 'https:') {
      plain(options, callback);
      return;
    }
    const port = options.port === '' ? '443' : options.port;
    plain({ ...options, protocol: 'http:', port }, (...opened) => {
      const [error, socket] = opened;
      if (error !== null) callback(error, null);
      else upgradeSocket(socket, callback, () => secure({ ...options, httpSocket: socket }, callback));
    });
  };
}

function laneKey(connection: ClusterConnection, credential: Credential): string {
  return JSON.stringify([
    connection.server,
    connection.insecure,
    connection.caData,
    connection.tlsServerName,
    connection.proxyUrl,
    credential.tls?.cert.reveal(),
    credential.tls?.key.reveal(),
  ]);
}

function headersOf(request: HttpRequest, credential: Credential): Record<string, string | string[]> {
  const headers = Object.entries(request.headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : [...value],
  ]);
  return {
    ...(Object.fromEntries(headers) as Record<string, string | string[]>),
    ...(credential.authorization === undefined ? {} : { authorization: credential.authorization.reveal() }),
  };
}

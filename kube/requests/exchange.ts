import { defined, formatGoDuration, withDeadline } from '#base';
import type { Clock, RandomSource } from '#base';
import { withoutUserInfo } from '#model';
import type { ClusterConnection } from '#model';
import { noTracer } from '#telemetry';
import type { Logger, Span } from '#telemetry';
import { headerOf, readError, secretKind } from './answers.ts';
import type { RequestContext, ReadingBounds } from './answers.ts';
import { BytesInFlight, defaultByteLimits } from '../bytes/byte-limits.ts';
import type { KubeClientDeps, KubeClientLimits, RequestRecord } from '../client-types.ts';
import { requestFacts } from '../instruments/request-facts.ts';
import type { RequestFacts } from '../instruments/request-facts.ts';
import { credentialSource } from '../credentials/credentials.ts';
import type { Credential, CredentialSource } from '../credentials/credentials.ts';
import { isForbidden } from '../errors.ts';
import type { KubeApiError } from '../errors.ts';
import { retryDelay } from './retry.ts';
import { sentSecretOf } from './sent-secret.ts';
import { runChild } from '../credentials/run-command.ts';
import { TokenBucket } from './token-bucket.ts';
import { Transport } from '../transport/transport.ts';
import type { HttpRequest, HttpResponse, RequestTransport } from '../transport/http-types.ts';
import type { CallOptions } from '../types.ts';

/** One request of a client method, without credentials and limits. */
export interface RequestSpec extends CallOptions {
  /**
   * For metrics: get, list, watch, create, update, patch, delete, discovery, openapi, review,
   * version.
   */
  readonly verb: string;
  /** For metrics: `<group>/<kind>`. */
  readonly kind: string;
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sending it twice is harmless. */
  readonly repeatable: boolean;
  /** 1, or absent, for the first attempt. */
  readonly attempt?: number;
  /** Read from the path once for all attempts; absent: not read yet. */
  readonly facts?: RequestFacts;
  /** The span of the call; absent: it is not traced. */
  readonly span?: Span;
}

export const defaultLimits: KubeClientLimits = {
  qps: 50,
  burst: 100,
  connections: 32,
  connectMs: 10_000,
  tlsHandshakeMs: 10_000,
  keepAliveMs: 30_000,
  idleMs: 30_000,
  deadlineMs: 30_000,
  watchIdleMs: 100_000,
  attempts: 5,
  retryMs: 100,
  serverTimeoutMs: 0,
  http2: true,
  bytes: defaultByteLimits,
};

/** An opened stream, and the facts for errors in it. */
export interface OpenStream {
  readonly response: HttpResponse;
  readonly context: RequestContext;
}

/** Reads a successful response. */
type ResponseReader<T> = (response: HttpResponse, bounds: ReadingBounds) => Promise<T>;

interface SentRequest {
  readonly response: HttpResponse;
  readonly credential: Credential;
}

/**
 * Everything between a verb and the transport: throttle, credentials, deadline, retries, and one
 * renewal of rejected credentials. Shared by a client and the clients that impersonate through it.
 */
export class Exchange {
  readonly limits: KubeClientLimits;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Unfinished responses of all requests. */
  readonly inFlight: BytesInFlight;
  readonly #deps: KubeClientDeps;
  readonly #logger: Logger;
  readonly #transport: RequestTransport;
  readonly #bucket: TokenBucket;
  /** `host[:port]`, for metrics. */
  readonly #host: string;
  #isClosed = false;
  #connection: ClusterConnection;
  #credentials: CredentialSource;

  constructor(given: ClusterConnection, deps: KubeClientDeps) {
    const connection = withoutUserInfo(given);
    const limits = deps.limits ?? {};
    this.limits = { ...defaultLimits, ...(limits.qps === undefined ? {} : { burst: 2 * limits.qps }), ...limits };
    this.inFlight = new BytesInFlight(this.limits.bytes.inFlightBytes);
    this.clock = deps.clock;
    this.random = deps.random;
    this.#deps = deps;
    this.#logger = deps.logger;
    this.#connection = connection;
    this.#bucket = new TokenBucket(deps.clock, this.limits.qps, this.limits.burst);
    this.#transport =
      deps.openTransport?.(connection) ??
      new Transport(connection, {
        ...this.limits,
        clock: deps.clock,
        readOnly: deps.readOnly === true,
        ...defined({ instruments: deps.instruments }),
      });
    this.#host = hostOf(connection.server);
    deps.instruments?.clientOpened(this.#host);
    this.#credentials = this.#sourceFor(connection);
  }

  get server(): string {
    return this.#connection.server;
  }

  /** Longest life of one watch: the request timeout, or infinity if none is set. */
  get watchLimitS(): number {
    return Math.max(1, Math.ceil((this.#connection.requestTimeoutMs ?? Number.POSITIVE_INFINITY) / 1000));
  }

  /**
   * Sends a request, and retries if that is safe, until `read` has read a successful response or
   * the deadline expires.
   */
  send<T>(spec: RequestSpec, read: ResponseReader<T>): Promise<T> {
    const { tracer = noTracer } = this.#deps;
    if (!tracer.isOn) return this.#send(spec, read);
    const { verb, kind } = spec;
    const attributes = { 'k8s.request.verb': verb, 'k8s.request.kind': kind, 'server.address': this.#host };
    return tracer.span('kube.request', attributes, (span) => this.#send({ ...spec, span }, read));
  }

  #send<T>(spec: RequestSpec, read: ResponseReader<T>): Promise<T> {
    const what = this.describe(spec);
    const timeoutMs = this.#connection.requestTimeoutMs ?? Number.POSITIVE_INFINITY;
    const limitMs = Math.min(spec.deadlineMs ?? this.limits.deadlineMs, timeoutMs);
    const started = this.clock.monotonic();
    const endsAt = started + limitMs;
    const { attempts = this.limits.attempts } = spec;
    const { retryMs } = this.limits;
    const facts = requestFacts(spec.method, spec.path);
    const sent = withDeadline(spec.signal, { clock: this.clock, limitMs, what }, async (signal) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await read((await this.#once({ ...spec, signal, attempt, facts }, false)).response, this.bounds(what));
        } catch (error) {
          const chance = this.random.next();
          const waitMs = retryDelay(error, { attempt, repeatable: spec.repeatable, firstMs: retryMs, chance });
          const late = waitMs === undefined || this.clock.monotonic() + waitMs >= endsAt;
          if (signal.aborted || late || attempt >= attempts) throw error;
          this.#logger.debug('Kubernetes request failed, retrying', { request: what, error, attempt, waitMs });
          await this.clock.sleep(waitMs, signal);
        }
      }
    });
    const { instruments } = this.#deps;
    if (instruments === undefined) return sent;
    return sent.finally(() => instruments.called(this.#host, facts.verb, this.clock.monotonic() - started));
  }

  /** Opens a stream: one attempt, no deadline of its own; ends with `spec.signal`. */
  async open(spec: RequestSpec): Promise<OpenStream> {
    const { response, credential } = await this.#once(spec, true);
    return { response, context: this.#requestContext(spec, credential) };
  }

  /** Limits for reading the response to a request. */
  bounds(request: string): ReadingBounds {
    return { request, limits: this.limits.bytes, inFlight: this.inFlight };
  }

  describe(spec: Pick<RequestSpec, 'method' | 'path'>): string {
    return `${spec.method} ${this.server}${spec.path}`;
  }

  /** Another client is created on these connections. */
  shared(): void {
    this.#deps.instruments?.transport('hit');
  }

  updateCredentials(given: ClusterConnection): void {
    const connection = withoutUserInfo(given);
    this.#connection = connection;
    this.#transport.connection = connection;
    this.#credentials = this.#sourceFor(connection);
  }

  close(): Promise<void> {
    if (!this.#isClosed) this.#deps.instruments?.clientClosed(this.#host);
    this.#isClosed = true;
    return this.#transport.close();
  }

  /**
   * Returns a successful response or throws. Retries once with renewed credentials if they were
   * rejected.
   */
  async #once(spec: RequestSpec, watch: boolean): Promise<SentRequest> {
    const source = this.#credentials;
    const credential = await source.current(spec.signal);
    const response = await this.#exchange(spec, watch, credential);
    if (response.status < 300) return { response, credential };
    const error = await this.#errorOf(response, spec, credential);
    const renewable = error.status === 401 && (source !== this.#credentials || source.refused(credential));
    if (!renewable) throw error;
    const next = await this.#credentials.current(spec.signal);
    if (next === credential) throw error;
    const second = await this.#exchange(spec, watch, next);
    if (second.status < 300) return { response: second, credential: next };
    throw await this.#errorOf(second, spec, next);
  }

  /** Facts for errors about the response to a request: the credential that it sent is masked. */
  #requestContext(spec: RequestSpec, credential: Credential): RequestContext {
    const { verb, kind } = spec;
    const sent = kind === secretKind ? { sent: sentSecretOf(spec) } : {};
    return { request: this.describe(spec), verb, kind, hidden: hiddenValues(credential), ...sent };
  }

  async #errorOf(response: HttpResponse, spec: RequestSpec, credential: Credential): Promise<KubeApiError> {
    const error = await readError(response, this.#requestContext(spec, credential), this.clock.now());
    if (isForbidden(error)) this.#deps.onForbidden?.(spec, error.message);
    return error;
  }

  async #exchange(spec: RequestSpec, watch: boolean, credential: Credential): Promise<HttpResponse> {
    await this.#throttle(spec);
    const request: HttpRequest = {
      method: spec.method,
      path: watch ? spec.path : this.#limited(spec.path),
      headers: {
        accept: 'application/json',
        'user-agent': this.#deps.userAgent,
        ...(spec.headers?.['impersonate-user'] === undefined ? this.#acting() : {}),
        ...spec.headers,
        ...traceHeaders(spec.span),
      },
      ...defined({ body: spec.body, beforeSend: spec.beforeSend }),
      signal: spec.signal,
    };
    const started = this.clock.monotonic();
    let answer: Pick<HttpResponse, 'status' | 'headers'> = { status: 0, headers: {} };
    try {
      const response = await (watch
        ? this.#transport.watch(request, credential)
        : this.#transport.call(request, credential));
      answer = response;
      return watch ? response : this.#measured(response, spec.method);
    } finally {
      this.#record(spec, answer, started);
    }
  }

  async #throttle({ signal, method, path, facts }: RequestSpec): Promise<void> {
    const started = this.clock.monotonic();
    await this.#bucket.take(signal);
    const { verb } = facts ?? requestFacts(method, path);
    this.#deps.instruments?.throttled(this.#host, verb, this.clock.monotonic() - started);
  }

  /** Measures a response when it has been read, or left. */
  #measured(response: HttpResponse, method: string): HttpResponse {
    const { instruments } = this.#deps;
    if (instruments === undefined) return response;
    const host = this.#host;
    async function* body(): AsyncGenerator<Uint8Array> {
      let bytes = 0;
      try {
        for await (const chunk of response.body) {
          bytes += chunk.length;
          yield chunk;
        }
      } finally {
        instruments?.received(host, method, bytes);
      }
    }
    return { ...response, body: body() };
  }

  /** Adds the server-side timeout, like client-go. Watches have their own limit. */
  #limited(path: string): string {
    const ms = this.#connection.requestTimeoutMs ?? this.limits.serverTimeoutMs;
    if (ms === 0) return path;
    return `${path}${path.includes('?') ? '&' : '?'}timeout=${encodeURIComponent(formatGoDuration(ms))}`;
  }

  #acting(): Readonly<Record<string, string | readonly string[]>> {
    const { impersonate } = this.#connection;
    if (impersonate === undefined) return {};
    const extra = Object.entries(impersonate.extra).map(([key, values]) => [
      `impersonate-extra-${encodeURIComponent(key.toLowerCase())}`,
      values,
    ]);
    return {
      'impersonate-user': impersonate.user,
      ...(impersonate.uid === undefined ? {} : { 'impersonate-uid': impersonate.uid }),
      ...(impersonate.groups.length === 0 ? {} : { 'impersonate-group': impersonate.groups }),
      ...(Object.fromEntries(extra) as Readonly<Record<string, readonly string[]>>),
    };
  }

  #record(spec: RequestSpec, answer: Pick<HttpResponse, 'status' | 'headers'>, started: number): void {
    const dateMs = Date.parse(headerOf(answer, 'date'));
    const facts = spec.facts ?? requestFacts(spec.method, spec.path);
    const record: RequestRecord = {
      verb: spec.verb,
      kind: spec.kind,
      path: spec.path,
      server: originOf(this.server),
      requestVerb: facts.verb,
      resourceKind: facts.kind,
      resourceNamespace: facts.namespace,
      code: answer.status,
      durationMs: this.clock.monotonic() - started,
      ...(Number.isNaN(dateMs) ? {} : { dateMs }),
    };
    spec.span?.set({
      'http.response.status_code': answer.status,
      'http.request.resend_count': (spec.attempt ?? 1) - 1,
    });
    this.#deps.onRequest?.(record);
    spec.onRequest?.(record);
    this.#deps.instruments?.attempted({
      host: this.#host,
      method: spec.method,
      code: answer.status,
      attempt: spec.attempt ?? 1,
      sentBytes: Buffer.byteLength(spec.body ?? ''),
    });
  }

  #sourceFor(connection: ClusterConnection): CredentialSource {
    const { runCommand = runChild, credentialPlugins, instruments } = this.#deps;
    return credentialSource(connection, {
      clock: this.clock,
      logger: this.#logger,
      runCommand,
      ...defined({ credentialPlugins, instruments }),
    });
  }
}

const noHeaders: Readonly<Record<string, string>> = {};

function traceHeaders(span: Span | undefined): Readonly<Record<string, string>> {
  return span?.traceparent === undefined ? noHeaders : { traceparent: span.traceparent };
}

/** `scheme://host[:port]`. */
function originOf(server: string): string {
  return /^[a-z]+:\/\/[^/]*/i.exec(server)?.[0] ?? server;
}

/** `host[:port]` as it was written: a URL would leave out the port 443. */
function hostOf(server: string): string {
  return originOf(server).replace(/^[a-z]+:\/\//i, '');
}

/**
 * The bearer token; for basic authentication the password, and the user and password in both forms.
 * (Private keys never leave this process.)
 */
function hiddenValues({ authorization }: Credential): readonly string[] {
  if (authorization === undefined) return [];
  const header = authorization.reveal();
  const [scheme = '', ...rest] = header.split(' ');
  const word = rest.join(' ');
  if (scheme !== 'Basic') return [word];
  const pair = Buffer.from(word, 'base64').toString('utf8');
  return [word, pair, pair.slice(pair.indexOf(':') + 1)];
}

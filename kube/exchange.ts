import { formatGoDuration, withDeadline } from '#base';
import type { Clock, Random } from '#base';
import { withoutUserInfo } from '#model';
import type { ClusterConnection } from '#model';
import type { Logger } from '#telemetry';
import { errorOf, headerOf } from './answers.ts';
import type { Asked } from './answers.ts';
import type { KubeClientDeps, KubeClientLimits, RequestRecord } from './client-types.ts';
import { credentialSource } from './credentials.ts';
import type { Credential, CredentialSource } from './credentials.ts';
import type { KubeApiError } from './errors.ts';
import { retryDelay } from './retry.ts';
import { runChild } from './run-command.ts';
import { TokenBucket } from './token-bucket.ts';
import { Transport } from './transport.ts';
import type { HttpRequest, HttpResponse } from './http-types.ts';
import type { CallOptions } from './types.ts';

/** One request as the verbs describe it. */
export interface Spec extends CallOptions {
  /** For metrics: get, list, watch, create, update, patch, delete, discovery, version. */
  readonly verb: string;
  /** For metrics: `<group>/<kind>`. */
  readonly kind: string;
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sending it twice does no harm. */
  readonly repeatable: boolean;
}

export const defaultLimits: KubeClientLimits = {
  qps: 50,
  burst: 100,
  connections: 32,
  deadlineMs: 30_000,
  watchIdleMs: 100_000,
  attempts: 5,
  http2: true,
};

/**
 * Everything between a verb and the wire: throttle, credentials, deadline, retries, one renewal of refused credentials. Shared by a client
 * and the clients that impersonate through it.
 */
export class Exchange {
  readonly limits: KubeClientLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly #deps: KubeClientDeps;
  readonly #logger: Logger;
  readonly #transport: Transport;
  readonly #bucket: TokenBucket;
  #connection: ClusterConnection;
  #credentials: CredentialSource;
  #shown: Credential = {};

  constructor(given: ClusterConnection, deps: KubeClientDeps) {
    const connection = withoutUserInfo(given);
    const limits = deps.limits ?? {};
    this.limits = { ...defaultLimits, ...(limits.qps === undefined ? {} : { burst: 2 * limits.qps }), ...limits };
    this.clock = deps.clock;
    this.random = deps.random;
    this.#deps = deps;
    this.#logger = deps.logger;
    this.#connection = connection;
    this.#bucket = new TokenBucket(deps.clock, this.limits.qps, this.limits.burst);
    this.#transport = new Transport(connection, {
      ...this.limits,
      clock: deps.clock,
      readOnly: deps.readOnly === true,
    });
    this.#credentials = this.#sourceFor(connection);
  }

  get server(): string {
    return this.#connection.server;
  }

  /** Longest life of one watch, where requests are limited. */
  get watchLimitS(): number {
    return Math.max(1, Math.ceil((this.#connection.requestTimeoutMs ?? Number.POSITIVE_INFINITY) / 1000));
  }

  /** Sends, and again where that is safe, until `read` has made a result of a successful answer or the deadline has come. */
  send<T>(spec: Spec, read: (response: HttpResponse, request: string) => Promise<T>): Promise<T> {
    const what = this.describe(spec);
    const timeoutMs = this.#connection.requestTimeoutMs ?? Number.POSITIVE_INFINITY;
    const limitMs = Math.min(spec.deadlineMs ?? this.limits.deadlineMs, timeoutMs);
    const endsAt = this.clock.monotonic() + limitMs;
    return withDeadline(spec.signal, { clock: this.clock, limitMs, what }, async (signal) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await read(await this.#once({ ...spec, signal }, false), what);
        } catch (error) {
          const waitMs = retryDelay(error, attempt, spec.repeatable, this.random.next());
          const late = waitMs === undefined || this.clock.monotonic() + waitMs >= endsAt;
          if (signal.aborted || late || attempt >= this.limits.attempts) throw error;
          this.#logger.debug('Kubernetes request failed, trying again', { request: what, error, attempt, waitMs });
          await this.clock.sleep(waitMs, signal);
        }
      }
    });
  }

  /** Opens a stream: one try, no deadline of its own; everything ends with `spec.signal`. */
  open(spec: Spec): Promise<HttpResponse> {
    return this.#once(spec, true);
  }

  describe(spec: Pick<Spec, 'method' | 'path'>): string {
    return `${spec.method} ${this.server}${spec.path}`;
  }

  updateCredentials(given: ClusterConnection): void {
    const connection = withoutUserInfo(given);
    this.#connection = connection;
    this.#transport.connection = connection;
    this.#credentials = this.#sourceFor(connection);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** A successful answer, or its error. Refused credentials that can be renewed are worth one more try. */
  async #once(spec: Spec, watch: boolean): Promise<HttpResponse> {
    const source = this.#credentials;
    const credential = await source.current(spec.signal);
    const response = await this.#exchange(spec, watch, credential);
    if (response.status < 300) return response;
    const error = await this.#errorOf(response, spec, credential);
    const renewable = error.status === 401 && (source !== this.#credentials || source.refused(credential));
    if (!renewable) throw error;
    const next = await this.#credentials.current(spec.signal);
    if (next === credential) throw error;
    const second = await this.#exchange(spec, watch, next);
    if (second.status < 300) return second;
    throw await this.#errorOf(second, spec, next);
  }

  /** What errors about a request may say. The answer is to one that was sent with the latest credential, unless another one is given. */
  asked(spec: Spec, credential = this.#shown): Asked {
    return { request: this.describe(spec), verb: spec.verb, kind: spec.kind, hidden: hiddenIn(credential) };
  }

  #errorOf(response: HttpResponse, spec: Spec, credential: Credential): Promise<KubeApiError> {
    return errorOf(response, this.asked(spec, credential), this.clock.now());
  }

  async #exchange(spec: Spec, watch: boolean, credential: Credential): Promise<HttpResponse> {
    await this.#bucket.take(spec.signal);
    this.#shown = credential;
    const request: HttpRequest = {
      method: spec.method,
      path: watch ? spec.path : this.#limited(spec.path),
      headers: {
        accept: 'application/json',
        'user-agent': this.#deps.userAgent,
        ...(spec.headers?.['impersonate-user'] === undefined ? this.#acting() : {}),
        ...spec.headers,
      },
      ...(spec.body === undefined ? {} : { body: spec.body }),
      signal: spec.signal,
    };
    const started = this.clock.monotonic();
    let answer: Pick<HttpResponse, 'status' | 'headers'> = { status: 0, headers: {} };
    try {
      const response = await (watch
        ? this.#transport.watch(request, credential)
        : this.#transport.call(request, credential));
      answer = response;
      return response;
    } finally {
      this.#record(spec, answer, started);
    }
  }

  /** Tells the server how long it may take, as client-go does. Watches have their own limit. */
  #limited(path: string): string {
    const ms = this.#connection.requestTimeoutMs;
    if (ms === undefined) return path;
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

  #record(spec: Spec, answer: Pick<HttpResponse, 'status' | 'headers'>, started: number): void {
    const dateMs = Date.parse(headerOf(answer, 'date'));
    const record: RequestRecord = {
      verb: spec.verb,
      kind: spec.kind,
      code: answer.status,
      durationMs: this.clock.monotonic() - started,
      ...(Number.isNaN(dateMs) ? {} : { dateMs }),
    };
    this.#deps.onRequest?.(record);
  }

  #sourceFor(connection: ClusterConnection): CredentialSource {
    const { runCommand = runChild, credentialPlugins } = this.#deps;
    return credentialSource(connection, {
      clock: this.clock,
      logger: this.#logger,
      runCommand,
      ...(credentialPlugins === undefined ? {} : { credentialPlugins }),
    });
  }
}

/** Header and token, and of a user and password the password too. (Keys of certificates never leave this process.) */
function hiddenIn({ authorization }: Credential): readonly string[] {
  if (authorization === undefined) return [];
  const header = authorization.reveal();
  const [scheme = '', ...rest] = header.split(' ');
  const word = rest.join(' ');
  if (scheme !== 'Basic') return [word];
  const pair = Buffer.from(word, 'base64').toString('utf8');
  return [word, pair, pair.slice(pair.indexOf(':') + 1)];
}

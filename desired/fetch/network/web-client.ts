import { readFile } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { EnvHttpProxyAgent, request } from 'undici';
import { abortable, defined, isAbort, messageOf, outsideText } from '#base';
import type { Clock } from '#base';
import { isSocks, KubeConnectionError } from '#kube';
import type { Repository, SourceAddress } from '#model';
import { RepositoryError, SizeLimitExceeded, UnsupportedSource } from '../../errors.ts';
import type { DeniedNetworks } from './denied-networks.ts';
import { portOf } from './host-gate.ts';
import type { HostGate } from './host-gate.ts';
import { answerUrl } from '../shared/input-checks.ts';
import { socksAgent, socksProxyFor } from './socks-agent.ts';

/** The proxies of this process, for repositories without their own. */
export interface ProxySettings {
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  readonly none?: string | undefined;
}

/** Reads the environment; lowercase names take precedence, as in programs that know both. */
export function proxySettingsOf(env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const of = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  return { http: of('http_proxy'), https: of('https_proxy'), none: of('no_proxy') };
}

export interface WebClientDeps {
  readonly clock: Clock;
  /** Directory with one CA bundle per host, named after the host. */
  readonly tlsCertificates: string;
  readonly proxies: ProxySettings;
  /** Limits connections per host and denies addresses; without it, neither applies. */
  readonly hosts?: HostGate;
}

/** The repository that a file is fetched for: decides which credentials go to which origin. */
export interface RepositoryAccess {
  readonly repository: Repository;
  /** The repository URL, with the user and password it contained. */
  readonly at: SourceAddress;
  /** Send user and password also to hosts that the index names, but never after a redirect. */
  readonly passCredentials?: boolean;
  /** A token from the registry's token service, used instead of user and password. */
  readonly bearer?: string;
}

export interface WebRequest {
  readonly url: SourceAddress;
  /** Defaults to GET. A POST follows no redirect. */
  readonly method?: 'GET' | 'POST';
  /** Body of a POST. */
  readonly body?: string;
  readonly maxBytes: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers for the origin of `url` only: dropped when a redirect leaves it. */
  readonly originHeaders?: Readonly<Record<string, string>>;
  /** Do not read the body: only the final URL is needed. */
  readonly headOnly?: boolean;
  readonly signal: AbortSignal;
}

export interface WebResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The URL after all redirects. */
  readonly finalUrl: string;
  /** A redirect led to another origin, even if a later one led back. */
  readonly hasLeftOrigin: boolean;
}

const maxRedirects = 10;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type RequestAgent = ReturnType<typeof socksAgent>;

/** One request of a chain of redirects. */
interface RedirectHop {
  readonly url: SourceAddress;
  readonly hasLeftOrigin: boolean;
  /** Send the login, the client certificate and `insecure` of the repository. */
  readonly mayAuthenticate: boolean;
}

/**
 * An HTTP(S) client with the credentials, certificates and proxy of a repository. User, password
 * and client certificate go only to the origin of the repository (scheme, host and port), wherever
 * a redirect leads.
 */
export class WebClient {
  readonly #deps: WebClientDeps;

  constructor(deps: WebClientDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the response, whatever its status.
   * @throws RepositoryError if there is none, SizeLimitExceeded
   */
  async get(wanted: WebRequest, access: RepositoryAccess): Promise<WebResponse> {
    let url = wanted.url;
    if (url.transport !== 'http')
      throw new RepositoryError('an address of the repository is refused: it must begin with https:// or http://');
    const isTrusted = access.passCredentials === true || url.origin === access.at.origin;
    let hasLeftOrigin = false;
    for (let hops = 0; ; hops += 1) {
      const hop = { url, hasLeftOrigin, mayAuthenticate: isTrusted && !hasLeftOrigin };
      const answer = await this.#sendToHost(hop, wanted, access);
      const location = answer.headers['location'];
      if (!redirectStatuses.has(answer.status) || location === undefined || wanted.method === 'POST') return answer;
      if (hops === maxRedirects) throw new RepositoryError(`${withoutQuery(url)} redirects too often`);
      const next = answerUrl(location, url.url);
      // After leaving the origin, credentials are not sent again, even if a redirect leads back.
      hasLeftOrigin ||= next.origin !== url.origin;
      url = next;
    }
  }

  #sendToHost(hop: RedirectHop, wanted: WebRequest, access: RepositoryAccess): Promise<WebResponse> {
    const send = (): Promise<WebResponse> => this.#send(hop, wanted, access);
    const server = { host: hop.url.host, port: portOf(hop.url.url) };
    return this.#deps.hosts?.run(server, wanted.signal, send) ?? send();
  }

  async #send(hop: RedirectHop, wanted: WebRequest, access: RepositoryAccess): Promise<WebResponse> {
    const { url, hasLeftOrigin, mayAuthenticate } = hop;
    const agent = await this.#agent(hop, access, wanted.signal);
    try {
      const { statusCode, headers, body } = await abortable(
        request(url.url, {
          dispatcher: agent.dispatcher,
          method: wanted.method ?? 'GET',
          signal: wanted.signal,
          ...(wanted.body === undefined ? {} : { body: wanted.body }),
          headers: {
            'user-agent': 'driftless',
            'accept-encoding': 'identity',
            ...wanted.headers,
            ...(hasLeftOrigin ? {} : wanted.originHeaders),
            ...(mayAuthenticate ? authorization(access) : {}),
          },
          headersTimeout: 30_000,
          bodyTimeout: 30_000,
        }),
        wanted.signal,
      );
      const content = wanted.headOnly === true ? discardBody(body) : await readBounded(body, wanted.maxBytes, url);
      return { status: statusCode, headers: joinedHeaders(headers), body: content, finalUrl: url.url, hasLeftOrigin };
    } catch (error) {
      if (
        error instanceof RepositoryError ||
        error instanceof SizeLimitExceeded ||
        isAbort(error) ||
        wanted.signal.aborted
      )
        throw error;
      throw new RepositoryError(`cannot reach ${withoutQuery(url)}: ${outsideText('system', reasonOf(error))}`, {
        cause: error,
      });
    } finally {
      await agent.destroy();
    }
  }

  /** One agent per request: requests are rare, and no connection is shared between repositories. */
  async #agent(hop: RedirectHop, { repository }: RepositoryAccess, signal: AbortSignal): Promise<RequestAgent> {
    const denied = this.#deps.hosts?.denied;
    const own = await ownProxy(repository, denied, signal);
    const { http = '', https = '', none = '' } = own ?? this.#deps.proxies;
    const connect = await this.#tls(hop, repository);
    const proxy = socksProxyFor(new URL(hop.url.url), { http, https, none });
    if (proxy !== undefined) {
      const lookup = own === undefined ? undefined : denied?.proxyLookup;
      return socksAgent(new URL(hop.url.url), { clock: this.#deps.clock, proxy, tls: connect, lookup });
    }
    const dispatcher = new EnvHttpProxyAgent({
      httpProxy: isSocks(http) ? '' : http,
      httpsProxy: isSocks(https) ? '' : https,
      noProxy: none,
      connect: { ...connect, timeout: 15_000, ...withLookup(denied?.lookup) },
      // The proxy of the process is not checked, because an administrator configured it.
      proxyTls: own === undefined ? {} : withLookup(denied?.proxyLookup),
      requestTls: connect,
      // Only TLS is tunnelled: many proxies refuse CONNECT to other ports.
      proxyTunnel: false,
    });
    return { dispatcher, destroy: () => dispatcher.destroy() };
  }

  /** `insecure` and the client certificate apply to the repository's own server only. */
  async #tls({ url, mayAuthenticate }: RedirectHop, repository: Repository): Promise<Record<string, unknown>> {
    if (url.scheme !== 'https') return {};
    const bundle = await readFile(join(this.#deps.tlsCertificates, url.host), 'utf8').catch(() => undefined);
    const { tlsClientCertData: cert, tlsClientCertKey: key } = repository;
    return {
      ...(bundle === undefined ? {} : { ca: [...rootCertificates, bundle] }),
      ...(mayAuthenticate && repository.insecure ? { rejectUnauthorized: false } : {}),
      ...(mayAuthenticate && cert !== undefined && key !== undefined ? { cert: cert.reveal(), key: key.reveal() } : {}),
    };
  }
}

/**
 * Returns the proxy of a repository.
 * @throws UnsupportedSource, RepositoryError for a denied address
 */
async function ownProxy(
  { proxy = '', noProxy }: Repository,
  denied: DeniedNetworks | undefined,
  signal: AbortSignal,
): Promise<ProxySettings | undefined> {
  if (proxy === '') return undefined;
  if (!/^https?:\/\//i.test(proxy) && !isSocks(proxy))
    throw new UnsupportedSource('a repository proxy without http://, https:// or socks5://');
  if (denied !== undefined) await abortable(denied.checkProxy(proxy), signal);
  return { http: proxy, https: proxy, none: noProxy };
}

function withLookup(lookup: LookupFunction | undefined): { readonly lookup?: LookupFunction } {
  return lookup === undefined ? {} : { lookup };
}

/** @throws RepositoryError if the status is not 200 */
export function expectOk(answer: WebResponse, doing: string): Buffer {
  if (answer.status === 200) return answer.body;
  const status = `${answer.status} ${STATUS_CODES[answer.status] ?? ''}`.trim();
  throw new RepositoryError(`${doing}: ${status}`);
}

/** Returns the login of the repository, or else of its URL. */
export function loginOf({
  repository,
  at,
}: RepositoryAccess): { readonly username: string; readonly password: string } | undefined {
  const username = repository.username ?? at.username ?? '';
  const password = repository.password?.reveal() ?? at.password ?? '';
  return username === '' && password === '' ? undefined : { username, password };
}

function authorization(access: RepositoryAccess): Record<string, string> {
  const bearer = access.bearer ?? access.repository.bearerToken?.reveal();
  if (bearer !== undefined && bearer !== '') return { authorization: `Bearer ${bearer}` };
  const login = loginOf(access);
  return login === undefined ? {} : { authorization: basicAuth(login) };
}

export function basicAuth({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** For messages: the query of a signed URL is its secret. */
function withoutQuery({ url }: SourceAddress): string {
  return new URL(url).origin + new URL(url).pathname;
}

function reasonOf(error: unknown): string {
  // Both name the address that cannot be reached.
  if (error instanceof KubeConnectionError) return error.message.replace(/^cannot reach \S+ /, '');
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  if (cause instanceof Error) return messageOf(cause);
  return messageOf(error) || (typeof code === 'string' ? code : 'the connection failed');
}

function joinedHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) all[name] = Array.isArray(value) ? value.join(', ') : value;
  return all;
}

function discardBody(body: { destroy(): unknown; on(event: 'error', listener: () => void): unknown }): Buffer {
  body.on('error', () => undefined);
  body.destroy();
  return Buffer.alloc(0);
}

async function readBounded(body: AsyncIterable<Buffer>, limit: number, url: SourceAddress): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new SizeLimitExceeded(`${withoutQuery(url)} has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Keeps `insecure` and the proxy of the repository, but no credentials or client certificate. */
export function withoutLogin({ repository, at }: RepositoryAccess): RepositoryAccess {
  return { repository: withoutCredentials(repository), at: at.bare };
}

export function withoutCredentials({ url, type, insecure, inheritedCreds, proxy, noProxy }: Repository): Repository {
  return { url, type, insecure, inheritedCreds, ...defined({ proxy, noProxy }) };
}

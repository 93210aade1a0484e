import { readFile } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { EnvHttpProxyAgent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { isAbort, messageOf, outsideText } from '#base';
import type { Repository } from '#model';
import { RepositoryError, SizeLimitExceeded, UnsupportedSource } from '../errors.ts';
import type { Hosts } from './hosts.ts';
import type { SafeUrl } from './untrusted.ts';

/** The proxies of this process, for repositories that do not name one themselves. */
export interface Proxies {
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  readonly none?: string | undefined;
}

/** As an environment names them; in small letters first, as programs that know both forms do. */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies {
  const of = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  return { http: of('http_proxy'), https: of('https_proxy'), none: of('no_proxy') };
}

export interface WebDeps {
  /** Directory with one CA bundle per host, named after the host. */
  readonly tlsCertificates: string;
  readonly proxies: Proxies;
  /** Conversations with one host at a time; without it, there may be any number. */
  readonly hosts?: Hosts;
}

/** Whose files are fetched: decides what is sent along, and to whom. */
export interface Access {
  readonly repository: Repository;
  /** The address of the repository, with the user and password that it may have brought. */
  readonly at: SafeUrl;
  /** `passCredentials`: user and password also go to other servers that the index names. Never to one that a redirect leads to. */
  readonly everywhere?: boolean;
  /** In place of user and password: what a registry's token service gave. */
  readonly bearer?: string;
}

export interface WebRequest {
  readonly url: string;
  /** GET unless said; a POST follows no redirect. */
  readonly method?: 'GET' | 'POST';
  /** Of a POST. */
  readonly body?: string;
  readonly maxBytes: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface WebAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const mostRedirects = 10;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * GET over HTTP(S) with the credentials, certificates and proxy of a repository. User, password and client certificate go to the origin of the
 * repository (scheme, host and port) and to no other, wherever a redirect leads.
 */
export class Web {
  readonly #deps: WebDeps;

  constructor(deps: WebDeps) {
    this.#deps = deps;
  }

  /** The answer, whatever its status. @throws RepositoryError when there is none, SizeLimitExceeded */
  async get(wanted: WebRequest, access: Access): Promise<WebAnswer> {
    let url = checked(wanted.url);
    let mayTell = access.everywhere === true || url.origin === new URL(access.at.url).origin;
    for (let hops = 0; ; hops += 1) {
      const answer = await this.#one(url, wanted, access, mayTell);
      const location = answer.headers['location'];
      if (!redirects.has(answer.status) || location === undefined || wanted.method === 'POST') return answer;
      if (hops === mostRedirects) throw new RepositoryError(`${shown(url)} redirects too often`);
      const next = checked(new URL(location, url).href);
      // Once away, nothing is told any more, not even to a server that leads back.
      mayTell &&= next.origin === url.origin;
      url = next;
    }
  }

  #one(url: URL, wanted: WebRequest, access: Access, mayTell: boolean): Promise<WebAnswer> {
    const ask = (): Promise<WebAnswer> => this.#ask(url, wanted, access, mayTell);
    return this.#deps.hosts?.run(url.hostname, wanted.signal, ask) ?? ask();
  }

  async #ask(url: URL, wanted: WebRequest, access: Access, mayTell: boolean): Promise<WebAnswer> {
    const agent = await this.#agent(url, access, mayTell);
    try {
      const { statusCode, headers, body } = await request(url, {
        dispatcher: agent,
        method: wanted.method ?? 'GET',
        signal: wanted.signal,
        ...(wanted.body === undefined ? {} : { body: wanted.body }),
        headers: {
          'user-agent': 'driftless',
          'accept-encoding': 'identity',
          ...wanted.headers,
          ...(mayTell ? authorization(access) : {}),
        },
        headersTimeout: 30_000,
        bodyTimeout: 30_000,
      });
      return { status: statusCode, headers: plain(headers), body: await bounded(body, wanted.maxBytes, url) };
    } catch (error) {
      if (
        error instanceof RepositoryError ||
        error instanceof SizeLimitExceeded ||
        isAbort(error) ||
        wanted.signal.aborted
      )
        throw error;
      throw new RepositoryError(`cannot reach ${shown(url)}: ${outsideText('system', reasonOf(error))}`, {
        cause: error,
      });
    } finally {
      await agent.destroy();
    }
  }

  /** One for each request: requests are few and far between, and nothing of one repository can reach another. */
  async #agent(url: URL, { repository }: Access, mayTell: boolean): Promise<Dispatcher> {
    const own = repository.proxy ?? '';
    const { http = '', https = '', none = '' } = this.#deps.proxies;
    if (own !== '' && !/^https?:\/\//i.test(own))
      throw new UnsupportedSource('a proxy that is not reached by http or https');
    const { denied } = this.#deps.hosts ?? {};
    const connect = await this.#tls(url, repository, mayTell);
    return new EnvHttpProxyAgent({
      httpProxy: own === '' ? http : own,
      httpsProxy: own === '' ? https : own,
      noProxy: own === '' ? none : (repository.noProxy ?? ''),
      connect: { ...connect, timeout: 15_000, ...(denied === undefined ? {} : { lookup: denied.lookup }) },
      requestTls: connect,
      // Only what is encrypted goes through a tunnel: many proxies allow none to other ports.
      proxyTunnel: false,
    });
  }

  /** `insecure`, like the client's certificate, is said of the repository's own server only. */
  async #tls(url: URL, repository: Repository, mayTell: boolean): Promise<Record<string, unknown>> {
    if (url.protocol !== 'https:') return {};
    const bundle = await readFile(join(this.#deps.tlsCertificates, url.hostname), 'utf8').catch(() => undefined);
    const { tlsClientCertData: cert, tlsClientCertKey: key } = repository;
    return {
      ...(bundle === undefined ? {} : { ca: [...rootCertificates, bundle] }),
      ...(mayTell && repository.insecure ? { rejectUnauthorized: false } : {}),
      ...(mayTell && cert !== undefined && key !== undefined ? { cert: cert.reveal(), key: key.reveal() } : {}),
    };
  }
}

/** @throws RepositoryError for an answer that is not 200 */
export function expectOk(answer: WebAnswer, doing: string): Buffer {
  if (answer.status === 200) return answer.body;
  const status = `${answer.status} ${STATUS_CODES[answer.status] ?? ''}`.trim();
  throw new RepositoryError(`${doing}: ${status}`);
}

/** Of the repository, else of its address. */
export function loginOf({
  repository,
  at,
}: Access): { readonly username: string; readonly password: string } | undefined {
  const username = repository.username ?? at.username ?? '';
  const password = repository.password?.reveal() ?? at.password ?? '';
  return username === '' && password === '' ? undefined : { username, password };
}

function authorization(access: Access): Record<string, string> {
  const bearer = access.bearer ?? access.repository.bearerToken?.reveal();
  if (bearer !== undefined && bearer !== '') return { authorization: `Bearer ${bearer}` };
  const login = loginOf(access);
  return login === undefined ? {} : { authorization: basic(login) };
}

export function basic({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function checked(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new RepositoryError('an address of the repository cannot be parsed');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new RepositoryError(`an address of the repository is refused: the scheme ${url.protocol}// is not allowed`);
  url.username = '';
  url.password = '';
  return url;
}

/** Signed addresses have their secret behind the question mark. */
function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function reasonOf(error: unknown): string {
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  if (cause instanceof Error) return messageOf(cause);
  return messageOf(error) || (typeof code === 'string' ? code : 'the connection failed');
}

function plain(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) all[name] = Array.isArray(value) ? value.join(', ') : value;
  return all;
}

async function bounded(body: AsyncIterable<Buffer>, limit: number, url: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new SizeLimitExceeded(`${shown(url)} has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';

/** How to reach an API server. TLS material is PEM text; the simulator needs none. */
export interface ApiAccess {
  readonly server: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  /** A string is sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiAnswer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly body: T | undefined;
}

export interface ApiEvent {
  readonly type: string;
  readonly object: Record<string, unknown>;
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/**
 * Plain HTTP calls to a simulated or real API server, without production code that could hide its
 * own bugs. `exchange` returns every answer; the other methods throw on an error status, except
 * that `get` returns undefined for 404.
 */
export class ApiClient {
  readonly access: ApiAccess;
  readonly #agent: Agent;

  constructor(access: ApiAccess) {
    this.access = access;
    const { ca, cert, key } = access;
    const tls = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert, key }) };
    this.#agent = new Agent({ connect: tls, bodyTimeout: 0, headersTimeout: 60_000, keepAliveTimeout: 5000 });
  }

  async exchange<T = Record<string, unknown>>(what: ApiRequest): Promise<ApiAnswer<T>> {
    const { statusCode, headers, body } = await this.#send(what);
    const text = await body.text();
    return { status: statusCode, headers: flat(headers), text, body: parsed(text) as T | undefined };
  }

  async get<T = Record<string, unknown>>(path: string): Promise<T | undefined> {
    const answer = await this.exchange<T>({ method: 'GET', path });
    return answer.status === 404 ? undefined : good(answer, `GET ${path}`);
  }

  async list<T = Record<string, unknown>>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path))?.items ?? [];
  }

  async create<T = Record<string, unknown>>(path: string, body: unknown): Promise<T> {
    return good(await this.exchange<T>({ method: 'POST', path, body }), `POST ${path}`);
  }

  async replace<T = Record<string, unknown>>(path: string, body: unknown): Promise<T> {
    return good(await this.exchange<T>({ method: 'PUT', path, body }), `PUT ${path}`);
  }

  /** `apply` needs a fieldManager in the path's query. */
  async patch<T = Record<string, unknown>>(
    path: string,
    body: unknown,
    type: keyof typeof patchTypes = 'merge',
  ): Promise<T> {
    const contentType = patchTypes[type];
    return good(await this.exchange<T>({ method: 'PATCH', path, body, contentType }), `PATCH ${path}`);
  }

  /** A 404 counts as success. */
  async delete(path: string, options?: unknown): Promise<void> {
    const answer = await this.exchange({ method: 'DELETE', path, ...(options === undefined ? {} : { body: options }) });
    if (answer.status !== 404) good(answer, `DELETE ${path}`);
  }

  /**
   * Yields the events of a watch until it ends or `signal` aborts. @throws Error if it is refused
   */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<ApiEvent> {
    const { statusCode, body } = await this.#send({ method: 'GET', path }, signal);
    if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`);
    let rest = '';
    body.setEncoding('utf8');
    for await (const chunk of body) {
      rest += String(chunk);
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as ApiEvent;
    }
  }

  /** Closes all connections, those of watches too. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #send(what: ApiRequest, signal?: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { body, contentType = 'application/json', accept = 'application/json' } = what;
    const { token } = this.access;
    return request(`${this.access.server}${what.path}`, {
      method: what.method,
      dispatcher: this.#agent,
      headers: {
        accept,
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...what.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join('\n') : (value ?? '')]),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function good<T>(answer: ApiAnswer<T>, what: string): T {
  if (answer.status >= 300 || answer.body === undefined) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer.body;
}

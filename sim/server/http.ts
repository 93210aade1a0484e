import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DriftlessError, messageOf } from '#base';
import type { Clock, Random } from '#base';
import type { SimRequest } from '../types.ts';
import type { Answer, HandlerDeps } from './answer.ts';
import type { Discovery } from './discovery.ts';
import { Documents } from './documents.ts';
import type { Faults } from './faults.ts';
import { handle } from './handlers.ts';
import type { Registry, ServedKind } from './registry.ts';
import { Representation, shapeOf } from './representation.ts';
import { readBody, routeResource } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { notAcceptable, notFound, nothingThere, SimError, unauthorized } from './status.ts';
import { checkWatch, Watch } from './watch.ts';

export interface HttpDeps extends HandlerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly registry: Registry;
  readonly discovery: Discovery;
  readonly faults: Faults;
  /** Bearer tokens that are let in; undefined: everybody. */
  readonly tokens: readonly string[] | undefined;
}

/** A client that lets this much wait unread loses its watch, as a slow watcher of the real server does. */
const mostUnread = 64 * 1024 * 1024;

/** The HTTP side of one simulated API server: loopback, plain HTTP/1.1. */
export class HttpSide {
  readonly #deps: HttpDeps;
  readonly #documents: Documents;
  readonly #server: Server;
  readonly #watches = new Set<Watch>();
  readonly #requests = new Map<string, number>();
  readonly #listeners = new Set<(request: SimRequest) => void>();

  constructor(deps: HttpDeps) {
    this.#deps = deps;
    this.#documents = new Documents(deps.discovery);
    this.#server = createServer({ requestTimeout: 0, keepAliveTimeout: 120_000 }, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => answerError(response, error));
    });
  }

  /** @throws DriftlessError when the port is taken. */
  async listen(port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(port, error)));
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  requests(): ReadonlyMap<string, number> {
    return new Map(this.#requests);
  }

  onRequest(listener: (request: SimRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all watches and connections; new ones are welcome. */
  disconnect(): void {
    for (const watch of [...this.#watches]) watch.stop();
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.disconnect();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sim');
    if (!this.#letIn(request)) throw unauthorized();
    const segments = url.pathname.split('/').filter((part) => part !== '');
    const path = segments.map((part) => decodeURIComponent(part));
    const route = routeResource(this.#deps.registry, request.method ?? 'GET', path, url.searchParams);
    if (route === undefined) {
      request.resume();
      this.#serveDocument(request, response, path);
      return;
    }
    const resource = { ...route, agent: request.headers['user-agent'] ?? '' };
    this.#count(resource);
    this.#tell(resource);
    if (await this.#misbehave(resource, request, response)) return;
    await this.#serveResource(resource, request, response);
  }

  #letIn(request: IncomingMessage): boolean {
    const { tokens } = this.#deps;
    if (tokens === undefined) return true;
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    return token !== undefined && tokens.includes(token);
  }

  #count({ verb, kind, subresource }: ResourceRequest): void {
    const key = `${verb} ${kind.resource}${subresource === '' ? '' : `/${subresource}`}`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  #tell({ verb, kind, subresource, namespace, name, query, agent }: ResourceRequest): void {
    const { group, resource } = kind;
    const told = { verb, group, resource, subresource, namespace, name, dryRun: query.has('dryRun'), agent };
    for (const listener of this.#listeners) listener(told);
  }

  /** True when the request has been dealt with. */
  async #misbehave(resource: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const fault = this.#deps.faults.meet(resource);
    if (fault === undefined) return false;
    switch (fault.kind) {
      case 'latency':
        await this.#deps.clock.sleep(fault.ms);
        return false;
      case 'status': {
        if (fault.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(fault.retryAfterSeconds));
        const error = faultStatus(fault.code, fault.message, resource);
        request.resume();
        answerError(response, error);
        return true;
      }
      case 'hang':
        request.resume();
        return true;
      case 'reset':
        request.socket.resetAndDestroy();
        return true;
      case 'badLine':
        request.resume();
        send(response, { code: 200, body: '{"kind":"' });
        return true;
      case 'cutWatch':
      case 'loseEvents':
        return false;
    }
  }

  async #serveResource(resource: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#deps;
    const shape = shapeOf(request.headers.accept, resource.query.get('includeObject'));
    if (shape === undefined && resource.subresource !== 'log')
      throw notAcceptable(/application\/|\*\/\*/.test(request.headers.accept ?? ''));
    const show = new Representation(resource.kind, shape ?? { as: 'object', version: 'v1', include: 'None' }, () =>
      clock.now(),
    );
    if (resource.verb === 'watch') {
      request.resume();
      this.#watch(resource, show, response);
      return;
    }
    const body = await readBody(request);
    const { 'content-type': contentType, 'user-agent': userAgent = '' } = request.headers;
    const answer = handle(this.#deps, { request: resource, body, contentType, userAgent }, show);
    send(response, { ...answer, warnings: [...deprecated(resource.kind), ...(answer.warnings ?? [])] });
  }

  #watch(resource: ResourceRequest, show: Representation, response: ServerResponse): void {
    checkWatch(resource.query);
    const sink = {
      write: (text: string): boolean => {
        response.write(text);
        return response.writableLength < mostUnread;
      },
      end: (): void => void response.end(),
    };
    const watch = new Watch(this.#deps, resource, show, sink);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    this.#watches.add(watch);
    response.on('close', () => {
      watch.stop();
      this.#watches.delete(watch);
    });
    watch.start();
  }

  /** A path in a group of the server's own: its router answers. Beyond them nobody does. */
  #isInside([root = '', group = '', version = '']: readonly string[]): boolean {
    if (root === 'api') return group !== '';
    const { discovery, registry } = this.#deps;
    if (root !== 'apis' || discovery.group(group) === undefined || version === '') return false;
    return (
      registry.all().some((kind) => kind.group === group && !kind.custom) ||
      discovery.resources(group, version) !== undefined
    );
  }

  #serveDocument(request: IncomingMessage, response: ServerResponse, path: readonly string[]): void {
    const document = this.#documents.find(path, request);
    if (document !== undefined) send(response, document);
    else if (this.#isInside(path)) throw nothingThere();
    else send(response, { code: 404, body: '404 page not found\n', contentType: 'text/plain; charset=utf-8' });
  }
}

function deprecated({ deprecation, group, version, kind }: ServedKind): readonly string[] {
  if (deprecation === undefined) return [];
  return [deprecation === '' ? `${group}/${version} ${kind} is deprecated` : deprecation];
}

function send(response: ServerResponse, answer: Answer): void {
  if (response.writableEnded || response.destroyed) return;
  const warnings = (answer.warnings ?? []).map((text) => `299 - ${JSON.stringify(text)}`);
  if (warnings.length > 0) response.setHeader('Warning', warnings);
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  response.setHeader('Content-Type', answer.contentType ?? 'application/json');
  response.setHeader('Cache-Control', 'no-cache, private');
  response.setHeader('Content-Length', Buffer.byteLength(answer.body));
  response.statusCode = answer.code;
  response.end(answer.body);
}

function answerError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status =
    error instanceof SimError
      ? error
      : new SimError(500, 'InternalError', `Internal error occurred: ${messageOf(error)}`);
  if (status.httpCode === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  const retry = status.details?.['retryAfterSeconds'];
  if (typeof retry === 'number') response.setHeader('Retry-After', String(retry));
  send(response, { code: status.httpCode, body: JSON.stringify(status.status()) });
}

/** The Status of a fault, as the real server words it. */
function faultStatus(code: number, message: string | undefined, request: ResourceRequest): SimError {
  const { kind, name, verb } = request;
  switch (code) {
    case 404:
      return message === undefined ? notFound(kind, name) : new SimError(404, 'NotFound', message);
    case 429:
      return new SimError(429, 'TooManyRequests', message ?? 'Too many requests, please try again later.');
    case 503:
      return new SimError(503, 'ServiceUnavailable', message ?? 'the server is currently unable to handle the request');
    case 403: {
      const what = `User "sim:admin" cannot ${verb} resource "${kind.resource}" in API group "${kind.group}"`;
      return new SimError(403, 'Forbidden', message ?? `${kind.resource} is forbidden: ${what}`, {
        kind: kind.resource,
      });
    }
    case 401:
      return new SimError(401, 'Unauthorized', message ?? 'Unauthorized');
    case 409:
      return new SimError(409, 'Conflict', message ?? 'Operation cannot be fulfilled: a conflict was asked for');
    case 410:
      return new SimError(410, 'Expired', message ?? 'The resourceVersion for the provided list is too old.');
    default:
      return new SimError(code, 'InternalError', message ?? 'Internal error occurred: a failure was asked for');
  }
}

function cannotListen(port: number, error: NodeJS.ErrnoException): DriftlessError {
  const why =
    error.code === 'EADDRINUSE'
      ? `port ${port} of 127.0.0.1 is already in use: stop what listens there, or choose another port (0 takes any free one)`
      : `cannot listen on port ${port} of 127.0.0.1: ${error.message}`;
  return new DriftlessError('SIM_LISTEN', why, { retry: 'never', cause: error });
}

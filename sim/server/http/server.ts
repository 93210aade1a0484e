import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DriftlessError, messageOf } from '#base';
import type { Clock, RandomSource } from '#base';
import type { SimOptions, SimRequest } from '../../types.ts';
import type { SimResponse, HandlerDeps } from '../handlers/response.ts';
import type { DiscoveryDocuments } from '../discovery/discovery.ts';
import { ServerDocuments } from '../discovery/documents.ts';
import type { FaultInjector, InjectedFault } from './faults.ts';
import { handleRequest } from '../handlers/handle.ts';
import type { KindRegistry, ServedKind } from '../discovery/registry.ts';
import { ResponseWriter, representationFormOf } from '../reads/representation.ts';
import { forwardToPod, podProxyRequest } from './pod-proxy.ts';
import { readBody, routeResource } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { notAcceptable, notFoundError, nothingThere, SimError, unauthorizedError } from '../status.ts';
import { checkWatch, OpenWatch } from '../reads/watch.ts';

export interface ApiServerDeps extends HandlerDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly registry: KindRegistry;
  readonly discovery: DiscoveryDocuments;
  readonly faults: FaultInjector;
  /** Accepted bearer tokens; undefined disables authentication. */
  readonly tokens: readonly string[] | undefined;
  readonly podAddress: SimOptions['podAddress'];
}

/** A client with more unread data loses its watch, like a slow watcher of the real server. */
const maxUnreadBytes = 64 * 1024 * 1024;

/** The HTTP side of one simulated API server: loopback, plain HTTP/1.1. */
export class ApiServer {
  readonly #deps: ApiServerDeps;
  readonly #documents: ServerDocuments;
  readonly #server: Server;
  readonly #watches = new Set<OpenWatch>();
  readonly #requests = new Map<string, number>();
  readonly #listeners = new Set<(request: SimRequest) => void>();

  constructor(deps: ApiServerDeps) {
    this.#deps = deps;
    this.#documents = new ServerDocuments(deps.discovery);
    this.#server = createServer({ requestTimeout: 0, keepAliveTimeout: 120_000 }, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => sendError(response, error));
    });
  }

  /** @throws DriftlessError if the port is taken. */
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

  /** Ends all watches and connections; new ones are accepted. */
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
    if (!this.#isAuthorized(request)) throw unauthorizedError();
    if (this.#proxies(request, response)) return;
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
    this.#notify(resource);
    const fault = this.#deps.faults.faultFor(resource);
    if (await this.#injectFault(fault, resource, { request, response })) return;
    await this.#serveResource(resource, request, response, fault?.kind);
  }

  /** True if the request was forwarded to a pod. */
  #proxies(request: IncomingMessage, response: ServerResponse): boolean {
    const { podAddress } = this.#deps;
    const proxied = podAddress === undefined ? undefined : podProxyRequest(request.url ?? '/');
    if (podAddress === undefined || proxied === undefined) return false;
    const host = podAddress(proxied.namespace, proxied.pod);
    if (host === undefined) throw notFoundError({ group: '', resource: 'pods' }, proxied.pod);
    forwardToPod(proxied, host, request, response);
    return true;
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const { tokens } = this.#deps;
    if (tokens === undefined) return true;
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    return token !== undefined && tokens.includes(token);
  }

  #count({ verb, kind, subresource }: ResourceRequest): void {
    const key = `${verb} ${kind.resource}${subresource === '' ? '' : `/${subresource}`}`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  #notify({ verb, kind, subresource, namespace, name, query, agent }: ResourceRequest): void {
    const { group, resource } = kind;
    const selector = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? ''].join(' ').trim();
    const notification = {
      verb,
      group,
      resource,
      subresource,
      namespace,
      name,
      dryRun: query.has('dryRun'),
      isContinued: query.has('continue'),
      selector,
      agent,
    };
    for (const listener of this.#listeners) listener(notification);
  }

  /** True if the fault has completed the request. */
  async #injectFault(
    fault: InjectedFault | undefined,
    resource: ResourceRequest,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): Promise<boolean> {
    switch (fault?.kind) {
      case 'latency':
        await this.#deps.clock.sleep(fault.ms);
        return false;
      case 'hold':
        await fault.until;
        return false;
      case 'status': {
        if (fault.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(fault.retryAfterSeconds));
        const error = faultStatus(fault.code, fault.message, resource);
        request.resume();
        sendError(response, error);
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
        sendResponse(response, { code: 200, body: '{"kind":"' });
        return true;
      case 'lostAnswer':
      case 'halfAnswer':
      case 'cutWatch':
      case 'loseEvents':
      case undefined:
        return false;
    }
  }

  async #serveResource(
    resource: ResourceRequest,
    request: IncomingMessage,
    response: ServerResponse,
    fault: InjectedFault['kind'] | undefined,
  ): Promise<void> {
    const { clock } = this.#deps;
    const shape = representationFormOf(request.headers.accept, resource.query.get('includeObject'));
    if (shape === undefined && resource.subresource !== 'log')
      throw notAcceptable(/application\/|\*\/\*/.test(request.headers.accept ?? ''));
    const show = new ResponseWriter(resource.kind, shape ?? { as: 'object', version: 'v1', include: 'None' }, () =>
      clock.now(),
    );
    if (resource.verb === 'watch') {
      request.resume();
      this.#watch(resource, show, response);
      return;
    }
    const body = await readBody(request);
    const { 'content-type': contentType, 'user-agent': userAgent = '' } = request.headers;
    const answer = handleRequest(this.#deps, { request: resource, body, contentType, userAgent }, show);
    if (fault === 'lostAnswer') request.socket.resetAndDestroy();
    if (fault === 'halfAnswer') sendHalf(response, answer);
    if (fault === 'lostAnswer' || fault === 'halfAnswer') return;
    sendResponse(response, {
      ...answer,
      warnings: [...deprecationWarnings(resource.kind), ...(answer.warnings ?? [])],
    });
  }

  #watch(resource: ResourceRequest, show: ResponseWriter, response: ServerResponse): void {
    checkWatch(resource.query);
    const sink = {
      write: (text: string): boolean => {
        response.write(text);
        return response.writableLength < maxUnreadBytes;
      },
      end: (): void => void response.end(),
    };
    const watch = new OpenWatch(this.#deps, resource, show, sink);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    this.#watches.add(watch);
    response.on('close', () => {
      watch.stop();
      this.#watches.delete(watch);
    });
    watch.start();
  }

  /**
   * True for a path in a group that the server owns: its router responds with a Status, outside of
   * it with plain text.
   */
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
    if (document !== undefined) sendResponse(response, document);
    else if (this.#isInside(path)) throw nothingThere();
    else sendResponse(response, { code: 404, body: '404 page not found\n', contentType: 'text/plain; charset=utf-8' });
  }
}

function deprecationWarnings({ deprecation, group, version, kind }: ServedKind): readonly string[] {
  if (deprecation === undefined) return [];
  return [deprecation === '' ? `${group}/${version} ${kind} is deprecated` : deprecation];
}

function sendResponse(response: ServerResponse, answer: SimResponse): void {
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

/** Ends the connection in the middle of an answer. */
function sendHalf(response: ServerResponse, { code, body }: SimResponse): void {
  response.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.write(body.slice(0, body.length / 2), () => response.destroy());
}

function sendError(response: ServerResponse, error: unknown): void {
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
  sendResponse(response, { code: status.httpCode, body: JSON.stringify(status.status()) });
}

/** The Status of a fault, in the words of the real server. */
function faultStatus(code: number, message: string | undefined, request: ResourceRequest): SimError {
  const { kind, name, verb } = request;
  switch (code) {
    case 404:
      return message === undefined ? notFoundError(kind, name) : new SimError(404, 'NotFound', message);
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
      return new SimError(409, 'Conflict', message ?? 'Operation cannot be fulfilled: a conflict was injected');
    case 410:
      return new SimError(410, 'Expired', message ?? 'The resourceVersion for the provided list is too old.');
    default:
      return new SimError(code, 'InternalError', message ?? 'Internal error occurred: a failure was injected');
  }
}

function cannotListen(port: number, error: NodeJS.ErrnoException): DriftlessError {
  const why =
    error.code === 'EADDRINUSE'
      ? `port ${port} of 127.0.0.1 is already in use: stop the process that listens there, or choose another port (0 takes any free one)`
      : `cannot listen on port ${port} of 127.0.0.1: ${error.message}`;
  return new DriftlessError('SIM_LISTEN', why, { retry: 'never', cause: error });
}

import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { omit } from '#base';
import type { Server } from './server.ts';

/** A request on its way to the API server. */
export interface ProxiedRequest {
  /** `other`: a read of one object, discovery, or a write. */
  readonly verb: 'list' | 'watch' | 'other';
  readonly path: string;
}

/** The proxy answers the request itself or never, or rewrites the server's answer. */
export type ApiFault =
  | 'no answer'
  | { readonly status: number; readonly contentType: string; readonly text: string }
  | { readonly rewrite: (body: Record<string, unknown>) => unknown };

/**
 * Forwards HTTP requests to a real API server, with the credentials of the client, except for those
 * that `fault` answers or rewrites. For faults of a connection see hanging-proxy.ts.
 */
export class ApiProxy {
  readonly requests: ProxiedRequest[] = [];
  readonly #server: HttpServer;
  readonly #target: URL;
  readonly #agent: Agent;
  #fault: (request: ProxiedRequest) => ApiFault | undefined = () => undefined;

  private constructor(target: Server) {
    this.#target = new URL(target.url);
    this.#agent = new Agent({ ca: target.ca, keepAlive: true });
    this.#server = createServer((incoming, answer) => this.#handle(incoming, answer));
  }

  static async start(target: Server): Promise<ApiProxy> {
    const proxy = new ApiProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Injects a fault into later requests, or none. Ends all connections, so that watches reopen. */
  inject(fault: (request: ProxiedRequest) => ApiFault | undefined = () => undefined): void {
    this.#fault = fault;
    this.#server.closeAllConnections();
  }

  openConnections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
    );
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(incoming: IncomingMessage, answer: ServerResponse): void {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', this.#target);
    const isList =
      incoming.method === 'GET' && /^\/apis?\/(?:v1|[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?[^/]+$/.test(pathname);
    const verb = searchParams.get('watch') === 'true' ? 'watch' : isList ? 'list' : 'other';
    const request = { verb, path: pathname } as const;
    this.requests.push(request);
    const fault = this.#fault(request);
    if (fault === 'no answer') return;
    if (fault !== undefined && 'status' in fault) {
      answer.writeHead(fault.status, { 'content-type': fault.contentType }).end(fault.text);
      return;
    }
    this.#forward(incoming, answer, fault?.rewrite);
  }

  #forward(
    incoming: IncomingMessage,
    answer: ServerResponse,
    rewrite: ((body: Record<string, unknown>) => unknown) | undefined,
  ): void {
    const encoding = incoming.headers['accept-encoding'];
    const headers = omit(incoming.headers, 'host', 'accept-encoding');
    const accepts = rewrite === undefined && encoding !== undefined ? { 'accept-encoding': encoding } : {};
    const { method, url: path } = incoming;
    const url = new URL(path ?? '/', this.#target);
    const outgoing = httpsRequest(url, { method, headers: { ...headers, ...accepts }, agent: this.#agent }, (found) => {
      const { statusCode = 502 } = found;
      if (rewrite === undefined || statusCode !== 200) {
        answer.writeHead(statusCode, found.headers);
        found.pipe(answer);
        return;
      }
      void textOf(found).then((text) => {
        const kept = omit(found.headers, 'content-length', 'transfer-encoding');
        answer.writeHead(statusCode, kept).end(JSON.stringify(rewrite(JSON.parse(text) as Record<string, unknown>)));
      });
    });
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }
}

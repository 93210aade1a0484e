import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request that the server received. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

export interface ServedPage {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A server on loopback with scripted answers. */
export interface WebServer {
  readonly url: string;
  readonly asked: ReceivedRequest[];
  /** Answers by path and query; anything else is 404. */
  readonly pages: Map<string, ServedPage | ((request: IncomingMessage) => ServedPage)>;
  /** Called with the body of each request. */
  onBody?: (body: string) => void;
  close(): Promise<void>;
}

export async function startWebServer(tls?: ServerOptions): Promise<WebServer> {
  const asked: ReceivedRequest[] = [];
  const pages: WebServer['pages'] = new Map();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push({ path: request.url ?? '', headers: request.headers });
    const page = pages.get(request.url ?? '') ?? { status: 404 };
    const { status = 200, headers = {}, body = '' } = typeof page === 'function' ? page(request) : page;
    let sent = '';
    request.on('data', (chunk) => (sent += String(chunk)));
    request.on('end', () => {
      made.onBody?.(sent);
      // Said, because a HEAD is answered without the body.
      response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
    });
  };
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const made: WebServer = {
    asked,
    pages,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return made;
}

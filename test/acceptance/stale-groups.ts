import { createServer, request as requestOf } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface DiscoveredGroup {
  readonly metadata: { readonly name?: string };
  versions: { readonly version: string; resources: unknown[]; freshness: string }[];
}

/**
 * A proxy that acts as the aggregation layer of an API server: while a group is down, discovery
 * lists it as stale and without kinds, and requests to it answer 503.
 */
export class AggregationLayer {
  /** The groups whose servers are down. */
  readonly down = new Set<string>();
  /** Number of discovery answers with a stale group. */
  staleAnswers = 0;
  readonly #target: string;
  readonly #server: Server;

  constructor(target: string) {
    this.#target = target;
    this.#server = createServer((incoming, answer) => this.#serve(incoming, answer));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  #serve(incoming: IncomingMessage, answer: ServerResponse): void {
    const path = incoming.url ?? '/';
    const [, root, group = ''] = path.split('/');
    if (root === 'apis' && this.down.has(group)) {
      answer.writeHead(503, { 'content-type': 'text/plain' }).end('service unavailable');
      return;
    }
    // Bodies that are changed here must arrive uncompressed and complete.
    const headers = { ...incoming.headers };
    delete headers['if-none-match'];
    delete headers['accept-encoding'];
    const onward = requestOf(this.#target + path, { method: incoming.method, headers }, (found) => {
      if (path === '/apis') this.#discover(found, answer);
      else {
        answer.writeHead(found.statusCode ?? 500, found.headers);
        answer.flushHeaders();
        found.pipe(answer);
      }
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  #discover(found: IncomingMessage, answer: ServerResponse): void {
    const chunks: Buffer[] = [];
    found.on('data', (chunk: Buffer) => chunks.push(chunk));
    found.on('end', () => {
      const list = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { items: DiscoveredGroup[] };
      const stale = list.items.filter(({ metadata }) => this.down.has(metadata.name ?? ''));
      this.staleAnswers += Number(stale.length > 0);
      for (const item of stale)
        item.versions = item.versions.map((version) => ({ ...version, resources: [], freshness: 'Stale' }));
      const type = found.headers['content-type'] ?? 'application/json';
      answer.writeHead(found.statusCode ?? 500, { 'content-type': type }).end(JSON.stringify(list));
    });
  }
}

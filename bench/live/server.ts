import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject } from '#base';
import type { Json } from '#base';
import type { GeneratedKind } from './objects.ts';

/**
 * A stateless server: it generates each object on request, so that a million of them use no memory.
 * Serves paged lists and open watches, and sends events on request (`/bench/churn?events=…`).
 */
export class GeneratedServer {
  readonly #kinds: readonly GeneratedKind[];
  readonly #server: Server;
  readonly #watches = new Map<string, Set<ServerResponse>>();
  #revision = 0;

  constructor(kinds: readonly GeneratedKind[]) {
    this.#kinds = kinds;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const kind = this.#kinds.find((one) => pathOf(one) === url.pathname);
    if (kind === undefined) {
      const found =
        url.pathname === '/bench/churn'
          ? await this.#churn(Number(url.searchParams.get('events')))
          : this.#document(url.pathname);
      response.writeHead(found === undefined ? 404 : 200, jsonHeaders).end(JSON.stringify(found ?? {}));
    } else if (url.searchParams.get('watch') === 'true') this.#watch(kind, response);
    else response.writeHead(200, jsonHeaders).end(listPage(kind, url.searchParams));
  }

  #document(path: string): Json | undefined {
    if (path === '/version') return { gitVersion: 'v1.36.0' };
    const groups = path === '/api' ? [''] : ['apps'];
    if (path !== '/api' && path !== '/apis') return undefined;
    return {
      ...{ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' },
      items: groups.map((group) => ({
        metadata: { name: group },
        versions: [
          {
            version: 'v1',
            freshness: 'Current',
            resources: this.#kinds.filter((kind) => kind.group === group).map(resourceOf),
          },
        ],
      })),
    };
  }

  #watch(kind: GeneratedKind, response: ServerResponse): void {
    const open = this.#watches.get(kind.kind) ?? new Set();
    this.#watches.set(kind.kind, open.add(response));
    response.on('close', () => open.delete(response));
    response.writeHead(200, jsonHeaders);
    response.write(
      `${JSON.stringify({ type: 'BOOKMARK', object: { kind: kind.kind, metadata: { resourceVersion: listVersion } } })}\n`,
    );
  }

  /** Changes objects of all kinds in turn; responds when all events are sent. */
  async #churn(events: number): Promise<Json> {
    this.#revision += 1;
    for (let i = 0; i < events; i += 1) {
      const kind = this.#kinds[i % this.#kinds.length];
      if (kind === undefined) continue;
      const object = kind.object((i * 7) % kind.count, this.#revision);
      if (isObject(object['metadata']))
        Object.assign(object['metadata'], { resourceVersion: String(3_000_000_000 + this.#revision * 1_000_000 + i) });
      const line = `${JSON.stringify({ type: 'MODIFIED', object: { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object } })}\n`;
      for (const watch of this.#watches.get(kind.kind) ?? []) if (!watch.write(line)) await once(watch, 'drain');
    }
    return { events };
  }
}

const jsonHeaders = { 'content-type': 'application/json' };
const listVersion = '2000000000';

function apiVersionOf({ group }: GeneratedKind): string {
  return group === '' ? 'v1' : `${group}/v1`;
}

function pathOf({ group, resource }: GeneratedKind): string {
  return group === '' ? `/api/v1/${resource}` : `/apis/${group}/v1/${resource}`;
}

function resourceOf({ kind, resource }: GeneratedKind): Json {
  const verbs = ['get', 'list', 'watch', 'patch', 'delete'];
  return { resource, responseKind: { group: '', version: 'v1', kind }, scope: 'Namespaced', verbs };
}

function listPage(kind: GeneratedKind, query: URLSearchParams): string {
  const from = Number(query.get('continue') ?? 0);
  const to = Math.min(kind.count, from + Number(query.get('limit') ?? kind.count));
  const more = to < kind.count ? { continue: String(to), remainingItemCount: kind.count - to } : {};
  const head = JSON.stringify({
    kind: `${kind.kind}List`,
    apiVersion: apiVersionOf(kind),
    metadata: { resourceVersion: listVersion, ...more },
  });
  const items = Array.from({ length: to - from }, (_, i) => JSON.stringify(kind.object(from + i, 0)));
  return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
}

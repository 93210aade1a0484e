import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { omit } from '#base';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface GroupList {
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
  readonly groups?: readonly { readonly name: string }[];
}

export interface SlowDiscoveryOptions {
  /** The API server behind it, and its CA. */
  readonly server: string;
  readonly ca: string;
  readonly tls: { readonly key: string; readonly cert: string };
  /** How long a group stays hidden after the first request that creates a definition of it. */
  readonly delayMsOf: (group: string) => number;
}

/**
 * A proxy in front of an API server that serves the groups of new CustomResourceDefinitions late,
 * as a busy or replicated control plane does. Forwards the credentials of each request.
 */
export class SlowDiscovery {
  readonly #options: SlowDiscoveryOptions;
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #hiddenUntil = new Map<string, number>();
  /** Bodies that were read here. */
  readonly #copies = new WeakMap<IncomingMessage, Buffer>();

  private constructor(options: SlowDiscoveryOptions) {
    this.#options = options;
    this.#agent = new Agent({ connect: { ca: options.ca }, bodyTimeout: 0, headersTimeout: 0 });
    this.#server = createServer(options.tls, (incoming, outgoing) => {
      this.#forward(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async start(options: SlowDiscoveryOptions): Promise<SlowDiscovery> {
    const proxy = new SlowDiscovery(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#agent.destroy();
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { url = '/', method = 'GET' } = incoming;
    const { pathname } = new URL(url, 'https://proxy');
    const [, , group = ''] = pathname.startsWith('/apis/') ? pathname.split('/') : [];
    if (this.#isHidden(group)) {
      outgoing.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
      return;
    }
    if (method !== 'GET' && pathname.startsWith(definitions)) this.#hide(pathname, await this.#copyOf(incoming));
    const answer = await this.#ask(incoming);
    if (pathname !== '/apis') {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      pipeline(answer.body, outgoing, () => undefined);
      return;
    }
    outgoing
      .writeHead(answer.statusCode, omit(answer.headers, 'content-length', 'etag'))
      .end(this.#withoutHidden(await answer.body.text()));
  }

  async #copyOf(incoming: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const copy = Buffer.concat(chunks);
    this.#copies.set(incoming, copy);
    return copy.toString();
  }

  #ask(incoming: IncomingMessage): Promise<Dispatcher.ResponseData> {
    const { url = '/', method = 'GET' } = incoming;
    const left = ['host', 'connection', 'accept-encoding', 'if-none-match', 'content-length', 'transfer-encoding'];
    const headers = Object.entries(incoming.headers).filter(([name]) => !left.includes(name));
    const body = method === 'GET' ? null : (this.#copies.get(incoming) ?? incoming);
    const options = { method, headers: Object.fromEntries(headers), body };
    return request(`${this.#options.server}${url}`, { dispatcher: this.#agent, ...options });
  }

  /** A patch names the definition in its path, a creation in its body. */
  #hide(pathname: string, body: string): void {
    const group =
      /"group":\s*"([^"]+)"/.exec(body)?.[1] ?? pathname.slice(definitions.length + 1).replace(/^\w+\./, '');
    if (!this.#hiddenUntil.has(group)) this.#hiddenUntil.set(group, performance.now() + this.#options.delayMsOf(group));
  }

  #isHidden(group: string): boolean {
    return performance.now() < (this.#hiddenUntil.get(group) ?? 0);
  }

  #withoutHidden(text: string): string {
    const list = JSON.parse(text) as GroupList;
    const items = list.items?.filter(({ metadata }) => !this.#isHidden(metadata.name));
    const groups = list.groups?.filter(({ name }) => !this.#isHidden(name));
    return JSON.stringify({ ...list, ...(items && { items }), ...(groups && { groups }) });
  }
}

import { createServer, request as ask } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions, Server, ServerResponse } from 'node:http';
import { systemClock } from '#base';
import type { RandomSource } from '#base';

/**
 * Maximum delay of a write whose connection was reset: less than the timeout of an admission
 * webhook.
 */
const maxDelayMs = 8000;

/**
 * A proxy before an API server. It resets the connections of some writes and forwards those writes
 * seconds later.
 */
export class DroppingProxy {
  readonly #target: URL;
  readonly #random: RandomSource;
  readonly #server: Server;
  readonly #end = new AbortController();
  readonly #late = new Set<Promise<void>>();
  /** Number of writes that reached the server after their connection was reset. */
  landedLate = 0;
  /** Percentage of writes whose connections are reset. */
  dropped = 0;

  private constructor(target: URL, random: RandomSource) {
    this.#target = target;
    this.#random = random;
    this.#server = createServer((request, response) => void this.#pass(request, response).catch(() => undefined));
  }

  static async start(target: string, random: RandomSource): Promise<DroppingProxy> {
    const proxy = new DroppingProxy(new URL(target), random);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await Promise.all(this.#late);
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    if (method !== 'GET' && this.#random.next() * 100 < this.dropped) {
      request.socket.resetAndDestroy();
      const late = this.#carryOutLater({ method, url, headers, body });
      this.#late.add(late);
      await late.finally(() => this.#late.delete(late));
      return;
    }
    const passed = ask(this.#wire(method, url, headers), (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    passed.once('error', () => request.socket.resetAndDestroy());
    response.once('close', () => passed.destroy());
    passed.end(body);
  }

  async #carryOutLater(what: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: Buffer;
  }): Promise<void> {
    await systemClock.sleep(this.#random.next() * maxDelayMs, this.#end.signal).catch(() => undefined);
    if (this.#end.signal.aborted) return;
    await new Promise<void>((done) => {
      const late = ask(this.#wire(what.method, what.url, what.headers), (answer) => {
        this.landedLate += 1;
        answer.resume();
        answer.once('close', done);
      });
      late.once('error', () => done());
      late.end(what.body);
    });
  }

  #wire(method: string, path: string, headers: IncomingHttpHeaders): RequestOptions {
    return { host: this.#target.hostname, port: this.#target.port, method, path, headers };
  }
}

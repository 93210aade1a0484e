import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Ways in which a cluster attacks its watchers. It has ConfigMaps, and for `kinds` and `foreign`
 * many more kinds.
 */
export type ClusterAttack =
  /** Each page of a list has a continue token. */
  | 'pages'
  /** A list of one page that never ends. */
  | 'answer'
  /** A list with one object that never ends. */
  | 'object'
  /** A watch with a line that never ends. */
  | 'line'
  /** A watch with new objects without end. */
  | 'flood'
  /** A watch with growing objects without end. */
  | 'growth'
  /** Many kinds, each with many objects. */
  | 'kinds'
  /** As `kinds`, but the lists of all kinds have ConfigMaps. */
  | 'foreign';

const kinds = 40;
const objectsOfKind = 20_000;
const pad = 'x'.repeat(1500);

/** An API server that carries out one attack. */
export class HostileServer {
  readonly #server: Server;
  readonly #attack: ClusterAttack;
  #made = 0;
  /** Bytes sent so far. */
  bytes = 0;

  private constructor(attack: ClusterAttack) {
    this.#attack = attack;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(attack: ClusterAttack): Promise<HostileServer> {
    const hostile = new HostileServer(attack);
    await new Promise<void>((resolve) => hostile.#server.listen(0, '127.0.0.1', resolve));
    return hostile;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://hostile');
    const resource = url.pathname.split('/').at(-1) ?? '';
    const [, plural = '', number] = /\/(\w+)\/made-(\d+)$/.exec(url.pathname) ?? [];
    response.writeHead(200, { 'content-type': 'application/json' });
    if (url.pathname === '/version') response.end('{"gitVersion":"v1.30.0"}');
    else if (url.pathname === '/api') response.end('{"kind":"APIVersions","versions":["v1"]}');
    else if (url.pathname === '/apis') response.end('{"kind":"APIGroupList","groups":[]}');
    else if (url.pathname === '/api/v1') response.end(JSON.stringify(this.#resources()));
    else if (number !== undefined) response.end(this.#objectOf(Number(number), this.#kindOf(plural)));
    else if (url.searchParams.get('watch') === 'true') void this.#watch(resource, response);
    else void this.#list(resource, url.searchParams.get('continue') ?? '', response);
  }

  #resources(): object {
    const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
    const entry = (name: string, kind: string): object => ({ name, kind, namespaced: true, verbs });
    const more = ['kinds', 'foreign'].includes(this.#attack)
      ? Array.from({ length: kinds }, (_, i) => entry(`others${i}`, `Other${i}`))
      : [];
    return { kind: 'APIResourceList', groupVersion: 'v1', resources: [entry('configmaps', 'ConfigMap'), ...more] };
  }

  async #list(resource: string, token: string, response: ServerResponse): Promise<void> {
    const isTarget = resource === 'configmaps';
    const kind = this.#kindOf(resource);
    const next = this.#attack === 'pages' && isTarget ? `,"continue":"${this.#made}"` : '';
    await this.#send(response, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"${next}},"items":[`);
    const more = async (count: number): Promise<void> => {
      for (let i = 0; i < count && !response.destroyed; i += 1)
        await this.#send(response, `${i === 0 ? '' : ','}${this.#object(kind)}`);
    };
    if (this.#attack === 'object' && isTarget) {
      await this.#send(response, '{"metadata":{"name":"a","namespace":"apps"},"data":{"a":"');
      while (!response.destroyed) await this.#send(response, pad.repeat(20));
    }
    if (isTarget && this.#attack === 'pages') await more(500);
    if (isTarget && this.#attack === 'answer') await more(Number.POSITIVE_INFINITY);
    if (!isTarget && token === '') await more(objectsOfKind);
    response.end(']}');
  }

  #kindOf(resource: string): string {
    const isConfigMap = resource === 'configmaps' || this.#attack === 'foreign';
    return isConfigMap ? 'ConfigMap' : `Other${resource.slice('others'.length)}`;
  }

  async #watch(resource: string, response: ServerResponse): Promise<void> {
    if (resource !== 'configmaps') return;
    if (this.#attack === 'line') await this.#send(response, '{"type":"ADDED","object":{"a":"');
    while (!response.destroyed) {
      if (this.#attack === 'flood' || this.#attack === 'growth') await this.#event(response, this.#object('ConfigMap'));
      else if (this.#attack === 'line') await this.#send(response, pad.repeat(20));
      else return;
    }
  }

  #event(response: ServerResponse, object: string): Promise<void> {
    return this.#send(response, `{"type":"ADDED","object":${object}}\n`);
  }

  #object(kind: string): string {
    this.#made += 1;
    return this.#objectOf(this.#made, kind);
  }

  /** Every second object belongs to an Application, so that it is kept as a whole. */
  #objectOf(number: number, kind: string): string {
    const name = `made-${number}`;
    const id = `hostile-0:/${kind}:apps/${name}`;
    const annotations = number % 2 === 0 ? { 'argocd.argoproj.io/tracking-id': id } : {};
    const metadata = { name, namespace: 'apps', uid: `uid-${name}`, resourceVersion: String(number + 10), annotations };
    // A kind in doubt is read object by object at the client's rate: fewer, larger ones are faster.
    const text = this.#attack === 'growth' ? pad.repeat(number % 600) : pad.repeat(this.#attack === 'flood' ? 8 : 1);
    return JSON.stringify({ apiVersion: 'v1', kind, metadata, data: { text } });
  }

  async #send(response: ServerResponse, text: string): Promise<void> {
    this.bytes += text.length;
    if (response.destroyed || response.write(text)) return;
    await new Promise<void>((resolve) => {
      response.once('drain', resolve);
      response.once('close', resolve);
    });
  }
}

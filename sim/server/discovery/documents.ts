import type { IncomingMessage } from 'node:http';
import type { SimResponse } from '../handlers/response.ts';
import { serverVersion } from './discovery.ts';
import type { DiscoveryDocuments } from './discovery.ts';
import { methodNotAllowed, notAcceptable } from '../status.ts';

/** Documents about the server itself: version, health, both forms of discovery, OpenAPI. */
export class ServerDocuments {
  readonly #discovery: DiscoveryDocuments;

  constructor(discovery: DiscoveryDocuments) {
    this.#discovery = discovery;
  }

  /** The document at a path; undefined if there is none. @throws SimError 405, 406 */
  find(path: readonly string[], request: IncomingMessage): SimResponse | undefined {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      refuseWrite(path);
      return undefined;
    }
    const [first = '', second = '', third = '', fourth = ''] = path;
    if (['healthz', 'livez', 'readyz'].includes(first))
      return { code: 200, body: 'ok', contentType: 'text/plain; charset=utf-8' };
    switch (first) {
      case 'version':
        return { code: 200, body: JSON.stringify(serverVersion, undefined, 2) };
      case 'api':
        return path.length === 1 ? this.#apiRoot(true, request) : this.#core(path);
      case 'apis':
        return path.length === 1 ? this.#apiRoot(false, request) : this.#group(path);
      case 'openapi':
        return this.#openApi(second, [third, fourth, path[4] ?? ''], request);
      case '':
        return jsonResponse({
          paths: ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v3', '/readyz', '/version'],
        });
      default:
        return undefined;
    }
  }

  #core(path: readonly string[]): SimResponse | undefined {
    return path.length === 2 ? jsonResponse(this.#discovery.resources('', path[1] ?? '')) : undefined;
  }

  #group(path: readonly string[]): SimResponse | undefined {
    const [, group = '', version = ''] = path;
    if (path.length === 2) return jsonResponse(this.#discovery.group(group));
    return path.length === 3 ? jsonResponse(this.#discovery.resources(group, version)) : undefined;
  }

  #apiRoot(core: boolean, request: IncomingMessage): SimResponse | undefined {
    const discovery = this.#discovery;
    const accept = (request.headers.accept ?? '*/*').replaceAll(' ', '').split(',');
    const aggregated = accept.some((type) =>
      /^application\/json;.*g=apidiscovery\.k8s\.io;v=v2(?![a-z0-9])/.test(type),
    );
    if (aggregated) {
      const { text, etag } = discovery.aggregated(core);
      const contentType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      const fresh = request.headers['if-none-match'] === etag;
      return { code: fresh ? 304 : 200, body: fresh ? '' : text, contentType, headers: { ETag: etag, Vary: 'Accept' } };
    }
    const plain = accept.some((type) => !type.includes('g=apidiscovery.k8s.io'));
    if (!plain) throw notAcceptable(true);
    return jsonResponse(core ? discovery.core(request.headers.host ?? '127.0.0.1') : discovery.groups());
  }

  #openApi(version: string, path: readonly string[], request: IncomingMessage): SimResponse | undefined {
    const discovery = this.#discovery;
    const accept = request.headers.accept ?? '*/*';
    if (version === 'v2' && accept.includes(openApiProtobuf)) {
      return { code: 200, body: emptyOpenApiV2, contentType: openApiProtobuf.replace('@', '.') };
    }
    if (version === 'v2') return { code: 200, body: discovery.openApiV2() };
    if (version !== 'v3') return undefined;
    const [root = '', first = '', second = ''] = path;
    if (root === '') return { code: 200, body: discovery.openApiIndex(), contentType: 'text/plain; charset=utf-8' };
    const text = root === 'api' ? discovery.openApi('', first) : discovery.openApi(first, second);
    return text === undefined ? { code: 404, body: '' } : { code: 200, body: text };
  }
}

/**
 * The form that clients request; responses replace the @, which is invalid in media types, by a
 * dot.
 */
const openApiProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

/**
 * The OpenAPI v2 document for clients that accept only protobuf: kubectl requests it when v3 lacks
 * a kind, to find that v2 lacks it too. It describes no kind: fields swagger (1), info (2: title,
 * version) and empty paths (8). All kinds are in v3 and in the JSON form.
 */
const emptyOpenApiV2 = ((): string => {
  const field = (number: number, text: string): string => String.fromCharCode((number << 3) | 2, text.length) + text;
  return field(1, '2.0') + field(2, field(1, 'Kubernetes') + field(2, 'v1')) + field(8, '');
})();

/** Documents are read-only: writes below the API return 405, elsewhere 404. */
function refuseWrite([first]: readonly string[]): void {
  if (first === 'api' || first === 'apis') throw methodNotAllowed();
}

function jsonResponse(value: unknown): SimResponse | undefined {
  return value === undefined ? undefined : { code: 200, body: JSON.stringify(value) };
}

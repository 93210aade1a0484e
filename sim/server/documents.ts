import type { IncomingMessage } from 'node:http';
import type { Answer } from './answer.ts';
import { serverVersion } from './discovery.ts';
import type { Discovery } from './discovery.ts';
import { methodNotAllowed, notAcceptable } from './status.ts';

/** What a server tells about itself: version, health, discovery in both forms, OpenAPI. */
export class Documents {
  readonly #discovery: Discovery;

  constructor(discovery: Discovery) {
    this.#discovery = discovery;
  }

  /** The document at a path; undefined when there is none. @throws SimError 405, 406 */
  find(path: readonly string[], request: IncomingMessage): Answer | undefined {
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
        return json({
          paths: ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v3', '/readyz', '/version'],
        });
      default:
        return undefined;
    }
  }

  #core(path: readonly string[]): Answer | undefined {
    return path.length === 2 ? json(this.#discovery.resources('', path[1] ?? '')) : undefined;
  }

  #group(path: readonly string[]): Answer | undefined {
    const [, group = '', version = ''] = path;
    if (path.length === 2) return json(this.#discovery.group(group));
    return path.length === 3 ? json(this.#discovery.resources(group, version)) : undefined;
  }

  #apiRoot(core: boolean, request: IncomingMessage): Answer | undefined {
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
    return json(core ? discovery.core(request.headers.host ?? '127.0.0.1') : discovery.groups());
  }

  #openApi(version: string, path: readonly string[], request: IncomingMessage): Answer | undefined {
    const discovery = this.#discovery;
    const accept = request.headers.accept ?? '*/*';
    if (version === 'v2' && accept.includes(openApiProtobuf)) {
      return { code: 200, body: emptyOpenApiV2, contentType: openApiProtobuf.replace('@', '.') };
    }
    const acceptable = accept === '' || accept.includes('json') || accept.includes('*/*');
    if (!acceptable) throw notAcceptable(true);
    if (version === 'v2') return { code: 200, body: discovery.openApiV2() };
    if (version !== 'v3') return undefined;
    const [root = '', first = '', second = ''] = path;
    if (root === '') return { code: 200, body: discovery.openApiIndex(), contentType: 'text/plain; charset=utf-8' };
    const text = root === 'api' ? discovery.openApi('', first) : discovery.openApi(first, second);
    return text === undefined ? { code: 404, body: '' } : { code: 200, body: text };
  }
}

/** As clients ask for it; in answers a dot stands for the @, which is no legal media type. */
const openApiProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

/**
 * The OpenAPI v2 document for clients that take it as protobuf only: kubectl asks for it after version 3 did not know a kind, to find that version 2
 * does not know it either. So it describes no kind: fields swagger (1), info (2: title, version) and empty paths (8). All kinds are in version 3 and in
 * the JSON form.
 */
const emptyOpenApiV2 = ((): string => {
  const field = (number: number, text: string): string => String.fromCharCode((number << 3) | 2, text.length) + text;
  return field(1, '2.0') + field(2, field(1, 'Kubernetes') + field(2, 'v1')) + field(8, '');
})();

/** Nothing can be written here; below the API that is said, elsewhere there is simply nothing. */
function refuseWrite([first]: readonly string[]): void {
  if (first === 'api' || first === 'apis') throw methodNotAllowed();
}

function json(value: unknown): Answer | undefined {
  return value === undefined ? undefined : { code: 200, body: JSON.stringify(value) };
}

import { defined, isObject, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { groupKindName } from '#model';
import type { ApiResource, ClusterConnection, KubeObject } from '#model';
import { checkIdentity, countBytes, readJson, readList, readObject, readText } from './requests/answers.ts';
import { rememberWarnings } from './requests/warnings.ts';
import type { KubeClientDeps } from './client-types.ts';
import { apiResource } from './discovery/api-resource.ts';
import { discover } from './discovery/discovery.ts';
import { KubeProtocolError, KubeRequestError, KubeSizeError } from './errors.ts';
import { Exchange } from './requests/exchange.ts';
import type { RequestSpec } from './requests/exchange.ts';
import { resourcePath, withQuery } from './paths.ts';
import { SingleFlight } from './single-flight.ts';
import type {
  ApiDiscovery,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  NamedObject,
  Patch,
  PodLogOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './types.ts';
import { watchStream } from './requests/watch-stream.ts';

const contentTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};
const pods = apiResource('v1', 'Pod', 'pods', 'namespaced');
const jsonHeaders = { 'content-type': 'application/json' };
const shortestWatchS = 240;
const longestWatchS = 480;

/**
 * A client for one API server. Connects on the first call; `close` ends its connections. Clients
 * created by `impersonate` share its connections, throttle and credentials, and live as long as it
 * does.
 */
export function createKubeClient(connection: ClusterConnection, deps: KubeClientDeps): KubeClient {
  return new RawClient(new Exchange(connection, deps), undefined);
}

class RawClient implements KubeClient {
  readonly #exchange: Exchange;
  readonly #user: string | undefined;
  readonly #discovering = new SingleFlight<ApiDiscovery>();

  constructor(exchange: Exchange, user: string | undefined) {
    this.#exchange = exchange;
    this.#user = user;
  }

  get server(): string {
    return this.#exchange.server;
  }

  async get(resource: ApiResource, object: NamedObject, options: CallOptions): Promise<KubeObject> {
    const wire = { method: 'GET', path: objectPath(resource, object), repeatable: true } as const;
    return this.#exchange.send(this.#spec('get', resource, options, wire), async (response, bounds) => {
      const found = await readObject(response, bounds);
      checkIdentity(found, resource, object, bounds.request);
      return found;
    });
  }

  async list(resource: ApiResource, options: ListOptions): Promise<ListPage> {
    const { labelSelector, fieldSelector, limit, resourceVersion } = options;
    const path = withQuery(resourcePath(resource, scopeOf(options)), {
      labelSelector,
      fieldSelector,
      limit,
      continue: options.continue,
      resourceVersion,
    });
    const headers = options.metadataOnly === true ? { headers: { accept: metadataLists } } : {};
    const spec = this.#spec('list', resource, options, { method: 'GET', path, repeatable: true, ...headers });
    return this.#exchange.send(spec, (response, bounds) =>
      readList(response, { ...bounds, resource, sink: options.items, defers: options.defers }),
    );
  }

  async podLog(pod: NamedObject, options: PodLogOptions): Promise<string> {
    const { container, isPrevious, tailLines, limitBytes } = options;
    const path = withQuery(objectPath(pods, pod, 'log'), {
      container,
      previous: isPrevious ? true : undefined,
      tailLines,
      limitBytes,
    });
    const wire = { method: 'GET', path, headers: { accept: '*/*' }, repeatable: true } as const;
    return this.#exchange.send(this.#spec('log', pods, options, wire), (response, bounds) =>
      readText(response, bounds, limitBytes),
    );
  }

  create(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject> {
    return this.#object('create', resource, options, () => {
      const name = object.metadata.name;
      const parent = resourcePath(resource, { namespace: namespaceOf(resource, object, object.metadata.namespace) });
      // The URL contains the name only if a subresource is created.
      const path =
        options.subresource === undefined || name === undefined
          ? parent
          : `${parent}/${encodeURIComponent(name)}/${options.subresource}`;
      return { method: 'POST', path: withQuery(path, writeQuery(options)), ...bodyOf(object), repeatable: false };
    });
  }

  replace(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject> {
    return this.#object('update', resource, options, () => {
      const { name = '', namespace = '' } = object.metadata;
      const path = objectPath(resource, { name, namespace }, options.subresource);
      return { method: 'PUT', path: withQuery(path, writeQuery(options)), ...bodyOf(object), repeatable: false };
    });
  }

  patch(resource: ApiResource, object: NamedObject, patch: Patch, options: WriteOptions): Promise<KubeObject> {
    return this.#object('patch', resource, options, () => {
      if (patch.type === 'apply' && (options.fieldManager ?? '') === '')
        throw new KubeRequestError(`cannot apply ${resource.kind} "${object.name}" without a field manager`);
      const force = patch.type === 'apply' ? options.force : undefined;
      const path = objectPath(resource, object, options.subresource);
      return {
        method: 'PATCH',
        path: withQuery(path, { ...writeQuery(options), force }),
        headers: { 'content-type': contentTypes[patch.type] },
        body: stringifyJson(patch.body as Json),
        repeatable: false,
      };
    });
  }

  async delete(resource: ApiResource, object: NamedObject, options: DeleteOptions): Promise<void> {
    const { propagationPolicy, preconditions, gracePeriodSeconds, dryRun } = options;
    const body: JsonObject = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...defined({ propagationPolicy }),
      ...(preconditions === undefined ? {} : { preconditions: { ...preconditions } }),
      ...defined({ gracePeriodSeconds }),
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    };
    const spec = this.#spec('delete', resource, options, {
      method: 'DELETE',
      path: objectPath(resource, object),
      headers: jsonHeaders,
      body: stringifyJson(body),
      repeatable: false,
    });
    await this.#exchange.send(spec, (response, bounds) => readJson(response, bounds));
  }

  watch(resource: ApiResource, options: WatchOptions): AsyncIterable<WatchEvent> {
    const { labelSelector, fieldSelector, onOpen, defers } = options;
    const start =
      options.sendInitialEvents === true
        ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: options.resourceVersion };
    const spread = Math.floor(this.#exchange.random.next() * (longestWatchS - shortestWatchS + 1));
    const path = withQuery(resourcePath(resource, scopeOf(options)), {
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      ...start,
      timeoutSeconds: Math.min(options.timeoutSeconds ?? shortestWatchS + spread, this.#exchange.watchLimitS),
    });
    const call = { signal: options.signal };
    const spec = this.#spec('watch', resource, call, { method: 'GET', path, repeatable: true });
    return watchStream(this.#exchange, spec, { onOpen, defers });
  }

  discover(options: CallOptions): Promise<ApiDiscovery> {
    return this.#discovering.run(options.signal, (signal) => {
      const { documentBytes } = this.#exchange.limits.bytes;
      let leftBytes = documentBytes;
      return discover((path, accept) => {
        const wire = { method: 'GET', path, headers: { accept }, repeatable: true } as const;
        const spec = this.#spec('discovery', undefined, { ...options, signal }, wire);
        return this.#exchange.send(spec, async (response, bounds) => {
          // One limit for all documents together: 10,000 small ones take as much as a large one.
          const counted = countBytes(response, (bytes) => {
            leftBytes -= bytes;
            if (leftBytes < 0)
              throw KubeSizeError.of('document', bounds.request, documentBytes - leftBytes, documentBytes);
          });
          return readJson(counted, bounds, 'document');
        });
      });
    });
  }

  async openApiIndex(options: CallOptions): Promise<ReadonlyMap<string, string>> {
    const answer = await this.#document('/openapi/v3', options);
    const paths = isObject(answer) ? answer['paths'] : undefined;
    const hashes = new Map<string, string>();
    for (const [path, entry] of Object.entries(isObject(paths) ? paths : {})) {
      const url = isObject(entry) ? entry['serverRelativeURL'] : undefined;
      const hash = typeof url === 'string' ? /[?&]hash=([^&]+)/.exec(url)?.[1] : undefined;
      if (hash !== undefined) hashes.set(path, decodeURIComponent(hash));
    }
    return hashes;
  }

  openApiDocument(path: string, hash: string, options: CallOptions): Promise<Json> {
    const segments = path.split('/').map(encodeURIComponent);
    return this.#document(withQuery(`/openapi/v3/${segments.join('/')}`, { hash }), options);
  }

  #document(path: string, options: CallOptions): Promise<Json> {
    const wire = { method: 'GET', path, headers: { accept: 'application/json' }, repeatable: true } as const;
    return this.#exchange.send(this.#spec('openapi', undefined, options, wire), (response, bounds) =>
      readJson(response, bounds, 'document'),
    );
  }

  async mayList(resource: ApiResource, namespace: string | undefined, options: CallOptions): Promise<boolean> {
    const { group, version, resource: plural } = resource;
    // A review without a namespace asks about all namespaces.
    const resourceAttributes = { verb: 'list', group, version, resource: plural, namespace: namespace ?? '' };
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    // A review changes nothing, so it is repeatable.
    const wire = { method: 'POST', path, headers: jsonHeaders, body: stringifyJson(review), repeatable: true } as const;
    const spec = this.#spec('review', undefined, options, wire);
    const answer = await this.#exchange.send(spec, (response, bounds) => readJson(response, bounds));
    const status = isObject(answer) ? answer['status'] : undefined;
    const allowed = isObject(status) ? status['allowed'] : undefined;
    if (typeof allowed !== 'boolean')
      throw new KubeProtocolError(this.#exchange.describe(spec), 'the answer does not say whether it is allowed');
    return allowed;
  }

  async version(options: CallOptions): Promise<string> {
    const spec = this.#spec('version', undefined, options, { method: 'GET', path: '/version', repeatable: true });
    const answer = await this.#exchange.send(spec, (response, bounds) => readJson(response, bounds));
    const gitVersion = isObject(answer) ? answer['gitVersion'] : undefined;
    if (typeof gitVersion !== 'string')
      throw new KubeProtocolError(this.#exchange.describe(spec), 'the answer has no gitVersion');
    return gitVersion;
  }

  impersonate(user: string): KubeClient {
    this.#exchange.shared();
    return new RawClient(this.#exchange, user);
  }

  updateCredentials(connection: ClusterConnection): void {
    this.#exchange.updateCredentials(connection);
  }

  async close(): Promise<void> {
    if (this.#user === undefined) await this.#exchange.close();
  }

  /**
   * A call whose response is one object. If the request cannot be built, it rejects instead of
   * throwing.
   */
  async #object(
    verb: string,
    resource: ApiResource,
    options: CallOptions,
    build: () => RequestParts,
  ): Promise<KubeObject> {
    const spec = this.#spec(verb, resource, options, build());
    return this.#exchange.send(spec, async (response, bounds) => {
      const object = await readObject(response, bounds);
      rememberWarnings(object, response, spec.kind);
      return object;
    });
  }

  #spec(verb: string, resource: ApiResource | undefined, options: CallOptions, wire: RequestParts): RequestSpec {
    return {
      ...wire,
      verb,
      kind: resource === undefined ? '' : groupKindName(resource),
      headers: { ...wire.headers, ...(this.#user === undefined ? {} : { 'impersonate-user': this.#user }) },
      signal: options.signal,
      ...defined({
        deadlineMs: options.deadlineMs,
        attempts: options.attempts,
        beforeSend: options.beforeSend,
        onRequest: options.onRequest,
      }),
    };
  }
}

const metadataLists = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

type RequestParts = Pick<RequestSpec, 'method' | 'path' | 'headers' | 'body' | 'repeatable'>;

function bodyOf(object: KubeObject): Pick<RequestParts, 'headers' | 'body'> {
  return { headers: jsonHeaders, body: stringifyJson(object as unknown as Json) };
}

function writeQuery(options: WriteOptions): Record<string, string | undefined> {
  return {
    fieldManager: options.fieldManager,
    dryRun: options.dryRun === true ? 'All' : undefined,
    fieldValidation: options.fieldValidation,
  };
}

function scopeOf(options: { readonly namespace?: string }): { namespace?: string } {
  return options.namespace === undefined ? {} : { namespace: options.namespace };
}

function objectPath(resource: ApiResource, object: NamedObject, subresource?: string): string {
  const namespace = namespaceOf(resource, { metadata: { name: object.name } }, object.namespace);
  return resourcePath(resource, {
    namespace,
    name: object.name,
    ...defined({ subresource }),
  });
}

function namespaceOf(
  resource: ApiResource,
  object: Pick<KubeObject, 'metadata'>,
  namespace: string | undefined,
): string {
  if (!resource.namespaced) return '';
  if (namespace !== undefined && namespace !== '') return namespace;
  throw new KubeRequestError(`${resource.kind} "${object.metadata.name ?? ''}" needs a namespace`);
}

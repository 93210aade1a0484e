import { applyMergePatch, cloneJson, deepEqual, isObject, parsePointer, removeAt, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import { VersionedStore } from './store.ts';

/** A kind that the server serves. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

export interface ServerRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly accept?: string;
  readonly body?: string | undefined;
}

export interface ServerAnswer {
  readonly status: number;
  readonly body: object;
}

/** Where a request goes, by its path. */
export interface RequestTarget {
  readonly kind: ServedKind | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'replace' | 'patch' | 'delete' | 'discover' | 'other';
}

const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/** An API server without network: routes one request at a time to its store. */
export class WorldApiServer {
  readonly url: string;
  readonly kinds: readonly ServedKind[];
  readonly store: VersionedStore;
  /** From 1.34 on, lists are streamed to those that ask for it. */
  gitVersion = 'v1.33.1';
  /** Changes an object before it is stored for the first time, like a controller of the cluster. */
  onCreate: (object: KubeObject) => KubeObject = (object) => object;

  constructor(url: string, kinds: readonly ServedKind[], now: () => number) {
    this.url = url;
    this.kinds = kinds;
    this.store = new VersionedStore(new URL(url).hostname, now);
  }

  targetOf({ method, path }: Pick<ServerRequest, 'method' | 'path'>): RequestTarget {
    const [plain = '', text = ''] = path.split('?');
    const query = new URLSearchParams(text);
    const parts = plain
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
    const nowhere = { kind: undefined, namespace: undefined, name: undefined, query };
    if (parts[0] === 'openapi' || parts[0] === 'version') return { ...nowhere, verb: 'other' };
    if (parts.length < (parts[0] === 'api' ? 3 : 4)) return { ...nowhere, verb: 'discover' };
    const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
    const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
    const namespace = rest[0] === 'namespaces' && rest.length > 2 ? rest[1] : undefined;
    const [resource, name] = namespace === undefined ? rest : rest.slice(2);
    const kind = this.kinds.find((served) => served.group === group && served.resource === resource);
    return { kind, namespace, name, query, verb: verbOf(method, name, query) };
  }

  answer(request: ServerRequest): ServerAnswer {
    const target = this.targetOf(request);
    if (target.verb === 'discover') return this.#discovery(request.path);
    if (target.verb === 'other') return { status: 200, body: { gitVersion: this.gitVersion, paths: {} } };
    if (request.path.includes('selfsubjectaccessreviews')) return { status: 201, body: { status: { allowed: true } } };
    const { kind } = target;
    if (kind === undefined) return failure(404, 'NotFound', 'the server could not find the requested resource');
    const body = request.body === undefined ? undefined : (JSON.parse(request.body) as Json);
    switch (target.verb) {
      case 'get':
        return this.#get(kind, target);
      case 'list':
        return this.#list(kind, target, request.accept ?? '');
      case 'create':
        return this.#create(kind, target, body as unknown as KubeObject);
      case 'replace':
        return this.#replace(kind, target, body as unknown as KubeObject);
      case 'patch':
        return this.#patch(kind, target, body ?? null);
      case 'delete':
        return this.#delete(kind, target, body);
      case 'watch':
      default:
        return failure(400, 'BadRequest', 'a watch is opened, not answered');
    }
  }

  /** Whether an object belongs to the answer of a list or watch. */
  matches(object: KubeObject, { namespace, query }: RequestTarget): boolean {
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    const field = query.get('fieldSelector')?.replace(/^metadata\.name=/, '');
    if (field !== undefined && object.metadata.name !== field) return false;
    const text = query.get('labelSelector');
    const selector = text === null ? null : /^(\S+) in \(([^)]*)\)$/.exec(text);
    if (selector === null) return true;
    return (selector[2] ?? '').split(',').includes(object.metadata.labels?.[selector[1] ?? ''] ?? '');
  }

  /** The objects that a list or watch is about. */
  objectsOf(target: RequestTarget): readonly KubeObject[] {
    const found = this.store.list(target.kind?.resource ?? '', target.namespace);
    return found.filter((object) => this.matches(object, target));
  }

  #get({ resource }: ServedKind, { namespace = '', name = '' }: RequestTarget): ServerAnswer {
    const object = this.store.get(resource, namespace, name);
    return object === undefined ? notFound(resource, name) : { status: 200, body: object };
  }

  #list(kind: ServedKind, target: RequestTarget, accept: string): ServerAnswer {
    const found = this.objectsOf(target);
    const isMetadata = accept.includes('PartialObjectMetadataList');
    const metadata = { resourceVersion: String(this.store.version) };
    const apiVersion = isMetadata ? 'meta.k8s.io/v1' : groupVersionOf(kind);
    const items = isMetadata
      ? found.map((object) => ({ apiVersion, kind: 'PartialObjectMetadata', metadata: object.metadata }))
      : found;
    return {
      status: 200,
      body: { kind: isMetadata ? 'PartialObjectMetadataList' : `${kind.kind}List`, apiVersion, metadata, items },
    };
  }

  #create(kind: ServedKind, { namespace = '', query }: RequestTarget, object: KubeObject): ServerAnswer {
    const name = object.metadata.name ?? '';
    if (this.store.get(kind.resource, namespace, name) !== undefined)
      return failure(409, 'AlreadyExists', `${kind.resource} "${name}" already exists`);
    if (object.metadata.resourceVersion !== undefined)
      return failure(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    const placed = kind.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object;
    const made = this.onCreate(placed);
    return { status: 201, body: query.has('dryRun') ? made : this.store.put(kind.resource, made) };
  }

  #replace(kind: ServedKind, { namespace = '', name = '', query }: RequestTarget, object: KubeObject): ServerAnswer {
    const before = this.store.get(kind.resource, namespace, name);
    if (before === undefined) return notFound(kind.resource, name);
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      return conflict(kind.resource, name);
    return this.#stored(kind, before, withoutNulls(object), query);
  }

  #patch(kind: ServedKind, { namespace = '', name = '', query }: RequestTarget, patch: Json): ServerAnswer {
    const before = this.store.get(kind.resource, namespace, name);
    if (before === undefined) return notFound(kind.resource, name);
    if (Array.isArray(patch)) {
      const patched = applyJsonPatch(before, patch);
      return typeof patched === 'string'
        ? failure(422, 'Invalid', patched)
        : this.#stored(kind, before, patched, query);
    }
    const after = withoutNulls(applyMergePatch(jsonOf(before), withoutDirectives(patch)) as unknown as KubeObject);
    const { uid, resourceVersion } = after.metadata;
    if (uid !== before.metadata.uid || resourceVersion !== before.metadata.resourceVersion)
      return conflict(kind.resource, name);
    return this.#stored(kind, before, after, query);
  }

  #stored({ resource }: ServedKind, before: KubeObject, after: KubeObject, query: URLSearchParams): ServerAnswer {
    if (query.has('dryRun')) return { status: 200, body: after };
    const same = deepEqual(jsonOf({ ...after, metadata: { ...after.metadata, resourceVersion: '' } }), {
      ...(jsonOf(before) as MutableJsonObject),
      metadata: { ...(before.metadata as unknown as MutableJsonObject), resourceVersion: '' },
    });
    return { status: 200, body: same ? before : this.store.put(resource, after) };
  }

  #delete(
    kind: ServedKind,
    { namespace = '', name = '', query }: RequestTarget,
    options: Json | undefined,
  ): ServerAnswer {
    const before = this.store.get(kind.resource, namespace, name);
    if (before === undefined) return notFound(kind.resource, name);
    const given = isObject(options) ? options['preconditions'] : undefined;
    const { uid, resourceVersion } = isObject(given) ? given : {};
    const { metadata } = before;
    if (
      (uid ?? metadata.uid) !== metadata.uid ||
      (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
    )
      return conflict(kind.resource, name);
    return { status: 200, body: query.has('dryRun') ? before : this.store.delete(kind.resource, before) };
  }

  /** Aggregated discovery. */
  #discovery(path: string): ServerAnswer {
    const groups = new Map<string, ServedKind[]>();
    for (const kind of this.kinds) {
      if ((kind.group === '') !== path.startsWith('/api?') && (kind.group === '') !== (path === '/api')) continue;
      groups.set(kind.group, [...(groups.get(kind.group) ?? []), kind]);
    }
    const items = [...groups].map(([name, kinds]) => ({
      metadata: { name },
      versions: [
        {
          version: kinds[0]?.version,
          freshness: 'Current',
          resources: kinds.map(({ resource, kind, group, version, namespaced }) => ({
            resource,
            responseKind: { group, version, kind },
            scope: namespaced ? 'Namespaced' : 'Cluster',
            singularResource: kind.toLowerCase(),
            verbs,
          })),
        },
      ],
    }));
    return {
      status: 200,
      body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items },
    };
  }
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): RequestTarget['verb'] {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'replace';
  if (method === 'PATCH') return 'patch';
  if (method === 'DELETE') return 'delete';
  if (name !== undefined) return 'get';
  return query.get('watch') === 'true' ? 'watch' : 'list';
}

function groupVersionOf({ group, version }: ServedKind): string {
  return group === '' ? version : `${group}/${version}`;
}

/** An error answer with its `metav1.Status`. */
export function failure(code: number, reason: string, message: string): ServerAnswer {
  return {
    status: code,
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message },
  };
}

function notFound(resource: string, name: string): ServerAnswer {
  return failure(404, 'NotFound', `${resource} "${name}" not found`);
}

function conflict(resource: string, name: string): ServerAnswer {
  return failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${resource} "${name}": the object has been modified`,
  );
}

/** The `$` members of a strategic merge patch order lists, which the kinds of this world lack. */
function withoutDirectives(patch: Json): Json {
  if (!isObject(patch)) return patch;
  const members = Object.entries(patch).filter(([name]) => !name.startsWith('$'));
  return Object.fromEntries(members.map(([name, value]) => [name, withoutDirectives(value ?? null)]));
}

function withoutNulls(object: KubeObject): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as unknown as KubeObject;
}

interface JsonPatchStep {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: Json;
}

/** The patched object, or why the patch is refused. */
function applyJsonPatch(before: KubeObject, patch: readonly JsonPatchStep[]): KubeObject | string {
  const root = cloneJson(jsonOf(before)) as MutableJsonObject;
  for (const { op, path, value } of patch) {
    const steps = parsePointer(path) ?? [];
    const last = steps.at(-1) ?? '';
    let parent: MutableJson | undefined = root;
    for (const step of steps.slice(0, -1)) parent = isMutable(parent) ? parent[step] : undefined;
    if (!isMutable(parent)) return `the path ${path} does not exist`;
    if (op === 'test' && !deepEqual(parent[last] ?? null, value ?? null)) return `testing ${path} failed`;
    if (op === 'remove' && !removeAt(root, steps)) return `the path ${path} does not exist`;
    if (op === 'replace' && !Object.hasOwn(parent, last)) return `the path ${path} does not exist`;
    if (op === 'add' || op === 'replace') setOwnMember(parent, last, cloneJson(value ?? null) as MutableJson);
  }
  return withoutNulls(root as unknown as KubeObject);
}

function isMutable(value: MutableJson | undefined): value is MutableJsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

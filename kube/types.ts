import type { Json } from '#base';
import type { ApiResource, ClusterConnection, KubeObject } from '#model';

/** Every call can be stopped, and ends by itself: default deadline 30 s. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  /** Server-side apply only: take fields over from other managers. */
  readonly force?: boolean;
  readonly subresource?: 'status' | 'scale';
}

export interface DeleteOptions extends CallOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  /** The server deletes only this very object (HTTP 409 otherwise). */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
}

export interface NamedObject {
  /** "" for cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

export interface ListOptions extends CallOptions {
  /** All namespaces when missing. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size. */
  readonly limit?: number;
  readonly continue?: string;
  /** "0": whatever the server's cache holds. */
  readonly resourceVersion?: string;
  /** Only the metadata of the objects, whose apiVersion and kind are then those of PartialObjectMetadata. Servers may send more. */
  readonly metadataOnly?: boolean;
  /** Takes the items while they arrive, so that a page is never in memory as a whole; the page that is returned has then only what was not taken. */
  readonly items?: ItemSink;
}

/** Where the items of a page go while it arrives. */
export interface ItemSink {
  /** The page begins, or begins again because an answer was cut off: what came before may be of another moment. */
  begin(): void;
  /** Some items. `resourceVersion` is that of the list. */
  add(items: readonly KubeObject[], resourceVersion: string): void;
}

export interface ListPage {
  /** apiVersion and kind are filled in where the list left them out. Of an object that cannot be read only the head: `faultOf` tells. */
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Present when more pages follow. */
  readonly continue?: string;
  /** How many objects follow after this page, where the server says so. */
  readonly remaining?: number;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: Json }
  | { readonly type: 'json'; readonly body: Json }
  | { readonly type: 'strategic'; readonly body: Json }
  /** Server-side apply; `WriteOptions.fieldManager` is required. */
  | { readonly type: 'apply'; readonly body: KubeObject };

/** Of an object that cannot be read only the head comes: `faultOf` tells. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  /** When the server shall end the watch by itself. Default: random in 240 to 480 s, so that watches do not all end together. */
  readonly timeoutSeconds?: number;
  /** Called once, when the server has accepted the watch. */
  readonly onOpen?: () => void;
}

/** What a server can serve, as of one moment. Immutable plain data; `findResource` looks things up in it. */
export interface ApiDiscovery {
  /** Every served resource in the server's preferred version, subresources folded in. */
  readonly preferred: readonly ApiResource[];
  /** Every served resource in every version, in the order of the server. */
  readonly served: readonly ApiResource[];
  /** Sorted unique `group/version` and `group/version/Kind` (core: `v1`, `v1/Pod`), as renderers want them. */
  readonly apiVersions: readonly string[];
  /** Groups that discovery could not read this time, with the reason. The rest is complete. */
  readonly failedGroups: ReadonlyMap<string, string>;
}

/**
 * One API server, dynamic and raw: bodies go out and come in as they are, no field is dropped, big integers stay exact (decision D3).
 *
 * Errors: {@link KubeApiError} for every answer that is not a success, KubeConnectionError when there was no answer, DeadlineExceeded. Reads
 * (get, list) are retried with backoff on connection errors, 429 and 5xx; writes only where the server cannot have acted (connection
 * refused, 429 and 503 with Retry-After). Safe to call concurrently; connections are shared.
 */
export interface KubeClient {
  readonly server: string;
  get(resource: ApiResource, object: NamedObject, options: CallOptions): Promise<KubeObject>;
  list(resource: ApiResource, options: ListOptions): Promise<ListPage>;
  create(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject>;
  /** PUT; the object's resourceVersion, when present, must be current. */
  replace(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject>;
  patch(resource: ApiResource, object: NamedObject, patch: Patch, options: WriteOptions): Promise<KubeObject>;
  /** Resolves when the server accepted the deletion; 404 is an error like any other. */
  delete(resource: ApiResource, object: NamedObject, options: DeleteOptions): Promise<void>;
  /**
   * One watch request: events in order, one at a time, until the server ends it (normal end) or an error is thrown. A line that is not
   * JSON throws; an ERROR event throws KubeApiError (410: code `KUBE_EXPIRED`). Silence beyond the idle limit throws.
   */
  watch(resource: ApiResource, options: WatchOptions): AsyncIterable<WatchEvent>;
  discover(options: CallOptions): Promise<ApiDiscovery>;
  /** The OpenAPI v3 documents that the server has: by group version (`api/v1`, `apis/apps/v1`) the hash of its present state. */
  openApiIndex(options: CallOptions): Promise<ReadonlyMap<string, string>>;
  /** One of them. They are large. */
  openApiDocument(path: string, hash: string, options: CallOptions): Promise<Json>;
  /**
   * Whether this account may list a kind, in a namespace or (undefined) in all: the server's own opinion, by a SelfSubjectAccessReview. A POST that
   * changes nothing, which a client that only reads does not send either.
   */
  mayList(resource: ApiResource, namespace: string | undefined, options: CallOptions): Promise<boolean>;
  /** `gitVersion` of /version. */
  version(options: CallOptions): Promise<string>;
  /** The same connection acting as another user (Impersonate-User). */
  impersonate(user: string): KubeClient;
  /** Swaps credentials in place: running watches go on, the next request uses the new ones. Server and CA must be the same. */
  updateCredentials(connection: ClusterConnection): void;
  /** Ends all connections. Idempotent. */
  close(): Promise<void>;
}

/** The half of a client that cannot change anything. */
export type KubeReader = Pick<
  KubeClient,
  'server' | 'get' | 'list' | 'watch' | 'discover' | 'version' | 'openApiIndex' | 'openApiDocument'
>;

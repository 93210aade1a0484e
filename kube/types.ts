import type { Json } from '#base';
import type { ApiResource, ClusterConnection, KubeObject } from '#model';
import type { RequestRecord } from './client-types.ts';

/** Every call can be aborted and has a deadline, by default 30 s. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
  /**
   * Called synchronously before each attempt's first byte is sent, after every wait (throttle,
   * retry, connection). If it throws, nothing is sent, and the call rejects with that error.
   */
  readonly beforeSend?: () => void;
  /** Called synchronously after each exchange of this call; must not throw. */
  readonly onRequest?: (record: RequestRecord) => void;
  /** Attempts, if other than the client's. */
  readonly attempts?: number;
}

/** A call that must be checked before it is sent. */
export type CheckedCall = Required<Pick<CallOptions, 'signal' | 'beforeSend'>>;

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
  /** '' for cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * Chooses the objects whose status and managedFields are kept as text until they are read, because
 * most of them never are. Undefined: parse it as a whole.
 */
export type DefersMembers = (object: NamedObject) => DeferredBase | undefined;

/** The last known version of a deferred object: what has not changed is taken from it. */
export interface DeferredBase {
  readonly known: KubeObject | undefined;
}

/** The end of a container's log. */
export interface PodLogOptions extends CallOptions {
  readonly container: string;
  /** The log of the container before its last restart. */
  readonly isPrevious: boolean;
  readonly tailLines: number;
  /** The server sends no more: the first bytes of the tail. */
  readonly limitBytes: number;
}

export interface ListOptions extends CallOptions {
  /** All namespaces if missing. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size. */
  readonly limit?: number;
  readonly continue?: string;
  /** "0": any state of the server's cache. */
  readonly resourceVersion?: string;
  /**
   * Requests only the objects' metadata, as PartialObjectMetadata. Servers that do not support this
   * send whole objects.
   */
  readonly metadataOnly?: boolean;
  /**
   * Receives the items as they arrive, so that a page is never in memory as a whole. The returned
   * page then has only the items that were not passed on.
   */
  readonly items?: ItemSink;
  readonly defers?: DefersMembers;
}

/** Receives the items of a page as it arrives. */
export interface ItemSink {
  /** The page starts, or starts again after a truncated response: earlier items may be outdated. */
  begin(): void;
  /** Adds items. `resourceVersion` is that of the list. */
  add(items: readonly KubeObject[], resourceVersion: string): void;
}

export interface ListPage {
  /**
   * With apiVersion and kind filled in. An unreadable object has only its head; see {@link
   * faultOf}.
   */
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Set if more pages follow. */
  readonly continue?: string;
  /** Number of objects after this page, if the server reports it. */
  readonly remaining?: number;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: Json }
  | { readonly type: 'json'; readonly body: Json }
  | { readonly type: 'strategic'; readonly body: Json }
  /** Server-side apply; requires `WriteOptions.fieldManager`. */
  | { readonly type: 'apply'; readonly body: KubeObject };

/** An unreadable object has only its head; see {@link faultOf}. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | {
      readonly type: 'BOOKMARK';
      readonly resourceVersion: string;
      /** All objects that existed at this version were sent. */
      readonly endsInitialEvents?: true;
    };

export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Where to start; not sent with `sendInitialEvents`. */
  readonly resourceVersion: string;
  /**
   * Starts with an ADDED event for each current object, and a bookmark after them (WatchList). The
   * result is as recent as that of a list. Servers that do not know the option may ignore it.
   */
  readonly sendInitialEvents?: boolean;
  /**
   * When the server ends the watch by itself. Default: random, 240 to 480 s, so that watches do not
   * end together.
   */
  readonly timeoutSeconds?: number;
  /** Called once, when the server has accepted the watch. */
  readonly onOpen?: () => void;
  readonly defers?: DefersMembers;
}

/**
 * The resources of a server at one moment. Immutable plain data; look them up with `findResource`.
 */
export interface ApiDiscovery {
  /** Every served resource in the server's preferred version, with its subresources. */
  readonly preferred: readonly ApiResource[];
  /** Every served resource in every version, in the server's order. */
  readonly served: readonly ApiResource[];
  /**
   * Sorted unique `group/version` and `group/version/Kind` (core: `v1`, `v1/Pod`) of all kinds that
   * can be listed and watched, as renderers need them.
   */
  readonly apiVersions: readonly string[];
  /** Groups that this discovery could not read, with the reason. The rest is complete. */
  readonly failedGroups: ReadonlyMap<string, string>;
}

/**
 * One API server, dynamic and raw: bodies pass through unchanged, no field is dropped, big integers
 * stay exact (decision D3).
 *
 * Errors: {@link KubeApiError} for every error response, KubeConnectionError without a response,
 * DeadlineExceeded. Reads (get, list) are retried with backoff on connection errors, 429 and 5xx;
 * writes only if the server cannot have acted (connection refused, 429 and 503 with Retry-After).
 * Safe for concurrent calls; connections are shared.
 */
export interface KubeClient {
  readonly server: string;
  get(resource: ApiResource, object: NamedObject, options: CallOptions): Promise<KubeObject>;
  list(resource: ApiResource, options: ListOptions): Promise<ListPage>;
  podLog(pod: NamedObject, options: PodLogOptions): Promise<string>;
  create(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject>;
  /** PUT; the object's resourceVersion, if set, must be current. */
  replace(resource: ApiResource, object: KubeObject, options: WriteOptions): Promise<KubeObject>;
  patch(resource: ApiResource, object: NamedObject, patch: Patch, options: WriteOptions): Promise<KubeObject>;
  /** Resolves when the server has accepted the deletion; 404 is an error like any other. */
  delete(resource: ApiResource, object: NamedObject, options: DeleteOptions): Promise<void>;
  /**
   * One watch request: events in order, one at a time, until the server ends it or an error is
   * thrown. A line that is not JSON, an ERROR event (410: `KUBE_EXPIRED`) and silence beyond the
   * idle limit throw.
   */
  watch(resource: ApiResource, options: WatchOptions): AsyncIterable<WatchEvent>;
  discover(options: CallOptions): Promise<ApiDiscovery>;
  /** Hashes of the server's OpenAPI v3 documents by group version (`api/v1`, `apis/apps/v1`). */
  openApiIndex(options: CallOptions): Promise<ReadonlyMap<string, string>>;
  /** One of these documents. They are large. */
  openApiDocument(path: string, hash: string, options: CallOptions): Promise<Json>;
  /**
   * Whether this account may list a kind in a namespace (undefined: in all), by
   * SelfSubjectAccessReview. A read-only client rejects this POST, too.
   */
  mayList(resource: ApiResource, namespace: string | undefined, options: CallOptions): Promise<boolean>;
  /** `gitVersion` of /version. */
  version(options: CallOptions): Promise<string>;
  /** The same connection, impersonating another user (Impersonate-User). */
  impersonate(user: string): KubeClient;
  /**
   * Swaps credentials in place: running watches continue, the next request uses the new ones.
   * Server and CA must not change.
   */
  updateCredentials(connection: ClusterConnection): void;
  /** Ends all connections. Idempotent. */
  close(): Promise<void>;
}

/** The methods of a client that cannot change anything. */
export type KubeReader = Pick<
  KubeClient,
  'server' | 'get' | 'list' | 'podLog' | 'watch' | 'discover' | 'version' | 'openApiIndex' | 'openApiDocument'
>;

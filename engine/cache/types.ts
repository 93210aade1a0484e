import type { HealthSettings } from '#health';
import type { GroupKind, HealthStatus, KubeObject, ObjectName, ResourceRef } from '#model';
import type { ClusterAddress } from '../connect/connection.ts';

/** Kinds by API group and name. Groups may have `*`; without `kinds`, all kinds of the groups. */
export interface KindFilter {
  readonly groups: readonly string[];
  readonly kinds?: readonly string[] | undefined;
}

/** An object whose fields need no casts: which ones it has depends on its kind. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type UntypedObject = KubeObject & Readonly<Partial<Record<'spec' | 'status' | 'data' | 'type', any>>>;

export interface CacheOptions extends ClusterAddress {
  /** If given, only these kinds are watched. `exclude` wins over it. */
  readonly include?: readonly KindFilter[] | undefined;
  readonly exclude?: readonly KindFilter[] | undefined;
  /** Namespaced mode: only these namespaces are watched, for accounts without cluster rights. */
  readonly namespaces?: readonly string[] | undefined;
  /** With `namespaces`: also watch cluster-scoped kinds. Default false. */
  readonly clusterScoped?: boolean | undefined;
  /** Interval of listing every kind again. 0: never. Default: 12 hours. */
  readonly resyncMs?: number | undefined;
  /** Lua scripts that replace health checks: `healthScripts` of @driftless/engine/health. */
  readonly health?: HealthSettings | undefined;
  /** Plain data to keep of each object, as `kept`. The cache keeps no whole objects by itself. */
  readonly keep?: ((object: UntypedObject) => unknown) | undefined;
  /** A call of a handler may take this long. Default: 30 seconds. */
  readonly handlerDeadlineMs?: number | undefined;
  /** The first fill of the cache may take this long. Default: 2 minutes. */
  readonly fillDeadlineMs?: number | undefined;
  /** Receives the faults of `keep` and of handlers. Default: a warning of the process. */
  readonly onProblem?: ((problem: CacheProblem) => void) | undefined;
}

/** Options that a running cache can change. */
export type CacheChanges = Pick<CacheOptions, 'include' | 'exclude' | 'namespaces' | 'clusterScoped' | 'health'>;

/** A fault in code of the caller, contained by the cache. */
export interface CacheProblem {
  /** `closed`: the handlers get no more changes, because too many of their calls hang. */
  readonly kind: 'threw' | 'timed-out' | 'closed';
  readonly message: string;
  /** The object whose change or facts were affected. */
  readonly object?: ResourceRef;
  readonly cause?: unknown;
}

/** A cached object without its body: identity, owners, health. An immutable copy. */
export interface CachedObject extends ResourceRef {
  readonly version: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Owners that exist, from owner references and the rules of Kubernetes (volume claims). */
  readonly owners: readonly ResourceRef[];
  readonly health: HealthStatus | null;
  readonly deleting: boolean;
  /** Images of a Pod. */
  readonly images: readonly string[];
  /** Result of `keep`. */
  readonly kept?: unknown;
}

/** Each member restricts the others; without members, all objects. */
export interface CacheListOptions {
  readonly kinds?: readonly GroupKind[] | undefined;
  /** Leaves out cluster-scoped objects. */
  readonly namespaces?: readonly string[] | undefined;
  readonly scope?: 'namespaced' | 'cluster' | undefined;
  /** Only objects without owners. */
  readonly topLevelOnly?: boolean | undefined;
  /** Only objects with these labels. */
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  /** Only objects whose labels meet these requirements. */
  readonly matchExpressions?: readonly LabelRequirement[] | undefined;
}

/** As in label selectors of Kubernetes. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** The values of `In` and `NotIn`; other operators take none. */
  readonly values?: readonly string[] | undefined;
}

/** `healthy`: it exists and is Healthy, or has no health check. `gone`: it does not exist. */
export type WaitCondition = 'healthy' | 'gone' | ((object: CachedObject | undefined) => boolean);

export interface WaitOptions {
  /** Default: 5 minutes. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CacheList {
  readonly objects: readonly CachedObject[];
  /** Kinds of the query that the cache does not have or cannot vouch for: prune none of them. */
  readonly incomplete: readonly IncompleteKind[];
}

export interface IncompleteKind extends GroupKind {
  readonly reason: string;
}

/** Whole live objects, as far as they could be read. */
export interface CacheRead {
  /** Those that exist. Never change them: the cache may return the same ones again. */
  readonly objects: readonly KubeObject[];
  /** Whether these exist is unknown. */
  readonly unread: readonly UnreadObject[];
}

export interface UnreadObject extends ResourceRef {
  readonly reason: string;
}

/** An API of the server, in its preferred version. */
export interface ApiMetadata extends GroupKind {
  readonly version: string;
  /** Plural name in URLs. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  readonly shortNames: readonly string[];
}

/**
 * Called one at a time and in order for each object; may return a promise. Changes that arrive
 * meanwhile are merged by object, so a slow handler gets fewer, newer ones. `signal` aborts at the
 * deadline and when the handlers are removed.
 */
export interface CacheHandlers {
  created?(object: CachedObject, signal: AbortSignal): unknown;
  updated?(object: CachedObject, signal: AbortSignal): unknown;
  /** The object as the cache knew it last, with the owners that it named, gone or not. */
  deleted?(object: CachedObject, signal: AbortSignal): unknown;
  /** All kinds that the server serves: at first, and whenever they have changed. */
  kinds?(served: readonly ApiMetadata[], signal: AbortSignal): unknown;
}

/** The live state of one cluster. */
export interface ClusterCache {
  readonly server: string;
  list(options?: CacheListOptions): Promise<CacheList>;
  /**
   * Undefined if the server does not serve the kind.
   * @throws an error with `code` `API_GROUP_UNAVAILABLE` if the server cannot answer for the group
   * at the moment.
   */
  apiMetadata(kind: GroupKind): ApiMetadata | undefined;
  /** Every kind that the server serves, in its preferred version, watched or not. */
  kinds(): readonly ApiMetadata[];
  /** For renderers: `kubeVersion` and `apiVersions` of @driftless/engine/desired. */
  capabilities(): { readonly kubeVersion: string; readonly apiVersions: readonly string[] };
  /**
   * The OpenAPI v3 document that the server publishes for an API version (`v1`, `apps/v1`), by two
   * requests. Undefined if it publishes none.
   */
  openApi(apiVersion: string, signal?: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
  /**
   * Resolves with the object when the condition holds, by the cache.
   * @throws an error with `code` `DEADLINE_EXCEEDED`, or the reason of `signal`
   */
  waitFor(ref: ResourceRef, until: WaitCondition, options?: WaitOptions): Promise<CachedObject | undefined>;
  /**
   * Reads whole objects, in the API version of a name or the preferred one of a reference. The
   * cache keeps them whole from then on; until it has them, and for kinds that are not current,
   * each costs one request.
   */
  read(objects: readonly (ObjectName | ResourceRef)[], signal?: AbortSignal): Promise<CacheRead>;
  /**
   * Lists every kind again, with other filters, namespaces or health scripts if they are given.
   * Returns at once. Handlers get the differences.
   */
  invalidate(changes?: CacheChanges): void;
  /** Adds the response of a write, so that the cache is never older than your own writes. */
  observe(object: KubeObject): void;
  /** The roots and everything that they own, owners first, each object once. Cycles end. */
  iterateTree(roots: readonly ResourceRef[]): AsyncIterable<CachedObject>;
  /**
   * Reports every object as created, then each change. Returns the function that removes the
   * handlers.
   */
  subscribe(handlers: CacheHandlers): () => void;
  /** Ends all watches and handlers. Idempotent. */
  close(): Promise<void>;
}

import type { Clock, Json, RandomSource } from '#base';
import type { KubeObject } from '#model';

/**
 * The interfaces between the three parts of the simulator:
 * - server/: HTTP, discovery, storage, watch, namespaces, garbage collection, faults
 * - schema/: schemas, validation, defaulting, patches, server-side apply, OpenAPI documents
 * - workloads/: controllers that roll out Deployments and other workloads
 */

// ---------------------------------------------------------------- schema/

/** One field of an OpenAPI v3 schema with the x-kubernetes extensions. */
export interface OpenApiSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly oneOf?: readonly OpenApiSchema[];
  readonly anyOf?: readonly OpenApiSchema[];
  readonly allOf?: readonly OpenApiSchema[];
  readonly not?: OpenApiSchema;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

/** A served kind, built in (`builtinKinds()`) or from a CustomResourceDefinition. */
export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** Plural. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly statusSubresource: boolean;
  readonly scaleSubresource?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  /**
   * The whole object with apiVersion, kind and metadata; undefined: no schema, all fields are kept.
   */
  readonly schema?: OpenApiSchema;
  /** From a CRD: unknown fields are pruned, strategic merge patch is rejected with 415. */
  readonly custom: boolean;
  /** JSONPath columns of a CRD; built-in kinds have printers in server/. */
  readonly printerColumns?: readonly PrinterColumn[];
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly priority?: number;
  readonly description?: string;
  readonly format?: string;
}

/**
 * One cause of a 422: field path, Kubernetes' reason and text ("Required value", "Unsupported
 * value: ...").
 */
export interface FieldError {
  readonly type:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTypeInvalid'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueNotFound';
  readonly field: string;
  readonly message: string;
}

/**
 * The result of decoding: a type error (HTTP 400), or unknown and duplicate fields (an error with
 * Strict, a warning with Warn).
 */
export interface DecodeResult {
  readonly object: KubeObject;
  /** `unknown field "spec.foo"` ... */
  readonly unknownFields: readonly string[];
  /** The first type error in the words of the real server; the response is a 400. */
  readonly typeError?: string;
}

export interface ManagerInfo {
  readonly manager: string;
  readonly subresource: string;
  /** RFC 3339. */
  readonly time: string;
}

export interface ApplyConflict {
  readonly manager: string;
  /** `.spec.replicas` */
  readonly field: string;
  /** `"kubectl" with subresource "scale" using apps/v1`: the text after "conflict with ". */
  readonly detail: string;
}

/** The interface of schema/; `createSchemaBook()` returns one. Pure. */
export interface SchemaBook {
  builtinKinds(): readonly KindDefinition[];
  /** Drops or reports unknown fields and checks types. */
  decode(kind: KindDefinition, object: KubeObject): DecodeResult;
  /** Fills in defaults as the server does (built-in rules and CRD defaults). */
  applyDefaults(kind: KindDefinition, object: KubeObject): KubeObject;
  /** Semantic checks of a create (`old` undefined) or update, including immutable fields. */
  validate(kind: KindDefinition, object: KubeObject, old: KubeObject | undefined): readonly FieldError[];
  /** RFC 6902. Throws Error with the server's text if the patch cannot be applied. */
  jsonPatch(document: KubeObject, patch: Json): KubeObject;
  mergePatch(document: KubeObject, patch: Json): KubeObject;
  /** Merge keys, $patch, $retainKeys, $setElementOrder, $deleteFromPrimitiveList. */
  strategicMergePatch(kind: KindDefinition, document: KubeObject, patch: Json): KubeObject;
  /**
   * Server-side apply: the merged object with new managedFields, or the conflicts (nothing is
   * stored then, unless `force`).
   */
  serverSideApply(
    kind: KindDefinition,
    live: KubeObject | undefined,
    applied: KubeObject,
    how: ManagerInfo & { readonly force: boolean },
  ): { readonly object: KubeObject } | { readonly conflicts: readonly ApplyConflict[] };
  /**
   * managedFields after any other write: `manager` becomes the owner of its changes (operation
   * Update).
   */
  trackUpdate(kind: KindDefinition, before: KubeObject | undefined, after: KubeObject, how: ManagerInfo): KubeObject;
  /**
   * An OpenAPI v3 document of one group version, sufficient for kubectl apply, explain and
   * validation.
   */
  openApiV3(kinds: readonly KindDefinition[]): Json;
  /**
   * An OpenAPI v2 document of all kinds (kubectl requests protobuf; JSON is offered and v3 is
   * preferred).
   */
  openApiV2(kinds: readonly KindDefinition[]): Json;
  /** Errors of a CustomResourceDefinition's own schema. */
  validateCrd(crd: KubeObject): readonly FieldError[];
}

// ---------------------------------------------------------------- server/

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

/**
 * In-process access to the objects of one simulated cluster (workloads, tests): the rules of the
 * HTTP server, without the network.
 */
export interface SimStore {
  get(group: string, kind: string, namespace: string, name: string): KubeObject | undefined;
  list(group: string, kind: string, namespace?: string): readonly KubeObject[];
  /** Writes throw SimError with the HTTP code and reason of the server's response. */
  create(object: KubeObject, manager?: string): KubeObject;
  /** Replaces the object; with `subresource` only that part. Stale resourceVersion: 409. */
  update(object: KubeObject, options?: { readonly subresource?: 'status'; readonly manager?: string }): KubeObject;
  delete(
    group: string,
    kind: string,
    namespace: string,
    name: string,
    options?: { readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'; readonly uid?: string },
  ): void;
  /** Delivers every committed change in order of resourceVersion, after it is visible. */
  subscribe(listener: (event: StoreEvent) => void): () => void;
}

/** A fault to inject; rules are tried in order, the first match acts. */
export interface FaultRule {
  /** A rule matches if all given members match. */
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Substring of the client's User-Agent. */
  readonly agent?: string;
  /** Probability 0..1; default 1. */
  readonly chance?: number;
  /** Number of uses; default unlimited. */
  readonly times?: number;
  readonly fault:
    | { readonly kind: 'latency'; readonly ms: number }
    /** Answers once the promise resolves. */
    | { readonly kind: 'hold'; readonly until: Promise<void> }
    | {
        readonly kind: 'status';
        readonly code: 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503;
        readonly retryAfterSeconds?: number;
        readonly message?: string;
      }
    | { readonly kind: 'hang' }
    | { readonly kind: 'reset' }
    /** Acts, and resets the connection before its answer, or in the middle of it. */
    | { readonly kind: 'lostAnswer' | 'halfAnswer' }
    /** Watches only: ends after this many events, with or without an error. */
    | { readonly kind: 'cutWatch'; readonly afterEvents: number; readonly code?: 410 | 500 }
    /** Watches only: drops events. */
    | { readonly kind: 'loseEvents' }
    | { readonly kind: 'badLine' };
}

/** A resource request as received. */
export interface SimRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  readonly dryRun: boolean;
  /** A further page of a list. */
  readonly isContinued: boolean;
  /** Label and field selector. */
  readonly selector: string;
  readonly agent: string;
}

export interface SimCluster {
  readonly name: string;
  /** http://127.0.0.1:<port> once listening. */
  readonly url: string;
  readonly store: SimStore;
  addFault(rule: FaultRule): () => void;
  /** Drops watch history older than the newest `keep` events: older resourceVersions get 410. */
  compact(keep?: number): void;
  /**
   * Calls `listener` for each resource request on arrival, before any fault. Returns the
   * unsubscribe function.
   */
  onRequest(listener: (request: SimRequest) => void): () => void;
  /**
   * Number of requests by verb and resource, for tests and benchmarks: "patch deployments" -> 12.
   */
  requests(): ReadonlyMap<string, number>;
  /** Ends all open watches and connections like a restart; storage stays. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface SimOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** 0: any free port. Loopback only. */
  readonly port?: number;
  /**
   * CustomResourceDefinitions to install at start (the caller reads those of argoproj.io from
   * manifests/crds).
   */
  readonly crds?: readonly KubeObject[];
  /** How long after its creation an established CustomResourceDefinition is served; default 0. */
  readonly crdDelayMs?: number;
  /**
   * Workload controllers; on by default. `delayMs`: the duration of one step (a pod becoming
   * ready).
   */
  readonly workloads?: { readonly enabled: boolean; readonly delayMs: number };
  /** Accepted bearer tokens; undefined disables authentication. */
  readonly tokens?: readonly string[];
  /** The status of a posted review; undefined: everything is allowed, as without this option. */
  readonly review?: (review: KubeObject) => Json | undefined;
  /**
   * Host of a process that stands for a pod: `pods/proxy` forwards to it. Undefined: no such pod.
   * Without this option `pods/proxy` is not served.
   */
  readonly podAddress?: (namespace: string, name: string) => string | undefined;
}

/** Returned by workloads/: reacts to store events until `stop`. */
export interface WorkloadControllers {
  stop(): void;
}

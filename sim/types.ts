import type { Clock, Json, Random } from '#base';
import type { KubeObject } from '#model';

/**
 * The interfaces inside the simulator. Three parts that know each other only through this file:
 *   server/  HTTP, discovery, storage, watch, namespaces, garbage collection, faults
 *   schema/  what kinds look like: schemas, validation, defaulting, patches, server-side apply, OpenAPI documents
 *   workloads/  controllers that make Deployments and friends progress
 */

// ---------------------------------------------------------------- schema/

/** One field of an OpenAPI v3 schema as Kubernetes publishes it, with its x-kubernetes extensions. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
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
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

/** A served kind. Built-in ones come from `builtinKinds()`, the others from CustomResourceDefinitions. */
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
  /** The whole object, apiVersion/kind/metadata included; undefined: no schema, everything is kept. */
  readonly schema?: Schema;
  /** From a CRD: unknown fields are pruned, strategic merge patch is refused with 415. */
  readonly custom: boolean;
  /** JSONPath columns as in a CRD; built-in kinds have printers of their own in server/. */
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

/** One cause of a 422: field path, Kubernetes' reason and text ("Required value", "Unsupported value: ..."). */
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

/** Decoding: types are wrong (HTTP 400), or unknown and duplicate fields (an error with Strict, a warning with Warn). */
export interface DecodeResult {
  readonly object: KubeObject;
  /** `unknown field "spec.foo"` ... */
  readonly unknownFields: readonly string[];
  /** First type error, worded as the real server words it; then the request is a 400. */
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
  /** `"kubectl" with subresource "scale" using apps/v1`: the manager as the server's text shows it after "conflict with ". */
  readonly detail: string;
}

/** Everything that schema/ offers; `schemaBook()` makes one. Pure. */
export interface SchemaBook {
  builtinKinds(): readonly KindDefinition[];
  /** Drops or reports unknown fields, checks types. */
  decode(kind: KindDefinition, object: KubeObject): DecodeResult;
  /** Fills in defaults as the server does (built-in rules and CRD defaults). */
  applyDefaults(kind: KindDefinition, object: KubeObject): KubeObject;
  /** Semantic checks of a create (`old` undefined) or update, immutable fields included. */
  validate(kind: KindDefinition, object: KubeObject, old: KubeObject | undefined): readonly FieldError[];
  /** RFC 6902. Throws Error with the server's text when the patch cannot be applied. */
  jsonPatch(document: KubeObject, patch: Json): KubeObject;
  mergePatch(document: KubeObject, patch: Json): KubeObject;
  /** Strategic merge with merge keys, $patch, $retainKeys, $setElementOrder, $deleteFromPrimitiveList. */
  strategicMergePatch(kind: KindDefinition, document: KubeObject, patch: Json): KubeObject;
  /** Server-side apply: merged object with new managedFields, or the conflicts (then nothing is to be stored, unless `force`). */
  serverSideApply(
    kind: KindDefinition,
    live: KubeObject | undefined,
    applied: KubeObject,
    how: ManagerInfo & { readonly force: boolean },
  ): { readonly object: KubeObject } | { readonly conflicts: readonly ApplyConflict[] };
  /** managedFields after any other write: what `manager` changed between `before` and `after` becomes its own (operation Update). */
  trackUpdate(kind: KindDefinition, before: KubeObject | undefined, after: KubeObject, how: ManagerInfo): KubeObject;
  /** An OpenAPI v3 document of one group version, good enough for kubectl apply, explain and validation. */
  openApiV3(kinds: readonly KindDefinition[]): Json;
  /** An OpenAPI v2 document of all kinds (kubectl asks for it as protobuf; JSON is offered and v3 is preferred). */
  openApiV2(kinds: readonly KindDefinition[]): Json;
  /** Problems of a CustomResourceDefinition's own schema. */
  validateCrd(crd: KubeObject): readonly FieldError[];
}

// ---------------------------------------------------------------- server/

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

/** The objects of one simulated cluster, for code in the same process (workloads, tests): same rules as over HTTP, no network. */
export interface SimStore {
  get(group: string, kind: string, namespace: string, name: string): KubeObject | undefined;
  list(group: string, kind: string, namespace?: string): readonly KubeObject[];
  /** All three throw SimError with HTTP code and reason as the server would answer. */
  create(object: KubeObject, manager?: string): KubeObject;
  /** Replaces; with `subresource` only that part counts. Stale resourceVersion: 409. */
  update(object: KubeObject, options?: { readonly subresource?: 'status'; readonly manager?: string }): KubeObject;
  delete(
    group: string,
    kind: string,
    namespace: string,
    name: string,
    options?: { readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'; readonly uid?: string },
  ): void;
  /** Every committed change, in order of resourceVersion, after it is visible. */
  subscribe(listener: (event: StoreEvent) => void): () => void;
}

/** Misbehaviour on demand; rules are tried in order, the first that matches acts. */
export interface FaultRule {
  /** Matches when all that is given matches. */
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Part of the client's User-Agent. */
  readonly agent?: string;
  /** Probability 0..1; default 1. */
  readonly chance?: number;
  /** How many times; default for ever. */
  readonly times?: number;
  readonly fault:
    | { readonly kind: 'latency'; readonly ms: number }
    | {
        readonly kind: 'status';
        readonly code: 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503;
        readonly retryAfterSeconds?: number;
        readonly message?: string;
      }
    | { readonly kind: 'hang' }
    | { readonly kind: 'reset' }
    /** Watches only: end after this many events, with or without an error. */
    | { readonly kind: 'cutWatch'; readonly afterEvents: number; readonly code?: 410 | 500 }
    /** Watches only: events that never arrive. */
    | { readonly kind: 'loseEvents' }
    | { readonly kind: 'badLine' };
}

/** What a client asked for. */
export interface SimRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  readonly dryRun: boolean;
  readonly agent: string;
}

export interface SimCluster {
  readonly name: string;
  /** http://127.0.0.1:<port> once listening. */
  readonly url: string;
  readonly store: SimStore;
  addFault(rule: FaultRule): () => void;
  /** Drops watch history older than the newest `keep` events: older resourceVersions answer 410. */
  compact(keep?: number): void;
  /** Tells of each request for a resource as it arrives, before any fault. Returns how to stop that. */
  onRequest(listener: (request: SimRequest) => void): () => void;
  /** Requests served so far by verb and resource, for tests and benches: "patch deployments" -> 12. */
  requests(): ReadonlyMap<string, number>;
  /** Ends all open watches and connections, as a restart would; storage stays. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface SimOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  /** 0: any free port. Loopback only. */
  readonly port?: number;
  /** CustomResourceDefinitions to install at start (the argoproj.io ones are read from manifests/crds by the caller). */
  readonly crds?: readonly KubeObject[];
  /** Workload controllers; default on. `delayMs`: how long one step (a pod becoming ready) takes. */
  readonly workloads?: { readonly enabled: boolean; readonly delayMs: number };
  /** Bearer tokens that are accepted; missing: everybody is let in. */
  readonly tokens?: readonly string[];
}

/** Made by workloads/: keeps reacting to store events until `stop`. */
export interface Workloads {
  stop(): void;
}

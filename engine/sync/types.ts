import type { DiffResult, DiffRules } from '#diff';
import type { HealthStatus, KubeObject, ObjectName, ResourceRef, ResourceResult } from '#model';
import type { ClusterCache } from '../cache/types.ts';
import type { ClusterAddress } from '../connect/connection.ts';
import type { ClusterWriter, SyncOptions, SyncOutcome } from '#sync';

export interface SyncWriter extends ClusterWriter {
  /** Every write is a dry run: the sync is then one, too. A real writer must not set it. */
  readonly dryRun?: boolean;
  /** URL of the API server, to refuse the cache of another one. */
  readonly server?: string;
  /** The field manager of the writes. Default: `argocd-controller`. */
  readonly fieldManager?: string;
  /** Called before each step: discovers again if one of these kinds may be new. */
  refresh?(objects: readonly ObjectName[], signal: AbortSignal): Promise<void>;
}

/** The writer of `openWriter`. */
export interface OpenedSyncWriter extends SyncWriter {
  /**
   * Replaces the status of an object of your own kinds. Sends nothing if it is equal, and rejects
   * if the object has changed since it was read (`live`). Finalizers: `patchMetadata`.
   */
  patchStatus(live: KubeObject, status: object, signal: AbortSignal): Promise<KubeObject>;
  close(): Promise<void>;
}

/** The part of the cache of @driftless/engine/live that a sync reads and reports its writes to. */
export type SyncCache = Pick<ClusterCache, 'server' | 'apiMetadata' | 'read' | 'observe'>;

export interface GateOptions {
  /** Per cluster, 100,000 by default. Beyond it, the oldest are dropped, which costs writes. */
  readonly maxEntries?: number | undefined;
}

export interface GateMetrics {
  /** Objects that were not sent, because nothing would have changed. */
  readonly hits: number;
  /** Objects that were sent, by reason: missing, manifest, drift, merge, unknown, expired, … */
  readonly misses: Readonly<Record<string, number>>;
  readonly entries: number;
  /** Estimated memory of the entries. */
  readonly bytes: number;
}

/**
 * Remembers hashes of what was sent and of what the server stored. A server-side apply is left out
 * if both are the same, for at most four hours. Losing the gate costs only writes.
 */
export interface SyncGate {
  metrics(): GateMetrics;
  /** Sends everything again. */
  forget(): void;
}

export interface WriterOptions extends ClusterAddress {
  /** Every write becomes a dry run of the server. */
  readonly dryRun?: boolean | undefined;
  /** Why an object may not be written; undefined if it may. A denied object fails the sync. */
  readonly denied?: (object: KubeObject, namespaced: boolean) => string | undefined;
  /** The name under which it applies, of 1 to 128 bytes. Default: `argocd-controller`. */
  readonly fieldManager?: string | undefined;
  /** Leaves out server-side applies that would change nothing: that of `openGate`. */
  readonly gate?: SyncGate | undefined;
}

/** A label that a sync puts on everything that it applies. */
export interface SyncOwner {
  /** Key of the label, such as `example.com/owner`. */
  readonly label: string;
  readonly value: string;
  /** Applies over objects with another value, too. Default: they are refused. */
  readonly adopt?: boolean | undefined;
}

/** Predicted result of applying one target. */
export interface ServerDiff extends ResourceRef {
  /** `refused`: by the server, or because the object has another owner. */
  readonly change: 'unchanged' | 'changed' | 'created' | 'refused';
  /** Why it is refused, or was not validated. */
  readonly message?: string;
  /** The server has not checked the object, as its namespace or its kind is created first. */
  readonly unvalidated?: true;
  /** The difference. `normalizedLive` is null if the object would be created. */
  readonly diff?: DiffResult;
}

/** An object that a sync has applied. */
export interface InventoryObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** UID of the object that a sync has deleted, and that was not seen gone yet. */
  readonly deletedUid?: string;
}

/** The objects that syncs have applied and not seen gone: plain data, to be stored. */
export interface SyncInventory {
  readonly format: string;
  /** `inventoryName` of the syncs. */
  readonly name: string;
  /** URL of the API server, if the writer names it. */
  readonly server?: string;
  readonly objects: readonly InventoryObject[];
}

/** The result of a sync for one object. */
export interface SyncResult extends ResourceResult {
  /**
   * Whether it changed the object or the owners of its fields, except status; in a dry run, whether
   * it would.
   */
  readonly changed: boolean;
}

/** The outcome of a sync or of one of its steps. */
export interface SyncReport extends SyncOutcome {
  readonly results: readonly SyncResult[];
  /** Store it, and pass it to the next sync. */
  readonly inventory: SyncInventory;
}

/** A problem that does not change the outcome of a sync. */
export interface SyncWarning {
  /** `server`: the API server warned about what it stored: unknown fields, a deprecated version. */
  readonly source: 'server' | 'sync';
  readonly message: string;
  /** The object that was sent; absent with the source `sync`. */
  readonly object?: ResourceRef;
}

export interface SyncInputs {
  /** The desired objects, hooks included. */
  readonly targets: readonly KubeObject[];
  /** Objects of earlier syncs. With the option `prune`, those without a target are deleted. */
  readonly known?: readonly ObjectName[] | undefined;
  /** The inventory of the last sync. With the option `prune`, its objects without a target go. */
  readonly inventory?: SyncInventory | undefined;
  /** The inventories of other names are refused. Default: "". */
  readonly inventoryName?: string | undefined;
  /** Reads and changes the cluster. */
  readonly writer: SyncWriter;
  /** The cache from which live objects are read: `openCache` of @driftless/engine/live. */
  readonly cache?: SyncCache | undefined;
  /** Namespace of namespaced objects that name none. Default: "default". */
  readonly namespace?: string | undefined;
  /** Label of all applied objects. Objects with another value are neither applied nor pruned. */
  readonly owner?: SyncOwner | undefined;
  /**
   * With the option `prune`, also deletes CustomResourceDefinitions without a target, and with them
   * all objects of their kinds, those of others too. Default: false.
   */
  readonly pruneDefinitions?: boolean | undefined;
  /** Default: all off, but `validate`. */
  readonly options?: Partial<Omit<SyncOptions, 'dryRun'>> | undefined;
  /** Rules of comparing, from `diffRules` of @driftless/engine/diff. */
  readonly diff?: DiffRules | undefined;
  /** Default: `healthOf` of @driftless/engine/health. */
  readonly health?: ((object: KubeObject) => HealthStatus | null) | undefined;
  /** Revision of the targets; part of the names of hooks with `generateName`. */
  readonly revision?: string | undefined;
  /** After this time, running hooks are deleted and the sync fails. Default: 10 minutes. */
  readonly deadlineMs?: number | undefined;
  /** Leaves out other targets and objects to prune. Hooks run, unless `skipHooks` is set. */
  readonly isSelected?: ((object: KubeObject) => boolean) | undefined;
  /** Receives the state after each step, which applies at most one wave. The next waits for it. */
  readonly onStep?: ((outcome: SyncReport) => unknown) | undefined;
  /**
   * Receives problems that do not change the outcome, each once. If it throws, the sync goes on.
   * Default: a warning of the process.
   */
  readonly onWarning?: ((message: string, warning: SyncWarning) => void) | undefined;
  /** Ends the sync after the request in flight: what was applied stays. */
  readonly signal?: AbortSignal | undefined;
}

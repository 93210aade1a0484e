import type { Runnable } from '#base';
import type { AppKey, Application, Cluster } from '#model';
import type { ShardedCluster } from '../distribution/distribution.ts';
import type { BalancedTable } from '../distribution/rebalance.ts';
import type { SlotHolders } from '../documents/slots-document.ts';
import type { TableEntry } from '../documents/table-document.ts';
import type { ClusterReach } from '../protocol/member-types.ts';
import type { ForeignStatusWrite } from './foreign-controller.ts';
import type { HandOver } from './hand-over-log.ts';

/** Identity of this replica. Without a slot (standby), `shard` is undefined. */
export interface ShardIdentity {
  readonly shard: number | undefined;
  readonly replicas: number;
}

/**
 * A change of ownership. If both lists are empty, no cluster changed owners, but Applications may
 * have: those without a resolvable destination, and those routed by name.
 */
export interface OwnershipChange {
  /** Servers of which this replica now owns more parts than before. */
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/**
 * The live answer to "is this mine?". Nothing is owned before the first full list of clusters.
 * Answers come from one published table, which replicas hand over and obey under a lease (decision
 * D7; docs/adr/0010-ownership-handover.md).
 */
export interface Ownership extends Runnable {
  identity(): ShardIdentity;
  /** True if this replica owns at least one part of the cluster, and so must watch it. */
  ownsCluster(server: string): boolean;
  /**
   * True for exactly one replica per Application: the owner of its cluster (part), or one chosen by
   * the Application's key when the destination is not resolvable.
   */
  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean;
  /**
   * Throws OwnershipLost unless this replica may write to the cluster now, for `app` if given
   * (parts have different owners). Call it immediately before each write.
   */
  assertOwns(server: string, app?: AppKey): void;
  /** Updates the inputs of the table; call after each change. */
  update(clusters: readonly Cluster[], apps: Iterable<Application>): void;
  /**
   * Number of live events per watched server since its watch began, for `measured` weights. Call
   * every few minutes.
   */
  measure(events: ReadonlyMap<string, number>): void;
  onChange(listener: (change: OwnershipChange) => void): () => void;
  /** The whole table, for `explain` and metrics. */
  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[];
  /**
   * Checks `assertOwns` and runs a write; its target is handed over only after the write ended. The
   * write must time out within {@link leaseLeftMs} plus the margin, end when `abandoned` aborts,
   * and call `check` right before it sends: that throws OwnershipLost once the right to write has
   * ended. Without `server`: the destination is unresolvable.
   */
  writing<T>(
    server: string | undefined,
    app: AppKey | undefined,
    send: (check: () => void, abandoned: AbortSignal) => Promise<T>,
  ): Promise<T>;
  /** How long this replica may write without another renewal; 0 when it may not write. */
  leaseLeftMs(): number;
  /** Parts of the cluster that this replica owns; undefined when there are none. */
  ownedParts(server: string): OwnedParts | undefined;
  /**
   * Parts by server that will be ours after our caches are filled ({@link prepared}) or that took
   * too long, or after others have released them. This replica must not write to them yet.
   */
  gaining(): ReadonlyMap<string, OwnedParts>;
  /** Marks the caches of gained servers as filled. */
  prepared(servers: Iterable<string>): void;
  /**
   * Servers with a part unowned for over two leases, and for how long in milliseconds. Only the
   * planner returns them, but every replica returns the clusters that it sees and the table lacks.
   */
  unowned(): ReadonlyMap<string, number>;
  /** Whether the cluster is in {@link unowned} for the part of this Application. */
  isUnowned(key: AppKey, cluster: Cluster): boolean;
  /**
   * Reports whether all parts that the table gives us are taken up, or taking them up has lasted
   * longer than a lease.
   */
  settled(): boolean;
  /** Clusters, by `clusterKey`, that others own and offer: report whether this one reaches them. */
  offered?(): ReadonlySet<string>;
  /** Which clusters answer this replica; call it after each change. */
  reportReach?(reach: ClusterReach): void;
  /**
   * Another application controller wrote the status of an Application of ours; several become a
   * condition. Absent: other controllers are expected (shadow).
   */
  noteForeignWrite?(write: ForeignStatusWrite): void;
  /** Sorted by type. */
  conditions(): readonly OwnershipCondition[];
  /** All that this replica knows about the owners, for display. */
  facts(): OwnershipFacts;
  /** Where an Application belongs by the table; undefined if the table does not say. */
  placeOf(key: AppKey, cluster: Cluster | undefined): OwnedPlace | undefined;
}

/** The part of a cluster that an Application belongs to, and the slot that owns it. */
export interface OwnedPlace {
  readonly slot: number;
  readonly part: number;
  readonly parts: number;
}

/** Owners as one replica sees them. */
export interface OwnershipFacts {
  readonly epoch: number | undefined;
  /** When this replica saw the epoch first; wall time in milliseconds. */
  readonly epochSince: number | undefined;
  readonly algorithm: string;
  readonly shards: number;
  /** Holders by slot. */
  readonly holders: SlotHolders;
  /** By server, without the entry for unresolved destinations. */
  readonly entries: ReadonlyMap<string, TableEntry>;
  /** The newest first. */
  readonly handOvers: readonly HandOver[];
  /** Milliseconds without an owner, by server. */
  readonly unowned: ReadonlyMap<string, number>;
  /** Inputs of the next table; undefined before the first list. Absent: no table. */
  readonly next?: () => NextTableFacts | undefined;
}

/** The current table and the inputs of the next one, as `rebalance` takes them. */
export interface NextTableFacts {
  readonly current: BalancedTable;
  readonly clusters: readonly (ShardedCluster & { readonly name: string })[];
  /** By part. */
  readonly weights: ReadonlyMap<string, number>;
}

/** Parts of one cluster, numbered from 0. A cluster that is not split has part 0 of 1. */
export interface OwnedParts {
  readonly of: number;
  /** Ascending. */
  readonly owned: readonly number[];
}

/** A condition for users, present until it is resolved. */
export interface OwnershipCondition {
  readonly type:
    | 'Standby'
    | 'HubUnreadable'
    | 'SlotsUnreadable'
    | 'TableUnreadable'
    | 'ReplicasMismatch'
    | 'ReplicasUnknown'
    | 'InvalidSplit'
    | 'PinOutOfRange'
    | 'ForeignController'
    | 'ForeignHolder'
    | 'ClustersUnreached'
    | 'WritesPaused'
    | 'ClusterUnowned';
  readonly message: string;
  /** Wall time in milliseconds. */
  readonly since: number;
}

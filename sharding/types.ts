import type { Runnable } from '#base';
import type { AppKey, Application, Cluster } from '#model';

/** Which replica this is. `shard` is undefined while the replica owns no slot (standby). */
export interface ShardIdentity {
  readonly shard: number | undefined;
  readonly replicas: number;
}

/** Both lists may be empty: then only Applications changed hands, those without a resolvable destination or those that go by a name. */
export interface OwnershipChange {
  /** Servers of clusters of which this replica owns more now (all, or a part of a split one) than before. */
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/**
 * The live answer to "is this mine?". Before the first full list of clusters nothing is owned. Answers come from one published table, which
 * replicas hand over to each other and obey under a lease (decision D7; docs/adr/0010-ownership-handover.md).
 */
export interface Ownership extends Runnable {
  identity(): ShardIdentity;
  /** True when this replica owns the cluster, or at least one part of a split one: it must watch it then. */
  ownsCluster(server: string): boolean;
  /**
   * True for exactly one replica per Application. With a resolvable destination: the owner of its cluster; otherwise one replica
   * chosen from the Application's key.
   */
  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean;
  /**
   * Throws OwnershipLost unless this replica may write to the cluster right now; with the Application for which the write is: unless it may
   * write for that one (the parts of a split cluster have different owners). Call it immediately before each write.
   */
  assertOwns(server: string, app?: AppKey): void;
  /** Inputs of the table; call after each change. */
  update(clusters: readonly Cluster[], apps: Iterable<Application>): void;
  /**
   * How many live events each cluster that this replica watches has sent since its watch began, by server: with `measured` weights, busy
   * clusters weigh more. Call it every few minutes.
   */
  measure(events: ReadonlyMap<string, number>): void;
  onChange(listener: (change: OwnershipChange) => void): () => void;
  /** The whole table, for `explain` and metrics. */
  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[];
  /**
   * Runs a write under ownership: checks as `assertOwns` does, and nobody else gets what it writes to before it has ended. It should give up
   * within {@link leaseLeftMs} plus the margin. Without a server: a write for an Application whose destination cannot be resolved.
   */
  writing<T>(server: string | undefined, app: AppKey | undefined, send: () => Promise<T>): Promise<T>;
  /** How long this replica may go on writing without another renewal; 0 when it may not write. */
  leaseLeftMs(): number;
  /** Which of a cluster's parts are this replica's; undefined when none is. */
  ownedParts(server: string): OwnedParts | undefined;
  /**
   * Parts that will be this replica's as soon as it has filled its caches for them ({@link prepared}), or has taken too long; and those that are its
   * own as soon as others have let go of them. By server. Until then somebody else may write to them, and this replica must not.
   */
  gaining(): ReadonlyMap<string, OwnedParts>;
  /** Takes the servers, of those that it gains, whose caches are filled. */
  prepared(servers: Iterable<string>): void;
  /**
   * Clusters of which some part has had no owner for more than two leases, by server, with the milliseconds since then; only on the replica that
   * should tell people, empty on all others. One that is not on the table is told by every replica that sees it: who plans does not.
   */
  unowned(): ReadonlyMap<string, number>;
  /** Everything that the table gives to this replica has been taken up; also true when a lease has passed in vain. */
  settled(): boolean;
  /** Sorted by type. */
  conditions(): readonly OwnershipCondition[];
}

/** Parts of one cluster, numbered from 0. Not split: the one part 0 of 1. */
export interface OwnedParts {
  readonly of: number;
  /** Ascending. */
  readonly owned: readonly number[];
}

/** Something that people should know. Stays until it is over. */
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
    | 'ForeignHolder'
    | 'ClusterUnowned';
  readonly message: string;
  /** Wall time in milliseconds. */
  readonly since: number;
}

import type { Runnable } from '#base';
import type { AppKey, Application, Cluster } from '#model';

/** Which replica this is. `shard` is undefined while the replica owns no slot (standby). */
export interface ShardIdentity {
  readonly shard: number | undefined;
  readonly replicas: number;
}

export interface OwnershipChange {
  /** Servers of clusters that this replica owns now and did not before. */
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/**
 * The live answer to "is this mine?". Before the first full list of clusters nothing is owned. All answers come from one table that is a
 * pure function of shared inputs (clusters, application counts, replicas, algorithm), so replicas with equal inputs agree (DESIGN D7).
 */
export interface Ownership extends Runnable {
  identity(): ShardIdentity;
  ownsCluster(server: string): boolean;
  /**
   * True for exactly one replica per Application. With a resolvable destination: the owner of its cluster; otherwise one replica
   * chosen from the Application's key.
   */
  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean;
  /** Throws OwnershipLost unless this replica may write to the cluster right now. Call it immediately before each write. */
  assertOwns(server: string): void;
  /** Inputs of the table; call after each change. */
  update(clusters: readonly Cluster[], apps: Iterable<Application>): void;
  onChange(listener: (change: OwnershipChange) => void): () => void;
  /** The whole table, for `explain` and metrics. */
  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[];
}

import { aborted, OwnershipLost } from '#base';
import type { Clock } from '#base';
import { annotations } from '#model';
import type { AppKey, Application, Cluster } from '#model';
import type { Logger } from '#telemetry';
import { countApplications, distribute, shardOfText } from './distribution.ts';
import type { ShardingAlgorithm } from './distribution.ts';
import { staticIdentity } from './identity.ts';
import type { StaticIdentityInputs } from './identity.ts';
import { clusterKey } from './parts.ts';
import type { Ownership, OwnershipChange, ShardIdentity } from './types.ts';

export interface StaticOwnershipDeps {
  readonly identity: StaticIdentityInputs;
  readonly algorithm: ShardingAlgorithm;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Ownership with a shard number that is fixed at start (StatefulSet). Nothing is owned before the first `update`, and a cluster that the
 * table does not know is owned by nobody (Argo CD: by shard 0, which then adopts the clusters of others while it starts).
 * @throws UsageError when the shard number cannot be told.
 */
export function createStaticOwnership(deps: StaticOwnershipDeps): Ownership {
  const { identity, warning } = staticIdentity(deps.identity);
  if (warning !== undefined) deps.logger.warn(warning);
  return new StaticOwnership(identity, deps);
}

interface Entry {
  readonly server: string;
  readonly name: string;
  readonly shard: number;
  /** Annotated to be left alone: on the table, but nobody's. */
  readonly skipped: boolean;
}

class StaticOwnership implements Ownership {
  readonly name = 'ownership';
  readonly #identity: ShardIdentity;
  readonly #deps: StaticOwnershipDeps;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #table: ReadonlyMap<string, Entry> | undefined;

  constructor(identity: ShardIdentity, deps: StaticOwnershipDeps) {
    this.#identity = identity;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
  }

  identity(): ShardIdentity {
    return this.#identity;
  }

  ownsCluster(server: string): boolean {
    const entry = this.#table?.get(clusterKey(server));
    return entry !== undefined && this.#owns(entry);
  }

  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean {
    if (this.#table === undefined) return false;
    if (cluster !== undefined) return this.ownsCluster(cluster.server);
    return shardOfText(key, this.#identity.replicas) === this.#identity.shard;
  }

  assertOwns(server: string): void {
    if (!this.ownsCluster(server)) throw new OwnershipLost(`cluster ${server}`);
  }

  update(clusters: readonly Cluster[], apps: Iterable<Application>): void {
    const before = this.#owned();
    const counts =
      this.#deps.algorithm === 'consistent-hashing' ? countApplications(clusters, apps) : new Map<string, number>();
    const shards = distribute(this.#deps.algorithm, clusters, counts, this.#identity.replicas);
    this.#table = tableOf(clusters, shards);
    const after = this.#owned();
    const change: OwnershipChange = {
      gained: [...after].filter((server) => !before.has(server)),
      lost: [...before].filter((server) => !after.has(server)),
    };
    if (change.gained.length === 0 && change.lost.length === 0) return;
    this.#deps.logger.info('Cluster ownership changed', {
      gained: change.gained.length,
      lost: change.lost.length,
      owned: after.size,
    });
    for (const listener of this.#listeners) listener(change);
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[] {
    return [...(this.#table?.values() ?? [])].map(({ server, name, shard }) => ({ server, name, shard }));
  }

  #owns(entry: Entry): boolean {
    return !entry.skipped && entry.shard === this.#identity.shard;
  }

  #owned(): ReadonlySet<string> {
    const entries = [...(this.#table?.values() ?? [])];
    return new Set(entries.filter((entry) => this.#owns(entry)).map((entry) => entry.server));
  }
}

function tableOf(clusters: readonly Cluster[], shards: ReadonlyMap<string, number>): ReadonlyMap<string, Entry> {
  const table = new Map<string, Entry>();
  // By id, so that of two Secrets with one URL the same one speaks on every replica.
  for (const cluster of [...clusters].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)))) {
    const key = clusterKey(cluster.server);
    const shard = shards.get(key);
    if (shard === undefined || table.has(key)) continue;
    table.set(key, { server: key, name: cluster.name, shard, skipped: isSkipped(cluster) });
  }
  return table;
}

/** Go's strconv.ParseBool of the skip-reconcile annotation; anything else is no. */
function isSkipped(cluster: Cluster): boolean {
  const value = cluster.annotations[annotations.skipReconcile];
  return value !== undefined && ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value);
}

import { defined } from '#base';
import { appKeyOf, isReconcileSkipped, partIndex } from '#model';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import type { ShardedCluster, ShardingAlgorithm } from '../distribution/distribution.ts';
import { clusterKey, partsOf } from '../distribution/parts.ts';
import { namesByServer } from '../protocol/plan.ts';
import type { PlanInputs } from '../protocol/plan.ts';
import { unresolvedDestination, unresolvedParts } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';
import { weightsOf } from '../load/weights.ts';
import type { ClusterWeighting } from '../load/weights.ts';

/** The table entry and part that an Application belongs to. */
export interface AppPlacement {
  readonly server: string;
  readonly part: number;
}

export interface ViewOptions {
  readonly algorithm: ShardingAlgorithm;
  /** For clusters without the annotation. */
  readonly defaultParts: number;
  readonly weighting: ClusterWeighting;
}

/**
 * Clusters and Applications as this replica sees them, resolved against a published table. Replicas
 * see changes at different moments, so the table decides where an Application belongs. A replica
 * that disagrees with the table does not act until it has caught up.
 */
export class ClusterView {
  readonly inputs: PlanInputs;
  /** Invalid annotations. */
  readonly problems: readonly string[];
  readonly #names: ReadonlyMap<string, readonly string[]>;
  readonly #skipped: ReadonlySet<string>;
  readonly #destinations: ReadonlyMap<AppKey, ApplicationDestination>;
  #named: { readonly table: TableDocument; readonly servers: ReadonlyMap<string, readonly string[]> } | undefined;

  constructor(clusters: readonly Cluster[], apps: Iterable<Application>, options: ViewOptions) {
    const found = clusters.map((cluster) => ({ cluster, ...partsOf(cluster, options.defaultParts) }));
    const sharded = found.map(({ cluster, parts }): ShardedCluster & { readonly name: string } => ({
      id: cluster.id,
      server: cluster.server,
      name: cluster.name,
      parts,
      ...defined({ aliases: cluster.aliases, shard: cluster.shard }),
    }));
    this.problems = found.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
    this.#names = namesByServer(clusters);
    this.#skipped = skippedServers(clusters);
    const known = [...apps];
    this.#destinations = new Map(known.map((app) => [appKeyOf(app), app.spec.destination]));
    const weights = weightsOf(sharded, known, options.weighting);
    this.inputs = { algorithm: options.algorithm, clusters: sharded, weights };
  }

  /**
   * Reports whether the cluster is annotated with skip-reconcile: it is in the table, but not
   * owned.
   */
  isSkipped(server: string): boolean {
    return this.#skipped.has(clusterKey(server));
  }

  /** Reports whether this replica sees the cluster. */
  knows(server: string): boolean {
    return this.#names.has(clusterKey(server));
  }

  nameOf(server: string): string {
    return this.#names.get(clusterKey(server))?.[0] ?? '';
  }

  /**
   * Where an Application with destination `cluster` (undefined: unresolved) belongs. Undefined if
   * the table disagrees or lacks the cluster: either is outdated, so this replica must not act.
   */
  placeOf(key: AppKey, cluster: Pick<Cluster, 'server'> | undefined, table: TableDocument): AppPlacement | undefined {
    const own = cluster === undefined ? unresolvedDestination : clusterKey(cluster.server);
    const destination = this.#destinations.get(key);
    if (destination === undefined || this.#resolve(destination, table) !== own) return undefined;
    const entry = table.entries.get(own);
    if (entry === undefined) return undefined;
    return { server: own, part: partIndex(key, own === unresolvedDestination ? unresolvedParts : entry.shards.length) };
  }

  /** The slot that owns the part of an Application. */
  slotOf(
    key: AppKey,
    cluster: Pick<Cluster, 'server'> | undefined,
    table: TableDocument,
  ): { readonly slot: number; readonly part: number; readonly parts: number } | undefined {
    const place = this.placeOf(key, cluster, table);
    const shards = place === undefined ? [] : (table.entries.get(place.server)?.shards ?? []);
    const slot = place === undefined ? undefined : shards[place.part];
    return place === undefined || slot === undefined ? undefined : { slot, part: place.part, parts: shards.length };
  }

  /** Resolves a destination by the table's names and URLs, with the rules of `settings`. */
  #resolve({ server = '', name = '' }: ApplicationDestination, table: TableDocument): string {
    if ((server === '') === (name === '')) return unresolvedDestination;
    if (server !== '') return table.entries.has(clusterKey(server)) ? clusterKey(server) : unresolvedDestination;
    const servers = this.#serversOf(table).get(name) ?? [];
    return servers.length === 1 ? (servers[0] ?? unresolvedDestination) : unresolvedDestination;
  }

  #serversOf(table: TableDocument): ReadonlyMap<string, readonly string[]> {
    if (this.#named?.table === table) return this.#named.servers;
    const servers = new Map<string, string[]>();
    for (const [server, { names }] of table.entries)
      for (const name of names) servers.set(name, [...(servers.get(name) ?? []), server]);
    this.#named = { table, servers };
    return servers;
  }
}

function skippedServers(clusters: readonly Cluster[]): ReadonlySet<string> {
  // By id, so that among Secrets with one URL the same one wins on every replica.
  const byId = [...clusters].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const seen = new Set<string>();
  const skipped = new Set<string>();
  for (const cluster of byId) {
    const key = clusterKey(cluster.server);
    if (!seen.has(key) && isReconcileSkipped(cluster.annotations)) skipped.add(key);
    seen.add(key);
  }
  return skipped;
}

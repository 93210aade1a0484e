import { defined } from '#base';
import { appKeyOf, isReconcileSkipped, partIndex } from '#model';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import type { ShardedCluster, ShardingAlgorithm } from '../distribution/distribution.ts';
import { automaticParts, clusterKey, partsOf, splitAnnotation } from '../distribution/parts.ts';
import type { DefaultParts } from '../distribution/parts.ts';
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
  readonly defaultParts: DefaultParts;
  readonly weighting: ClusterWeighting;
}

/**
 * Clusters and Applications as this replica sees them, resolved against a published table. Replicas
 * see changes at different moments, so the table decides where an Application belongs. A replica
 * that disagrees with the table does not act until it has caught up.
 */
export class ClusterView {
  readonly clusters: readonly Cluster[];
  /** Invalid annotations. */
  readonly problems: readonly string[];
  readonly #names: ReadonlyMap<string, readonly string[]>;
  readonly #skipped: ReadonlySet<string>;
  readonly #destinations: ReadonlyMap<AppKey, ApplicationDestination>;
  readonly #apps: readonly Application[];
  readonly #options: ViewOptions;
  #inputs: { readonly defaultParts: number; readonly inputs: PlanInputs } | undefined;
  #named: { readonly table: TableDocument; readonly servers: ReadonlyMap<string, readonly string[]> } | undefined;

  constructor(clusters: readonly Cluster[], apps: Iterable<Application>, options: ViewOptions) {
    this.clusters = clusters;
    this.#apps = [...apps];
    this.#options = options;
    this.problems = clusters.flatMap((cluster) => partsOf(cluster, 1).problem ?? []);
    this.#names = namesByServer(clusters);
    this.#skipped = skippedServers(clusters);
    this.#destinations = new Map(this.#apps.map((app) => [appKeyOf(app), app.spec.destination]));
  }

  /** Inputs of the table that follows `table`; the same object until their parts change. */
  inputs(replicas: number, table: TableDocument | undefined): PlanInputs {
    const { algorithm, weighting, defaultParts: wanted } = this.#options;
    const defaultParts = wanted === 'auto' ? this.#automaticParts(replicas, table) : wanted;
    if (this.#inputs?.defaultParts === defaultParts) return this.#inputs.inputs;
    const clusters = this.clusters.map((cluster): ShardedCluster & { readonly name: string } => ({
      id: cluster.id,
      server: cluster.server,
      name: cluster.name,
      parts: partsOf(cluster, defaultParts).parts,
      ...defined({ aliases: cluster.aliases, shard: cluster.shard }),
    }));
    const inputs = { algorithm, clusters, weights: weightsOf(clusters, this.#apps, weighting) };
    this.#inputs = { defaultParts, inputs };
    return inputs;
  }

  #automaticParts(replicas: number, table: TableDocument | undefined): number {
    const plain = this.clusters.filter((cluster) => cluster.annotations[splitAnnotation] === undefined);
    const servers = new Set(plain.map(({ server }) => clusterKey(server)));
    const current = [...servers].map((server) => table?.entries.get(server)?.shards.length ?? 1);
    return automaticParts({ clusters: servers.size, replicas, current: Math.max(1, ...current) });
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

import { parseGoBool } from '#base';
import { annotations, appKeyOf, partIndex } from '#model';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
import { clusterKey, partsOf } from './parts.ts';
import { namesByServer } from './plan.ts';
import type { PlanInputs } from './plan.ts';
import { unresolvedDestination, unresolvedParts } from './table-document.ts';
import type { TableDocument } from './table-document.ts';
import { weightsOf } from './weights.ts';
import type { Weighting } from './weights.ts';

/** Where an Application belongs: a part of a table's entry. */
export interface Place {
  readonly server: string;
  readonly part: number;
}

export interface ViewOptions {
  readonly algorithm: ShardingAlgorithm;
  /** For clusters without an annotation of their own. */
  readonly defaultParts: number;
  readonly weighting: Weighting;
}

/**
 * What this replica sees of clusters and Applications, against a published table. Replicas see changes at different moments; so where an
 * Application belongs is decided by the table, and a replica whose own view leads elsewhere stands back until it has caught up.
 */
export class View {
  readonly inputs: PlanInputs;
  /** Annotations that could not be used. */
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
      ...(cluster.shard === undefined ? {} : { shard: cluster.shard }),
    }));
    this.problems = found.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
    this.#names = namesByServer(clusters);
    this.#skipped = skippedServers(clusters);
    const known = [...apps];
    this.#destinations = new Map(known.map((app) => [appKeyOf(app), app.spec.destination]));
    const weights = weightsOf(sharded, known, options.weighting);
    this.inputs = { algorithm: options.algorithm, clusters: sharded, weights };
  }

  /** Annotated to be left alone: on the table, but nobody's. */
  isSkipped(server: string): boolean {
    return this.#skipped.has(clusterKey(server));
  }

  /** A cluster that this replica knows. */
  knows(server: string): boolean {
    return this.#names.has(clusterKey(server));
  }

  nameOf(server: string): string {
    return this.#names.get(clusterKey(server))?.[0] ?? '';
  }

  /**
   * Where an Application belongs, that `cluster` (undefined: none) is the destination of in this replica's eyes. Undefined when the table
   * says otherwise, or does not know the cluster: then one of the two is behind, and nobody but the other may act.
   */
  placeOf(key: AppKey, cluster: Pick<Cluster, 'server'> | undefined, table: TableDocument): Place | undefined {
    const own = cluster === undefined ? unresolvedDestination : clusterKey(cluster.server);
    const destination = this.#destinations.get(key);
    if (destination === undefined || this.#resolve(destination, table) !== own) return undefined;
    const entry = table.entries.get(own);
    if (entry === undefined) return undefined;
    return { server: own, part: partIndex(key, own === unresolvedDestination ? unresolvedParts : entry.shards.length) };
  }

  /** Where an Application goes by the table's names and URLs, as `settings` resolves it by its own. */
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
  // By id, so that of two Secrets with one URL the same one speaks on every replica.
  const byId = [...clusters].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const seen = new Set<string>();
  const skipped = new Set<string>();
  for (const cluster of byId) {
    const key = clusterKey(cluster.server);
    if (!seen.has(key) && isSkipped(cluster)) skipped.add(key);
    seen.add(key);
  }
  return skipped;
}

/** Told to be left alone by the skip-reconcile annotation; what is not a truth value is no. */
function isSkipped(cluster: Cluster): boolean {
  return parseGoBool(cluster.annotations[annotations.skipReconcile]) === true;
}

import type { AppKey, Application, Cluster } from '#model';
import type { ProtocolMember } from '../protocol/member.ts';
import type { LocalInstant } from '../protocol/member-types.ts';
import { clusterKey } from '../distribution/parts.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';
import type { OwnedParts } from './types.ts';
import { ClusterView } from './view.ts';
import type { ViewOptions } from './view.ts';

/**
 * Observation: what this replica owns now, by the table it obeys and by its own view of clusters
 * and Applications.
 */
export class OwnershipRights {
  readonly #member: ProtocolMember;
  readonly #now: () => LocalInstant;
  #view: ClusterView | undefined;
  #clusters: readonly Cluster[] = [];
  #byServer: ReadonlyMap<string, Cluster> = new Map();

  constructor(member: ProtocolMember, now: () => LocalInstant) {
    this.#member = member;
    this.#now = now;
  }

  /** Undefined before the first full list. */
  view(): ClusterView | undefined {
    return this.#view;
  }

  /** Takes a new view; returns whether it is the first one, or has other clusters than the last. */
  update(clusters: readonly Cluster[], apps: Iterable<Application>, options: ViewOptions): 'first' | 'other' | 'same' {
    const first = this.#view === undefined;
    this.#view = new ClusterView(clusters, apps, options);
    if (!first && clusters === this.#clusters) return 'same';
    // Among clusters with one URL the first in the list wins.
    this.#byServer = new Map([...clusters].reverse().map((each) => [clusterKey(each.server), each]));
    this.#clusters = clusters;
    return first ? 'first' : 'other';
  }

  leaseLeft(): number {
    return this.#member.leaseLeft(this.#now());
  }

  /** The obeyed table; without one, the published table. */
  table(): TableDocument | undefined {
    return this.#member.table() ?? this.#member.hub().published();
  }

  ownsCluster(server: string): boolean {
    const key = clusterKey(server);
    if (this.#view?.knows(key) !== true || this.#view.isSkipped(key)) return false;
    return this.leaseLeft() > 0 && (this.#member.taken().get(key)?.size ?? 0) > 0;
  }

  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean {
    const table = this.#member.table();
    if (table === undefined || this.#view === undefined) return false;
    // First what rules out most Applications of other replicas.
    if (!this.#member.taken().has(cluster === undefined ? unresolvedDestination : clusterKey(cluster.server)))
      return false;
    if (cluster !== undefined && this.#view.isSkipped(cluster.server)) return false;
    const place = this.#view.placeOf(key, cluster, table);
    return place !== undefined && this.#member.mayWrite(place.server, place.part, this.#now());
  }

  /**
   * Reports whether writes to a server (or the unresolved destination) are allowed for one
   * Application, or for the whole server.
   */
  mayWriteTo(server: string, app: AppKey | undefined): boolean {
    if (app === undefined) return this.ownsCluster(server);
    if (server === unresolvedDestination) return this.ownsApp(app, undefined);
    const cluster = this.#byServer.get(clusterKey(server));
    return cluster !== undefined && this.ownsApp(app, cluster);
  }

  ownedPartsOf(server: string): OwnedParts | undefined {
    if (!this.ownsCluster(server)) return undefined;
    const key = clusterKey(server);
    const of = this.#member.table()?.entries.get(key)?.shards.length ?? 1;
    return { of, owned: [...(this.#member.taken().get(key) ?? [])].sort((a, b) => a - b) };
  }

  /** Parts of known clusters that will be ours: announced, or given but not taken up yet. */
  coming(...which: readonly ('announced' | 'given')[]): ReadonlyMap<string, OwnedParts> {
    const coming = new Map<string, OwnedParts>();
    if (this.#view === undefined || this.leaseLeft() === 0) return coming;
    for (const [server, parts] of which.flatMap((each) => [...this.#member.coming(each)])) {
      if (!this.#view.knows(server) || this.#view.isSkipped(server)) continue;
      const of = this.#member.table()?.entries.get(server)?.shards.length ?? 1;
      coming.set(server, { of, owned: [...(coming.get(server)?.owned ?? []), ...parts] });
    }
    return coming;
  }

  /** All parts that this replica owns, as `<server> <part>`. */
  ownedParts(): ReadonlySet<string> {
    const owned = new Set<string>();
    if (this.#view === undefined || this.leaseLeft() === 0) return owned;
    for (const [server, parts] of this.#member.taken()) {
      if (server !== unresolvedDestination && !this.ownsCluster(server)) continue;
      for (const part of parts) owned.add(`${server} ${part}`);
    }
    return owned;
  }
}

/** The clusters of {@link OwnershipRights.ownedParts}. */
export function serversOf(parts: Iterable<string>): readonly string[] {
  const servers = [...parts].map((part) => part.slice(0, part.lastIndexOf(' ')));
  return [...new Set(servers)].filter((server) => server !== unresolvedDestination);
}

import type { Clock, ClockTimer } from '#base';
import { inClusterServer, labels } from '#model';
import type { ApplicationDestination, Cluster, ClusterConnection } from '#model';
import type { Logger } from '#telemetry';
import type { ClusterClaims, FormerCluster } from './cluster-claims.ts';
import { unreadableNames } from './cluster-claims.ts';
import { indexClusters, isScoped, mayBeInCluster } from './cluster-index.ts';
import type { ClusterFault, ClusterIndex } from './cluster-index.ts';
import { clusterList, resolveDestination, withClaims } from './clusters.ts';
import type { ParsedCluster } from './clusters.ts';
import type { UnresolvedDestination } from './types.ts';
import { isSameValue } from './values.ts';
import type { SettingsProblem } from './values.ts';

/** How long a deleted Secret of the in-cluster keeps the controller's own identity from it. */
export const vacancyMs = 60_000;

const maxFormerClusters = 1000;

type ClusterEntry = ParsedCluster | ClusterFault;

interface VacantSecret {
  readonly fault: ClusterFault;
  readonly timer: ClockTimer;
}

export interface ClusterSecretsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly inClusterConnection?: ClusterConnection;
  /** Called when time alone changes the clusters. */
  readonly onChange: () => void;
}

/**
 * The cluster Secrets by name, with what is remembered of those that changed. An unreadable Secret
 * keeps its URL: no other Secret takes it over, and neither does the controller's own identity.
 * A deleted Secret that narrowed the in-cluster keeps it for {@link vacancyMs}, because it may be
 * created again.
 */
export class ClusterSecrets {
  readonly #deps: ClusterSecretsDeps;
  readonly #entries = new Map<string, ClusterEntry>();
  readonly #vacant = new Map<string, VacantSecret>();
  /** The last cluster of each Secret that has another one now, or none. */
  readonly #former = new Map<string, FormerCluster>();
  #isListed = false;
  /** Built on first use: a start with 1,000 Secrets builds it once. */
  #index: { readonly isEnabled: boolean; readonly index: ClusterIndex } | undefined;
  #claims: ClusterClaims | undefined;

  constructor(deps: ClusterSecretsDeps) {
    this.#deps = deps;
  }

  /** All Secrets of the start were observed: a new one without a URL takes no cluster over. */
  listed(): void {
    this.#isListed = true;
  }

  /** The content of a Secret as it is now; undefined: it is no cluster Secret (any more). */
  observe(object: string, entry: ClusterEntry | undefined): void {
    const before = this.#entries.get(object);
    if (entry === undefined) this.#entries.delete(object);
    else this.#entries.set(object, 'error' in entry ? this.#withLastServer(object, entry, before) : entry);
    this.#noteFormer(object, before, entry);
    this.#noteVacant(object, before, entry);
    this.#forget();
  }

  index(isEnabled: boolean): ClusterIndex {
    if (this.#index?.isEnabled === isEnabled) return this.#index.index;
    const entries = [...this.#entries.values(), ...this.#vacantFaults().map(({ fault }) => fault)];
    const index = indexClusters(clusterList(entries, isEnabled, this.#deps.inClusterConnection));
    this.#index = { isEnabled, index };
    for (const { server, conflict } of index.list)
      if (conflict !== undefined) this.#deps.logger.warn('Several cluster Secrets have one URL', { server, conflict });
    return index;
  }

  resolve(
    destination: ApplicationDestination,
    inClusterEnabled: boolean,
    project?: string,
  ): Cluster | UnresolvedDestination {
    const index = this.index(inClusterEnabled);
    const resolved = resolveDestination(destination, index, inClusterEnabled, project);
    return 'error' in resolved
      ? withClaims(resolved, destination, { index, claims: this.#currentClaims(), inClusterEnabled })
      : resolved;
  }

  problems(inClusterEnabled: boolean): readonly SettingsProblem[] {
    const problems: SettingsProblem[] = [];
    for (const [object, entry] of this.#entries) {
      if ('error' in entry) problems.push({ object, message: entry.error });
      else if (entry.problem !== undefined) problems.push({ object, message: entry.problem });
    }
    for (const { object, fault } of this.#vacantFaults()) problems.push({ object, message: fault.error });
    for (const { server, conflict } of this.index(inClusterEnabled).list)
      if (conflict !== undefined) problems.push({ object: `cluster ${server}`, message: conflict });
    return problems;
  }

  /** Secrets that cannot be used, as `Secret NAMESPACE/NAME`. */
  unreadable(): readonly string[] {
    return this.#currentClaims().unreadable.map(({ object }) => object);
  }

  close(): void {
    for (const { timer } of this.#vacant.values()) timer.cancel();
    this.#vacant.clear();
  }

  #forget(): void {
    [this.#index, this.#claims] = [undefined, undefined];
  }

  #currentClaims(): ClusterClaims {
    if (this.#claims !== undefined) return this.#claims;
    const readable = [...this.#entries.values()].flatMap((entry) => ('error' in entry ? [] : [entry]));
    const faults = [...this.#entries].flatMap(([object, entry]) =>
      'error' in entry ? [{ object, fault: entry }] : [],
    );
    const unreadable = [...faults, ...this.#vacantFaults()].map(({ object, fault }) => ({
      object,
      error: fault.error,
      server: fault.server,
      names: unreadableNames(fault, readable),
    }));
    this.#claims = { unreadable, former: new Map(this.#former) };
    return this.#claims;
  }

  #vacantFaults(): readonly { readonly object: string; readonly fault: ClusterFault }[] {
    return [...this.#vacant].map(([object, { fault }]) => ({ object, fault }));
  }

  /** An unreadable URL is the last one that the Secret had; a new Secret never had one. */
  #withLastServer(object: string, fault: ClusterFault, before: ClusterEntry | undefined): ClusterFault {
    if (fault.server !== '') return fault;
    const known = before === undefined ? this.#former.get(object)?.server : lastServerOf(before);
    const lastServer = before === undefined && this.#isListed ? (known ?? '') : known;
    return lastServer === undefined ? fault : { ...fault, lastServer };
  }

  /** Remembers the cluster that a Secret had, for messages about destinations that it named. */
  #noteFormer(object: string, before: ClusterEntry | undefined, now: ClusterEntry | undefined): void {
    if (before === undefined) return;
    const server = lastServerOf(before) ?? '';
    if (server === now?.server && before.name === now.name) return;
    this.#former.delete(object);
    this.#former.set(object, { server, name: before.name, isThere: now !== undefined });
    const [oldest] = this.#former.keys();
    if (this.#former.size > maxFormerClusters && oldest !== undefined) this.#former.delete(oldest);
  }

  #noteVacant(object: string, before: ClusterEntry | undefined, now: ClusterEntry | undefined): void {
    if (now !== undefined) {
      this.#vacant.get(object)?.timer.cancel();
      this.#vacant.delete(object);
      return;
    }
    if (before === undefined || !this.#narrowsInCluster(before)) return;
    const timer = this.#deps.clock.timer(vacancyMs, () => {
      this.#vacant.delete(object);
      this.#forget();
      this.#deps.logger.info(`${object} stays deleted: the in-cluster uses the identity of the controller`);
      this.#deps.onChange();
    });
    this.#vacant.set(object, { fault: vacancy(before), timer });
  }

  /** Whether the controller's own identity may do more than the Secret permitted. */
  #narrowsInCluster(entry: ClusterEntry): boolean {
    if ('error' in entry) return mayBeInCluster(entry);
    if (entry.server !== inClusterServer || isScoped(entry)) return false;
    return entry.namespaces.length > 0 || !isSameValue(entry.connection, this.#deps.inClusterConnection);
  }
}

function lastServerOf(entry: ClusterEntry): string | undefined {
  return 'error' in entry && entry.server === '' ? entry.lastServer : entry.server;
}

function vacancy({ id, name, createdAt, project }: ClusterEntry): ClusterFault {
  const error =
    `it was deleted, or lost its label ${labels.secretType}: cluster, less than ` +
    `${vacancyMs / 1000} seconds ago; after that the in-cluster uses the identity of the controller`;
  return { error, server: inClusterServer, name, id, createdAt, project };
}

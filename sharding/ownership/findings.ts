import type { ShardedCluster } from '../distribution/distribution.ts';
import type { SlotHolders } from '../documents/slots-document.ts';

/** Why a replica is on standby. */
export interface StandbyState {
  readonly hostname: string;
  /** The only shard that it may have; undefined: any free one. */
  readonly wanted: number | undefined;
  /** The shard comes from the host name or ARGOCD_CONTROLLER_SHARD. */
  readonly numbered: boolean;
  /** Number of shards. */
  readonly replicas: number;
  readonly holders: SlotHolders;
}

/** Maximum number of clusters named in a message; metrics have all. */
const maxNamedClusters = 20;

/*
 * Messages of ownership conditions: what is wrong, with which replica or cluster, and what to do.
 */

export function standbyMessage({ hostname, wanted, numbered, replicas, holders }: StandbyState): string {
  const held = [...holders.values()].sort((a, b) => a.slot - b.slot).map(({ slot, holder }) => `${slot} by ${holder}`);
  const who = held.length === 0 ? 'none is held yet' : `held: ${held.join(', ')}`;
  if (wanted === undefined)
    return `this replica waits for a free shard of ${replicas} (${who}); a Deployment is replaced pod by pod with maxSurge: 0 only`;
  const remedy = 'run it in a StatefulSet without hostNetwork, or set ARGOCD_CONTROLLER_SHARD';
  const origin = numbered
    ? `by its host name "${hostname}" or ARGOCD_CONTROLLER_SHARD`
    : `since its host name "${hostname}" does not end in an ordinal`;
  const beyond = wanted >= replicas ? `, and there are only ${replicas}` : '';
  const shared = numbered ? '' : `; ${remedy}`;
  return `this replica waits for shard ${wanted}, ${origin}${beyond} (${who})${beyond === '' ? shared : `: scale up, or ${remedy}`}`;
}

/** Undefined when all pins are valid. */
export function outOfRangePinsMessage(
  clusters: readonly (Pick<ShardedCluster, 'shard'> & { readonly name: string })[],
  replicas: number,
): string | undefined {
  const wrong = clusters.flatMap(({ name, shard }) =>
    shard === undefined || (shard >= 0 && shard < replicas)
      ? []
      : [`"${name}" to shard ${shard} (${shard < 0 ? 'ignored' : 'it is on shard 0'})`],
  );
  if (wrong.length === 0) return undefined;
  return `there are ${replicas} shards, counted from 0, and these clusters are pinned elsewhere: ${wrong.join(', ')}; correct "shard" in their Secrets`;
}

/** Undefined when there are none. */
export function foreignHoldersMessage(holders: ReadonlyMap<number, string>): string | undefined {
  if (holders.size === 0) return undefined;
  const list = [...holders].map(([slot, holder]) => `${holder} (shard ${slot})`).join(', ');
  return `an application controller of Argo CD holds shards: ${list}; no cluster is taken up beside it, because it does not hand over: scale it to 0`;
}

/** Undefined when every cluster has an owner. */
export function unownedClustersMessage(servers: Iterable<string>): string | undefined {
  const named = namedClusters([...servers]);
  return named === undefined ? undefined : `no owner for more than two leases: ${named}`;
}

/** Undefined when clusters answer this replica. */
export function unreachedClustersMessage(servers: readonly string[]): string | undefined {
  const named = namedClusters(servers);
  if (named === undefined) return undefined;
  return `this replica reaches the hub, but none of its clusters answers; they are offered to replicas that reach them: ${named}; check the network of its node, and its NetworkPolicy`;
}

function namedClusters(servers: readonly string[]): string | undefined {
  if (servers.length === 0) return undefined;
  const rest = servers.length > maxNamedClusters ? ` and ${servers.length - maxNamedClusters} more` : '';
  return `${servers.slice(0, maxNamedClusters).join(', ')}${rest}`;
}

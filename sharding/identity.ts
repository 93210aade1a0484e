import { UsageError } from '#base';
import type { ShardIdentity } from './types.ts';

/** What cli read from flags, environment and operating system. */
export interface StaticIdentityInputs {
  /** ARGOCD_CONTROLLER_REPLICAS; 0 and 1 mean "this replica does everything". */
  readonly replicas: number;
  /** ARGOCD_CONTROLLER_SHARD; negative or undefined: infer it from the host name. */
  readonly shard?: number | undefined;
  readonly hostname: string;
}

/** The ordinal of a StatefulSet pod's host name ("argocd-application-controller-2" -> 2), undefined when it does not end in one. */
export function shardFromHostname(hostname: string): number | undefined {
  const match = /-([0-9]{1,9})$/.exec(hostname);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Which shard this replica is, in static mode (Argo CD: controller/sharding GetClusterSharding). `warning` is set when the replica will do
 * nothing. Deliberate differences, because two replicas must never own one cluster (DESIGN D7): a shard number that is not below
 * `replicas` is a standby (Argo CD: above it, a second shard 0); a host name without an ordinal is refused (Argo CD: a second shard 0).
 * @throws UsageError when replicas > 1 and nothing says which shard this is.
 */
export function staticIdentity(inputs: StaticIdentityInputs): {
  readonly identity: ShardIdentity;
  readonly warning?: string;
} {
  const { replicas } = inputs;
  if (replicas <= 1) return { identity: { shard: 0, replicas: Math.max(1, replicas) } };
  const configured = inputs.shard !== undefined && inputs.shard >= 0 ? inputs.shard : undefined;
  const shard = configured ?? shardFromHostname(inputs.hostname);
  if (shard === undefined) {
    throw unknownShard(inputs);
  }
  if (shard < replicas) return { identity: { shard, replicas } };
  return {
    identity: { shard: undefined, replicas },
    warning: `shard ${shard} is not below the ${replicas} replicas of ARGOCD_CONTROLLER_REPLICAS: this replica owns nothing`,
  };
}

/** Two replicas must never own one cluster, so one that cannot tell which it is does not start. */
export function unknownShard({ replicas, hostname }: StaticIdentityInputs): UsageError {
  return new UsageError(
    `cannot tell which of ${replicas} shards this replica is: host name "${hostname}" does not end in an ordinal; ` +
      'run it in a StatefulSet or set ARGOCD_CONTROLLER_SHARD',
  );
}

import { UsageError } from '#base';

/**
 * Ordinal of a StatefulSet pod's host name ("argocd-application-controller-2" → 2); undefined if it
 * has none.
 */
export function shardFromHostname(hostname: string): number | undefined {
  const match = /-([0-9]{1,9})$/.exec(hostname);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Error for a replica that cannot determine its shard: it must not start, because two replicas must
 * never own one cluster (Argo CD: a second shard 0). An ordinal beyond the number of shards means
 * standby (Argo CD: a second shard 0 too).
 */
export function unknownShardError({
  replicas,
  hostname,
}: {
  readonly replicas: number;
  readonly hostname: string;
}): UsageError {
  return new UsageError(
    `cannot tell which of ${replicas} shards this replica is: host name "${hostname}" does not end in an ordinal; ` +
      'run it in a StatefulSet or set ARGOCD_CONTROLLER_SHARD',
  );
}

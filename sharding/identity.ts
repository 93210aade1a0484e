import { UsageError } from '#base';

/** The ordinal of a StatefulSet pod's host name ("argocd-application-controller-2" -> 2), undefined when it does not end in one. */
export function shardFromHostname(hostname: string): number | undefined {
  const match = /-([0-9]{1,9})$/.exec(hostname);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Two replicas must never own one cluster, so one that cannot tell which it is does not start (Argo CD: a second shard 0). A number that is
 * not below the number of shards makes a standby (Argo CD: beyond it, a second shard 0).
 */
export function unknownShard({
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

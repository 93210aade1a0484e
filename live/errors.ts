import { DriftlessError } from '#base';

/**
 * Discovery of the cluster has never succeeded: wrong URL, credentials or network. The text is Argo
 * CD's.
 */
export class ClusterUnavailable extends DriftlessError {
  constructor(server: string, why: string, cause?: unknown) {
    super('CLUSTER_UNAVAILABLE', `error synchronizing cache state : failed to sync cluster ${server}: ${why}`, {
      ...(cause === undefined ? {} : { cause }),
      fields: { server },
    });
  }
}

/** This replica does not watch the cluster: another replica does, or it is not configured. */
export class ClusterIgnored extends DriftlessError {
  constructor(server: string) {
    super('CLUSTER_IGNORED', `controller is configured to ignore cluster ${server}`, { fields: { server } });
  }
}

/**
 * A target outside the namespaces of a namespaced cluster, or live objects that could not be read.
 */
export class LiveStateError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('LIVE_STATE', message, cause === undefined ? {} : { cause });
  }
}

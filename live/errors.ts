import { DriftlessError } from '#base';

/** Discovery of the cluster has never worked: wrong URL, credentials, network. The text is the one that users know from Argo CD. */
export class ClusterUnavailable extends DriftlessError {
  constructor(server: string, why: string, cause?: unknown) {
    super('CLUSTER_UNAVAILABLE', `error synchronizing cache state : failed to sync cluster ${server}: ${why}`, {
      ...(cause === undefined ? {} : { cause }),
      fields: { server },
    });
  }
}

/** This replica does not keep that cluster: another one does, or nobody configured it. */
export class ClusterIgnored extends DriftlessError {
  constructor(server: string) {
    super('CLUSTER_IGNORED', `controller is configured to ignore cluster ${server}`, { fields: { server } });
  }
}

/** A target that lies outside of what a namespaced cluster lets us manage, or live objects that could not be read. */
export class LiveStateError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('LIVE_STATE', message, cause === undefined ? {} : { cause });
  }
}

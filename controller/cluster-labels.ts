import type { Clock } from '#base';
import { OwnershipLost } from '#base';
import { apiResource, isConflict, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import { jsonOf, labels } from '#model';
import type { Cluster } from '#model';
import type { PublishTerms } from '#publish';
import type { Logger } from '#telemetry';

export interface ClusterLabelsDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const secretResource = apiResource('v1', 'Secret', 'secrets', 'namespaced');

/** A right may be given at any time; until then there is nothing to hope for. */
const afterFailureMs = 300_000;

/**
 * Keeps the label with the version of a cluster on its Secret, for those that ask for it (`auto-label-cluster-info: "true"`): ApplicationSets select by
 * it. Changes this label alone, of the very Secret that was seen; without the right to patch it, it says so and goes on.
 *
 * Source: Argo CD controller/clusterinfoupdater.go updateClusterLabels. There the whole Secret is written as it was read, and an unknown version
 * empties the label.
 */
export class ClusterLabels {
  readonly #deps: ClusterLabelsDeps;
  readonly #namespace: string;
  /** By the Secret's UID: before then it is not tried again. */
  readonly #notBefore = new Map<string, number>();

  /** @param namespace where the Secrets of clusters are */
  constructor(deps: ClusterLabelsDeps, namespace: string) {
    this.#deps = deps;
    this.#namespace = namespace;
  }

  /** Rejects only with the reason of an aborted signal. */
  async update(cluster: Cluster, version: string | undefined, { signal, fence }: PublishTerms): Promise<void> {
    const { id: uid, secretName: name } = cluster;
    if (name === undefined || version === undefined || !isOutdated(cluster, version)) return;
    const { hub, clock, logger } = this.#deps;
    if (clock.monotonic() < (this.#notBefore.get(uid) ?? 0)) return;
    // The server refuses it for a Secret that took the name of the one that was seen.
    const body = jsonOf({ metadata: { uid, labels: { [labels.kubernetesVersion]: version } } });
    try {
      await fence(() =>
        hub.patch(secretResource, { name, namespace: this.#namespace }, { type: 'merge', body }, { signal }),
      );
      this.#notBefore.delete(uid);
    } catch (error) {
      signal.throwIfAborted();
      // What was seen is not so any more: the next look decides.
      if (error instanceof OwnershipLost || isConflict(error) || isNotFound(error)) return;
      this.#notBefore.set(uid, clock.monotonic() + afterFailureMs);
      logger.warn(
        isForbidden(error)
          ? 'cannot label the Secret of a cluster with its version: the controller needs the right to patch it (rbac.extraRoleRules of the chart)'
          : 'cannot label the Secret of a cluster with its version',
        { secret: `${this.#namespace}/${name}`, server: cluster.server, version, error },
      );
    }
  }
}

function isOutdated({ labels: own }: Cluster, version: string): boolean {
  return own[labels.autoLabelClusterInfo] === 'true' && own[labels.kubernetesVersion] !== version;
}

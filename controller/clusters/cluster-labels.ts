import type { Clock } from '#base';
import { OwnershipLost } from '#base';
import { apiResource, isConflict, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import { jsonOf, labels } from '#model';
import type { Cluster } from '#model';
import type { Logger } from '#telemetry';
import type { FencedSend } from '../admission/ownership-guard.ts';

export interface ClusterLabelsDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface LabelTerms {
  readonly signal: AbortSignal;
  /** Sends the patch if this replica still owns the cluster. */
  readonly fenced: <T>(send: FencedSend<T>) => Promise<T>;
}

const secretResource = apiResource('v1', 'Secret', 'secrets', 'namespaced');

/** Retry delay after a failure; the missing right may be granted at any time. */
const labelRetryMs = 300_000;

/**
 * Maintains the version label on the Secrets of clusters that ask for it (`auto-label-cluster-info:
 * "true"`), which ApplicationSets select by. Patches only this label, on exactly the Secret that
 * was read; without the right to patch it, logs a warning and continues.
 *
 * Source: Argo CD controller/clusterinfoupdater.go updateClusterLabels, which writes the whole
 * Secret as read, and empties the label when the version is unknown.
 */
export class ClusterLabels {
  readonly #deps: ClusterLabelsDeps;
  readonly #namespace: string;
  /** By the Secret's UID: no retry before this time. */
  readonly #notBefore = new Map<string, number>();

  /** @param namespace namespace of the cluster Secrets */
  constructor(deps: ClusterLabelsDeps, namespace: string) {
    this.#deps = deps;
    this.#namespace = namespace;
  }

  /** Rejects only with the reason of an aborted signal. */
  async update(cluster: Cluster, version: string | undefined, { signal, fenced }: LabelTerms): Promise<void> {
    const { id: uid, secretName: name } = cluster;
    if (name === undefined || version === undefined || !isLabelOutdated(cluster, version)) return;
    const { hub, clock, logger } = this.#deps;
    if (clock.monotonic() < (this.#notBefore.get(uid) ?? 0)) return;
    // The server refuses the patch if another Secret has taken the name (UID mismatch).
    const body = jsonOf({ metadata: { uid, labels: { [labels.kubernetesVersion]: version } } });
    try {
      await fenced((call) =>
        hub.patch(secretResource, { name, namespace: this.#namespace }, { type: 'merge', body }, call),
      );
      this.#notBefore.delete(uid);
    } catch (error) {
      signal.throwIfAborted();
      // The Secret or our ownership changed; the next update decides.
      if (error instanceof OwnershipLost || isConflict(error) || isNotFound(error)) return;
      this.#notBefore.set(uid, clock.monotonic() + labelRetryMs);
      logger.warn(
        isForbidden(error)
          ? 'cannot label a cluster Secret with the version: grant the controller the right to patch it (rbac.extraRoleRules of the chart)'
          : 'cannot label a cluster Secret with the version',
        { secret: `${this.#namespace}/${name}`, server: cluster.server, version, error },
      );
    }
  }
}

function isLabelOutdated({ labels: own }: Cluster, version: string): boolean {
  return own[labels.autoLabelClusterInfo] === 'true' && own[labels.kubernetesVersion] !== version;
}

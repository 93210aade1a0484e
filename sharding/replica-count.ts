import type { Clock, Random, Runnable } from '#base';
import { isObject } from '#base';
import { apiResource, createInformer } from '#kube';
import type { Informer, KubeClient } from '#kube';
import type { Logger } from '#telemetry';

export interface ReplicaCountDeps {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  /** StatefulSet, or Deployment with dynamic distribution. */
  readonly kind: 'StatefulSet' | 'Deployment';
  /** ARGOCD_APPLICATION_CONTROLLER_NAME. */
  readonly name: string;
  /** ARGOCD_CONTROLLER_REPLICAS; 0: not set. */
  readonly configured: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/**
 * How many replicas there should be: `spec.replicas` of the workload that this process belongs to, read while it runs (Argo CD: once, at the
 * start), so that scaling it is all that scaling takes. A number in the environment overrides it, as in Argo CD; then a different one in the
 * workload is a mismatch that people should see.
 */
export class ReplicaCount implements Runnable {
  readonly name: string;
  readonly #deps: ReplicaCountDeps;
  readonly #informer: Informer;
  #last: number | undefined;

  constructor(deps: ReplicaCountDeps) {
    this.#deps = deps;
    const { kind, name, client, namespace, clock, random, logger } = deps;
    this.name = `replicas of ${kind} ${name}`;
    const resource = apiResource('apps/v1', kind, `${kind.toLowerCase()}s`, 'namespaced');
    const fieldSelector = `metadata.name=${name}`;
    this.#informer = createInformer({ client, resource, namespace, fieldSelector, clock, random, logger });
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#informer.onEvent(() => {
      const found = this.#ofWorkload();
      if (found === this.#last) return;
      this.#last = found;
      this.#deps.onChange();
    });
    await this.#informer.run(signal).finally(stop);
  }

  /** Undefined when nobody says. */
  count(): number | undefined {
    return this.#deps.configured > 0 ? this.#deps.configured : this.#ofWorkload();
  }

  /** The workload was looked for and is not there, and nothing else says how many replicas there are. */
  isMissing(): boolean {
    return this.count() === undefined && this.#informer.synced() && this.#informer.state().state === 'synced';
  }

  /** What people should know. */
  problem(): { readonly type: 'ReplicasMismatch' | 'ReplicasUnknown'; readonly message: string } | undefined {
    const { kind, name, namespace, configured } = this.#deps;
    const found = this.#ofWorkload();
    if (configured > 0 && found !== undefined && found !== configured) {
      const message = `ARGOCD_CONTROLLER_REPLICAS says ${configured}, ${kind} ${namespace}/${name} has ${found} replicas: ${configured} shards are used; remove the variable to follow the workload`;
      return { type: 'ReplicasMismatch', message };
    }
    if (configured > 0 || found !== undefined) return undefined;
    const state = this.#informer.state();
    if (state.state === 'forbidden' || state.state === 'degraded') {
      const message = `cannot read how many replicas ${kind} ${namespace}/${name} has: ${state.message}; set ARGOCD_CONTROLLER_REPLICAS, or let the controller get, list and watch it`;
      return { type: 'ReplicasUnknown', message };
    }
    if (!this.#informer.synced()) return undefined;
    const message = `there is no ${kind} ${namespace}/${name} (ARGOCD_APPLICATION_CONTROLLER_NAME) and ARGOCD_CONTROLLER_REPLICAS is not set: the number of shards stays as it was, 1 at first`;
    return { type: 'ReplicasUnknown', message };
  }

  #ofWorkload(): number | undefined {
    const object = this.#informer.get(`${this.#deps.namespace}/${this.#deps.name}`);
    if (object === undefined) return undefined;
    const spec = object['spec'];
    const replicas = isObject(spec) ? spec['replicas'] : undefined;
    return typeof replicas === 'number' ? replicas : 1;
  }
}

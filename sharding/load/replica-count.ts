import type { Clock, RandomSource, Runnable } from '#base';
import { isObject } from '#base';
import { apiResource, createInformer } from '#kube';
import type { Informer, KubeClient } from '#kube';
import type { Logger } from '#telemetry';
import { maxSlots } from '../documents/bounds.ts';

export interface ReplicaCountDeps {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  /** StatefulSet; with dynamic distribution Deployment. */
  readonly kind: 'StatefulSet' | 'Deployment';
  /** ARGOCD_APPLICATION_CONTROLLER_NAME. */
  readonly name: string;
  /** ARGOCD_CONTROLLER_REPLICAS; 0: not set. */
  readonly configured: number;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/**
 * Desired number of replicas: `spec.replicas` of our workload, watched at run time (Argo CD reads
 * it once at startup), so that scaling needs no restart. The environment variable overrides it, as
 * in Argo CD; a different number in the workload is then reported as a mismatch.
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

  /** Undefined when the number is unknown. */
  count(): number | undefined {
    const replicas = this.#deps.configured > 0 ? this.#deps.configured : this.#ofWorkload();
    return replicas === undefined ? undefined : Math.min(replicas, maxSlots);
  }

  /** Reports whether the workload does not exist and no variable gives the number of replicas. */
  isMissing(): boolean {
    return this.count() === undefined && this.#informer.synced() && this.#informer.state().state === 'synced';
  }

  /** Condition to report, if any. */
  problem(): { readonly type: 'ReplicasMismatch' | 'ReplicasUnknown'; readonly message: string } | undefined {
    const { kind, name, namespace, configured } = this.#deps;
    const found = this.#ofWorkload();
    const wanted = configured > 0 ? configured : (found ?? 0);
    if (wanted > maxSlots) {
      const message = `${wanted} replicas are configured, and at most ${maxSlots} are supported: ${maxSlots} shards are used; correct ARGOCD_CONTROLLER_REPLICAS or spec.replicas of ${kind} ${namespace}/${name}`;
      return { type: 'ReplicasMismatch', message };
    }
    if (configured > 0 && found !== undefined && found !== configured) {
      const message = `ARGOCD_CONTROLLER_REPLICAS is ${configured}, but ${kind} ${namespace}/${name} has ${found} replicas: ${configured} shards are used; remove the variable to follow the workload`;
      return { type: 'ReplicasMismatch', message };
    }
    if (configured > 0 || found !== undefined) return undefined;
    const state = this.#informer.state();
    if (state.state === 'forbidden' || state.state === 'degraded') {
      const message = `cannot read how many replicas ${kind} ${namespace}/${name} has: ${state.message}; set ARGOCD_CONTROLLER_REPLICAS, or let the controller get, list and watch it`;
      return { type: 'ReplicasUnknown', message };
    }
    if (!this.#informer.synced()) return undefined;
    const message = `${kind} ${namespace}/${name} (ARGOCD_APPLICATION_CONTROLLER_NAME) does not exist and ARGOCD_CONTROLLER_REPLICAS is not set: the number of shards stays unchanged (initially 1); set the variable or correct the name`;
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

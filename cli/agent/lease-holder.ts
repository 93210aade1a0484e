import type { Clock, JsonObject } from '#base';
import { apiResource } from '#kube';
import type { KubeObject } from '#model';

export const leases = apiResource('coordination.k8s.io/v1', 'Lease', 'leases', 'namespaced');

export const leaseSeconds = 30;

/** Tells who holds a Lease. Like client-go's leader election, it judges expiry by its own clock. */
export class LeaseHolder {
  readonly #clock: Clock;
  #seen: { readonly version: string; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: it was given up, or unchanged for its whole duration while we watched it. */
  of(lease: KubeObject): string | undefined {
    const spec = specOf(lease);
    const holder = typeof spec['holderIdentity'] === 'string' ? spec['holderIdentity'] : '';
    if (holder === '') return undefined;
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#clock.monotonic() };
    const seconds = Number(spec['leaseDurationSeconds'] ?? leaseSeconds);
    return this.#clock.monotonic() - this.#seen.at > seconds * 1000 ? undefined : holder;
  }
}

export function specOf(lease: KubeObject): JsonObject {
  return (lease['spec'] ?? {}) as JsonObject;
}

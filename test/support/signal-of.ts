import { assignTenant, newAbortController } from '#base';
import type { Tenant } from '#base';

/** A signal of work on behalf of a tenant. */
export function signalOf(tenant: Tenant): AbortSignal {
  const { signal } = newAbortController();
  assignTenant(signal, tenant);
  return signal;
}

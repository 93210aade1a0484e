/** The owner of work: shared limits take turns by project, and inside it by Application. */
export interface Tenant {
  readonly project: string;
  readonly application: string;
}

const unnamed: Tenant = { project: '', application: '' };
const tenants = new WeakMap<AbortSignal, Tenant>();

/**
 * The owner of the work that this signal ends; for shared work its first caller. Signals carry it,
 * because the hooks of AsyncLocalStorage make each promise of Node 20 cost more than twice as much.
 */
export function tenantOf(signal: AbortSignal): Tenant {
  return tenants.get(signal) ?? unnamed;
}

/** Work with this signal, and with those that derive from it later, is on behalf of a tenant. */
export function assignTenant(signal: AbortSignal, tenant: Tenant): void {
  tenants.set(signal, tenant);
}

/** A signal keeps the tenant of the one that it derives from. */
export function inheritTenant(signal: AbortSignal, parent: AbortSignal): void {
  const tenant = tenants.get(parent);
  if (tenant !== undefined) tenants.set(signal, tenant);
}

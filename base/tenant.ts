import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work it is: shared limits take turns by project, and inside it by Application. */
export interface Tenant {
  readonly project: string;
  readonly application: string;
}

const unnamed: Tenant = { project: '', application: '' };
const current = new AsyncLocalStorage<Tenant>();

/** Runs `body`, and all that it starts, on behalf of a tenant. */
export function onBehalfOf<T>(tenant: Tenant, body: () => T): T {
  return current.run(tenant, body);
}

/** Whose work this is. Work that several share runs for the first of them. */
export function currentTenant(): Tenant {
  return current.getStore() ?? unnamed;
}

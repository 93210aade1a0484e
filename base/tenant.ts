import { AsyncLocalStorage } from 'node:async_hooks';

/** The owner of work: shared limits take turns by project, and inside it by Application. */
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

/** The owner of the running work; for shared work the first caller. */
export function currentTenant(): Tenant {
  return current.getStore() ?? unnamed;
}

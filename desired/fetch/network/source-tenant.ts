import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work it is: shared limits take turns by project, and inside it by Application. */
export interface SourceTenant {
  readonly project: string;
  readonly application: string;
}

const unnamed: SourceTenant = { project: '', application: '' };
const current = new AsyncLocalStorage<SourceTenant>();

/** Runs `body`, and all that it starts, on behalf of an Application. */
export function onBehalfOf<T>(tenant: SourceTenant, body: () => T): T {
  return current.run(tenant, body);
}

/** Whose work this is. Work that several share runs for the first of them. */
export function sourceTenant(): SourceTenant {
  return current.getStore() ?? unnamed;
}

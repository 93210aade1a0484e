import { fileURLToPath } from 'node:url';
import { forkObject } from './remote.ts';
import type { Remote } from './remote.ts';
import { SimServers } from './servers.ts';

const serverMethods = [
  'start',
  'create',
  'settled',
  'requests',
  'ask',
  'sync',
  'drift',
  'touch',
  'overwrite',
  'close',
] as const;

/** The interface of {@link SimServers}, local or in another process. */
export type ServersApi = Remote<SimServers, (typeof serverMethods)[number]>;

/** Servers in a separate process; in this one when run from sources (in the smoke tests). */
export function newServers(): ServersApi {
  const isBuilt = !import.meta.url.endsWith('.ts');
  return isBuilt ? forkedServers() : localServers();
}

function localServers(): ServersApi {
  const servers = new SimServers();
  const entries = serverMethods.map((method) => {
    const call = async (...args: readonly unknown[]): Promise<unknown> =>
      Reflect.apply(Reflect.get(servers, method) as (...given: readonly unknown[]) => unknown, servers, args);
    return [method, call] as const;
  });
  return Object.fromEntries(entries) as unknown as ServersApi;
}

function forkedServers(): ServersApi {
  const program = fileURLToPath(new URL('servers-main.js', import.meta.url));
  const child = forkObject<SimServers, (typeof serverMethods)[number]>(program, serverMethods);
  const close = async (): Promise<void> => {
    await child.remote.close();
    await child.end();
  };
  return { ...child.remote, close };
}

import { join } from 'node:path';
import { temporaryFolder } from './processes.ts';
import { Server } from './server.ts';

export interface Servers<Name extends string> {
  readonly servers: Readonly<Record<Name, Server>>;
  /** A folder for files of the test, removed with the servers. */
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * Starts independent API servers, each with its own etcd, CA and data. `close` stops them; the
 * reaper does if the run ends before.
 */
export async function startServers<const Name extends string>({
  names,
  apiserver = [],
}: {
  readonly names: readonly Name[];
  /** Further options of each kube-apiserver. */
  readonly apiserver?: readonly string[];
}): Promise<Servers<Name>> {
  const folder = temporaryFolder('servers');
  const started = await Promise.allSettled(names.map((name) => Server.start(name, join(folder.path, name), apiserver)));
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
    folder.remove();
  };
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  const byName = Object.fromEntries(servers.map((server) => [server.name, server])) as Record<Name, Server>;
  return { servers: byName, folder: folder.path, close };
}

import { join } from 'node:path';
import { temporaryFolder } from './processes.ts';
import { Server } from './server.ts';

export interface Servers<Name extends string> {
  readonly servers: Readonly<Record<Name, Server>>;
  /** A folder for whatever a test writes; it goes with the servers. */
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * Starts real API servers side by side, each with its own etcd, authority and data; they share nothing. What was started ends with `close`, and when the
 * run itself ends without coming to that.
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

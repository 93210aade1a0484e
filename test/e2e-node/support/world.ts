import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGitServer } from '../../e2e/support/git-server.ts';
import type { GitServer } from '../../e2e/support/git-server.ts';
import { startServers } from '../../e2e/support/index.ts';
import type { Server } from '../../e2e/support/index.ts';
import { ServiceDns } from './dns.ts';
import { forwardApiService, nodeAddress, setUpNetwork } from './network.ts';
import { ClusterNode, preparedNode } from './node.ts';

/** A cluster with one node, and a Git server that its pods reach. */
export interface World {
  readonly hub: Server;
  readonly node: ClusterNode;
  readonly folder: string;
  readonly repositories: string;
  readonly git: GitServer;
  close(): Promise<void>;
}

/** Starts the cluster in the namespaces of this run. */
export async function startWorld(): Promise<World> {
  setUpNetwork();
  const servers = await startServers({
    names: ['hub'],
    apiserver: [
      '--bind-address=0.0.0.0',
      `--advertise-address=${nodeAddress}`,
      '--kubelet-preferred-address-types=InternalIP',
    ],
  });
  const { hub } = servers.servers;
  const node = new ClusterNode(join(servers.folder, 'node'), hub, preparedNode());
  const repositories = join(servers.folder, 'repositories');
  mkdirSync(repositories);
  let git: GitServer | undefined;
  let dns: ServiceDns | undefined;
  const close = async (): Promise<void> => {
    await git?.close();
    dns?.close();
    await node.stop();
    await servers.close();
  };
  try {
    forwardApiService(Number(new URL(hub.url).port));
    git = await startGitServer({ root: repositories, host: nodeAddress });
    dns = await ServiceDns.start(hub, nodeAddress);
    await node.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { hub, node, folder: servers.folder, repositories, git, close };
}

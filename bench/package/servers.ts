import { kubeConfigOf, startCluster } from '../../engine/sim.ts';
import type { KubeConfigReader } from '../../engine/sync.ts';
import { startServers } from '../../test/e2e/support/index.ts';

/** An API server, and the requests that the package has sent to it. */
export interface PackageServer {
  readonly kubeConfig: KubeConfigReader | string;
  /** Reads of single objects and writes so far; not the lists and watches of a cache. */
  requests(): number;
  close(): Promise<void>;
}

const isCounted = (verb: string, agent: string): boolean =>
  agent.startsWith('driftless-') && verb !== 'list' && verb !== 'watch';

export async function simulatedServer(): Promise<PackageServer> {
  const cluster = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
  let count = 0;
  cluster.onRequest(({ verb, agent, resource }) => {
    if (resource !== '' && isCounted(verb, agent)) count += 1;
  });
  return { kubeConfig: kubeConfigOf(cluster), requests: () => count, close: () => cluster.close() };
}

export async function realServer(): Promise<PackageServer> {
  const started = await startServers({ names: ['hub'] });
  const { hub } = started.servers;
  const requests = (): number =>
    hub.audit().filter(({ verb, userAgent, objectRef }) => objectRef !== undefined && isCounted(verb, userAgent ?? ''))
      .length;
  return { kubeConfig: hub.kubeconfig, requests, close: () => started.close() };
}

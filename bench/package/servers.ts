import { startCluster } from '../../engine/sim.ts';
import type { KubeConfigReader } from '../../engine/sync.ts';
import { startServers } from '../../test/e2e/support/index.ts';

/** An API server, and the requests that the package has sent to it. */
export interface PackageServer {
  readonly kubeConfig: KubeConfigReader;
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
  const kubeConfig = configOf(cluster.url, {});
  return { kubeConfig, requests: () => count, close: () => cluster.close() };
}

export async function realServer(): Promise<PackageServer> {
  const started = await startServers({ names: ['hub'] });
  const { hub } = started.servers;
  const { cert = '', key = '' } = hub.access;
  const kubeConfig = configOf(hub.url, { certData: base64(cert), keyData: base64(key) }, base64(hub.ca));
  const requests = (): number =>
    hub.audit().filter(({ verb, userAgent, objectRef }) => objectRef !== undefined && isCounted(verb, userAgent ?? ''))
      .length;
  return { kubeConfig, requests, close: () => started.close() };
}

function configOf(server: string, user: object, caData?: string): KubeConfigReader {
  const cluster = { name: 'bench', server, skipTLSVerify: false, ...(caData === undefined ? {} : { caData }) };
  return {
    getCurrentContext: () => 'bench',
    getContextObject: () => ({ cluster: 'bench', user: 'bench' }),
    getCluster: () => cluster,
    getUser: () => ({ name: 'bench', ...user }),
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

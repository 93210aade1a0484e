import type { Cluster } from '#model';

/** Builds a cluster whose name and server derive from its id. */
export function clusterOf(id: string, extra: Partial<Cluster> = {}): Cluster {
  const server = `https://${id}`;
  return {
    id,
    server,
    name: id,
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server, insecure: false, credentials: {} },
    ...extra,
  };
}

import type { ClusterConnection } from '#model';
import type { KubeClient } from './types.ts';

/** The clients of the managed clusters, for who writes to them. */
export interface ClusterClients {
  /**
   * The client of a cluster, by the URL that names it: the same connections, throttle and credentials as those of its watches. To be asked for
   * each piece of work and not kept. Undefined while nobody watches the cluster.
   */
  of(server: string): KubeClient | undefined;
}

/**
 * One client per managed cluster. Who watches the cluster opens and closes it; who writes borrows it. So the watching side gives no client away,
 * and may have one of its own one day, while a write needs no second connection today.
 */
export class SharedClients implements ClusterClients {
  readonly #connect: (connection: ClusterConnection) => KubeClient;
  readonly #clients = new Map<string, KubeClient>();

  /** @param connect makes a client for a connection. */
  constructor(connect: (connection: ClusterConnection) => KubeClient) {
    this.#connect = connect;
  }

  /** A new client for the cluster. One that is there already goes on until its owner closes it; writes go through the new one from now on. */
  open(server: string, connection: ClusterConnection): KubeClient {
    const client = this.#connect(connection);
    this.#clients.set(server, client);
    return client;
  }

  of(server: string): KubeClient | undefined {
    return this.#clients.get(server);
  }

  /** Ends the connections of a client that `open` has made. A newer client of the same cluster stays. */
  async close(server: string, client: KubeClient): Promise<void> {
    if (this.#clients.get(server) === client) this.#clients.delete(server);
    await client.close();
  }
}

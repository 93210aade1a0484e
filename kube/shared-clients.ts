import type { ClusterConnection } from '#model';
import type { KubeClient } from './types.ts';

/** Clients of the managed clusters, for writers. */
export interface ClusterClients {
  /**
   * The client that watches a cluster, by the cluster's URL; undefined if it is not watched. Get it
   * for each piece of work and do not keep it: it may be replaced.
   */
  of(server: string): KubeClient | undefined;
}

/**
 * One client per managed cluster. The watching side opens and closes it. Writers borrow it, with
 * its connections, throttle and credentials.
 */
export class SharedClients implements ClusterClients {
  readonly #connect: (connection: ClusterConnection) => KubeClient;
  readonly #clients = new Map<string, KubeClient>();

  /** @param connect creates a client for a connection. */
  constructor(connect: (connection: ClusterConnection) => KubeClient) {
    this.#connect = connect;
  }

  /**
   * Opens a new client for the cluster and uses it for writes. An existing one runs until its owner
   * closes it.
   */
  open(server: string, connection: ClusterConnection): KubeClient {
    const client = this.#connect(connection);
    this.#clients.set(server, client);
    return client;
  }

  of(server: string): KubeClient | undefined {
    return this.#clients.get(server);
  }

  /** Closes a client returned by `open`. A newer client of the same cluster stays. */
  async close(server: string, client: KubeClient): Promise<void> {
    if (this.#clients.get(server) === client) this.#clients.delete(server);
    await client.close();
  }
}

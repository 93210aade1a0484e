import { request } from 'node:http';

/**
 * The text of a page of this moment, over the Unix socket of a controller, without production code.
 * Rejects if none answers.
 */
export function socketPage(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'cache-control': 'no-cache' };
    const outgoing = request({ socketPath, path: `/api/v1/${path}`, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk)).on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${path}: status ${response.statusCode ?? 0}: ${text}`));
      });
    });
    outgoing.on('error', reject).end();
  });
}

/** A replica, by its own pages. */
export interface OwnReplica {
  readonly shard?: number;
  /** Names of the clusters that it owns at least partly. */
  readonly ownedClusters: readonly string[];
}

/** The replica behind a Unix socket, as its own pages show it. */
export async function ownReplica(socketPath: string): Promise<OwnReplica> {
  const pages = ['replica', 'ownership'].map(async (page) => JSON.parse(await socketPage(socketPath, page)) as unknown);
  const [replicas, { clusters }] = (await Promise.all(pages)) as [ReplicaPage, OwnershipPage];
  const names = new Map(clusters.map(({ server, names: [name = server] }) => [server, name]));
  const own = replicas.items.find(({ name }) => name === replicas.replica);
  const { shard, clusters: owned = [] } = own ?? {};
  return {
    ...(shard === undefined ? {} : { shard }),
    ownedClusters: owned.map((server) => names.get(server) ?? server),
  };
}

interface ReplicaPage {
  readonly replica: string;
  readonly items: readonly { readonly name: string; readonly shard?: number; readonly clusters: readonly string[] }[];
}

interface OwnershipPage {
  readonly clusters: readonly { readonly server: string; readonly names: readonly string[] }[];
}

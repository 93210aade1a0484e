import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';

/**
 * Distinct ports of loopback that are free now. A replica publishes its port before it listens, so
 * it cannot take any free one by itself.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers: Server[] = [];
  try {
    for (let i = 0; i < count; i += 1) servers.push(await listening());
    return servers.map((server) => (server.address() as AddressInfo).port);
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function listening(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

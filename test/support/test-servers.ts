import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** HTTP servers of a test file. Call `closeAll` after each test. */
export class TestServers {
  readonly #servers: (HttpServer | HttpsServer)[] = [];

  /** Listens on a free port of 127.0.0.1 and returns the port. */
  async listen(server: HttpServer | HttpsServer): Promise<number> {
    this.#servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  closeAll(): void {
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  }
}

import { createServer as createNetServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { chmodSync, rmSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { untilAborted, DriftlessError } from '#base';
import type { Runnable } from '#base';
import type { Logger } from '#telemetry';
import type { RenderAddress } from './address.ts';
import { serveSession } from './server-session.ts';
import type { ServerSessionDeps } from './server-session.ts';

/** Certificates of the renderer's TLS port, as PEM. */
export interface RenderServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** The CA of client certificates, which are required. */
  readonly ca: Buffer;
}

export interface RenderServerDeps extends ServerSessionDeps {
  readonly logger: Logger;
  readonly address: RenderAddress;
  readonly tls?: RenderServerTls;
  /** Called with the bound address; useful if the port is 0. */
  readonly onListening?: (address: AddressInfo | string | null) => void;
}

/** Concurrent connections; a client uses one per request. */
const maxConnections = 512;

/** Listens for controllers until its signal aborts. */
export function createRenderServer(deps: RenderServerDeps): Runnable {
  return {
    name: 'render-server',
    run: async (signal) => {
      const sessions = new Set<Promise<void>>();
      const streams = new Set<Duplex>();
      const server = serverOf(deps, (stream) => {
        streams.add(stream);
        const session = serveSession(stream, deps);
        sessions.add(session);
        void session.finally(() => {
          sessions.delete(session);
          streams.delete(stream);
        });
      });
      server.maxConnections = maxConnections;
      await listen(server, deps.address);
      deps.onListening?.(server.address());
      deps.logger.info('The renderer listens', { address: deps.address.text });
      await untilAborted(signal);
      server.close();
      for (const stream of streams) stream.destroy();
      await Promise.all(sessions);
    },
  };
}

function serverOf({ address, tls }: RenderServerDeps, onStream: (stream: Socket) => void): Server {
  if (address.kind === 'unix') return createNetServer(onStream);
  if (tls === undefined)
    throw new DriftlessError('USAGE', 'a TLS port needs --tls-cert, --tls-key and --client-ca', { retry: 'never' });
  const { cert, key, ca } = tls;
  const server = createTlsServer(
    { cert, key, ca, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' },
    onStream,
  );
  server.on('tlsClientError', () => undefined);
  return server;
}

async function listen(server: Server, address: RenderAddress): Promise<void> {
  // A previous process left it; the folder is ours alone.
  if (address.kind === 'unix') rmSync(address.path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const onListening = (): void => {
      server.off('error', reject);
      resolve();
    };
    if (address.kind === 'unix') server.listen(address.path, onListening);
    else server.listen(address.port, address.host, onListening);
  });
  if (address.kind === 'unix') chmodSync(address.path, 0o660);
}

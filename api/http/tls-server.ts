import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { untilAborted } from '#base';
import type { Runnable } from '#base';
import { listen } from '#telemetry';
import type { Logger } from '#telemetry';
import { fullViewer } from '../access/viewer.ts';
import type { Caller } from '../access/viewer.ts';
import type { TokenAccess } from '../access/token-access.ts';
import type { ReadApi } from '../read-api.ts';
import { ApiFault } from '../fault.ts';
import { fingerprintOf } from './certificate.ts';
import type { ApiCertificate } from './certificate.ts';
import { createApiHandler } from './handler.ts';
import type { StaticFiles } from './handler.ts';

export interface ApiServerDeps {
  readonly api: ReadApi;
  readonly access: Pick<TokenAccess, 'viewer'>;
  /** Fingerprints of the certificates of the other replicas now. */
  readonly peerFingerprints: () => ReadonlySet<string>;
  readonly certificate: ApiCertificate;
  readonly logger: Logger;
  /** Files of the dashboard, which need no token; absent: it is off. */
  readonly files?: StaticFiles | undefined;
}

/** Slow and idle callers are cut off, so that they cannot take all connections. */
const headersTimeoutMs = 5000;
const requestTimeoutMs = 15_000;
const keepAliveTimeoutMs = 10_000;
const handshakeTimeoutMs = 5000;
/** A caller that does not read its answer. */
const idleTimeoutMs = 20_000;
const maxConnections = 256;
const maxHeaderBytes = 16 * 1024;

/**
 * Serves the read API over HTTPS. Other replicas are recognised by their certificates; every other
 * caller needs a token.
 */
export class ApiServer implements Runnable {
  readonly name = 'read API';
  readonly #deps: ApiServerDeps;
  readonly #host: string;
  readonly #port: number;
  #listening: number | undefined;
  #opened: (() => void) | undefined;
  readonly #ready = new Promise<void>((resolve) => {
    this.#opened = resolve;
  });

  constructor(deps: ApiServerDeps, { host, port }: { readonly host: string; readonly port: number }) {
    this.#deps = deps;
    this.#host = host;
    this.#port = port;
  }

  /** The port while the server listens. */
  get port(): number | undefined {
    return this.#listening;
  }

  /** Resolves when the port listens: no replica publishes an address before. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** @throws ListenError if the port is taken */
  async run(signal: AbortSignal): Promise<void> {
    const { api, logger, certificate, files } = this.#deps;
    const identify = (request: IncomingMessage, inner: AbortSignal): Promise<Caller> => this.#identify(request, inner);
    const handler = createApiHandler({ api, logger, files, identify });
    const server = createServer(
      {
        key: certificate.key,
        cert: certificate.certificate,
        minVersion: 'TLSv1.2',
        // A client certificate is optional, and its fingerprint decides.
        requestCert: true,
        rejectUnauthorized: false,
        handshakeTimeout: handshakeTimeoutMs,
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveTimeoutMs,
        maxHeaderSize: maxHeaderBytes,
        connectionsCheckingInterval: 1000,
      },
      handler,
    );
    server.maxConnections = maxConnections;
    server.setTimeout(idleTimeoutMs);
    server.on('tlsClientError', () => undefined);
    this.#listening = await listen(server, 'the read API (--api-port)', this.#host, this.#port);
    this.#opened?.();
    logger.info('Serving the read API', { host: this.#host, port: this.#listening });
    await untilAborted(signal);
    this.#listening = undefined;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async #identify(request: IncomingMessage, signal: AbortSignal): Promise<Caller> {
    const { socket } = request;
    const der: unknown = socket instanceof TLSSocket ? socket.getPeerCertificate().raw : undefined;
    if (Buffer.isBuffer(der) && this.#deps.peerFingerprints().has(fingerprintOf(der)))
      return { viewer: fullViewer, isPeer: true };
    return { viewer: await this.#deps.access.viewer(tokenOf(request), signal), isPeer: false };
  }
}

/** The API server's pod proxy removes Authorization, so there is a header of our own. */
export function tokenOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const own = headers['x-driftless-token'];
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (typeof own !== 'string') return bearer;
  // A proxy may have checked the other one.
  if (bearer !== undefined && bearer !== own.trim())
    throw new ApiFault(400, 'Authorization and X-Driftless-Token hold different tokens: send one of them');
  return own.trim();
}

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { aborted, DriftlessError, messageOf } from '#base';
import type { Runnable } from '#base';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** The port is taken, or may not be opened. */
export class ListenError extends DriftlessError {
  constructor(what: string, host: string, port: number, cause: unknown) {
    const why =
      codeOf(cause) === 'EADDRINUSE'
        ? 'the port is in use: stop the other process or choose another port'
        : `${messageOf(cause)}: choose another port`;
    super('LISTEN', `${what} cannot listen on ${host}:${port}: ${why}`, { cause, retry: 'never' });
  }
}

/**
 * Listens, or rejects with a {@link ListenError}. Port 0 takes any free one. Resolves with the port. The host `::` means every address
 * of both families, and those of IPv4 where there is no IPv6.
 */
export async function listen(server: Server, what: string, host: string, port: number): Promise<number> {
  try {
    return await listenOn(server, host, port);
  } catch (error) {
    const withoutIPv6 = host === '::' && ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(codeOf(error) ?? '');
    if (!withoutIPv6) throw new ListenError(what, host, port, error);
    return listen(server, what, '0.0.0.0', port);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { readonly code?: string }).code;
}

function listenOn(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(error);
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

export interface Health {
  readonly ok: boolean;
  /** Why not; shown by /healthz. */
  readonly reason?: string;
  /** What is worth knowing although all is well; shown behind it. */
  readonly note?: string;
}

export interface TelemetryServerOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Is our own work moving? Answers /healthz and /livez. */
  readonly healthy: () => Health;
  /** May others rely on us? Answers /readyz. */
  readonly ready: () => Health;
  /** Plain values about everything that this replica does; answers /debug/state as JSON. */
  readonly state: () => unknown;
}

/**
 * /metrics, /healthz (Argo CD's name), /livez, /readyz and /debug/state over HTTP. Runs until its signal aborts; open connections are then
 * closed at once. What is below /debug answers requests from this machine only.
 */
export class TelemetryServer implements Runnable {
  readonly name = 'telemetry server';
  readonly #options: TelemetryServerOptions;
  #port: number | undefined;
  #listening: (() => void) | undefined;
  readonly #ready = new Promise<void>((resolve) => {
    this.#listening = resolve;
  });

  constructor(options: TelemetryServerOptions) {
    this.#options = options;
  }

  /** The port, once it listens. */
  get port(): number | undefined {
    return this.#port;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { host, port, logger } = this.#options;
    const server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        logger.warn('telemetry request failed', { error });
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
    this.#port = await listen(server, 'the telemetry server', host, port);
    this.#listening?.();
    logger.info('serving metrics and health', { host, port: this.#port });
    await aborted(signal);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0];
    switch (path) {
      case '/metrics':
        send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await this.#options.metrics.expose());
        return;
      case '/healthz':
      case '/livez':
        sendHealth(response, this.#options.healthy());
        return;
      case '/readyz':
        sendHealth(response, this.#options.ready());
        return;
      case '/debug/state':
        if (!isLoopback(request.socket.remoteAddress)) {
          send(response, 403, 'text/plain', `${path} answers this machine only: use kubectl port-forward or exec\n`);
          return;
        }
        send(response, 200, 'application/json', JSON.stringify(this.#options.state(), bigintAsText));
        return;
      default:
        send(response, 404, 'text/plain', 'not found: try /metrics, /healthz, /readyz or /debug/state\n');
    }
  }
}

/** Whether a request comes from this pod itself (a forwarded port does): names of repositories and clusters are not for the whole network. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function sendHealth(response: ServerResponse, health: Health): void {
  send(
    response,
    health.ok ? 200 : 503,
    'text/plain',
    health.ok ? okWith(health.note) : `${health.reason ?? 'not ok'}\n`,
  );
}

function okWith(note: string | undefined): string {
  return note === undefined ? 'ok' : `ok\n${note}\n`;
}

function send(response: ServerResponse, code: number, type: string, body: string): void {
  response.writeHead(code, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

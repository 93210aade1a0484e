import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { untilAborted, DriftlessError, messageOf } from '#base';
import type { Runnable } from '#base';
import type { Logger } from './log.ts';
import type { MetricSource } from './metrics.ts';
import { sendMetrics } from './scrape.ts';

/** The port is in use or must not be opened. */
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
 * Listens and resolves with the port, or rejects with a {@link ListenError}. Port 0 takes any free
 * port. Host `::` means all addresses of both families, or of IPv4 where IPv6 is missing.
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

export interface HealthReport {
  readonly ok: boolean;
  /** Why not; shown by /healthz. */
  readonly reason?: string;
  /** A remark on a healthy state; shown after it. */
  readonly note?: string;
}

export interface TelemetryServerOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: MetricSource;
  readonly logger: Logger;
  /** Liveness of this process, for /healthz and /livez. */
  readonly healthy: () => HealthReport;
  /** Readiness, for /readyz. */
  readonly ready: () => HealthReport;
}

/**
 * Serves /metrics, /healthz (Argo CD's name), /livez and /readyz over HTTP until its signal aborts;
 * open connections are then closed. No request is trusted for its address: the read API has a port
 * and a socket of its own.
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

  /** The port while the server listens. */
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
        if (!response.closed) logger.warn('Telemetry request failed', { error });
        // A scrape without its end must not look complete.
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end();
      });
    });
    this.#port = await listen(server, 'the telemetry server', host, port);
    this.#listening?.();
    logger.info('Serving metrics and health', { host, port: this.#port });
    await untilAborted(signal);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0];
    switch (path) {
      case '/metrics':
        await sendMetrics(request, response, this.#options.metrics);
        return;
      case '/healthz':
      case '/livez':
        sendHealth(response, this.#options.healthy());
        return;
      case '/readyz':
        sendHealth(response, this.#options.ready());
        return;
      default:
        sendResponse(response, 404, 'text/plain', 'not found: try /metrics, /healthz or /readyz\n');
    }
  }
}

function sendHealth(response: ServerResponse, health: HealthReport): void {
  sendResponse(
    response,
    health.ok ? 200 : 503,
    'text/plain',
    health.ok ? healthyText(health.note) : `${health.reason ?? 'not ok'}\n`,
  );
}

function healthyText(note: string | undefined): string {
  return note === undefined ? 'ok' : `ok\n${note}\n`;
}

function sendResponse(response: ServerResponse, code: number, type: string, body: string): void {
  response.writeHead(code, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

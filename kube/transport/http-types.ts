import type { LookupFunction } from 'node:net';

/** One HTTP exchange, without credentials. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the server's URL, with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** Ends the exchange, also while the body is read. */
  readonly signal: AbortSignal;
  /**
   * Called synchronously before the first byte is written to an open connection; if it throws,
   * nothing is written.
   */
  readonly beforeSend?: () => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Must be read to its end, or left (breaking out of the loop closes the exchange). */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Settings of connections that node:tls, undici and node:http2 all accept. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelay: number;
  /** Resolves host names; absent: as Node does. */
  readonly lookup?: LookupFunction;
}

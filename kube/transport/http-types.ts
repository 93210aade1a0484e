import type { SecureContext } from 'node:tls';
import type { LookupFunction } from 'node:net';
import type { ClusterConnection } from '#model';
import type { Credential } from '../credentials/credentials.ts';

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

/** Sends the requests to one server. */
export interface RequestTransport {
  /** New credentials and certificates of the same server. */
  set connection(connection: ClusterConnection);
  /** @throws KubeConnectionError; the signal's reason when it aborts. */
  call(request: HttpRequest, credential: Credential): Promise<HttpResponse>;
  /** Like `call`, for responses that have no end of their own. */
  watch(request: HttpRequest, credential: Credential): Promise<HttpResponse>;
  /** Ends all connections at once. Idempotent. */
  close(): Promise<void>;
}

/** Settings of connections that node:tls, undici and node:http2 all accept. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** `ca`, `cert` and `key`, parsed: shared by all connections of a lane. */
  readonly secureContext?: SecureContext;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelay: number;
  /** Resolves host names; absent: as Node does. */
  readonly lookup?: LookupFunction;
}

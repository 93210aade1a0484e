import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import type { ChannelCredentials, ChannelOptions, Client } from '@grpc/grpc-js';
import { messageOf } from '#base';
import type { Clock } from '#base';
import { CertificatesUnusable } from '../errors.ts';
import { grpc } from './grpc.ts';

/**
 * TLS settings of the repo-server. Files are read for each new connection, so renewed certificates
 * need no restart.
 */
export interface RepoServerTls {
  /**
   * PEM files of the CAs that may have signed its certificate; missing files are ignored. The
   * certificate must name the host of the address. Undefined: no verification, as in Argo CD, whose
   * repo-server uses a self-signed certificate.
   */
  readonly authorities?: readonly string[];
  /** Client certificate. If its file is missing, none is sent, as in Argo CD. */
  readonly identity?: { readonly certificate: string; readonly key: string };
}

export interface ConnectionOptions {
  /** `host:port`; the addresses of the host are used round-robin. */
  readonly address: string;
  /** Undefined: plain text. */
  readonly tls?: RepoServerTls;
  /** Limit of one message in either direction. */
  readonly maxMessageBytes: number;
  /** Look up the gRPC service config in DNS. */
  readonly serviceConfigFromDns: boolean;
  readonly userAgent: string;
}

/**
 * A Service address leads each connection to a random repo-server; several connections spread the
 * work.
 */
const maxConnections = 8;
/**
 * Connections are replaced at this age, so new repo-servers get work and new certificates take
 * effect.
 */
const connectionLifetimeMs = 60_000;

const channelOptions: ChannelOptions = {
  // Use the addresses of a name in turn and skip those that do not answer.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  // A repo-server closes connections that ping more often than every 10 s, or without a call in
  // flight.
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 0,
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // The proxy of the environment is for outside traffic; credentials must not pass through it.
  'grpc.enable_http_proxy': 0,
};

interface PooledConnection {
  readonly client: Client;
  readonly openedAt: number;
  users: number;
  spent: boolean;
}

/** A pool of short-lived connections to the repo-server. */
export class ConnectionPool {
  readonly #options: ConnectionOptions;
  readonly #clock: Clock;
  readonly #open = new Set<PooledConnection>();
  #closed = false;

  constructor(options: ConnectionOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Calls `body` with a connection, and discards the connection if `isLost` matches its error.
   * @throws CertificatesUnusable if certificates cannot be read
   */
  async use<T>(body: (client: Client) => Promise<T>, isLost: (error: unknown) => boolean): Promise<T> {
    const connection = this.#claim(this.#leastBusy()) ?? (await this.#openConnection());
    try {
      return await body(connection.client);
    } catch (error) {
      if (isLost(error)) connection.spent = true;
      throw error;
    } finally {
      connection.users -= 1;
      this.#closeExpired();
    }
  }

  /** Calls in flight continue; their callers end them. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#open) connection.client.close();
    this.#open.clear();
  }

  /** Counts the call before it starts, so the next caller does not consider the connection idle. */
  #claim(connection: PooledConnection | undefined): PooledConnection | undefined {
    if (connection !== undefined) connection.users += 1;
    return connection;
  }

  /** Returns the least busy connection; undefined if all are busy and another may be opened. */
  #leastBusy(): PooledConnection | undefined {
    this.#closeExpired();
    const usable = [...this.#open].filter((connection) => this.#isFresh(connection));
    const least = usable.reduce<PooledConnection | undefined>(
      (best, one) => (best === undefined || one.users < best.users ? one : best),
      undefined,
    );
    return least !== undefined && least.users > 0 && usable.length < maxConnections ? undefined : least;
  }

  async #openConnection(): Promise<PooledConnection> {
    const { address, tls, maxMessageBytes, serviceConfigFromDns, userAgent } = this.#options;
    const host = numericHost(address);
    const trust = tls === undefined ? grpc().credentials.createInsecure() : await credentialsOf(tls, host);
    // Other callers may have opened enough connections while files were read.
    const ready = this.#claim(this.#leastBusy());
    if (ready !== undefined) return ready;
    const client = new (grpc().Client)(address, trust, {
      ...channelOptions,
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc.service_config_disable_resolution': serviceConfigFromDns ? 0 : 1,
      'grpc.primary_user_agent': userAgent,
      ...(host === undefined ? {} : { 'grpc.ssl_target_name_override': serviceName }),
    });
    const connection = { client, openedAt: this.#clock.monotonic(), users: 1, spent: this.#closed };
    this.#open.add(connection);
    return connection;
  }

  #isFresh({ spent, openedAt }: PooledConnection): boolean {
    return !spent && this.#clock.monotonic() - openedAt < connectionLifetimeMs;
  }

  #closeExpired(): void {
    for (const connection of this.#open) {
      if (connection.users > 0 || this.#isFresh(connection)) continue;
      connection.client.close();
      this.#open.delete(connection);
    }
  }
}

/** The server name in Argo CD's own certificates. */
const serviceName = 'argocd-repo-server';

/**
 * Returns the host if it is an IP address. TLS has no server name for an IP address, and Node.js
 * refuses to send one.
 */
function numericHost(address: string): string | undefined {
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * @param host the IP address that the certificate must be valid for; undefined: it must be valid
 * for the server name of the handshake
 */
async function credentialsOf(
  { authorities, identity }: RepoServerTls,
  host: string | undefined,
): Promise<ChannelCredentials> {
  const known = authorities === undefined ? undefined : await authoritiesOf(authorities);
  const own = identity === undefined ? undefined : await identityOf(identity);
  try {
    const context = createSecureContext({
      ...(known === undefined ? {} : { ca: [...known] }),
      ...own,
      // As in Go, a certificate that is itself configured as a CA is enough, whatever its issuer.
      allowPartialTrustChain: true,
    });
    return grpc().credentials.createFromSecureContext(context, {
      rejectUnauthorized: known !== undefined,
      ...(host === undefined
        ? {}
        : { checkServerIdentity: (_serverName, certificate) => checkServerIdentity(host, certificate) }),
    });
  } catch (error) {
    throw new CertificatesUnusable(`the certificates for the repo-server cannot be used: ${messageOf(error)}`, error);
  }
}

/** @throws CertificatesUnusable if no file exists: no server could be trusted */
async function authoritiesOf(files: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const file of files) {
    const text = await textOf(file);
    if (text === undefined) continue;
    if (!isCertificate(text)) throw new CertificatesUnusable(`${file} is not a PEM certificate`);
    found.push(text);
  }
  if (found.length > 0) return found;
  throw new CertificatesUnusable(
    `cannot verify the certificate of the repo-server: no CA file exists among ${files.join(', ')}`,
  );
}

/** The TLS library silently ignores text that is not a certificate. */
function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}

async function identityOf({
  certificate,
  key,
}: NonNullable<RepoServerTls['identity']>): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  const cert = await textOf(certificate);
  if (cert === undefined) return undefined;
  const text = await textOf(key);
  if (text === undefined) throw new CertificatesUnusable(`${certificate} has no key: there is no file ${key}`);
  return { cert, key: text };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CertificatesUnusable(`${file} cannot be read: ${code}`, error);
  }
}

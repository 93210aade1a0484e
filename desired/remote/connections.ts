import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { messageOf } from '#base';
import type { Clock } from '#base';
import { CertificatesUnusable } from '../errors.ts';

/** How the repo-server is known. Files are read when a connection is made, so that renewed certificates need no restart. */
export interface RepoServerTls {
  /**
   * PEM files of those that may have signed its certificate, which must name the host of the address; those that are missing do not count.
   * Undefined: it is not verified, as in Argo CD, whose repo-server signs for itself.
   */
  readonly authorities?: readonly string[];
  /** Who we are. Without the first file we are nobody, as in Argo CD. */
  readonly identity?: { readonly certificate: string; readonly key: string };
}

export interface ConnectionOptions {
  /** `host:port`; a host with several addresses is asked at all of them in turn. */
  readonly address: string;
  /** Undefined: plain text. */
  readonly tls?: RepoServerTls;
  /** Of one message, in either direction. */
  readonly maxMessageBytes: number;
  /** Look for settings of the service in DNS. */
  readonly serviceConfigFromDns: boolean;
  readonly userAgent: string;
}

/** Connections at once. Behind one Service address each leads to a repo-server by chance: with several, the work is spread over them. */
const maxConnections = 8;
/** A connection is used no longer than this, so that new repo-servers get work, and new certificates count. */
const lifeMs = 60_000;

const lasting: ChannelOptions = {
  // Addresses of one name are asked in turn, those that do not answer are left out.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  // A repo-server closes connections that ping more often than every 10 s, or without a call under way.
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 0,
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // A proxy of the environment is for what lies outside; credentials go through none.
  'grpc.enable_http_proxy': 0,
};

interface Connection {
  readonly client: Client;
  readonly openedAt: number;
  users: number;
  spent: boolean;
}

/** The connections to a repo-server: a few, each for a while. */
export class Connections {
  readonly #options: ConnectionOptions;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  #closed = false;

  constructor(options: ConnectionOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Calls `body` with a connection. When `isLost` says so of its error, that connection is not used again.
   * @throws CertificatesUnusable when certificates cannot be read
   */
  async use<T>(body: (client: Client) => Promise<T>, isLost: (error: unknown) => boolean): Promise<T> {
    const connection = this.#taken(this.#least()) ?? (await this.#opened());
    try {
      return await body(connection.client);
    } catch (error) {
      if (isLost(error)) connection.spent = true;
      throw error;
    } finally {
      connection.users -= 1;
      this.#sweep();
    }
  }

  /** Calls under way go on; whoever makes them ends them. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#open) connection.client.close();
    this.#open.clear();
  }

  /** Counted at once: the next caller must not think it idle. */
  #taken(connection: Connection | undefined): Connection | undefined {
    if (connection !== undefined) connection.users += 1;
    return connection;
  }

  /** The one with the least to do; undefined when another may be opened and all are busy. */
  #least(): Connection | undefined {
    this.#sweep();
    const usable = [...this.#open].filter((connection) => this.#isFresh(connection));
    const least = usable.reduce<Connection | undefined>(
      (best, one) => (best === undefined || one.users < best.users ? one : best),
      undefined,
    );
    return least !== undefined && least.users > 0 && usable.length < maxConnections ? undefined : least;
  }

  async #opened(): Promise<Connection> {
    const { address, tls, maxMessageBytes, serviceConfigFromDns, userAgent } = this.#options;
    const host = numericHost(address);
    const trust = tls === undefined ? credentials.createInsecure() : await credentialsOf(tls, host);
    // Others may have opened enough while files were read.
    const ready = this.#taken(this.#least());
    if (ready !== undefined) return ready;
    const client = new Client(address, trust, {
      ...lasting,
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

  #isFresh({ spent, openedAt }: Connection): boolean {
    return !spent && this.#clock.monotonic() - openedAt < lifeMs;
  }

  #sweep(): void {
    for (const connection of this.#open) {
      if (connection.users > 0 || this.#isFresh(connection)) continue;
      connection.client.close();
      this.#open.delete(connection);
    }
  }
}

/** What a repo-server is called in Argo CD's own certificates. */
const serviceName = 'argocd-repo-server';

/** The host of an address that names it by number. TLS has no server name for such a host, and Node.js refuses a number in its place. */
function numericHost(address: string): string | undefined {
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/** @param host what the certificate must name in place of the server name that is sent; undefined: that name */
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
      // A certificate that is itself among the authorities is enough, as in Go, whoever signed it.
      allowPartialTrustChain: true,
    });
    return credentials.createFromSecureContext(context, {
      rejectUnauthorized: known !== undefined,
      ...(host === undefined
        ? {}
        : { checkServerIdentity: (_serverName, certificate) => checkServerIdentity(host, certificate) }),
    });
  } catch (error) {
    throw new CertificatesUnusable(`the certificates for the repo-server cannot be used: ${messageOf(error)}`, error);
  }
}

/** @throws CertificatesUnusable when there is none: nobody would be trusted */
async function authoritiesOf(files: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const file of files) {
    const text = await textOf(file);
    if (text === undefined) continue;
    if (!isCertificate(text)) throw new CertificatesUnusable(`${file} is no certificate in PEM`);
    found.push(text);
  }
  if (found.length > 0) return found;
  throw new CertificatesUnusable(
    `the certificate of the repo-server is to be verified, and there is no authority: ${files.join(', ')}`,
  );
}

/** The TLS library says nothing of a text that is none. */
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

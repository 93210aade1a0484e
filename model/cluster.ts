import { Secret, splitUserInfo } from '#base';

/** How to prove who we are to an API server. Absent members are not used. */
export interface ClusterCredentials {
  readonly username?: string;
  readonly password?: Secret;
  readonly bearerToken?: Secret;
  /** Read again whenever the file changes (service account tokens rotate). */
  readonly bearerTokenFile?: string;
  readonly certData?: Secret;
  readonly keyData?: Secret;
  readonly exec?: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly apiVersion: string;
    readonly provideClusterInfo: boolean;
  };
}

/** Another user in whose name requests are made. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Where an API server is and how to talk to it. Plain values: two equal connections are interchangeable. */
export interface ClusterConnection {
  /** API URL without a trailing slash. */
  readonly server: string;
  readonly insecure: boolean;
  /** PEM. */
  readonly caData?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly credentials: ClusterCredentials;
  /** Every request acts as this user, but those of a client that acts as somebody else. */
  readonly impersonate?: Impersonation;
  /** No request may take longer; the server is told. */
  readonly requestTimeoutMs?: number;
}

/**
 * The connection without user and password in its address, which become its credentials, in the place of all but a certificate (as in Go, where an
 * address with a user wins over every other header). The address is a name that others see: a label, a key, a part of messages.
 */
export function withoutUserInfo(connection: ClusterConnection): ClusterConnection {
  const { url, username, password } = splitUserInfo(connection.server);
  if (url === connection.server) return connection;
  if (username === undefined) return { ...connection, server: url };
  const { certData, keyData } = connection.credentials;
  return {
    ...connection,
    server: url,
    credentials: {
      username,
      password: new Secret(password ?? ''),
      ...(certData === undefined ? {} : { certData }),
      ...(keyData === undefined ? {} : { keyData }),
    },
  };
}

/**
 * A pattern for addresses of clusters (of a project, of resource.exclusions), as addresses are known here: without user and password. One in which the
 * part before the @ is itself a pattern of characters stays as it is.
 */
export function serverPattern(pattern: string): string {
  const { url } = splitUserInfo(pattern);
  const length = pattern.length - url.length;
  return /[[\]{}\\]/.test(pattern.slice(0, pattern.indexOf('://') + 3 + length)) ? pattern : url;
}

/** A cluster that Applications can be sent to, from its Secret or implicit. */
export interface Cluster {
  /** UID of the Secret, "" for the implicit in-cluster one: what sharding hashes. */
  readonly id: string;
  /** Undefined for the implicit one. */
  readonly secretName?: string;
  /** Its address without trailing slashes, user and password: its name everywhere. */
  readonly server: string;
  readonly name: string;
  /** Non-empty: only these namespaces are managed. */
  readonly namespaces: readonly string[];
  /** With `namespaces`: cluster-scoped resources too. */
  readonly clusterResources: boolean;
  /** Manual pin in the Secret. */
  readonly shard?: number;
  readonly project?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly connection: ClusterConnection;
}

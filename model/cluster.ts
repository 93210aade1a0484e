import { SecretValue, splitUserInfo } from '#base';

/** Credentials for an API server. Absent members are not used. */
export interface ClusterCredentials {
  readonly username?: string;
  readonly password?: SecretValue;
  readonly bearerToken?: SecretValue;
  /** Read again when the file changes (service account tokens rotate). */
  readonly bearerTokenFile?: string;
  readonly certData?: SecretValue;
  readonly keyData?: SecretValue;
  readonly exec?: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly apiVersion: string;
    readonly provideClusterInfo: boolean;
  };
}

/** The user whose identity requests assume. */
export interface ImpersonatedUser {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * The address of an API server and how to connect to it. Plain values: two equal connections are
 * interchangeable.
 */
export interface ClusterConnection {
  /** API URL without a trailing slash. */
  readonly server: string;
  readonly insecure: boolean;
  /** PEM. */
  readonly caData?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly credentials: ClusterCredentials;
  /** The user that every request impersonates, unless a client sets its own. */
  readonly impersonate?: ImpersonatedUser;
  /** Upper bound on every request; also sent to the server. */
  readonly requestTimeoutMs?: number;
}

/**
 * Moves user and password from the address into the credentials, where they replace everything but
 * a certificate (as in Go, where user info overrides every other header). The address is visible to
 * others, as a label, a key and a part of messages.
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
      password: new SecretValue(password ?? ''),
      ...(certData === undefined ? {} : { certData }),
      ...(keyData === undefined ? {} : { keyData }),
    },
  };
}

/**
 * Normalizes a pattern for cluster addresses (of a project, of resource.exclusions) the way
 * addresses are normalized: without user info. Unchanged if the part before the @ is itself a
 * pattern.
 */
export function serverPattern(pattern: string): string {
  const { url } = splitUserInfo(pattern);
  const length = pattern.length - url.length;
  return /[[\]{}\\]/.test(pattern.slice(0, pattern.indexOf('://') + 3 + length)) ? pattern : url;
}

/** A destination cluster, from its Secret or implicit. */
export interface Cluster {
  /** UID of the Secret, "" for the implicit in-cluster one. Input of the sharding hash. */
  readonly id: string;
  /** Undefined for the implicit one. */
  readonly secretName?: string;
  /** The address without trailing slashes, user and password. Identifies the cluster everywhere. */
  readonly server: string;
  readonly name: string;
  /** If not empty, only these namespaces are managed. */
  readonly namespaces: readonly string[];
  /** With `namespaces`: manage cluster-scoped resources too. */
  readonly clusterResources: boolean;
  /** Manual shard assignment in the Secret. */
  readonly shard?: number;
  /** Scoped: it serves Applications of this project only. */
  readonly project?: string;
  /** `creationTimestamp` of the Secret. */
  readonly createdAt?: string;
  /** Names of other Secrets with the same URL, which lead to this cluster, too. */
  readonly aliases?: readonly string[];
  /** Several Secrets have this URL: which one is used, and which are not, for a condition. */
  readonly conflict?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly connection: ClusterConnection;
}

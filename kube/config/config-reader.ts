/**
 * The part of a KubeConfig of `@kubernetes/client-node` that is read. A type of its own, so that
 * every version of the library fits.
 */
export interface KubeConfigReader {
  getCurrentContext(): string;
  getContextObject(
    name: string,
  ): { readonly cluster: string; readonly user: string; readonly namespace?: string } | null;
  getCluster(name: string): ConfiguredCluster | null;
  getUser(name: string): ConfiguredUser | null;
}

/** The fields of a cluster, as the library names them. */
export interface ConfiguredCluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly skipTLSVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

/** The fields of a user, as the library names them. */
export interface ConfiguredUser {
  readonly name: string;
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly exec?: unknown;
  readonly authProvider?: unknown;
  readonly impersonateUser?: string;
}

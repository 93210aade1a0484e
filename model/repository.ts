import type { SecretValue } from '#base';
import { comparableAddress } from './address/names.ts';
import { isRefused, readAddress } from './address/read.ts';

/** A repository as its Secrets describe it: address and credentials (D10: those print as ***). */
export interface Repository {
  readonly url: string;
  readonly type: 'git' | 'helm' | 'oci';
  readonly name?: string;
  readonly project?: string;
  readonly username?: string;
  readonly password?: SecretValue;
  readonly bearerToken?: SecretValue;
  readonly sshPrivateKey?: SecretValue;
  readonly tlsClientCertData?: SecretValue;
  readonly tlsClientCertKey?: SecretValue;
  readonly insecure: boolean;
  /** `enableOCI`: the charts of this repository are in an OCI registry. */
  readonly enableOci?: boolean;
  /** `insecureOCIForceHttp`: connect to the registry without TLS. */
  readonly ociForceHttp?: boolean;
  readonly proxy?: string;
  readonly noProxy?: string;
  readonly inheritedCreds: boolean;
  readonly githubApp?: GitHubApp;
  /**
   * All keys of its Secrets, for Argo CD's repo-server, which supports more of them than this
   * controller.
   */
  readonly secretData?: Readonly<Record<string, SecretValue>>;
  /** `gcpServiceAccountKey`: the key of a Google service account, as JSON. */
  readonly googleKey?: SecretValue;
  /** Authenticate to Azure by workload identity or by a service principal. */
  readonly azure?: 'workload' | AzurePrincipal;
  /** `enableLfs`: replace Git LFS pointers by their content. */
  readonly lfs?: boolean;
  /** Why the Secret of the repository cannot be read: nothing is fetched from it. */
  readonly fault?: string;
}

/** A service principal of Azure. */
export interface AzurePrincipal {
  readonly tenantId: string;
  readonly clientId: string;
  readonly secret: SecretValue;
  /** The address of Entra ID (`azureActiveDirectoryEndpoint`). */
  readonly authority: string;
}

/** The credentials of a GitHub App, exchanged for access tokens. */
export interface GitHubApp {
  readonly id: string;
  /** "" to look it up by the owner of the repository. */
  readonly installationId: string;
  /** The base URL of the API. */
  readonly baseUrl: string;
  readonly privateKey: SecretValue;
}

/** A repository without a Secret. */
export function bareRepository(url: string): Repository {
  return { url, type: 'git', insecure: false, inheritedCreds: false };
}

/**
 * The normal form in which two spellings of one repository compare equal (Argo CD: util/git
 * NormalizeGitURL). An address that has no single reading equals only its own text.
 */
export function normalizeGitUrl(url: string): string {
  const address = readAddress(url, 'any');
  return isRefused(address) ? `refused ${url}` : comparableAddress(address);
}

/** The normal form of the URL of a credential Secret, which may be a server alone (`git@host`). */
export function credentialPrefix(url: string): string {
  const [, server] = /^([\w.+-]+@[\w.-]+):?$/.exec(url.trim()) ?? [];
  return server === undefined ? normalizeGitUrl(url) : server.toLowerCase();
}

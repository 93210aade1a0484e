import type { Secret } from '#base';

/** A repository as its Secrets describe it: where, and with which credentials (D10: those print as ***). */
export interface Repository {
  readonly url: string;
  readonly type: 'git' | 'helm' | 'oci';
  readonly name?: string;
  readonly project?: string;
  readonly username?: string;
  readonly password?: Secret;
  readonly bearerToken?: Secret;
  readonly sshPrivateKey?: Secret;
  readonly tlsClientCertData?: Secret;
  readonly tlsClientCertKey?: Secret;
  readonly insecure: boolean;
  /** `enableOCI`: the charts of this repository lie in a registry. */
  readonly enableOci?: boolean;
  /** `insecureOCIForceHttp`: the registry is reached without TLS. */
  readonly ociForceHttp?: boolean;
  readonly proxy?: string;
  readonly noProxy?: string;
  readonly inheritedCreds: boolean;
  readonly githubApp?: GitHubApp;
  /** Everything its Secrets say, under their keys: for Argo CD's repo-server, which knows more of them than this controller. */
  readonly secretData?: Readonly<Record<string, Secret>>;
  /** `gcpServiceAccountKey`: the key of a Google service account, as JSON. */
  readonly googleKey?: Secret;
  /** A token of Azure, by the identity of this workload or by a service principal. */
  readonly azure?: 'workload' | AzurePrincipal;
  /** `enableLfs`: pointers of Git LFS stand for what they point to. */
  readonly lfs?: boolean;
}

/** A service principal of Azure. */
export interface AzurePrincipal {
  readonly tenantId: string;
  readonly clientId: string;
  readonly secret: Secret;
  /** The address of Entra ID (`azureActiveDirectoryEndpoint`). */
  readonly authority: string;
}

/** The credentials of a GitHub App: tokens are got with them. */
export interface GitHubApp {
  readonly id: string;
  /** "" when it is to be looked up by the owner of the repository. */
  readonly installationId: string;
  /** The address of the API. */
  readonly baseUrl: string;
  readonly privateKey: Secret;
}

/** A repository that no Secret describes. */
export function bareRepository(url: string): Repository {
  return { url, type: 'git', insecure: false, inheritedCreds: false };
}

/**
 * The form under which two spellings of one repository compare equal (Argo CD: util/git NormalizeGitURL): trimmed, lower case,
 * scp-like ssh rewritten, `.git` and `ssh://` dropped.
 */
export function normalizeGitUrl(url: string): string {
  let text = url.trim().toLowerCase();
  const scp = /^([^@/:]+@)?([^/:]+):(?!\/\/)(?![0-9]+\/)(.+)$/.exec(text);
  if (scp !== null && !text.includes('://'))
    text = `ssh://${scp[1] ?? ''}${scp[2] ?? ''}/${(scp[3] ?? '').replace(/^\/+/, '')}`;
  return text.replace(/^ssh:\/\//, '').replace(/\.git$/, '');
}

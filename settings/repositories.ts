import { parseGoBool, SecretValue } from '#base';
import { bareRepository, comparableAddress, credentialPrefix, isRefused, normalizeGitUrl, readAddress } from '#model';
import type { KubeObject, Repository } from '#model';
import { secretData, unreadableKeys, withKeys } from './secret-data.ts';

/** A parsed repository or credential Secret. */
export interface RepositoryEntry {
  readonly repository: Repository;
  /** It has credentials of any type, also types that we only recognise: then it inherits none. */
  readonly hasCredentials: boolean;
}

/** Why a Secret cannot be used, and what is readable of it (`url` "": nothing). */
export interface RepositorySecretFault {
  readonly error: string;
  readonly url: string;
  /** Undefined: unreadable, so it may be any. */
  readonly project: string | undefined;
}

export interface RepositoryFault extends RepositorySecretFault {
  /** `Secret argocd/repository-a`. */
  readonly object: string;
}

const booleanKeys = [
  'insecure',
  'insecureIgnoreHostKey',
  'enableLfs',
  'enableOCI',
  'insecureOCIForceHttp',
  'forceHttpBasicAuth',
  'useAzureWorkloadIdentity',
] as const;
const credentialKeys = [
  'username',
  'password',
  'bearerToken',
  'sshPrivateKey',
  'tlsClientCertData',
  'githubAppPrivateKey',
  'azureServicePrincipalClientSecret',
] as const;

/** All keys that are read here. One that is not UTF-8 makes the Secret unusable. */
export const repositoryKeys: readonly string[] = [
  'url',
  'type',
  'name',
  'project',
  'proxy',
  'noProxy',
  'tlsClientCertKey',
  'githubAppID',
  'githubAppInstallationID',
  'githubAppEnterpriseBaseUrl',
  'gcpServiceAccountKey',
  'azureServicePrincipalTenantId',
  'azureServicePrincipalTenantID',
  'azureServicePrincipalClientId',
  'azureServicePrincipalClientID',
  'azureActiveDirectoryEndpoint',
  ...booleanKeys,
  ...credentialKeys,
];

/**
 * Parses a `repository` or `repo-creds` Secret (for the latter, `url` is a prefix), or returns why
 * it cannot be read (Argo CD: util/db/repository_secrets.go).
 */
export function parseRepositorySecret(secret: KubeObject): RepositoryEntry | RepositorySecretFault {
  const all = secretData(secret);
  const data = withKeys(all, repositoryKeys);
  const unreadable = unreadableKeys(secret, repositoryKeys);
  const { url = '', type: given = '', project = '' } = data;
  const type = given || 'git';
  const error = repositoryFault(data, unreadable);
  if (error !== undefined || (type !== 'git' && type !== 'helm' && type !== 'oci')) {
    const isKnown = (key: string): boolean => !unreadable.includes(key);
    return {
      error: error ?? 'the key "type" must be git, helm or oci',
      url: isKnown('url') ? url : '',
      project: isKnown('project') ? project : undefined,
    };
  }
  const isOn = (key: string): boolean => parseGoBool(data[key] ?? '') === true;
  const repository: Repository = {
    url,
    type,
    ...optionalText(data, ['name', 'project', 'username', 'proxy', 'noProxy']),
    ...optionalSecret(data, ['password', 'bearerToken', 'sshPrivateKey', 'tlsClientCertData', 'tlsClientCertKey']),
    insecure: ['insecure', 'insecureIgnoreHostKey', 'insecureOCIForceHttp'].some(isOn),
    ...(isOn('enableOCI') ? { enableOci: true } : {}),
    ...(isOn('insecureOCIForceHttp') ? { ociForceHttp: true } : {}),
    inheritedCreds: false,
    ...(isOn('enableLfs') ? { lfs: true } : {}),
    ...githubAppCredentials(data),
    secretData: secretValues(all),
    ...googleCredentials(data),
    ...azureCredentials(data, isOn('useAzureWorkloadIdentity')),
  };
  const hasCredentials = credentialKeys.some((key) => (data[key] ?? '') !== '') || isOn('useAzureWorkloadIdentity');
  return { repository, hasCredentials };
}

function repositoryFault(data: Readonly<Record<string, string>>, [unreadable]: readonly string[]): string | undefined {
  if (unreadable !== undefined) return `the key "${unreadable}" is not base64 of UTF-8 text`;
  if ((data['url'] ?? '') === '') return 'the key "url" is missing or empty';
  const noSwitch = booleanKeys.find((key) => (data[key] ?? '') !== '' && parseGoBool(data[key] ?? '') === undefined);
  return noSwitch === undefined ? undefined : `the key "${noSwitch}" must be true or false`;
}

/** Needs both the app ID and the private key (Argo CD: GetGitCreds). */
function githubAppCredentials(data: Readonly<Record<string, string>>): Pick<Repository, 'githubApp'> {
  const { githubAppPrivateKey: key = '', githubAppID = '', githubAppInstallationID = '' } = data;
  const [id, installationId] = [githubAppID, githubAppInstallationID].map((text) =>
    /^[1-9]\d*$/.test(text) ? text : '',
  );
  if (key === '' || id === undefined || id === '') return {};
  const baseUrl = (data['githubAppEnterpriseBaseUrl'] ?? '') || 'https://api.github.com';
  return { githubApp: { id, installationId: installationId ?? '', baseUrl, privateKey: new SecretValue(key) } };
}

function googleCredentials({
  gcpServiceAccountKey: key = '',
}: Readonly<Record<string, string>>): Pick<Repository, 'googleKey'> {
  return key === '' ? {} : { googleKey: new SecretValue(key) };
}

/** Needs all three parts. In `repo-creds` two keys are spelled differently. */
function azureCredentials(data: Readonly<Record<string, string>>, workload: boolean): Pick<Repository, 'azure'> {
  if (workload) return { azure: 'workload' };
  const of = (name: string): string => data[`${name}Id`] ?? data[`${name}ID`] ?? '';
  const [tenantId, clientId] = [of('azureServicePrincipalTenant'), of('azureServicePrincipalClient')];
  const secret = data['azureServicePrincipalClientSecret'] ?? '';
  if (tenantId === '' || clientId === '' || secret === '') return {};
  const authority = (data['azureActiveDirectoryEndpoint'] ?? '') || 'https://login.microsoftonline.com';
  return { azure: { tenantId, clientId, secret: new SecretValue(secret), authority } };
}

/** Upper bound on remembered answers of an index. */
const maxRemembered = 10_000;

/** Secrets that cannot be used. */
export interface RepositoryFaults {
  readonly repositories: readonly RepositoryFault[];
  readonly credentials: readonly RepositoryFault[];
}

/** Repository and credential Secrets by their normalized URL. */
export class RepositoryIndex {
  readonly #byUrl = new Map<string, RepositoryEntry[]>();
  /** Unreadable ones first: between equal prefixes they count. */
  readonly #lenders: readonly { readonly prefix: string; readonly lender: Repository | RepositoryFault }[];
  readonly #unusable: readonly RepositoryFault[];
  readonly #found = new Map<string, Repository>();

  constructor(
    repositories: readonly RepositoryEntry[],
    credentials: readonly RepositoryEntry[],
    faults: RepositoryFaults = { repositories: [], credentials: [] },
  ) {
    this.#unusable = faults.repositories;
    for (const entry of repositories) {
      const url = normalizeGitUrl(entry.repository.url);
      this.#byUrl.set(url, [...(this.#byUrl.get(url) ?? []), entry]);
    }
    const lenders = [...faults.credentials, ...credentials.map(({ repository }) => repository)];
    this.#lenders = lenders.map((lender) => ({ prefix: credentialPrefix(lender.url), lender }));
  }

  /**
   * Finds the repository of `url` for `project`: one of exactly that project, otherwise one without
   * a project, otherwise a bare one. Without its own credentials it inherits those of the
   * credential Secret with the longest matching URL prefix. If the Secret to use may be one that is
   * unreadable, the repository has a `fault`. Equal requests get the same value.
   */
  find(url: string, project: string): Repository {
    const key = JSON.stringify([url, project]);
    let found = this.#found.get(key);
    if (found === undefined) {
      found = this.#search(url, project);
      // Tenants choose the URLs.
      if (this.#found.size >= maxRemembered) this.#found.clear();
      this.#found.set(key, found);
    }
    return found;
  }

  /** An address without a single reading gets no credentials, and is refused when it is fetched. */
  #search(asked: string, project: string): Repository {
    const address = readAddress(asked, 'any');
    if (isRefused(address)) return bareRepository(asked);
    const [url, wanted] = [address.text, comparableAddress(address)];
    const same = this.#byUrl.get(wanted) ?? [];
    const own = same.find((entry) => (entry.repository.project ?? '') === project);
    const found = own ?? same.find((entry) => (entry.repository.project ?? '') === '');
    const isBefore = (fault: RepositoryFault): boolean =>
      [undefined, project].includes(fault.project) || (own === undefined && fault.project === '');
    const unusable = this.#unusable.find(
      (fault) => fault.url !== '' && normalizeGitUrl(fault.url) === wanted && isBefore(fault),
    );
    if (unusable !== undefined) return unusableRepository(url, unusable);
    const repository = found === undefined ? bareRepository(url) : { ...found.repository, url };
    if (found?.hasCredentials === true) return repository;
    const lender = this.#lenderFor(wanted);
    if (lender === undefined) return repository;
    if ('error' in lender) return unusableRepository(url, lender);
    return inheritCredentials(found === undefined ? { ...repository, type: lender.type } : repository, lender);
  }

  #lenderFor(wanted: string): Repository | RepositoryFault | undefined {
    let best: { lender: Repository | RepositoryFault; length: number } | undefined;
    for (const { prefix, lender } of this.#lenders)
      if (isUrlPrefix(prefix, wanted) && prefix.length > (best?.length ?? 0)) best = { lender, length: prefix.length };
    return best?.lender;
  }
}

function unusableRepository(url: string, { object, error }: RepositoryFault): Repository {
  return { ...bareRepository(url), fault: `${object} cannot be read: ${error}` };
}

/**
 * Matches whole path segments. As a plain prefix `https://git.example.com` would also match
 * `https://git.example.com.evil` and `https://git.example.com@evil`, and give them its password
 * (Argo CD compares plain prefixes).
 */
function isUrlPrefix(prefix: string, url: string): boolean {
  return prefix !== '' && (url === prefix || url.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));
}

function inheritCredentials(repository: Repository, from: Repository): Repository {
  const lent: Record<string, unknown> = { ...from };
  delete lent['name'];
  delete lent['project'];
  const secretData = mergeSecretData(repository.secretData ?? {}, from.secretData ?? {});
  return { ...lent, ...repository, secretData, inheritedCreds: true };
}

/** Keys that a credential template does not provide. */
const neverInheritedKeys: ReadonlySet<string> = new Set(
  'url,name,project,depth,insecure,insecureIgnoreHostKey,enableLfs,webhookManifestCacheWarmDisabled'.split(','),
);
/** Keys that a template overwrites even if the repository sets them. */
const alwaysInheritedKeys = ['enableOCI', 'insecureOCIForceHttp', 'forceHttpBasicAuth', 'useAzureWorkloadIdentity'];

/** Copies credentials like Argo CD: fills in empty keys, and overwrites these switches. */
function mergeSecretData(
  mine: Readonly<Record<string, SecretValue>>,
  theirs: Readonly<Record<string, SecretValue>>,
): Readonly<Record<string, SecretValue>> {
  const lent = Object.entries(theirs).filter(([key]) => !neverInheritedKeys.has(key));
  const kept = Object.entries(mine).filter(([key]) => !alwaysInheritedKeys.includes(key));
  return Object.fromEntries([...lent, ...kept]);
}

/** Empty values count as missing. */
function secretValues(data: Readonly<Record<string, string>>): Readonly<Record<string, SecretValue>> {
  const filled = Object.entries(data).filter(([, text]) => text !== '');
  return Object.fromEntries(filled.map(([key, text]) => [key, new SecretValue(text)]));
}

function optionalText<K extends string>(
  data: Readonly<Record<string, string>>,
  keys: readonly K[],
): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = data[key];
    if (value !== undefined && value !== '') found[key] = value;
  }
  return found;
}

function optionalSecret<K extends string>(
  data: Readonly<Record<string, string>>,
  keys: readonly K[],
): Partial<Record<K, SecretValue>> {
  const found: Partial<Record<K, SecretValue>> = {};
  for (const key of keys) {
    const value = data[key];
    if (value !== undefined && value !== '') found[key] = new SecretValue(value);
  }
  return found;
}

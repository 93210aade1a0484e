import { parseGoBool, Secret } from '#base';
import { bareRepository, normalizeGitUrl } from '#model';
import type { KubeObject, Repository } from '#model';
import { secretData } from './secret-data.ts';

/** A repository or credential Secret as it was read. */
export interface RepositoryEntry {
  readonly repository: Repository;
  /** It has credentials of any sort, also of sorts that we only recognise (Azure, Google): then nothing is inherited. */
  readonly hasCredentials: boolean;
}

const booleans = [
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

/**
 * The repository that a `repository` or `repo-creds` Secret describes (for the latter, `url` is a prefix), or why it cannot be read (Argo
 * CD: util/db/repository_secrets.go).
 */
export function parseRepositorySecret(secret: KubeObject): RepositoryEntry | { readonly error: string } {
  const data = secretData(secret);
  const url = data['url'] ?? '';
  if (url === '') return { error: 'the key "url" is missing or empty' };
  const type = data['type'] === undefined || data['type'] === '' ? 'git' : data['type'];
  if (type !== 'git' && type !== 'helm' && type !== 'oci') return { error: 'the key "type" must be git, helm or oci' };
  for (const key of booleans) {
    const value = data[key];
    if (value !== undefined && value !== '' && parseGoBool(value) === undefined)
      return { error: `the key "${key}" must be true or false` };
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
    ...gitHubApp(data),
    secretData: secrets(data),
    ...google(data),
    ...azure(data, isOn('useAzureWorkloadIdentity')),
  };
  const hasCredentials = credentialKeys.some((key) => (data[key] ?? '') !== '') || isOn('useAzureWorkloadIdentity');
  return { repository, hasCredentials };
}

/** Both its number and its key, or it is none (Argo CD: GetGitCreds). */
function gitHubApp(data: Readonly<Record<string, string>>): Pick<Repository, 'githubApp'> {
  const { githubAppPrivateKey: key = '', githubAppID = '', githubAppInstallationID = '' } = data;
  const [id, installationId] = [githubAppID, githubAppInstallationID].map((text) =>
    /^[1-9]\d*$/.test(text) ? text : '',
  );
  if (key === '' || id === undefined || id === '') return {};
  const baseUrl = (data['githubAppEnterpriseBaseUrl'] ?? '') || 'https://api.github.com';
  return { githubApp: { id, installationId: installationId ?? '', baseUrl, privateKey: new Secret(key) } };
}

function google({ gcpServiceAccountKey: key = '' }: Readonly<Record<string, string>>): Pick<Repository, 'googleKey'> {
  return key === '' ? {} : { googleKey: new Secret(key) };
}

/** All three parts, or it is none. In `repo-creds` two keys are spelt in another way. */
function azure(data: Readonly<Record<string, string>>, workload: boolean): Pick<Repository, 'azure'> {
  if (workload) return { azure: 'workload' };
  const of = (name: string): string => data[`${name}Id`] ?? data[`${name}ID`] ?? '';
  const [tenantId, clientId] = [of('azureServicePrincipalTenant'), of('azureServicePrincipalClient')];
  const secret = data['azureServicePrincipalClientSecret'] ?? '';
  if (tenantId === '' || clientId === '' || secret === '') return {};
  const authority = (data['azureActiveDirectoryEndpoint'] ?? '') || 'https://login.microsoftonline.com';
  return { azure: { tenantId, clientId, secret: new Secret(secret), authority } };
}

/**
 * The repository of `url` for `project`: one with exactly that project, else one without a project, else a bare one; without own
 * credentials it takes those of the credential Secret whose URL is the longest prefix of its own.
 */
export function findRepository(
  url: string,
  project: string,
  repositories: readonly RepositoryEntry[],
  credentials: readonly RepositoryEntry[],
): Repository {
  const wanted = normalizeGitUrl(url);
  const same = wanted === '' ? [] : repositories.filter((entry) => normalizeGitUrl(entry.repository.url) === wanted);
  const found =
    same.find((entry) => (entry.repository.project ?? '') === project) ??
    same.find((entry) => (entry.repository.project ?? '') === '');
  const repository = found === undefined ? bareRepository(url) : { ...found.repository, url };
  if (found?.hasCredentials === true) return repository;
  const lender = credentialsFor(url, credentials);
  if (lender === undefined) return repository;
  return inherit(found === undefined ? { ...repository, type: lender.type } : repository, lender);
}

function credentialsFor(url: string, credentials: readonly RepositoryEntry[]): Repository | undefined {
  const wanted = normalizeGitUrl(url);
  let best: { repository: Repository; length: number } | undefined;
  for (const { repository } of credentials) {
    const prefix = normalizeGitUrl(repository.url);
    if (covers(prefix, wanted) && prefix.length > (best?.length ?? 0)) best = { repository, length: prefix.length };
  }
  return best?.repository;
}

/**
 * By whole segments of the path: as a mere text `https://git.example.com` would also cover `https://git.example.com.evil` and
 * `https://git.example.com@evil`, and hand them its password. (Argo CD compares texts.)
 */
function covers(prefix: string, url: string): boolean {
  return prefix !== '' && (url === prefix || url.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));
}

function inherit(repository: Repository, from: Repository): Repository {
  const lent: Record<string, unknown> = { ...from };
  delete lent['name'];
  delete lent['project'];
  const secretData = lentData(repository.secretData ?? {}, from.secretData ?? {});
  return { ...lent, ...repository, secretData, inheritedCreds: true };
}

/** What a template does not lend. */
const ownKeys: ReadonlySet<string> = new Set(
  'url,name,project,depth,insecure,insecureIgnoreHostKey,enableLfs,webhookManifestCacheWarmDisabled'.split(','),
);
/** What a template says even where the repository has something else. */
const overwritten = ['enableOCI', 'insecureOCIForceHttp', 'forceHttpBasicAuth', 'useAzureWorkloadIdentity'];

/** As Argo CD copies credentials: what is empty is filled, but for these switches. */
function lentData(
  mine: Readonly<Record<string, Secret>>,
  theirs: Readonly<Record<string, Secret>>,
): Readonly<Record<string, Secret>> {
  const lent = Object.entries(theirs).filter(([key]) => !ownKeys.has(key));
  const kept = Object.entries(mine).filter(([key]) => !overwritten.includes(key));
  return Object.fromEntries([...lent, ...kept]);
}

/** Empty ones are as good as missing. */
function secrets(data: Readonly<Record<string, string>>): Readonly<Record<string, Secret>> {
  const filled = Object.entries(data).filter(([, text]) => text !== '');
  return Object.fromEntries(filled.map(([key, text]) => [key, new Secret(text)]));
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
): Partial<Record<K, Secret>> {
  const found: Partial<Record<K, Secret>> = {};
  for (const key of keys) {
    const value = data[key];
    if (value !== undefined && value !== '') found[key] = new Secret(value);
  }
  return found;
}

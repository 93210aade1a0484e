import { describe, expect, it } from '@jest/globals';
import type { KubeObject, Repository } from '#model';
import { parseRepositorySecret, RepositoryIndex } from './repositories.ts';
import type { RepositoryEntry } from './repositories.ts';

function findRepository(
  url: string,
  project: string,
  repositories: readonly RepositoryEntry[],
  credentials: readonly RepositoryEntry[],
): Repository {
  return new RepositoryIndex(repositories, credentials).find(url, project);
}

function secret(data: Record<string, string>): KubeObject {
  const encoded = Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'argocd' }, data: encoded };
}

function entry(data: Record<string, string>): RepositoryEntry {
  const result = parseRepositorySecret(secret(data));
  if ('error' in result) throw new Error(result.error);
  return result;
}

const url = 'https://git.example.com/team/app';

/** The data kept of its Secrets, revealed. */
function texts({ secretData = {} }: Repository): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(secretData).map(([key, secret]) => [key, secret.reveal()]));
}

describe('parseRepositorySecret', () => {
  it('reads every key, with git as the default type', () => {
    const { repository, hasCredentials } = entry({
      url,
      username: 'u',
      password: 'p',
      insecure: 't',
      proxy: 'http://p',
      name: '',
    });
    expect(repository).toMatchObject({
      url,
      type: 'git',
      username: 'u',
      insecure: true,
      proxy: 'http://p',
      inheritedCreds: false,
    });
    expect(repository.password?.reveal()).toBe('p');
    expect('name' in repository).toBe(false);
    expect(hasCredentials).toBe(true);
  });

  it.each([
    [{}, 'the key "url" is missing or empty'],
    [{ url, type: 'svn' }, 'the key "type" must be git, helm or oci'],
    [{ url, insecure: 'perhaps' }, 'the key "insecure" must be true or false'],
  ])('refuses %j', (data: Record<string, string>, error) => {
    expect(parseRepositorySecret(secret(data))).toEqual({
      error,
      url: data['url'] ?? '',
      project: '',
    });
  });

  it('reads which charts are in an OCI registry, and which registry has no TLS', () => {
    expect(entry({ url, type: 'helm', enableOCI: 'true' }).repository).toMatchObject({
      enableOci: true,
      insecure: false,
    });
    const open = entry({ url, insecureOCIForceHttp: 'true' }).repository;
    expect(open).toMatchObject({ ociForceHttp: true, insecure: true });
    expect('enableOci' in open).toBe(false);
  });

  it('reads a GitHub App with an app ID and a key', () => {
    const app = { githubAppPrivateKey: 'k', githubAppID: '7', githubAppInstallationID: '9' };
    const { githubApp } = entry({ url, ...app }).repository;
    expect(githubApp).toMatchObject({ id: '7', installationId: '9', baseUrl: 'https://api.github.com' });
    expect(githubApp?.privateKey.reveal()).toBe('k');
    const own = { githubAppInstallationID: '0', githubAppEnterpriseBaseUrl: 'https://ghe.example.com/api/v3' };
    expect(entry({ url, ...app, ...own }).repository.githubApp).toMatchObject({
      installationId: '',
      baseUrl: own.githubAppEnterpriseBaseUrl,
    });
    for (const githubAppID of ['', '0', 'x'])
      expect('githubApp' in entry({ url, ...app, githubAppID }).repository).toBe(false);
    expect(findRepository(url, '', [], [entry({ url: 'https://git.example.com', ...app })])).toMatchObject({
      githubApp: { id: '7' },
    });
  });

  it('reads Google and Azure credentials, and the switch for LFS', () => {
    const google = entry({ url, gcpServiceAccountKey: '{}', enableLfs: 'true' }).repository;
    expect([google.googleKey?.reveal(), google.lfs]).toEqual(['{}', true]);
    expect(entry({ url, useAzureWorkloadIdentity: 'true' }).repository.azure).toBe('workload');
    const principal = { azureServicePrincipalClientSecret: 's', azureServicePrincipalClientId: 'c' };
    for (const tenant of ['azureServicePrincipalTenantId', 'azureServicePrincipalTenantID'])
      expect(entry({ url, ...principal, [tenant]: 't' }).repository.azure).toMatchObject({
        tenantId: 't',
        clientId: 'c',
        authority: 'https://login.microsoftonline.com',
      });
    expect('azure' in entry({ url, ...principal }).repository).toBe(false);
  });

  it('recognizes credentials that it cannot use', () => {
    expect(entry({ url, githubAppPrivateKey: 'x' }).hasCredentials).toBe(true);
    expect(entry({ url, useAzureWorkloadIdentity: 'true' }).hasCredentials).toBe(true);
    expect(entry({ url }).hasCredentials).toBe(false);
  });
});

describe('the index of repositories', () => {
  const shared = entry({ url: `${url}.git`, name: 'shared' });
  const scoped = entry({ url, project: 'p', name: 'scoped' });

  it('prefers the exact project, then no project, then a bare repository', () => {
    expect(findRepository(url, 'p', [shared, scoped], []).name).toBe('scoped');
    expect(findRepository(url, 'other', [scoped, shared], []).name).toBe('shared');
    expect(findRepository(url, 'other', [scoped], [])).toEqual({
      url,
      type: 'git',
      insecure: false,
      inheritedCreds: false,
    });
  });

  it('keeps the letter case of the path, and writes the rest of the URL in one way', () => {
    expect(findRepository('https://GIT.example.com:443/%54eam/app.git/', '', [shared], []).url).toBe(
      'https://git.example.com/Team/app.git',
    );
  });

  it('inherits from the longest matching prefix, unless the repository has credentials', () => {
    const creds = [
      entry({ url: 'https://git.example.com', username: 'short' }),
      entry({ url: 'https://git.example.com/team', username: 'long', proxy: 'http://p', project: 'x' }),
      entry({ url: 'https://other.example.com', username: 'other' }),
    ];
    const inherited = findRepository(url, '', [shared], creds);
    expect(inherited).toMatchObject({ username: 'long', proxy: 'http://p', inheritedCreds: true, name: 'shared' });
    expect(inherited.project).toBeUndefined();
    expect(findRepository(url, '', [], creds)).toMatchObject({ url, username: 'long', inheritedCreds: true });
    const own = entry({ url, username: 'own', password: 'p' });
    expect(findRepository(url, '', [own], creds)).toMatchObject({ username: 'own', inheritedCreds: false });
  });

  it('keeps all keys of a Secret for a repo-server, and never shows their values', () => {
    const { repository } = entry({ url, gcpServiceAccountKey: 'CANARY', depth: '3', name: '' });
    expect(texts(repository)).toEqual({ url, gcpServiceAccountKey: 'CANARY', depth: '3' });
    expect(JSON.stringify(repository)).not.toContain('CANARY');
  });

  it('inherits missing keys and four switches from a template, but keeps its own URL and TLS verification', () => {
    const own = { url, name: 'own', enableLfs: 'true', insecure: 'true', proxy: 'http://own', enableOCI: 'true' };
    const template = entry({
      url: 'https://git.example.com',
      name: 'template',
      project: 'other',
      gcpServiceAccountKey: 'key',
      proxy: 'http://lent',
      noProxy: 'x',
      depth: '9',
      insecureIgnoreHostKey: 'true',
      useAzureWorkloadIdentity: 'true',
    });
    const lent = { gcpServiceAccountKey: 'key', noProxy: 'x', useAzureWorkloadIdentity: 'true' };
    expect(texts(findRepository(url, '', [entry(own)], [template]))).toEqual({
      url,
      name: 'own',
      enableLfs: 'true',
      insecure: 'true',
      proxy: 'http://own',
      ...lent,
    });
    expect(texts(findRepository(url, '', [], [template]))).toEqual({ ...lent, proxy: 'http://lent' });
  });

  it.each([
    ['https://git.example.com', 'https://git.example.com.evil/team/app', false],
    ['https://git.example.com', 'https://git.example.com@evil.example/app', false],
    ['https://git.example.com', 'https://git.example.com:8443/app', false],
    ['https://git.example.com/team', 'https://git.example.com/team-b/app', false],
    ['https://git.example.com/team', 'https://git.example.com/team/app.git', true],
    ['https://git.example.com/team/', 'https://git.example.com/team/app', true],
    ['https://git.example.com/team/app.git', 'https://git.example.com/team/app', true],
    ['git@git.example.com:team', 'git@git.example.com:team/app.git', true],
    ['git@git.example.com', 'git@git.example.com:team/app.git', true],
    ['git@git.example.com', 'git@git.example.com.evil:team/app.git', false],
  ])('credentials of %s for %s: %s', (prefix, wanted, expected) => {
    const creds = [entry({ url: prefix, username: 'lent' })];
    expect(findRepository(wanted, '', [], creds).username === 'lent').toBe(expected);
  });
});

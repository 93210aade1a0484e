import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { UsageError } from '#base';
import { connectionFromConfig, connectionFromKubeconfig, inClusterConnection } from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
function write(text: string): string {
  made += 1;
  const path = join(folder, `config-${made}`);
  writeFileSync(path, text);
  return path;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
writeFileSync(join(folder, 'ca.crt'), 'CA FILE');

const full = `
apiVersion: v1
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: c1, user: token, namespace: team}}
- {name: certs, context: {cluster: c2, user: certs}}
- {name: exec, context: {cluster: c2, user: exec}}
- {name: file, context: {cluster: c1, user: file}}
- {name: basic, context: {cluster: c1, user: basic}}
- {name: anonymous, context: {cluster: c1, user: ""}}
- {name: lost, context: {cluster: nowhere, user: token}}
- {name: nobody, context: {cluster: c1, user: ghost}}
- {name: legacy, context: {cluster: c1, user: gcp}}
- {name: acting, context: {cluster: c1, user: as}}
- {name: halfacting, context: {cluster: c1, user: half}}
- {name: badca, context: {cluster: c3, user: token}}
- {name: badurl, context: {cluster: c4, user: token}}
clusters:
- {name: c1, cluster: {server: "https://one.example:6443/base/", certificate-authority: ca.crt, tls-server-name: api.local, proxy-url: "http://proxy:3128"}}
- {name: c2, cluster: {server: "http://127.0.0.1:8001", insecure-skip-tls-verify: true, certificate-authority-data: ${base64('CA DATA')}}}
- {name: c3, cluster: {server: "https://three", certificate-authority: missing.crt}}
- {name: c4, cluster: {server: "three:6443"}}
users:
- {name: token, user: {token: s3cr3t}}
- {name: certs, user: {client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [eks, get-token], env: [{name: AWS_PROFILE, value: p}], provideClusterInfo: true}}}
- {name: file, user: {tokenFile: sa-token}}
- {name: basic, user: {username: u, password: p4ss}}
- {name: gcp, user: {auth-provider: {name: gcp}}}
- {name: as, user: {token: t, as: admin, as-uid: u1, as-groups: [a, 'b,c'], as-user-extra: {Scope/x: [r, w]}}}
- {name: half, user: {token: t, as-groups: [system:masters]}}
`;

describe('connectionFromKubeconfig', () => {
  const path = write(full);

  it('reads the current context', async () => {
    const { connection, context, namespace } = await connectionFromKubeconfig(path);
    expect({ context, namespace }).toEqual({ context: 'dev', namespace: 'team' });
    expect(connection).toMatchObject({
      server: 'https://one.example:6443/base',
      insecure: false,
      caData: 'CA FILE',
      tlsServerName: 'api.local',
      proxyUrl: 'http://proxy:3128',
    });
    expect(connection.credentials.bearerToken?.reveal()).toBe('s3cr3t');
    expect(JSON.stringify(connection)).not.toContain('s3cr3t');
  });

  it.each([
    ['./login', 'bin', 'bin/login'],
    ['/usr/bin/login', 'bin', '/usr/bin/login'],
    ['login', 'bin', 'login'],
  ])('runs the exec plugin %s of a kubeconfig in the folder %s as %s', async (command, inside, expected) => {
    const text = `clusters: [{name: c, cluster: {server: 'https://c'}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ${command}}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
`;
    const root = mkdtempSync(join(folder, 'exec-'));
    mkdirSync(join(root, inside));
    const file = join(root, inside, 'config');
    writeFileSync(file, text);
    const { connection } = await connectionFromKubeconfig(file, 'x');
    const absolute = expected.includes('/') ? resolve(root, expected) : expected;
    expect(connection.credentials.exec?.command).toBe(absolute);
  });

  it('reads every type of credentials', async () => {
    const credentials = async (name: string) => (await connectionFromKubeconfig(path, name)).connection.credentials;
    const certs = await credentials('certs');
    expect([certs.certData?.reveal(), certs.keyData?.reveal()]).toEqual(['CERT', 'KEY']);
    expect((await credentials('exec')).exec).toEqual({
      command: 'aws',
      args: ['eks', 'get-token'],
      env: { AWS_PROFILE: 'p' },
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      provideClusterInfo: true,
    });
    expect(await credentials('file')).toEqual({ bearerTokenFile: join(folder, 'sa-token') });
    const basic = await credentials('basic');
    expect([basic.username, basic.password?.reveal()]).toEqual(['u', 'p4ss']);
    expect(await credentials('anonymous')).toEqual({});
    const { connection, namespace } = await connectionFromKubeconfig(path, 'certs');
    expect([connection.insecure, connection.caData, namespace]).toEqual([true, 'CA DATA', 'default']);
  });

  it('reads the impersonated user with groups, UID and extra fields', async () => {
    const { connection } = await connectionFromKubeconfig(path, 'acting');
    expect(connection.impersonate).toEqual({
      user: 'admin',
      uid: 'u1',
      groups: ['a', 'b,c'],
      extra: { 'Scope/x': ['r', 'w'] },
    });
    expect((await connectionFromKubeconfig(path)).connection.impersonate).toBeUndefined();
  });

  it('merges several files like kubectl: the first one wins', async () => {
    const first = write(`
contexts: [{name: mine, context: {cluster: c1, user: token}}]
clusters: [{name: c1, cluster: {server: "https://first"}}]
`);
    const both = [first, path].join(delimiter);
    expect((await connectionFromKubeconfig(both, 'mine')).connection.server).toBe('https://first');
    expect((await connectionFromKubeconfig(both)).connection.server).toBe('https://first');
    expect((await connectionFromKubeconfig(both, 'certs')).connection.server).toBe('http://127.0.0.1:8001');
  });

  const broken: [string, string, string | undefined, RegExp][] = [
    ['a missing file', join(folder, 'no-such'), undefined, /no-such does not exist$/],
    ['a folder', folder, undefined, /cannot be read/],
    ['an empty file', write(''), undefined, /it is not a kubeconfig/],
    ['broken YAML', write('a: [1,\nb: }'), undefined, /cannot be read: line /],
    ['another object', write('kind: Pod\nmetadata: {name: x}'), undefined, /it is not a kubeconfig/],
    [
      'a cluster without server',
      write('clusters: [{name: a, cluster: {}}]'),
      undefined,
      /clusters\[0\].cluster.server is missing/,
    ],
    ['no contexts', write('clusters: [{name: a, cluster: {server: "http://x"}}]'), undefined, /has no contexts/],
    [
      'no current context',
      write('contexts: [{name: a, context: {cluster: c}}]'),
      undefined,
      /no current-context: name a context \(it has: a\)/,
    ],
    ['an unknown context', path, 'prod', /has no context "prod" \(it has: dev, certs, /],
    ['an unknown cluster', path, 'lost', /names cluster "nowhere", which does not exist/],
    ['an unknown user', path, 'nobody', /names user "ghost", which does not exist/],
    [
      'a removed auth provider',
      path,
      'legacy',
      /auth provider "gcp", which Kubernetes has removed: use an exec plugin/,
    ],
    ['groups to act with, and no user', path, 'halfacting', /a user must be named to act as beside its groups/],
    ['a missing certificate', path, 'badca', /certificate authority .*missing\.crt does not exist/],
    ['a server that is no URL', path, 'badurl', /has server "three:6443", which is not a URL/],
  ];
  it.each(broken)('explains in one line: %s', async (_name, file, context, message) => {
    const error = (await connectionFromKubeconfig(file, context).catch((e: unknown) => e)) as Error;
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('\n');
  });
});

describe('connectionFromConfig', () => {
  const loaded = (text: string): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  };
  const text = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: 'https://c1:6443/', certificate-authority-data: Y2E=, tls-server-name: c1.example}}
users:
- {name: u1, user: {token: abc, as: deployer}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: apps}}
- {name: lost, context: {cluster: gone, user: u1}}
- {name: userless, context: {cluster: c1, user: gone}}
`;

  it('reads a KubeConfig that the library has loaded', async () => {
    const { connection, context, namespace } = await connectionFromConfig(loaded(text));
    expect([context, namespace]).toEqual(['one', 'apps']);
    expect(connection).toMatchObject({
      server: 'https://c1:6443',
      caData: 'ca',
      tlsServerName: 'c1.example',
      impersonate: { user: 'deployer' },
    });
    expect(connection.credentials.bearerToken?.reveal()).toBe('abc');
  });

  it.each([
    ['gone', 'the KubeConfig has no context "gone"'],
    ['lost', 'context "lost" names cluster "gone", which does not exist'],
    ['userless', 'context "userless" names user "gone", which does not exist'],
  ])('refuses context %s', async (context, message) => {
    await expect(connectionFromConfig(loaded(text), context)).rejects.toThrow(message);
  });
});

describe('inClusterConnection', () => {
  it('reads the service account, and reports if there is none', async () => {
    const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(account, { recursive: true });
    writeFileSync(join(account, 'ca.crt'), 'POD CA');
    writeFileSync(join(account, 'token'), 'pod-token');
    writeFileSync(join(account, 'namespace'), 'argocd\n');
    await expect(inClusterConnection(folder)).rejects.toThrow(
      'not running inside a cluster (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig',
    );
    // eslint-disable-next-line no-restricted-properties -- the library reads these two by itself
    const { env } = process;
    Object.assign(env, { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' });
    try {
      const loaded = await inClusterConnection(folder);
      expect(loaded).toMatchObject({ context: 'in-cluster', namespace: 'argocd' });
      expect(loaded.connection).toEqual({
        server: 'https://[fd00::1]:443',
        insecure: false,
        caData: 'POD CA',
        credentials: { bearerTokenFile: join(account, 'token') },
      });
    } finally {
      delete env['KUBERNETES_SERVICE_HOST'];
      delete env['KUBERNETES_SERVICE_PORT'];
    }
  });
});

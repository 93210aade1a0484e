import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import type { Cluster, ClusterConnection, KubeObject } from '#model';
import { indexClusters } from './cluster-index.ts';
import { clusterList, implicitCluster, parseClusterSecret, resolveDestination } from './clusters.ts';

const inClusterUrl = 'https://kubernetes.default.svc';
const podConnection: ClusterConnection = {
  server: 'https://10.96.0.1:443',
  insecure: false,
  caData: 'POD CA',
  credentials: { bearerTokenFile: '/var/run/token' },
};

function secret(data: Record<string, string>, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  const encoded = Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'argocd', uid: 'u1', ...metadata },
    data: encoded,
  };
}

function parsed(data: Record<string, string>, metadata: Partial<KubeObject['metadata']> = {}): Cluster {
  const result = parseClusterSecret(secret(data, metadata), podConnection);
  if ('error' in result) throw new Error(result.error);
  return result;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pem = (what: string): string => `-----BEGIN ${what}-----\nAA==\n-----END ${what}-----\n`;

// T-SEC-4
describe('user and password in a cluster URL', () => {
  const named = 'https://admin:c4nary%21@x/';

  it('are credentials, not part of its name', () => {
    const cluster = parsed({ server: named, config: JSON.stringify({ bearerToken: 'other' }) });
    expect([cluster.server, cluster.connection.server]).toEqual(['https://x', 'https://x']);
    expect(JSON.stringify(cluster)).not.toContain('c4nary');
    const { username, password, bearerToken } = cluster.connection.credentials;
    expect([username, password?.reveal(), bearerToken]).toEqual(['admin', 'c4nary!', undefined]);
  });

  it('do not change the address of the in-cluster connection', () => {
    const cluster = parsed({ server: inClusterUrl.replace('://', '://admin:c4nary@') });
    expect(cluster.server).toBe(inClusterUrl);
    expect(cluster.connection).toMatchObject({ server: podConnection.server, caData: 'POD CA' });
    expect(cluster.connection.credentials.username).toBe('admin');
  });

  it('identify the same cluster with, without and with other credentials', () => {
    const clusters = indexClusters([parsed({ server: named })]);
    for (const server of [named, 'https://x', 'https://somebody@x'])
      expect(resolveDestination({ server, namespace: 'n' }, clusters, true)).toMatchObject({ server: 'https://x' });
  });

  it('appear in no message', () => {
    const none = indexClusters([]);
    for (const name of ['', 'both'])
      expect(JSON.stringify(resolveDestination({ server: named, name, namespace: 'n' }, none, true))).not.toContain(
        'c4nary',
      );
  });
});

describe('parseClusterSecret', () => {
  it('reads every key', () => {
    const config = {
      username: 'u',
      password: 'p',
      bearerToken: 't',
      tlsClientConfig: {
        serverName: 'sn',
        caData: base64(pem('CA')),
        certData: base64(pem('CERT')),
        keyData: base64(pem('KEY')),
      },
      proxyUrl: 'socks5://proxy:1',
    };
    const cluster = parsed(
      {
        server: 'https://x//',
        name: 'ex',
        namespaces: ' a, ,b',
        clusterResources: 'true',
        shard: '2',
        project: 'p1',
        config: JSON.stringify(config),
      },
      {
        labels: { 'argocd.argoproj.io/secret-type': 'cluster', env: 'prod' },
        annotations: { 'managed-by': 'argocd.argoproj.io', keep: 'me' },
      },
    );
    expect(cluster).toMatchObject({
      id: 'u1',
      server: 'https://x',
      name: 'ex',
      namespaces: ['a', 'b'],
      clusterResources: true,
      shard: 2,
      project: 'p1',
      labels: { env: 'prod' },
      annotations: { keep: 'me' },
    });
    const { connection } = cluster;
    expect(connection).toMatchObject({
      server: 'https://x',
      insecure: false,
      caData: pem('CA'),
      tlsServerName: 'sn',
      proxyUrl: 'socks5://proxy:1',
    });
    const { password, bearerToken, certData, keyData } = connection.credentials;
    const secrets = ['p', 't', pem('CERT'), pem('KEY')];
    expect([password, bearerToken, certData, keyData].map((s) => s?.reveal())).toEqual(secrets);
    expect(JSON.stringify(cluster)).not.toMatch(/CERT|KEY|"p"|"t"/);
  });

  it.each(['http', 'https', 'socks5', 'socks5h'])('accepts a proxy by %s', (scheme) => {
    const config = JSON.stringify({ proxyUrl: `${scheme}://me:pw@proxy:1` });
    expect(parsed({ server: 'https://x', config }).connection.proxyUrl).toBe(`${scheme}://me:pw@proxy:1`);
  });

  it('needs no more than a server', () => {
    expect(parsed({ server: 'https://x' }).connection).toEqual({
      server: 'https://x',
      insecure: false,
      credentials: {},
    });
  });

  it.each([
    [{}, 'the key "server" is missing or empty'],
    [{ server: 'https://x', config: '{"password":"hunter2"' }, 'the key "config" is not valid JSON'],
    [{ server: 'https://x', config: '[]' }, 'the key "config" is not a JSON object'],
    [{ server: 'https://x', config: '{"proxyUrl":"ftp://y"}' }, 'config.proxyUrl must be an http, https or socks5 URL'],
  ])('refuses %j without showing what it read', (data, error) => {
    expect(parseClusterSecret(secret(data as Record<string, string>))).toMatchObject({ error });
  });

  it('trims the name and the server, so that a trailing newline does not make another cluster', () => {
    expect(parsed({ server: ' https://x/\n', name: 'dest\n' })).toMatchObject({ server: 'https://x', name: 'dest' });
    expect(parsed({ server: ' https://x/\n' }).connection.server).toBe('https://x');
  });

  const where = 'config.tlsClientConfig';
  const [ca, cert, key] = [base64(pem('CA')), base64(pem('CERT')), base64(pem('KEY'))];
  it.each([
    [{ certData: cert }, `the key "keyData" of ${where} is missing`],
    [{ keyData: key }, `the key "certData" of ${where} is missing`],
    [{ caData: base64('CA') }, `the key "caData" of ${where} is not base64 of a PEM block`],
    [{ certData: pem('CERT'), keyData: key }, `the key "certData" of ${where} is not base64 of a PEM block`],
    [{ insecure: true, caData: ca }, `${where} has both "insecure" and "caData"; remove one of them`],
  ])('refuses the TLS settings %j, and names the key', (tlsClientConfig, error) => {
    const config = JSON.stringify({ tlsClientConfig });
    const refused = { error, server: 'https://x', name: 'dest', id: 'u1', createdAt: '', project: undefined };
    expect(parseClusterSecret(secret({ server: 'https://x', name: 'dest', config }))).toEqual(refused);
  });

  const keys = ['server', 'name', 'config', 'namespaces', 'clusterResources', 'shard', 'project'];
  const strange = [5, true, [], { a: 'YQ==' }, '/w==', Buffer.alloc(1 << 20, 0xff).toString('base64')];
  it.each(keys.flatMap((key) => strange.map((value) => [key, value] as const)))(
    'refuses the whole Secret if the value of %s is no text',
    (key, value) => {
      const one = secret({ server: 'https://x', name: 'dest', namespaces: 'a', project: 'p' });
      const data = { ...(one['data'] as object), [key]: value };
      const expected = { server: 'https://x', name: 'dest', project: 'p', [key]: key === 'project' ? undefined : '' };
      expect(parseClusterSecret({ ...one, data })).toMatchObject({
        error: `the key "${key}" is not base64 of UTF-8 text`,
        server: expected.server,
        name: expected.name,
        project: expected.project,
      });
    },
  );

  it.each([
    ['config', '['.repeat(1 << 20)],
    ['config', '{"a":'.repeat(200_000)],
    ['shard', '1'.repeat(1 << 20)],
  ])('reports a value of 1 MiB in %s without showing it', (key, text) => {
    const cluster = parseClusterSecret(secret({ server: 'https://x', [key]: text }));
    const message = 'error' in cluster ? cluster.error : (cluster.problem ?? '');
    expect(message).toContain(`the key "${key}" is not `);
    expect(message.length).toBeLessThan(200);
  });

  it('accepts half a client certificate beside a token, as client-go does', () => {
    const config = JSON.stringify({ bearerToken: 't', tlsClientConfig: { certData: cert } });
    expect(parsed({ server: 'https://x', config }).connection.credentials.bearerToken?.reveal()).toBe('t');
  });

  it.each([
    ['3', 3],
    ['-1', -1],
    [' 3', undefined],
    ['3\n', undefined],
    ['three', undefined],
  ])('reads shard %j as %s', (shard, expected) => {
    const cluster = parseClusterSecret(secret({ server: 'https://x', shard }));
    expect('shard' in cluster ? cluster.shard : undefined).toBe(expected);
    expect('problem' in cluster).toBe(expected === undefined);
  });

  it('prefers awsAuthConfig to execProviderConfig to tokens', () => {
    const exec = {
      command: 'get-token',
      args: ['-x'],
      env: { A: 'b' },
      apiVersion: 'client.authentication.k8s.io/v1',
      provideClusterInfo: true,
    };
    const withExec = parsed({
      server: 'https://x',
      config: JSON.stringify({ bearerToken: 't', execProviderConfig: exec }),
    });
    expect(withExec.connection.credentials).toEqual({ exec });
    const aws = { clusterName: 'c', roleARN: 'r', profile: 'p' };
    const withAws = parsed({
      server: 'https://x',
      config: JSON.stringify({ execProviderConfig: exec, awsAuthConfig: aws }),
    });
    expect(withAws.connection.credentials.exec).toEqual({
      command: 'argocd-k8s-auth',
      args: ['aws', '--cluster-name', 'c', '--role-arn', 'r', '--profile', 'p'],
      env: {},
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      provideClusterInfo: false,
    });
  });

  it("uses the pod's connection for the in-cluster URL, with the Secret's credentials if it has any", () => {
    expect(parsed({ server: inClusterUrl }).connection).toEqual(podConnection);
    const config = JSON.stringify({ bearerToken: 't', tlsClientConfig: { insecure: true } });
    const { connection } = parsed({ server: inClusterUrl, config });
    expect(connection).toMatchObject({ server: 'https://10.96.0.1:443', insecure: false, caData: 'POD CA' });
    expect(connection.credentials.bearerToken).toBeInstanceOf(SecretValue);
    expect(connection.credentials.bearerTokenFile).toBeUndefined();
  });
});

describe('clusterList', () => {
  const remote = parsed({ server: 'https://x', name: 'x' });
  const inSecret = parsed({ server: inClusterUrl, name: 'hub' });

  it('adds the implicit cluster if no Secret has its URL, first because its id is empty', () => {
    expect(clusterList([remote], true, podConnection)).toEqual([implicitCluster(podConnection), remote]);
    expect(clusterList([remote, inSecret], true, podConnection)).toHaveLength(2);
  });

  it('drops every in-cluster one if that is disabled', () => {
    expect(clusterList([remote, inSecret], false)).toEqual([remote]);
  });
});

describe('resolveDestination', () => {
  const a = parsed({ server: 'https://a', name: 'same' });
  const b = parsed({ server: 'https://b', name: 'same' });
  const c = parsed({ server: 'https://c', name: 'sea' });
  const list = indexClusters(clusterList([a, b, c], true));
  const errorOf = (destination: Parameters<typeof resolveDestination>[0], enabled = true): string | undefined => {
    const result = resolveDestination(destination, enabled ? list : indexClusters(clusterList([a], false)), enabled);
    return 'error' in result ? result.error : undefined;
  };

  it('finds by server, with or without slash, and by name', () => {
    expect(resolveDestination({ server: 'https://c/' }, list, true)).toBe(c);
    expect(resolveDestination({ name: 'sea' }, list, true)).toBe(c);
    expect(resolveDestination({ name: 'in-cluster' }, list, true)).toMatchObject({ server: inClusterUrl });
  });

  it('finds the in-cluster one by its well-known name although its Secret has another name', () => {
    const hub = parsed({ server: inClusterUrl, name: 'hub' });
    expect(resolveDestination({ name: 'in-cluster' }, indexClusters(clusterList([hub], true)), true)).toBe(hub);
  });

  it("reports errors in Argo CD's words", () => {
    expect(errorOf({ name: 'n', server: 's' })).toBe(
      "application destination can't have both name and server defined: n s",
    );
    expect(errorOf({ server: 'https://nope' })).toBe(
      'error getting cluster by server "https://nope": cluster "https://nope" not found',
    );
    expect(errorOf({ name: 'nope' })).toBe('there are no clusters with this name: nope');
    expect(errorOf({ name: 'same' })).toBe('there are 2 clusters with the same name: [https://a https://b]');
    expect(errorOf({})).toBe('Destination server missing from app spec');
    expect(errorOf({ name: '', server: '' })).toBe('Destination server missing from app spec');
    expect(errorOf({ server: inClusterUrl }, false)).toBe(
      `error getting cluster by server "${inClusterUrl}": cluster "${inClusterUrl}" is disabled`,
    );
    expect(errorOf({ name: 'in-cluster' }, false)).toBe('there are no clusters with this name: in-cluster');
  });
});

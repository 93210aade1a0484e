import { isObject, outsideText, own, parseJson, Secret, splitUserInfo } from '#base';
import type { JsonObject } from '#base';
import { annotations, inClusterName, inClusterServer, labels, withoutUserInfo } from '#model';
import type { ApplicationDestination, Cluster, ClusterConnection, ClusterCredentials, KubeObject } from '#model';
import { csv, strings } from './values.ts';
import { secretData } from './secret-data.ts';
import type { UnresolvedDestination } from './types.ts';

/** `problem`: the Secret is usable, but something in it was ignored. */
export type ParsedCluster = Cluster & { readonly problem?: string };

/**
 * The cluster that a Secret describes, or why it cannot be read (Argo CD: util/db/cluster.go). `inCluster` is how this process itself
 * reaches its cluster: the connection of the in-cluster URL, with the Secret's own credentials when it has some. Difference: user and password in the
 * address are credentials only, no part of the cluster's name, which stands in labels, keys and messages.
 */
export function parseClusterSecret(
  secret: KubeObject,
  inCluster?: ClusterConnection,
): ParsedCluster | { readonly error: string } {
  const data = secretData(secret);
  const given = data['server'] ?? '';
  const server = serverName(given);
  if (server === '') return { error: 'the key "server" is missing or empty' };
  const config = parseConfig(data['config']);
  if ('error' in config) return config;
  const connection = connectionOf(server, config.value, inCluster);
  if ('error' in connection) return connection;
  const shard = parseShard(data['shard']);
  const clusterLabels = { ...secret.metadata.labels };
  Reflect.deleteProperty(clusterLabels, labels.secretType);
  const clusterAnnotations = { ...secret.metadata.annotations };
  Reflect.deleteProperty(clusterAnnotations, annotations.lastApplied);
  Reflect.deleteProperty(clusterAnnotations, annotations.managedBy);
  return {
    id: secret.metadata.uid ?? '',
    server,
    name: data['name'] ?? '',
    namespaces: csv(data['namespaces']),
    clusterResources: data['clusterResources'] === 'true',
    ...(typeof shard === 'number' ? { shard } : {}),
    ...(data['project'] === undefined || data['project'] === '' ? {} : { project: data['project'] }),
    ...(secret.metadata.name === undefined ? {} : { secretName: secret.metadata.name }),
    labels: clusterLabels,
    annotations: clusterAnnotations,
    connection: { ...withoutUserInfo({ ...connection, server: given }), server: connection.server },
    ...(shard === 'bad' ? { problem: 'the key "shard" is not an integer; it is ignored' } : {}),
  };
}

/** The cluster that the controller runs in, when no Secret speaks for it. */
export function implicitCluster(inCluster?: ClusterConnection): Cluster {
  return {
    id: '',
    server: inClusterServer,
    name: inClusterName,
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: inCluster ?? { server: inClusterServer, insecure: false, credentials: {} },
  };
}

/**
 * All clusters: those of Secrets, and the implicit one when it is enabled and no Secret has its URL; when it is disabled, none with that
 * URL. Sorted by id, then server.
 */
export function clusterList(
  fromSecrets: readonly Cluster[],
  inClusterEnabled: boolean,
  inCluster?: ClusterConnection,
): readonly Cluster[] {
  const list = fromSecrets.filter((cluster) => inClusterEnabled || cluster.server !== inClusterServer);
  if (inClusterEnabled && !list.some((cluster) => cluster.server === inClusterServer))
    list.push(implicitCluster(inCluster));
  return list.sort((a, b) => compare(a.id, b.id) || compare(a.server, b.server));
}

/** Clusters by the two ways to name one; where two Secrets have one URL, the first of the list counts. */
export interface ClusterIndex {
  readonly list: readonly Cluster[];
  readonly byServer: ReadonlyMap<string, Cluster>;
  readonly byName: ReadonlyMap<string, readonly Cluster[]>;
}

export function indexClusters(list: readonly Cluster[]): ClusterIndex {
  const byServer = new Map<string, Cluster>();
  const byName = new Map<string, Cluster[]>();
  for (const cluster of list) {
    if (!byServer.has(cluster.server)) byServer.set(cluster.server, cluster);
    const same = byName.get(cluster.name);
    if (same === undefined) byName.set(cluster.name, [cluster]);
    else same.push(cluster);
  }
  return { list, byServer, byName };
}

/** `spec.destination` to a cluster (Argo CD: util/argo GetDestinationCluster); clients see these texts. */
export function resolveDestination(
  destination: ApplicationDestination,
  clusters: ClusterIndex,
  inClusterEnabled: boolean,
): Cluster | UnresolvedDestination {
  const { name = '', server = '' } = destination;
  if (name !== '' && server !== '')
    return {
      error: `application destination can't have both name and server defined: ${name} ${outsideText('url', server)}`,
    };
  if (server !== '') {
    const url = serverName(server);
    const found = clusters.byServer.get(url);
    if (found !== undefined) return found;
    const why =
      url === inClusterServer && !inClusterEnabled ? `cluster "${url}" is disabled` : `cluster "${url}" not found`;
    return { error: `error getting cluster by server "${outsideText('url', server)}": ${why}` };
  }
  if (name === '') return { error: 'Destination server missing from app spec' };
  const found = clusters.byName.get(name) ?? wellKnown(name, clusters);
  const [first] = found;
  if (first === undefined) return { error: `there are no clusters with this name: ${name}` };
  if (found.length === 1) return first;
  const servers = found.map((cluster) => cluster.server).join(' ');
  return { error: `there are ${found.length} clusters with the same name: [${servers}]` };
}

/** A Secret for the in-cluster URL may carry another name; the well-known one goes on working. */
function wellKnown(name: string, clusters: ClusterIndex): readonly Cluster[] {
  const inCluster = name === inClusterName ? clusters.byServer.get(inClusterServer) : undefined;
  return inCluster === undefined ? [] : [inCluster];
}

/** An address as the name of a cluster: equal for equal addresses, whoever goes there. */
function serverName(server: string): string {
  return splitUserInfo(server).url.replace(/\/+$/, '');
}

/** Strict decimal, as Go's strconv.Atoi: spaces and newlines make it unreadable. */
function parseShard(text: string | undefined): number | 'bad' | undefined {
  if (text === undefined || text === '') return undefined;
  return /^[+-]?[0-9]{1,9}$/.test(text) ? Number(text) : 'bad';
}

function parseConfig(text: string | undefined): { readonly value: JsonObject } | { readonly error: string } {
  if (text === undefined || text.trim() === '') return { value: {} };
  try {
    const value = parseJson(text);
    return isObject(value) ? { value } : { error: 'the key "config" is not a JSON object' };
  } catch {
    // The parser's message may quote what it read, which is credentials.
    return { error: 'the key "config" is not valid JSON' };
  }
}

function connectionOf(
  server: string,
  config: JsonObject,
  inCluster: ClusterConnection | undefined,
): ClusterConnection | { readonly error: string } {
  const proxyUrl = text(config, 'proxyUrl');
  const proxy = proxyUrl === undefined ? {} : { proxyUrl };
  if (proxyUrl !== undefined && !/^(?:https?|socks5h?):\/\//.test(proxyUrl))
    return { error: 'config.proxyUrl must be an http, https or socks5 URL' };
  const userPass = loginOf(config);
  if (server === inClusterServer && inCluster !== undefined) {
    const credentials = Object.keys(userPass).length === 0 ? inCluster.credentials : userPass;
    return { ...inCluster, credentials, ...proxy };
  }
  const tlsValue = own(config, 'tlsClientConfig');
  const tls = isObject(tlsValue) ? tlsValue : {};
  const caData = decoded(tls, 'caData');
  const tlsServerName = text(tls, 'serverName');
  const exec = execOf(config);
  const certData = decoded(tls, 'certData');
  const keyData = decoded(tls, 'keyData');
  const credentials: ClusterCredentials = {
    ...(exec === undefined ? userPass : { exec }),
    ...(certData === undefined ? {} : { certData: new Secret(certData) }),
    ...(keyData === undefined ? {} : { keyData: new Secret(keyData) }),
  };
  return {
    server,
    insecure: own(tls, 'insecure') === true,
    ...(caData === undefined ? {} : { caData }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...proxy,
    credentials,
  };
}

function loginOf(config: JsonObject): ClusterCredentials {
  const [username, password, token] = [text(config, 'username'), text(config, 'password'), text(config, 'bearerToken')];
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: new Secret(password) }),
    ...(token === undefined ? {} : { bearerToken: new Secret(token) }),
  };
}

/** awsAuthConfig wins over execProviderConfig; both end as a credential plugin. */
function execOf(config: JsonObject): ClusterCredentials['exec'] {
  const aws = own(config, 'awsAuthConfig');
  if (isObject(aws)) {
    const args = ['aws', '--cluster-name', text(aws, 'clusterName') ?? ''];
    const role = text(aws, 'roleARN');
    const profile = text(aws, 'profile');
    if (role !== undefined) args.push('--role-arn', role);
    if (profile !== undefined) args.push('--profile', profile);
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    return { command: 'argocd-k8s-auth', args, env: {}, apiVersion, provideClusterInfo: false };
  }
  const plugin = own(config, 'execProviderConfig');
  if (!isObject(plugin)) return undefined;
  const env = own(plugin, 'env');
  const args = own(plugin, 'args');
  return {
    command: text(plugin, 'command') ?? '',
    args: strings(args),
    env: isObject(env) ? textMembers(env) : {},
    apiVersion: text(plugin, 'apiVersion') ?? 'client.authentication.k8s.io/v1beta1',
    provideClusterInfo: own(plugin, 'provideClusterInfo') === true,
  };
}

function textMembers(object: JsonObject): Readonly<Record<string, string>> {
  const members = Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(members);
}

function text(object: JsonObject, key: string): string | undefined {
  const value = own(object, key);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Go marshals []byte as base64. */
function decoded(object: JsonObject, key: string): string | undefined {
  const value = text(object, key);
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

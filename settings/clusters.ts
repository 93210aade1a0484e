import { defined, isObject, outsideText, ownMember, parseJson, SecretValue, splitUserInfo } from '#base';
import type { JsonObject } from '#base';
import { annotations, inClusterName, inClusterServer, labels, withoutUserInfo } from '#model';
import type { ApplicationDestination, Cluster, ClusterConnection, ClusterCredentials, KubeObject } from '#model';
import { byId, isScoped, mayBeInCluster, secretText, withoutStopped } from './cluster-index.ts';
import type { ClusterFault, ClusterIndex } from './cluster-index.ts';
import { formerClaim, hiddenCluster, unreadableClaim } from './cluster-claims.ts';
import type { ClusterClaims } from './cluster-claims.ts';
import { splitCommaList, stringItems } from './values.ts';
import { secretData, unreadableKeys } from './secret-data.ts';
import type { UnresolvedDestination } from './types.ts';

/** `problem`: the Secret is usable, but part of it is ignored. */
export type ParsedCluster = Cluster & { readonly problem?: string };

const clusterKeys = ['server', 'name', 'config', 'namespaces', 'clusterResources', 'shard', 'project'];

/**
 * Parses a cluster Secret, or returns why it cannot be read (Argo CD: util/db/cluster.go).
 * `inCluster` is this process's own connection: it serves the in-cluster URL, with the Secret's
 * credentials if it has any. Difference: user and password in the URL are only credentials, not
 * part of the cluster's name, which appears in labels, keys and messages.
 */
export function parseClusterSecret(secret: KubeObject, inCluster?: ClusterConnection): ParsedCluster | ClusterFault {
  const unreadable = unreadableKeys(secret, clusterKeys);
  const readable = Object.entries(secretData(secret)).filter(([key]) => !unreadable.includes(key));
  const data: Readonly<Record<string, string>> = Object.fromEntries(readable);
  const given = (data['server'] ?? '').trim();
  const server = serverName(given);
  const name = (data['name'] ?? '').trim();
  const project = data['project'] === '' ? undefined : data['project'];
  const createdAt = secret.metadata.creationTimestamp ?? '';
  const id = secret.metadata.uid ?? '';
  const fault = (error: string): ClusterFault => ({ error, server, name, id, createdAt, project });
  if (unreadable.length > 0) return fault(`the key "${unreadable[0] ?? ''}" is not base64 of UTF-8 text`);
  if (server === '') return fault('the key "server" is missing or empty');
  const config = parseConfig(data['config']);
  if ('error' in config) return fault(config.error);
  const connection = connectionOf(server, config.value, inCluster);
  if ('error' in connection) return fault(connection.error);
  const shard = parseShard(data['shard']);
  const clusterLabels = { ...secret.metadata.labels };
  Reflect.deleteProperty(clusterLabels, labels.secretType);
  const clusterAnnotations = { ...secret.metadata.annotations };
  Reflect.deleteProperty(clusterAnnotations, annotations.lastApplied);
  Reflect.deleteProperty(clusterAnnotations, annotations.managedBy);
  return {
    id,
    server,
    name,
    namespaces: splitCommaList(data['namespaces']),
    clusterResources: data['clusterResources'] === 'true',
    ...(typeof shard === 'number' ? { shard } : {}),
    ...defined({ project, secretName: secret.metadata.name }),
    createdAt,
    labels: clusterLabels,
    annotations: clusterAnnotations,
    connection: { ...withoutUserInfo({ ...connection, server: given }), server: connection.server },
    ...(shard === 'bad' ? { problem: 'the key "shard" is not an integer; it is ignored' } : {}),
  };
}

/** The cluster that the controller runs in, if it has no Secret. */
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
 * All listed clusters, several of which may share a URL: those of Secrets, and the implicit
 * in-cluster one if it is enabled and no unscoped Secret has its URL (a scoped Secret must not take
 * the in-cluster away from all other projects). If the in-cluster is disabled, none with that URL.
 * An unreadable Secret keeps its URL from those that it precedes. Sorted by id, then server.
 */
export function clusterList(
  fromSecrets: readonly (Cluster | ClusterFault)[],
  inClusterEnabled: boolean,
  inCluster?: ClusterConnection,
): readonly Cluster[] {
  const faults = fromSecrets.flatMap((entry) => ('error' in entry ? [entry] : []));
  const list = fromSecrets
    .flatMap((entry) => ('error' in entry ? [] : [entry]))
    .filter(({ server }) => inClusterEnabled || server !== inClusterServer);
  const isShared = list.some((cluster) => cluster.server === inClusterServer && !isScoped(cluster));
  if (inClusterEnabled && !isShared && !faults.some(mayBeInCluster)) list.push(implicitCluster(inCluster));
  return [...withoutStopped(list, faults)].sort(byId);
}

/**
 * Resolves `spec.destination` to a cluster (Argo CD: util/argo GetDestinationCluster); clients see
 * these messages. With a project, refuses a cluster whose Secret is scoped to another project;
 * without, only locates the cluster.
 */
export function resolveDestination(
  destination: ApplicationDestination,
  clusters: ClusterIndex,
  inClusterEnabled: boolean,
  project?: string,
): Cluster | UnresolvedDestination {
  const found = locateCluster(destination, clusters, inClusterEnabled);
  return 'error' in found || project === undefined ? found : (scopeRefusal(found, project) ?? found);
}

/**
 * Adds to an unresolved destination why its cluster may exist all the same. The message names an
 * unreadable Secret, because it may be the one that is missing.
 */
export function withClaims(
  unresolved: UnresolvedDestination,
  { name = '', server = '' }: ApplicationDestination,
  { index, claims, inClusterEnabled }: KnownClusters,
): UnresolvedDestination {
  if (unresolved.refused === true) return unresolved;
  const wanted = { name, server: serverName(server) };
  const unreadable = unreadableClaim(wanted, claims);
  const claim = unreadable ?? hiddenCluster(wanted, index, inClusterEnabled);
  return {
    error: unreadable === undefined ? unresolved.error : `${unresolved.error}; ${unreadable}`,
    ...defined({ claim, former: formerClaim(wanted, claims) }),
  };
}

/** All that is known about clusters. */
export interface KnownClusters {
  readonly index: ClusterIndex;
  readonly claims: ClusterClaims;
  readonly inClusterEnabled: boolean;
}

function locateCluster(
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
  const found = clusters.byName.get(name) ?? wellKnownCluster(name, clusters);
  const [first] = found;
  if (first === undefined) return { error: `there are no clusters with this name: ${name}` };
  if (found.length === 1) return first;
  const servers = found.map((cluster) => cluster.server).join(' ');
  return { error: `there are ${found.length} clusters with the same name: [${servers}]` };
}

/** A scoped Secret serves no other project: its credentials and its proxy belong to its own. */
function scopeRefusal(cluster: Cluster, project: string): UnresolvedDestination | undefined {
  const { server, project: own = '', conflict } = cluster;
  if (own === '' || own === project) return undefined;
  const why = `cluster "${server}" is scoped to project "${own}" by ${secretText(cluster)}, and project "${project}" may not use it`;
  const what = conflict === undefined ? '' : `; ${conflict}`;
  const advice = 'to share the cluster, create a cluster Secret with this URL and without the key "project"';
  return { error: `error getting cluster by server "${server}": ${why}${what}; ${advice}`, refused: true };
}

/** A Secret for the in-cluster URL may have another name; the well-known name keeps working. */
function wellKnownCluster(name: string, clusters: ClusterIndex): readonly Cluster[] {
  const inCluster = name === inClusterName ? clusters.byServer.get(inClusterServer) : undefined;
  return inCluster === undefined ? [] : [inCluster];
}

/** The URL as the name of a cluster, without user, password and trailing slashes. */
function serverName(server: string): string {
  return splitUserInfo(server).url.replace(/\/+$/, '');
}

/** Strict decimal, as Go's strconv.Atoi: spaces and newlines are invalid. */
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
    // The parser's message may quote its input, which holds credentials.
    return { error: 'the key "config" is not valid JSON' };
  }
}

function connectionOf(
  server: string,
  config: JsonObject,
  inCluster: ClusterConnection | undefined,
): ClusterConnection | { readonly error: string } {
  const proxyUrl = textField(config, 'proxyUrl');
  const proxy = proxyUrl === undefined ? {} : { proxyUrl };
  if (proxyUrl !== undefined && !/^(?:https?|socks5h?):\/\//.test(proxyUrl))
    return { error: 'config.proxyUrl must be an http, https or socks5 URL' };
  const userPass = tokenAndPassword(config);
  if (server === inClusterServer && inCluster !== undefined) {
    const credentials = Object.keys(userPass).length === 0 ? inCluster.credentials : userPass;
    return { ...inCluster, credentials, ...proxy };
  }
  const tlsValue = ownMember(config, 'tlsClientConfig');
  const tls = isObject(tlsValue) ? tlsValue : {};
  const fault = tlsFault(tls, Object.keys(userPass).length > 0 || credentialPlugin(config) !== undefined);
  if (fault !== undefined) return { error: fault };
  const caData = base64Field(tls, 'caData');
  const tlsServerName = textField(tls, 'serverName');
  const exec = credentialPlugin(config);
  const certData = base64Field(tls, 'certData');
  const keyData = base64Field(tls, 'keyData');
  const credentials: ClusterCredentials = {
    ...(exec === undefined ? userPass : { exec }),
    ...(certData === undefined ? {} : { certData: new SecretValue(certData) }),
    ...(keyData === undefined ? {} : { keyData: new SecretValue(keyData) }),
  };
  return {
    server,
    insecure: ownMember(tls, 'insecure') === true,
    ...defined({ caData, tlsServerName }),
    ...proxy,
    credentials,
  };
}

/**
 * What client-go refuses in `tlsClientConfig`, or would only answer with Unauthorized; undefined:
 * nothing. Half a client certificate is harmless beside other credentials.
 */
function tlsFault(tls: JsonObject, hasOtherCredentials: boolean): string | undefined {
  const where = 'config.tlsClientConfig';
  const [ca, cert, key] = [textField(tls, 'caData'), textField(tls, 'certData'), textField(tls, 'keyData')];
  if (ca !== undefined && ownMember(tls, 'insecure') === true)
    return `${where} has both "insecure" and "caData"; remove one of them`;
  const isPem = (value: string): boolean => Buffer.from(value, 'base64').toString('utf8').includes('-----BEGIN ');
  for (const [name, value] of [
    ['caData', ca],
    ['certData', cert],
    ['keyData', key],
  ] as const)
    if (value !== undefined && !isPem(value)) return `the key "${name}" of ${where} is not base64 of a PEM block`;
  if (hasOtherCredentials || (cert === undefined) === (key === undefined)) return undefined;
  return `the key "${cert === undefined ? 'certData' : 'keyData'}" of ${where} is missing`;
}

function tokenAndPassword(config: JsonObject): ClusterCredentials {
  const [username, password, token] = [
    textField(config, 'username'),
    textField(config, 'password'),
    textField(config, 'bearerToken'),
  ];
  return {
    ...defined({ username }),
    ...(password === undefined ? {} : { password: new SecretValue(password) }),
    ...(token === undefined ? {} : { bearerToken: new SecretValue(token) }),
  };
}

/** awsAuthConfig overrides execProviderConfig; both become a credential plugin. */
function credentialPlugin(config: JsonObject): ClusterCredentials['exec'] {
  const aws = ownMember(config, 'awsAuthConfig');
  if (isObject(aws)) {
    const args = ['aws', '--cluster-name', textField(aws, 'clusterName') ?? ''];
    const role = textField(aws, 'roleARN');
    const profile = textField(aws, 'profile');
    if (role !== undefined) args.push('--role-arn', role);
    if (profile !== undefined) args.push('--profile', profile);
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    return { command: 'argocd-k8s-auth', args, env: {}, apiVersion, provideClusterInfo: false };
  }
  const plugin = ownMember(config, 'execProviderConfig');
  if (!isObject(plugin)) return undefined;
  const env = ownMember(plugin, 'env');
  const args = ownMember(plugin, 'args');
  return {
    command: textField(plugin, 'command') ?? '',
    args: stringItems(args),
    env: isObject(env) ? textMembers(env) : {},
    apiVersion: textField(plugin, 'apiVersion') ?? 'client.authentication.k8s.io/v1beta1',
    provideClusterInfo: ownMember(plugin, 'provideClusterInfo') === true,
  };
}

function textMembers(object: JsonObject): Readonly<Record<string, string>> {
  const members = Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(members);
}

function textField(object: JsonObject, key: string): string | undefined {
  const value = ownMember(object, key);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Go encodes []byte as base64. */
function base64Field(object: JsonObject, key: string): string | undefined {
  const value = textField(object, key);
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

import { defined, outsideText, parseGoBool, splitUserInfo } from '#base';
import { annotations, inClusterName, inClusterServer, labels, withoutUserInfo } from '#model';
import type { ApplicationDestination, Cluster, ClusterConnection, KubeObject } from '#model';
import { connectionOf, parseConfig } from './cluster-config.ts';
import { byId, isScoped, mayBeInCluster, secretText, withoutStopped } from './cluster-index.ts';
import type { ClusterFault, ClusterIndex } from './cluster-index.ts';
import { formerClaim, hiddenCluster, unreadableClaim } from './cluster-claims.ts';
import type { ClusterClaims } from './cluster-claims.ts';
import { splitCommaList } from './values.ts';
import { secretData, unreadableKeys, withKeys } from './secret-data.ts';
import type { UnresolvedDestination } from './types.ts';

/** `problem`: the Secret is usable, but part of it is ignored. */
export type ParsedCluster = Cluster & { readonly problem?: string };

/** All keys that are read. */
export const clusterKeys = ['server', 'name', 'config', 'namespaces', 'clusterResources', 'shard', 'project'];

/**
 * Parses a cluster Secret, or returns why it cannot be read (Argo CD: util/db/cluster.go).
 * `inCluster` is this process's own connection: it serves the in-cluster URL, with the Secret's
 * credentials if it has any. Difference: user and password in the URL are only credentials, not
 * part of the cluster's name, which appears in labels, keys and messages.
 */
export function parseClusterSecret(secret: KubeObject, inCluster?: ClusterConnection): ParsedCluster | ClusterFault {
  const unreadable = unreadableKeys(secret, clusterKeys);
  const readable = clusterKeys.filter((key) => !unreadable.includes(key));
  const data = withKeys(secretData(secret), readable);
  const { server: url = '', name = '', project = '' } = data;
  const given = url.trim();
  const head = {
    id: secret.metadata.uid ?? '',
    server: serverName(given),
    name: name.trim(),
    createdAt: secret.metadata.creationTimestamp ?? '',
  };
  const scope = project === '' ? undefined : project;
  const fault = (error: string): ClusterFault => ({ ...head, error, project: scope });
  const error = clusterFault(secret, head.server, data, unreadable);
  if (error !== undefined) return fault(error);
  const config = parseConfig(data['config']);
  if ('error' in config) return fault(config.error);
  const connection = connectionOf(head.server, config.value, inCluster);
  if ('error' in connection) return fault(connection.error);
  const shard = parseShard(data['shard']);
  const clusterLabels = { ...secret.metadata.labels };
  Reflect.deleteProperty(clusterLabels, labels.secretType);
  const clusterAnnotations = { ...secret.metadata.annotations };
  Reflect.deleteProperty(clusterAnnotations, annotations.lastApplied);
  Reflect.deleteProperty(clusterAnnotations, annotations.managedBy);
  return {
    ...head,
    namespaces: splitCommaList(data['namespaces']),
    clusterResources: data['clusterResources'] === 'true',
    ...(typeof shard === 'number' ? { shard } : {}),
    ...defined({ project: scope, secretName: secret.metadata.name }),
    labels: clusterLabels,
    annotations: clusterAnnotations,
    connection: { ...withoutUserInfo({ ...connection, server: given }), server: connection.server },
    ...(shard === 'bad' ? { problem: 'the key "shard" is not an integer; it is ignored' } : {}),
  };
}

function clusterFault(
  { metadata }: KubeObject,
  server: string,
  { namespaces = '' }: Readonly<Record<string, string>>,
  [unreadable]: readonly string[],
): string | undefined {
  if (unreadable !== undefined) return `the key "${unreadable}" is not base64 of UTF-8 text`;
  if (server === '') return 'the key "server" is missing or empty';
  // No namespace means all of them.
  if (namespaces !== '' && splitCommaList(namespaces).length === 0) return 'the key "namespaces" names none';
  const skipped = metadata.annotations?.[annotations.skipReconcile] ?? '';
  return skipped === '' || parseGoBool(skipped) !== undefined
    ? undefined
    : `the annotation ${annotations.skipReconcile} must be true or false`;
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

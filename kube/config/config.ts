import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { defined, isObject, outsideText, parseYamlDocuments, SecretValue, UsageError } from '#base';
import type { ClusterConnection, ClusterCredentials } from '#model';
import { mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts';
import type { Kubeconfig, KubeconfigCluster, KubeconfigUser } from './kubeconfig.ts';
import { checkedImpersonation, applyOverrides } from './overrides.ts';
import type { ConnectionOverrides } from './overrides.ts';
import { oneLine, readText } from './read-text.ts';

/** A connection, with the settings of its context. */
export interface LoadedConnection {
  readonly connection: ClusterConnection;
  /** The kubeconfig context; "in-cluster" in a pod; "--server" or '' if flags name the server. */
  readonly context: string;
  /** The context's namespace (in a pod: its own); "default" if there is none. */
  readonly namespace: string;
}

/** Kubernetes mounts the service account of a pod here. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Reads a kubeconfig file (or several, separated as in $KUBECONFIG; the first to define a name
 * wins) and resolves one context, with overrides from flags. Certificates and keys are read now,
 * token files and the output of exec plugins when a request needs them.
 * @throws UsageError in one line: missing file, invalid kubeconfig, unknown context, or unsupported
 * credentials.
 */
export async function connectionFromKubeconfig(
  path: string,
  context?: string,
  overrides: ConnectionOverrides = {},
): Promise<LoadedConnection> {
  const files = path.split(delimiter).filter((file) => file !== '');
  const config = await loadFiles(files, path);
  const found = contextOf(config, path, context, overrides);
  const what = found.name === '' ? 'the command line' : `context "${found.name}"`;
  const clusterName = nonEmptyString(overrides.cluster) ?? found.cluster;
  const cluster = withName(config.clusters, clusterName) ?? clusterFromFlags(clusterName, overrides);
  if (cluster === undefined)
    throw new UsageError(`kubeconfig ${path}: ${what} names cluster "${clusterName}", which does not exist`);
  const userName = nonEmptyString(overrides.user) ?? nonEmptyString(found.user);
  const user = userName === undefined ? undefined : withName(config.users, userName);
  if (user === undefined && userName !== undefined)
    throw new UsageError(`kubeconfig ${path}: ${what} names user "${userName}", which does not exist`);
  const connection = await toConnection(cluster, user, `kubeconfig ${path}`);
  return {
    connection: await applyOverrides(connection, overrides),
    context: found.name,
    namespace: found.namespace ?? 'default',
  };
}

/** The selected context; an empty one if none is selected and flags name the server. */
function contextOf(
  config: Kubeconfig,
  path: string,
  context: string | undefined,
  overrides: ConnectionOverrides,
): { readonly name: string; readonly cluster: string; readonly user: string; readonly namespace?: string } {
  const name = context ?? config.currentContext ?? '';
  const known = config.contexts.map((item) => item.name).join(', ');
  if (name === '') {
    if (nonEmptyString(overrides.cluster) !== undefined || nonEmptyString(overrides.server) !== undefined)
      return { name: '', cluster: '', user: '' };
    throw new UsageError(`kubeconfig ${path} has no current-context: name one with --context (it has: ${known})`);
  }
  const found = withName(config.contexts, name);
  if (found === undefined)
    throw new UsageError(`kubeconfig ${path} has no context "${name}" (it has: ${known === '' ? 'none' : known})`);
  return found;
}

/** A placeholder, if no cluster is named and a flag gives the server. */
function clusterFromFlags(name: string, { server }: ConnectionOverrides): KubeconfigCluster | undefined {
  const named = nonEmptyString(server);
  return name !== '' || named === undefined ? undefined : { name: '--server', server: 'http://unset', insecure: false };
}

/**
 * A connection from flags only.
 * @throws UsageError if flags contradict each other or a file cannot be read.
 */
export async function connectionFromFlags(overrides: ConnectionOverrides): Promise<LoadedConnection> {
  const nowhere = { server: 'http://unset', insecure: false, credentials: {} };
  return { connection: await applyOverrides(nowhere, overrides), context: '--server', namespace: 'default' };
}

/**
 * The connection of our own pod, from its service account. The token file is read again as it
 * rotates.
 * @param env names the API server, by the variables that Kubernetes sets in pods.
 * @param root prefix of the service account's folder, for tests.
 * @throws UsageError outside a pod.
 */
export async function inClusterConnection(
  env: Readonly<Record<string, string | undefined>>,
  root = '',
  overrides: ConnectionOverrides = {},
): Promise<LoadedConnection> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  if (host === '' || port === '')
    throw new UsageError('not running inside a cluster (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig');
  const folder = join(root, serviceAccountFolder);
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const cluster = { name: 'in-cluster', server, insecure: false, caFile: join(folder, 'ca.crt') };
  const connection = await toConnection(cluster, undefined, 'in-cluster configuration');
  const credentials = { bearerTokenFile: join(folder, 'token') };
  return {
    connection: await applyOverrides({ ...connection, credentials }, overrides),
    context: 'in-cluster',
    namespace: await namespaceOfPod(join(folder, 'namespace')),
  };
}

async function namespaceOfPod(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return nonEmptyString(text.trim()) ?? 'default';
}

async function loadFiles(files: readonly string[], path: string): Promise<Kubeconfig> {
  if (files.length === 0) throw new UsageError('no kubeconfig file is named');
  const config = mergeKubeconfigs(await Promise.all(files.map(loadFile)));
  if (config.contexts.length === 0) throw new UsageError(`kubeconfig ${path} has no contexts`);
  return config;
}

function withName<T extends { readonly name: string }>(entries: readonly T[], name: string): T | undefined {
  return entries.find((entry) => entry.name === name);
}

async function loadFile(file: string): Promise<Kubeconfig> {
  const text = await readText(file, `kubeconfig ${file}`);
  try {
    const root = parseYamlDocuments(text)[0];
    if (!isObject(root) || !(Array.isArray(root['clusters']) || Array.isArray(root['contexts'])))
      throw new Error('it is not a kubeconfig (no clusters, no contexts)');
    return parseKubeconfig(root, dirname(file));
  } catch (error) {
    throw new UsageError(`kubeconfig ${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

async function toConnection(
  cluster: KubeconfigCluster,
  user: KubeconfigUser | undefined,
  source: string,
): Promise<ClusterConnection> {
  const url = URL.canParse(cluster.server) ? new URL(cluster.server) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError(
      `${source}: cluster "${cluster.name}" has server "${outsideText('url', cluster.server)}", which is not a URL`,
    );
  const caData = await pemText(cluster.caData, cluster.caFile, `${source}: certificate authority`);
  const acting = user === undefined ? undefined : checkedImpersonation(user.acting);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    insecure: cluster.insecure,
    ...defined({ caData, tlsServerName: cluster.tlsServerName, proxyUrl: cluster.proxyUrl }),
    credentials: user === undefined ? {} : await toCredentials(user, source),
    ...defined({ impersonate: acting }),
  };
}

async function toCredentials(user: KubeconfigUser, source: string): Promise<ClusterCredentials> {
  if (user.authProvider !== undefined)
    throw new UsageError(
      `${source}: user "${user.name}" uses auth provider "${user.authProvider}", which Kubernetes has removed: use an exec plugin`,
    );
  const certData = await pemText(user.certData, user.certFile, `${source}: client certificate`);
  const keyData = await pemText(user.keyData, user.keyFile, `${source}: client key`);
  const { username, token, tokenFile } = user;
  return {
    ...defined({
      username,
      password: secretOf(user.password),
      bearerToken: secretOf(token?.trim()),
      bearerTokenFile: token === undefined ? tokenFile : undefined,
      certData: secretOf(certData),
      keyData: secretOf(keyData),
      exec: execPluginOf(user, source),
    }),
  };
}

function secretOf(text: string | undefined): SecretValue | undefined {
  return text === undefined ? undefined : new SecretValue(text);
}

function execPluginOf(user: KubeconfigUser, source: string): ClusterCredentials['exec'] {
  const { exec } = user;
  if (exec === undefined) return undefined;
  const { command, apiVersion, args, env } = exec;
  if (typeof command !== 'string' || command === '')
    throw new UsageError(`${source}: user "${user.name}" has an exec plugin without a command`);
  const pairs = (Array.isArray(env) ? (env as readonly unknown[]) : []).filter(isObject);
  return {
    command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Object.fromEntries(
      pairs.map((pair) => [nonEmptyString(pair['name']) ?? '', nonEmptyString(pair['value']) ?? '']),
    ),
    apiVersion: typeof apiVersion === 'string' ? apiVersion : 'client.authentication.k8s.io/v1',
    provideClusterInfo: exec['provideClusterInfo'] === true,
  };
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Data overrides a file, as in kubectl. */
async function pemText(data: string | undefined, file: string | undefined, what: string): Promise<string | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  return file === undefined ? undefined : readText(file, `${what} ${file}`);
}

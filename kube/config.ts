import { delimiter, dirname, resolve } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { at, isObject, outsideText, parseYamlDocuments, Secret, UsageError } from '#base';
import type { Json, JsonObject } from '#base';
import type { ClusterConnection, ClusterCredentials, Impersonation } from '#model';
import { checkedImpersonation, overridden } from './overrides.ts';
import type { ConnectionOverrides } from './overrides.ts';
import { oneLine, readText } from './read-text.ts';

/** A connection, and what its context says about where to work. */
export interface LoadedConnection {
  readonly connection: ClusterConnection;
  /** Name of the kubeconfig context; "in-cluster" inside a pod. */
  readonly context: string;
  /** The context's namespace (in a pod: its own); "default" when it names none. */
  readonly namespace: string;
}

/** The library's words, and what it overlooks. */
type KubeConfigUser = NonNullable<ReturnType<KubeConfig['getUser']>> & { readonly acting?: Impersonation };
type KubeConfigCluster = NonNullable<ReturnType<KubeConfig['getCluster']>>;

/** Loading the library costs 0.4 s and 87 MB: only who reads a kubeconfig pays. */
async function emptyConfig(): Promise<KubeConfig> {
  const library = await import('@kubernetes/client-node');
  return new library.KubeConfig();
}

/**
 * Reads a kubeconfig file (or several, separated as in $KUBECONFIG; the first to name something wins) and resolves one context, with what
 * flags say in its place: files that it names are read now, token files and exec plugins when they are needed.
 * @throws UsageError in one line: no such file, not a kubeconfig, no such context, a kind of credentials that we do not speak.
 */
export async function connectionFromKubeconfig(
  path: string,
  context?: string,
  overrides: ConnectionOverrides = {},
): Promise<LoadedConnection> {
  const files = path.split(delimiter).filter((file) => file !== '');
  const config = await merged(files, path);
  const found = contextOf(config, path, context, overrides);
  const what = found.name === '' ? 'the command line' : `context "${found.name}"`;
  const clusterName = text(overrides.cluster) ?? found.cluster;
  const cluster = config.getCluster(clusterName) ?? blank(clusterName, overrides);
  if (cluster === undefined)
    throw new UsageError(`kubeconfig ${path}: ${what} names cluster "${clusterName}", which does not exist`);
  const userName = text(overrides.user) ?? text(found.user);
  const user = userName === undefined ? null : config.getUser(userName);
  if (user === null && userName !== undefined)
    throw new UsageError(`kubeconfig ${path}: ${what} names user "${userName}", which does not exist`);
  const connection = await toConnection(cluster, user, `kubeconfig ${path}`);
  return {
    connection: await overridden(connection, overrides),
    context: found.name,
    namespace: found.namespace ?? 'default',
  };
}

/** The context that counts; an empty one when none is named and flags say themselves where to go. */
function contextOf(
  config: KubeConfig,
  path: string,
  context: string | undefined,
  overrides: ConnectionOverrides,
): { readonly name: string; readonly cluster: string; readonly user: string; readonly namespace?: string } {
  const name: unknown = context ?? config.currentContext;
  const known = config.contexts.map((item) => item.name).join(', ');
  if (typeof name !== 'string' || name === '') {
    if (text(overrides.cluster) !== undefined || text(overrides.server) !== undefined)
      return { name: '', cluster: '', user: '' };
    throw new UsageError(`kubeconfig ${path} has no current-context: name one with --context (it has: ${known})`);
  }
  const found = config.contexts.find((item) => item.name === name);
  if (found === undefined)
    throw new UsageError(`kubeconfig ${path} has no context "${name}" (it has: ${known === '' ? 'none' : known})`);
  return found;
}

/** No cluster is named: the flags alone say where. */
function blank(name: string, { server }: ConnectionOverrides): KubeConfigCluster | undefined {
  const named = text(server);
  return name !== '' || named === undefined
    ? undefined
    : { name: '--server', server: 'http://unset', skipTLSVerify: false };
}

/**
 * A connection of flags alone.
 * @throws UsageError when they contradict each other, or a file cannot be read.
 */
export async function connectionFromFlags(overrides: ConnectionOverrides): Promise<LoadedConnection> {
  const nowhere = { server: 'http://unset', insecure: false, credentials: {} };
  return { connection: await overridden(nowhere, overrides), context: '--server', namespace: 'default' };
}

/**
 * The connection of the pod that we run in, from its service account. The token file is read again as it rotates.
 * @param root prefix of the service account's folder, for tests.
 * @throws UsageError when this is not a pod.
 */
export async function inClusterConnection(root = '', overrides: ConnectionOverrides = {}): Promise<LoadedConnection> {
  const config = await emptyConfig();
  config.loadFromCluster(root);
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server))
    throw new UsageError('not running inside a cluster (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig');
  const connection = await toConnection(cluster, config.getCurrentUser(), 'in-cluster configuration');
  const namespace = config.getContextObject(config.currentContext)?.namespace?.trim() ?? '';
  return {
    connection: await overridden(connection, overrides),
    context: 'in-cluster',
    namespace: namespace === '' ? 'default' : namespace,
  };
}

async function merged(files: readonly string[], path: string): Promise<KubeConfig> {
  if (files.length === 0) throw new UsageError('no kubeconfig file is named');
  const config = await emptyConfig();
  const seen = { clusters: new Set<string>(), users: new Set<string>(), contexts: new Set<string>() };
  for (const file of files) {
    const next = await loadFile(file);
    for (const cluster of next.clusters) if (fresh(seen.clusters, cluster.name)) config.addCluster(cluster);
    for (const user of next.users) if (fresh(seen.users, user.name)) config.addUser(user);
    for (const context of next.contexts) if (fresh(seen.contexts, context.name)) config.addContext(context);
    const current: unknown = next.currentContext;
    const chosen: unknown = config.currentContext;
    if (typeof current === 'string' && current !== '' && typeof chosen !== 'string') config.setCurrentContext(current);
  }
  if (config.contexts.length === 0) throw new UsageError(`kubeconfig ${path} has no contexts`);
  return config;
}

function fresh(seen: Set<string>, name: string): boolean {
  if (seen.has(name)) return false;
  seen.add(name);
  return true;
}

async function loadFile(file: string): Promise<KubeConfig> {
  const text = await readText(file, `kubeconfig ${file}`);
  try {
    // The library would take any YAML for a kubeconfig, and fail later with a TypeError.
    const root = parseYamlDocuments(text)[0];
    if (!isObject(root) || !(Array.isArray(root['clusters']) || Array.isArray(root['contexts'])))
      throw new Error('it is not a kubeconfig (no clusters, no contexts)');
    const config = await emptyConfig();
    config.loadFromFile(file);
    keepTokenFiles(config, root, file);
    return config;
  } catch (error) {
    throw new UsageError(`kubeconfig ${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

/**
 * The library overlooks `tokenFile` (it reads `token-file`, which kubectl does not know), and would go on without credentials; and of whom
 * to act as it knows the user only.
 */
function keepTokenFiles(config: KubeConfig, root: JsonObject, file: string): void {
  const entries = (Array.isArray(root['users']) ? (root['users'] as readonly Json[]) : []).filter(isObject);
  config.users = config.users.map((user) => {
    const entry = entries.find((one) => one['name'] === user.name);
    const tokenFile = text(at(entry, 'user', 'tokenFile'));
    const acting = { ...user, acting: actingOf(entry) };
    if (tokenFile === undefined || text(user.token) !== undefined) return acting;
    return { ...acting, authProvider: { name: 'tokenFile', config: { tokenFile: resolve(dirname(file), tokenFile) } } };
  });
}

function actingOf(entry: JsonObject | undefined): Impersonation {
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  const extra = at(entry, 'user', 'as-user-extra');
  const uid = text(at(entry, 'user', 'as-uid'));
  return {
    user: text(at(entry, 'user', 'as')) ?? '',
    groups: texts(at(entry, 'user', 'as-groups')),
    extra: isObject(extra) ? Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, texts(value)])) : {},
    ...(uid === undefined ? {} : { uid }),
  };
}

async function toConnection(
  cluster: KubeConfigCluster,
  user: KubeConfigUser | null,
  source: string,
): Promise<ClusterConnection> {
  const url = URL.canParse(cluster.server) ? new URL(cluster.server) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError(
      `${source}: cluster "${cluster.name}" has server "${outsideText('url', cluster.server)}", which is not a URL`,
    );
  const caData = await pem(cluster.caData, cluster.caFile, `${source}: certificate authority`);
  const acting = user?.acting === undefined ? undefined : checkedImpersonation(user.acting);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    insecure: cluster.skipTLSVerify,
    ...(caData === undefined ? {} : { caData }),
    ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
    ...(cluster.proxyUrl === undefined ? {} : { proxyUrl: cluster.proxyUrl }),
    credentials: user === null ? {} : await toCredentials(user, source),
    ...(acting === undefined ? {} : { impersonate: acting }),
  };
}

async function toCredentials(user: KubeConfigUser, source: string): Promise<ClusterCredentials> {
  const certData = await pem(user.certData, user.certFile, `${source}: client certificate`);
  const keyData = await pem(user.keyData, user.keyFile, `${source}: client key`);
  const tokenFile = tokenFileOf(user, source);
  const exec = execOf(user, source);
  return {
    ...(text(user.username) === undefined ? {} : { username: user.username ?? '' }),
    ...(text(user.password) === undefined ? {} : { password: new Secret(user.password ?? '') }),
    ...(text(user.token) === undefined ? {} : { bearerToken: new Secret((user.token ?? '').trim()) }),
    ...(tokenFile === undefined ? {} : { bearerTokenFile: tokenFile }),
    ...(certData === undefined ? {} : { certData: new Secret(certData) }),
    ...(keyData === undefined ? {} : { keyData: new Secret(keyData) }),
    ...(exec === undefined ? {} : { exec }),
  };
}

/** The library's word for a token in a file is an auth provider of its own. Other providers were removed from Kubernetes in 1.26. */
function tokenFileOf(user: KubeConfigUser, source: string): string | undefined {
  const provider: unknown = user.authProvider;
  if (!isObject(provider)) return undefined;
  const settings = provider['config'];
  const file = isObject(settings) ? settings['tokenFile'] : undefined;
  if (provider['name'] === 'tokenFile' && typeof file === 'string') return file;
  throw new UsageError(
    `${source}: user "${user.name}" uses auth provider "${text(provider['name']) ?? ''}", which Kubernetes has removed: use an exec plugin`,
  );
}

function execOf(user: KubeConfigUser, source: string): ClusterCredentials['exec'] {
  const exec: unknown = user.exec;
  if (!isObject(exec)) return undefined;
  const { command, apiVersion, args, env } = exec;
  if (typeof command !== 'string' || command === '')
    throw new UsageError(`${source}: user "${user.name}" has an exec plugin without a command`);
  const pairs = (Array.isArray(env) ? (env as readonly unknown[]) : []).filter(isObject);
  return {
    command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Object.fromEntries(pairs.map((pair) => [text(pair['name']) ?? '', text(pair['value']) ?? ''])),
    apiVersion: typeof apiVersion === 'string' ? apiVersion : 'client.authentication.k8s.io/v1',
    provideClusterInfo: exec['provideClusterInfo'] === true,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Data wins over a file, as in kubectl. */
async function pem(data: unknown, file: unknown, what: string): Promise<string | undefined> {
  const base64 = text(data);
  if (base64 !== undefined) return Buffer.from(base64, 'base64').toString('utf8');
  const path = text(file);
  return path === undefined ? undefined : readText(path, `${what} ${path}`);
}

import { delimiter, dirname, resolve } from 'node:path';
import { valueAt, defined, isObject, outsideText, parseYamlDocuments, SecretValue, UsageError } from '#base';
import type { Json, JsonObject } from '#base';
import type { ClusterConnection, ClusterCredentials, ImpersonatedUser } from '#model';
import type { KubeConfig } from './client-node.ts';
import type { ConfiguredCluster, ConfiguredUser, KubeConfigReader } from './config-reader.ts';
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

/** A user, plus a field that the library ignores. */
type KubeConfigUser = ConfiguredUser & { readonly acting?: ImpersonatedUser };

async function emptyConfig(): Promise<KubeConfig> {
  const library = await import('./client-node.ts');
  return new library.KubeConfig();
}

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
  const config = await mergeKubeconfigs(files, path);
  const found = contextOf(config, path, context, overrides);
  const what = found.name === '' ? 'the command line' : `context "${found.name}"`;
  const clusterName = nonEmptyString(overrides.cluster) ?? found.cluster;
  const cluster = config.getCluster(clusterName) ?? clusterFromFlags(clusterName, overrides);
  if (cluster === undefined)
    throw new UsageError(`kubeconfig ${path}: ${what} names cluster "${clusterName}", which does not exist`);
  const userName = nonEmptyString(overrides.user) ?? nonEmptyString(found.user);
  const user = userName === undefined ? null : config.getUser(userName);
  if (user === null && userName !== undefined)
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
  config: KubeConfig,
  path: string,
  context: string | undefined,
  overrides: ConnectionOverrides,
): { readonly name: string; readonly cluster: string; readonly user: string; readonly namespace?: string } {
  const name: unknown = context ?? config.currentContext;
  const known = config.contexts.map((item) => item.name).join(', ');
  if (typeof name !== 'string' || name === '') {
    if (nonEmptyString(overrides.cluster) !== undefined || nonEmptyString(overrides.server) !== undefined)
      return { name: '', cluster: '', user: '' };
    throw new UsageError(`kubeconfig ${path} has no current-context: name a context (it has: ${known})`);
  }
  const found = config.contexts.find((item) => item.name === name);
  if (found === undefined)
    throw new UsageError(`kubeconfig ${path} has no context "${name}" (it has: ${known === '' ? 'none' : known})`);
  return found;
}

/** A placeholder, if no cluster is named and a flag gives the server. */
function clusterFromFlags(name: string, { server }: ConnectionOverrides): ConfiguredCluster | undefined {
  const named = nonEmptyString(server);
  return name !== '' || named === undefined
    ? undefined
    : { name: '--server', server: 'http://unset', skipTLSVerify: false };
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
 * The connection of a kubeconfig that a program has loaded with `@kubernetes/client-node`.
 * @throws UsageError in one line, as {@link connectionFromKubeconfig}.
 */
export async function connectionFromConfig(config: KubeConfigReader, context?: string): Promise<LoadedConnection> {
  const name = context ?? nonEmptyString(config.getCurrentContext());
  if (name === undefined) throw new UsageError('the KubeConfig has no current context: name one');
  const found = config.getContextObject(name);
  if (found === null) throw new UsageError(`the KubeConfig has no context "${name}"`);
  const cluster = config.getCluster(found.cluster);
  if (cluster === null)
    throw new UsageError(`context "${name}" names cluster "${found.cluster}", which does not exist`);
  const userName = nonEmptyString(found.user);
  const user = userName === undefined ? null : config.getUser(userName);
  if (user === null && userName !== undefined)
    throw new UsageError(`context "${name}" names user "${userName}", which does not exist`);
  const acting = nonEmptyString(user?.impersonateUser);
  const actor = acting === undefined ? {} : { acting: { user: acting, groups: [], extra: {} } };
  const connection = await toConnection(cluster, user === null ? null : { ...user, ...actor }, 'the KubeConfig');
  return { connection, context: name, namespace: nonEmptyString(found.namespace) ?? 'default' };
}

/**
 * The connection of our own pod, from its service account. The token file is read again as it
 * rotates.
 * @param root prefix of the service account's folder, for tests.
 * @param fix what to do outside of a pod.
 * @throws UsageError outside a pod.
 */
export async function inClusterConnection(
  root = '',
  overrides: ConnectionOverrides = {},
  fix = 'name a kubeconfig',
): Promise<LoadedConnection> {
  const config = await emptyConfig();
  config.loadFromCluster(root);
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server))
    throw new UsageError(`not running inside a cluster (KUBERNETES_SERVICE_HOST is not set): ${fix}`);
  const connection = await toConnection(cluster, config.getCurrentUser(), 'in-cluster configuration');
  const namespace = config.getContextObject(config.currentContext)?.namespace?.trim() ?? '';
  return {
    connection: await applyOverrides(connection, overrides),
    context: 'in-cluster',
    namespace: namespace === '' ? 'default' : namespace,
  };
}

async function mergeKubeconfigs(files: readonly string[], path: string): Promise<KubeConfig> {
  if (files.length === 0) throw new UsageError('no kubeconfig file is named');
  const config = await emptyConfig();
  const seen = { clusters: new Set<string>(), users: new Set<string>(), contexts: new Set<string>() };
  for (const file of files) {
    const next = await loadFile(file);
    for (const cluster of next.clusters) if (isFirst(seen.clusters, cluster.name)) config.addCluster(cluster);
    for (const user of next.users) if (isFirst(seen.users, user.name)) config.addUser(user);
    for (const context of next.contexts) if (isFirst(seen.contexts, context.name)) config.addContext(context);
    const current: unknown = next.currentContext;
    const chosen: unknown = config.currentContext;
    if (typeof current === 'string' && current !== '' && typeof chosen !== 'string') config.setCurrentContext(current);
  }
  if (config.contexts.length === 0) throw new UsageError(`kubeconfig ${path} has no contexts`);
  return config;
}

function isFirst(seen: Set<string>, name: string): boolean {
  if (seen.has(name)) return false;
  seen.add(name);
  return true;
}

async function loadFile(file: string): Promise<KubeConfig> {
  const text = await readText(file, `kubeconfig ${file}`);
  try {
    // The library accepts any YAML as a kubeconfig, and fails later with a TypeError.
    const root = parseYamlDocuments(text)[0];
    if (!isObject(root) || !(Array.isArray(root['clusters']) || Array.isArray(root['contexts'])))
      throw new Error('it is not a kubeconfig (no clusters, no contexts)');
    const config = await emptyConfig();
    config.loadFromFile(file);
    keepUserFields(config, root, file);
    return config;
  } catch (error) {
    throw new UsageError(`kubeconfig ${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

/**
 * Adds the fields of users that the library ignores. Instead of `tokenFile` it reads `token-file`,
 * which kubectl does not know, and would continue without credentials. It reads only the user of
 * the impersonation fields, and begins the path of an exec plugin at the working directory.
 */
function keepUserFields(config: KubeConfig, root: JsonObject, file: string): void {
  const entries = (Array.isArray(root['users']) ? (root['users'] as readonly Json[]) : []).filter(isObject);
  config.users = config.users.map((user) => {
    const entry = entries.find((one) => one['name'] === user.name);
    const tokenFile = nonEmptyString(valueAt(entry, 'user', 'tokenFile'));
    const exec = withPath(user.exec, dirname(file));
    const acting = { ...user, ...defined({ exec }), acting: impersonatedUser(entry) };
    if (tokenFile === undefined || nonEmptyString(user.token) !== undefined) return acting;
    return { ...acting, authProvider: { name: 'tokenFile', config: { tokenFile: resolve(dirname(file), tokenFile) } } };
  });
}

/** A command with a slash is a path, which begins at the folder of the file; others are on PATH. */
function withPath(exec: unknown, folder: string): unknown {
  if (!isObject(exec)) return undefined;
  const { command } = exec;
  return typeof command === 'string' && command.includes('/') ? { ...exec, command: resolve(folder, command) } : exec;
}

function impersonatedUser(entry: JsonObject | undefined): ImpersonatedUser {
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  const extra = valueAt(entry, 'user', 'as-user-extra');
  const uid = nonEmptyString(valueAt(entry, 'user', 'as-uid'));
  return {
    user: nonEmptyString(valueAt(entry, 'user', 'as')) ?? '',
    groups: texts(valueAt(entry, 'user', 'as-groups')),
    extra: isObject(extra) ? Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, texts(value)])) : {},
    ...defined({ uid }),
  };
}

async function toConnection(
  cluster: ConfiguredCluster,
  user: KubeConfigUser | null,
  source: string,
): Promise<ClusterConnection> {
  const url = URL.canParse(cluster.server) ? new URL(cluster.server) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError(
      `${source}: cluster "${cluster.name}" has server "${outsideText('url', cluster.server)}", which is not a URL`,
    );
  const caData = await pemText(cluster.caData, cluster.caFile, `${source}: certificate authority`);
  const acting = user?.acting === undefined ? undefined : checkedImpersonation(user.acting);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    insecure: cluster.skipTLSVerify,
    ...defined({ caData, tlsServerName: cluster.tlsServerName, proxyUrl: cluster.proxyUrl }),
    credentials: user === null ? {} : await toCredentials(user, source),
    ...defined({ impersonate: acting }),
  };
}

async function toCredentials(user: KubeConfigUser, source: string): Promise<ClusterCredentials> {
  const certData = await pemText(user.certData, user.certFile, `${source}: client certificate`);
  const keyData = await pemText(user.keyData, user.keyFile, `${source}: client key`);
  const tokenFile = tokenFileOf(user, source);
  const exec = execPluginOf(user, source);
  return {
    ...(nonEmptyString(user.username) === undefined ? {} : { username: user.username ?? '' }),
    ...(nonEmptyString(user.password) === undefined ? {} : { password: new SecretValue(user.password ?? '') }),
    ...(nonEmptyString(user.token) === undefined ? {} : { bearerToken: new SecretValue((user.token ?? '').trim()) }),
    ...defined({ bearerTokenFile: tokenFile }),
    ...(certData === undefined ? {} : { certData: new SecretValue(certData) }),
    ...(keyData === undefined ? {} : { keyData: new SecretValue(keyData) }),
    ...defined({ exec }),
  };
}

/**
 * The token file, which is represented as an auth provider (see `keepUserFields`). Kubernetes 1.26
 * removed all other providers.
 */
function tokenFileOf(user: KubeConfigUser, source: string): string | undefined {
  const provider: unknown = user.authProvider;
  if (!isObject(provider)) return undefined;
  const settings = provider['config'];
  const file = isObject(settings) ? settings['tokenFile'] : undefined;
  if (provider['name'] === 'tokenFile' && typeof file === 'string') return file;
  throw new UsageError(
    `${source}: user "${user.name}" uses auth provider "${nonEmptyString(provider['name']) ?? ''}", which Kubernetes has removed: use an exec plugin`,
  );
}

function execPluginOf(user: KubeConfigUser, source: string): ClusterCredentials['exec'] {
  const exec: unknown = user.exec;
  if (!isObject(exec)) return undefined;
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
async function pemText(data: unknown, file: unknown, what: string): Promise<string | undefined> {
  const base64 = nonEmptyString(data);
  if (base64 !== undefined) return Buffer.from(base64, 'base64').toString('utf8');
  const path = nonEmptyString(file);
  return path === undefined ? undefined : readText(path, `${what} ${path}`);
}

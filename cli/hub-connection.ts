import { Secret, UsageError } from '#base';
import { connectionFromFlags, connectionFromKubeconfig, inClusterConnection } from '#kube';
import type { ConnectionOverrides, LoadedConnection } from '#kube';
import type { RunConfig } from './options.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The hub, by the flags that kubectl has too: a kubeconfig if one is named, else the server of --server with what the flags say and nothing
 * else (the token of a pod goes to no other server), else the pod's own cluster. The flags override what is found.
 *
 * @param root prefix of the service account's folder, for tests.
 * @throws UsageError in one line.
 */
export async function hubConnection(config: RunConfig, env: Env, root = ''): Promise<LoadedConnection> {
  const overrides = overridesOf(config);
  if (config.kubeconfig !== '')
    return connectionFromKubeconfig(config.kubeconfig, config.context === '' ? undefined : config.context, overrides);
  const names = Object.entries({ cluster: config.cluster, user: config.user });
  const [flag, name] = names.find(([, value]) => value !== '') ?? [];
  if (flag !== undefined)
    throw new UsageError(`--${flag} "${name ?? ''}" does not exist: there is no kubeconfig that could have it`);
  const inPod = (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  if (config.server !== '') {
    const named = await connectionFromFlags(overrides);
    return inPod ? { ...named, namespace: (await inClusterConnection(root)).namespace } : named;
  }
  if (!inPod)
    throw new UsageError(
      'no cluster to work for: name one with --kubeconfig FILE (and --context NAME), or run inside a pod',
    );
  return inClusterConnection(root, overrides);
}

/** What is on the command line to prove who we are is of no use to anybody after the connection was made. */
export function withoutSecrets(config: RunConfig): RunConfig {
  return { ...config, token: '', password: '' };
}

function overridesOf(config: RunConfig): ConnectionOverrides {
  return {
    cluster: config.cluster,
    user: config.user,
    server: config.server,
    certificateAuthority: config.certificateAuthority,
    insecureSkipTlsVerify: config.insecureSkipTlsVerify,
    tlsServerName: config.tlsServerName,
    proxyUrl: config.proxyUrl,
    token: new Secret(config.token),
    username: config.username,
    password: new Secret(config.password),
    clientCertificate: config.clientCertificate,
    clientKey: config.clientKey,
    as: config.as,
    asGroups: config.asGroup,
    asUid: config.asUid,
    requestTimeout: config.requestTimeout,
  };
}

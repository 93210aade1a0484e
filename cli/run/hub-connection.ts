import { SecretValue, UsageError } from '#base';
import { connectionFromFlags, connectionFromKubeconfig, inClusterConnection } from '#kube';
import type { ConnectionOverrides, LoadedConnection } from '#kube';
import type { RunConfig } from '../options/run-options.ts';
import { isInPod } from '../process/in-pod.ts';

type ProcessEnv = Readonly<Record<string, string | undefined>>;

/**
 * Connection to the hub, from kubectl's flags: a kubeconfig if set; otherwise --server with these
 * flags only (a pod's token is never sent to another server); otherwise the in-cluster
 * configuration. Flags override the result.
 *
 * @param root prefix of the service account's folder, for tests.
 * @throws UsageError in one line.
 */
export async function hubConnection(config: RunConfig, env: ProcessEnv, root = ''): Promise<LoadedConnection> {
  const overrides = overridesOf(config);
  if (config.kubeconfig !== '')
    return connectionFromKubeconfig(config.kubeconfig, config.context === '' ? undefined : config.context, overrides);
  const names = Object.entries({ cluster: config.cluster, user: config.user });
  const [flag, name] = names.find(([, value]) => value !== '') ?? [];
  if (flag !== undefined) throw new UsageError(`--${flag} "${name ?? ''}" does not exist: set --kubeconfig FILE`);
  const inPod = isInPod(env);
  if (config.server !== '') {
    const named = await connectionFromFlags(overrides);
    return inPod ? { ...named, namespace: (await inClusterConnection(root)).namespace } : named;
  }
  if (!inPod)
    throw new UsageError('no cluster configured: set --kubeconfig FILE (and --context NAME), or run inside a pod');
  return inClusterConnection(root, overrides);
}

/** Drops credentials from the configuration: they are not needed after connecting. */
export function withoutSecrets(config: RunConfig): RunConfig {
  return { ...config, token: '', password: '', otlpHeaders: {} };
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
    token: new SecretValue(config.token),
    username: config.username,
    password: new SecretValue(config.password),
    clientCertificate: config.clientCertificate,
    clientKey: config.clientKey,
    as: config.as,
    asGroups: config.asGroup,
    asUid: config.asUid,
    requestTimeout: config.requestTimeout,
  };
}

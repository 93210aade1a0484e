import { join } from 'node:path';
import { defined, UsageError } from '#base';
import type { RemoteSourceDeps } from '#desired';
import type { RunConfig } from '../options/run-options.ts';

/**
 * Connection settings of Argo CD's repo-server; undefined renders in this process (Argo CD's
 * default is `argocd-repo-server:8081`). An empty flag overrides the environment, as every flag
 * does: `--repo-server=` renders in this process.
 * @throws UsageError for invalid values.
 */
export function repoServerSettings(config: RunConfig): Omit<RemoteSourceDeps, 'clock' | 'userAgent'> | undefined {
  const { repoServer, repoServerPlaintext, repoServerTimeout, grpcMaxSizeMb, grpcTxtServiceConfig } = config;
  const certificate = config.repoServerClientCertPath;
  const key = config.repoServerClientCertKeyPath;
  if ((certificate === '') !== (key === ''))
    throw new UsageError(`${certificate === '' ? certFlag : keyFlag} is missing`);
  if (repoServer === '' && config.repoServerPluginsOnly)
    throw new UsageError('--repo-server-plugins-only needs --repo-server, the address of the repo-server');
  if (repoServer === '') return undefined;
  const authorities = authoritiesOf(config);
  const tls = {
    ...defined({ authorities }),
    ...(certificate === '' ? {} : { identity: { certificate, key } }),
  };
  return {
    address: repoServer,
    ...(repoServerPlaintext ? {} : { tls }),
    timeoutMs: repoServerTimeout,
    maxMessageBytes: grpcMaxSizeMb * 1024 * 1024,
    serviceConfigFromDns: grpcTxtServiceConfig,
  };
}

/** Undefined: the certificate is not verified. */
function authoritiesOf(config: RunConfig): readonly string[] | undefined {
  if (config.repoServerCaCertPath !== '') return [config.repoServerCaCertPath];
  if (!config.repoServerStrictTls) return undefined;
  // Mount path of the Secret argocd-repo-server-tls.
  const folder = join(config.appConfPath, 'controller', 'tls');
  return [join(folder, 'tls.crt'), join(folder, 'ca.crt')];
}

const certFlag =
  '--repo-server-client-cert-path: the certificate of the key that --repo-server-client-cert-key-path names';
const keyFlag =
  '--repo-server-client-cert-key-path: the key of the certificate that --repo-server-client-cert-path names';

/** Whether this replica needs a renderer. It renders the hydrator's templates in any case. */
export function rendersHere(
  config: Pick<RunConfig, 'repoServer' | 'repoServerPluginsOnly' | 'hydratorEnabled'>,
): boolean {
  return config.repoServer === '' || config.repoServerPluginsOnly || config.hydratorEnabled;
}

import { join } from 'node:path';
import { UsageError } from '#base';
import type { RemoteSourceDeps } from '#desired';
import type { RunConfig } from './options.ts';

/**
 * How Argo CD's repo-server is reached; undefined where none is named: then manifests are rendered in this process (Argo CD: default
 * `argocd-repo-server:8081`). An empty flag wins over the environment, as every flag does: `--repo-server=` means this process.
 * @throws UsageError for values that cannot be meant.
 */
export function repoServerSettings(config: RunConfig): Omit<RemoteSourceDeps, 'clock' | 'userAgent'> | undefined {
  const { repoServer, repoServerPlaintext, repoServerTimeout, grpcMaxSizeMb, grpcTxtServiceConfig } = config;
  const certificate = config.repoServerClientCertPath;
  const key = config.repoServerClientCertKeyPath;
  if ((certificate === '') !== (key === ''))
    throw new UsageError(`${certificate === '' ? certFlag : keyFlag} is missing`);
  if (repoServer === '') return undefined;
  const authorities = authoritiesOf(config);
  const tls = {
    ...(authorities === undefined ? {} : { authorities }),
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

/** Undefined: its certificate is not verified. */
function authoritiesOf(config: RunConfig): readonly string[] | undefined {
  if (config.repoServerCaCertPath !== '') return [config.repoServerCaCertPath];
  if (!config.repoServerStrictTls) return undefined;
  // Where the Secret argocd-repo-server-tls is mounted.
  const folder = join(config.appConfPath, 'controller', 'tls');
  return [join(folder, 'tls.crt'), join(folder, 'ca.crt')];
}

const certFlag =
  '--repo-server-client-cert-path: the certificate of the key that --repo-server-client-cert-key-path names';
const keyFlag =
  '--repo-server-client-cert-key-path: the key of the certificate that --repo-server-client-cert-path names';

import { hashJson } from '#base';
import type { SecretValue } from '#base';
import { isRefused, readAddress } from '#model';
import type { Repository } from '#model';

/**
 * Identifies a mirror by its URL and everything that decides what the remote shows. Credentials are
 * part of the hash only.
 */
export function repositoryKey(repository: Repository): string {
  const address = readAddress(repository.url, 'any');
  return hashJson([
    isRefused(address) ? repository.url : address.text,
    repository.username ?? '',
    textOfSecret(repository.password),
    textOfSecret(repository.bearerToken),
    textOfSecret(repository.sshPrivateKey),
    textOfSecret(repository.tlsClientCertData),
    textOfSecret(repository.tlsClientCertKey),
    repository.proxy ?? '',
    repository.insecure,
    ...(repository.githubApp === undefined
      ? []
      : [{ ...repository.githubApp, privateKey: repository.githubApp.privateKey.reveal() }]),
    ...(repository.ociForceHttp === true ? ['http'] : []),
    ...(repository.googleKey === undefined ? [] : [{ google: repository.googleKey.reveal() }]),
    ...(repository.azure === undefined ? [] : [{ azure: azureKey(repository.azure) }]),
  ]);
}

const textOfSecret = (secret: SecretValue | undefined): string => secret?.reveal() ?? '';

function azureKey(azure: NonNullable<Repository['azure']>): string {
  return azure === 'workload'
    ? azure
    : [azure.authority, azure.tenantId, azure.clientId, azure.secret.reveal()].join(' ');
}

import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { createCertificate, fingerprintOf } from '#api';
import type { ApiCertificate } from '#api';
import { messageOf, UsageError } from '#base';
import type { ApiAddress } from '#sharding';
import type { Logger } from '#telemetry';
import type { RunConfig } from '../options/run-options.ts';

/** Where and with which certificate this replica's read API listens. */
export interface ApiListener {
  readonly host: string;
  readonly port: number;
  readonly certificate: ApiCertificate;
  /** Published for other replicas; undefined if this machine has no address that they can reach. */
  readonly published: ApiAddress | undefined;
}

/**
 * Undefined if the API listens on its Unix socket only. A shadow writes nothing, and a review of a
 * caller's token is a write.
 */
export async function apiListener(
  config: Pick<
    RunConfig,
    'apiPort' | 'apiHost' | 'apiAddress' | 'apiCert' | 'apiKey' | 'metricsHost' | 'shadow' | 'hostname'
  >,
  now: number,
  logger: Logger,
): Promise<ApiListener | undefined> {
  if (config.apiPort === 0 || config.shadow) {
    logger.info('The read API listens on its Unix socket only', { shadow: config.shadow, 'api-port': config.apiPort });
    return undefined;
  }
  const host = config.apiHost === '' ? config.metricsHost : config.apiHost;
  const certificate = await certificateOf(config, now);
  const address = publishedAddress(config.apiAddress, host, config.apiPort);
  const published = address === undefined ? undefined : { address, fingerprint: certificate.fingerprint };
  return { host, port: config.apiPort, certificate, published };
}

async function certificateOf(
  { apiCert, apiKey, hostname }: Pick<RunConfig, 'apiCert' | 'apiKey' | 'hostname'>,
  now: number,
): Promise<ApiCertificate> {
  if ((apiCert === '') !== (apiKey === '')) throw new UsageError('--api-cert and --api-key must be given together');
  if (apiCert === '') return createCertificate(hostname, now);
  try {
    const [certificate, key] = [readFileSync(apiCert, 'utf8'), readFileSync(apiKey, 'utf8')];
    return { certificate, key, fingerprint: fingerprintOf(new X509Certificate(certificate).raw) };
  } catch (error) {
    throw new UsageError(`--api-cert: cannot read the certificate and its key: ${messageOf(error)}`);
  }
}

/** The pod's address, or that of the listener, or the first one that others can reach. */
function publishedAddress(given: string, host: string, port: number): string | undefined {
  const wildcard = host === '::' || host === '0.0.0.0';
  const outside = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const first = outside.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  const ip = given !== '' ? given : wildcard ? first : host;
  if (ip === undefined) return undefined;
  return ip.includes(':') ? `[${ip.toLowerCase()}]:${port}` : `${ip}:${port}`;
}

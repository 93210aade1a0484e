import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SecretValue, systemClock, UsageError } from '#base';
import { startTracing } from '#telemetry';
import type { CollectorTls, Logger, Tracing } from '#telemetry';
import type { RunConfig } from '../../options/run-options.ts';
import { packageVersion } from '../../process/root.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface TracingContext {
  readonly env: Environment;
  readonly logger: Logger;
  readonly hostname: string;
}

/**
 * Traces for the collector of `--otlp-address`; undefined without one. Source: Argo CD
 * util/trace/trace.go InitTracer.
 * @throws UsageError for an address, header or certificate that cannot be used
 */
export async function tracingOf(
  config: RunConfig,
  { env, logger, hostname }: TracingContext,
): Promise<Tracing | undefined> {
  const address = config.otlpAddress.trim();
  if (address === '') return undefined;
  const tls = config.otlpInsecure ? undefined : await collectorTls(address, env, config.tlsDataPath);
  const headers = Object.entries(config.otlpHeaders).map(([name, value]) => [name, new SecretValue(value)] as const);
  const tracing = await startTracing(
    {
      address,
      ...(tls === undefined ? {} : { tls }),
      headers: Object.fromEntries(headers),
      resource: {
        'service.name': config.shadow ? 'driftless-shadow' : 'argocd-controller',
        'service.version': packageVersion(),
        'service.instance.id': hostname,
        ...resourceAttributes(config.otlpAttrs, logger),
      },
      sampleRatio: config.otlpSampleRatio,
    },
    { clock: systemClock, logger },
  );
  logger.info('Sending traces to the OpenTelemetry collector', { address, tls: tls !== undefined });
  return tracing;
}

/** Reads `key:value` pairs. Like Argo CD, leaves out all others with a warning. */
export function resourceAttributes(pairs: readonly string[], logger: Logger): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const pair of pairs) {
    const [name = '', value, ...rest] = pair.split(':');
    if (value === undefined || rest.length > 0)
      logger.warn('An attribute of --otlp-attrs is ignored: write it as key:value', { attribute: pair });
    else attributes[name] = value;
  }
  return attributes;
}

/** Mount path of argocd-tls-certs-cm. */
const defaultTlsFolder = '/app/config/tls';

/**
 * The certificates for the collector: those of OpenTelemetry's variables, those for traces first;
 * without a CA there, the CA of the collector's host in argocd-tls-certs-cm.
 * @throws UsageError if a file cannot be used, or half of the client certificate is missing
 */
export async function collectorTls(address: string, env: Environment, tlsFolder: string): Promise<CollectorTls> {
  const variable = (name: string): string => (env[`OTEL_EXPORTER_OTLP_${name}`] ?? '').trim();
  const named = variable('TRACES_CERTIFICATE') || variable('CERTIFICATE');
  const authorities =
    named === '' ? await hostAuthorities(address, tlsFolder || defaultTlsFolder) : await certificatesOf(named);
  const pairs = ['TRACES_CLIENT', 'CLIENT'].map((prefix) => ({
    certificate: variable(`${prefix}_CERTIFICATE`),
    key: variable(`${prefix}_KEY`),
  }));
  const pair = pairs.find(({ certificate, key }) => certificate !== '' && key !== '');
  if (pair === undefined && pairs.some(({ certificate, key }) => certificate !== '' || key !== ''))
    throw new UsageError('OTLP client certificate and key must both be set');
  return {
    ...(authorities === undefined ? {} : { authorities }),
    ...(pair === undefined
      ? {}
      : {
          identity: {
            certificate: await textOf(pair.certificate),
            key: new SecretValue(await textOf(pair.key)),
          },
        }),
  };
}

/** Undefined: the ConfigMap has no certificate for this host. */
async function hostAuthorities(address: string, folder: string): Promise<string | undefined> {
  const host = /^(?:[a-z]+:\/{2,3})?(\[[^\]]+\]|[^:/]+)/i.exec(address)?.[1] ?? '';
  if (host === '' || host.startsWith('.')) return undefined;
  const file = join(folder, host);
  try {
    await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  return certificatesOf(file);
}

async function certificatesOf(file: string): Promise<string> {
  const text = await textOf(file);
  try {
    new X509Certificate(text);
  } catch {
    throw new UsageError(`${file}: no certificates found for the OpenTelemetry collector`);
  }
  return text;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `${file}: unable to read the certificate for the OpenTelemetry collector: ${messageOf(error)}`,
    );
  }
}
